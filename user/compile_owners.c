/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compile.h"
#include "compile_parts.h"

/* The first free run of `size` from *cursor on is taken; -1: none. */
static int64_t take_run(bool *taken, uint32_t total, uint32_t size, uint32_t *cursor)
{
	uint32_t run = 0;

	for (uint32_t i = *cursor; i < total; i++) {
		run = taken[i] ? 0 : run + 1;
		if (run < size)
			continue;
		memset(taken + i + 1 - size, true, size);
		*cursor = i + 1;
		return (int64_t)i + 1 - size;
	}
	return -1;
}

static void mark_cells(const struct image *image, bool *taken)
{
	memset(taken, true, CELL_GLOBALS);
	for (size_t i = 0; image && i < image->policy_count; i++) {
		const struct image_policy *policy = &image->policies[i];

		memset(taken + policy->cells, true, CELL_POLICY_COUNT);
		for (uint32_t j = 0; j < policy->policy.count; j++)
			memset(taken + policy->limits[j].cells, true, CELL_LIMIT_COUNT);
	}
}

/* What keeps its name keeps its cells; nobody gets those that the old image still counts in. */
static int policy_cells(const struct plan *plan, struct image_policy *policy, bool *taken,
			uint32_t total, uint32_t cursor[2])
{
	const struct image_policy *old = plan_old_policy(plan, policy->name);
	int64_t cell = old ? old->cells : take_run(taken, total, CELL_POLICY_COUNT, &cursor[0]);

	if (cell < 0)
		return -ENOSPC;
	policy->cells = (uint32_t)cell;
	for (uint32_t i = 0; i < policy->policy.count; i++) {
		bool instance = image_limit_is_instance(plan->image, policy->specs[i]);
		int index = plan_old_limit(plan, old, policy->specs[i]->name, instance);

		cell = index >= 0 ? old->limits[index].cells
				  : take_run(taken, total, CELL_LIMIT_COUNT, &cursor[1]);
		if (cell < 0)
			return -ENOSPC;
		policy->limits[i].cells = (uint32_t)cell;
	}
	return 0;
}

int plan_cells(const struct plan *plan, const struct capacity *room)
{
	uint32_t cursor[2] = { CELL_GLOBALS, CELL_GLOBALS };
	bool *taken = calloc(room->cells, sizeof(*taken));
	int err = taken ? 0 : -ENOMEM;

	if (taken)
		mark_cells(plan->old, taken);
	for (size_t i = 0; !err && i < plan->image->policy_count; i++)
		err = policy_cells(plan, &plan->image->policies[i], taken, room->cells, cursor);
	free(taken);
	return err;
}

/* A shared limit that finds no credit does without batches. */
int plan_ids(struct plan *plan, const struct capacity *room)
{
	bool *taken = calloc((size_t)room->credits + 1, sizeof(*taken));
	uint32_t cursor = 0;

	if (!taken)
		return -ENOMEM;
	for (size_t i = 0; i < plan->count; i++)
		if (plan->claims[i].before && plan->claims[i].before->credit < room->credits)
			taken[plan->claims[i].before->credit] = true;
	plan->image->next_id = plan->old ? plan->old->next_id : 0;
	for (size_t i = 0; i < plan->count; i++) {
		struct claim *claim = &plan->claims[i];
		int64_t credit = -1;

		if (!claim->before)
			claim->own->id = plan->image->next_id++;
		if (claim_is_shared(claim) && claim->before && claim->before->credit != NO_CREDIT)
			continue;
		if (claim_is_shared(claim))
			credit = take_run(taken, room->credits, 1, &cursor);
		claim->own->credit = credit < 0 ? NO_CREDIT : (uint32_t)credit;
	}
	free(taken);
	return 0;
}
