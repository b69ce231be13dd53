/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "compile.h"
#include "compile_parts.h"

/* In a first image nothing was there before; the maps are new. */
static void plan_changes(struct plan *plan)
{
	for (size_t i = 0; plan->old && i < plan->count; i++) {
		struct claim *claim = &plan->claims[i];
		bool moved = plan->ruleset->table == TABLE_SETS && !claim->kept;

		claim->own->restart = !claim->before || moved ||
				      !limit_states_carry(claim->spec_before, claim->spec);
		claim->own->clamp = !claim->own->restart &&
				    limit_burst_shrinks(claim->spec_before, claim->spec);
	}
}

static void copy_instance_limits(struct image *image)
{
	const struct image_policy *first = image_first_limiting(image);

	for (size_t i = 0; first && i < image->policy_count; i++) {
		struct image_policy *policy = &image->policies[i];
		uint32_t own = (uint32_t)image->ruleset->policies[i].limit_count;

		for (uint32_t j = own; j < policy->policy.count && policy != first; j++) {
			uint32_t from = first->policy.count - (policy->policy.count - j);
			uint32_t cells = policy->limits[j].cells;

			policy->limits[j] = first->limits[from];
			policy->limits[j].cells = cells;
		}
	}
}

static int no_room(const struct capacity *room, const struct image *image, struct message *message)
{
	message_set(message, -ENOSPC,
		    "the running instance has no room for this policy: %u sets, %u logs, %u "
		    "counter cells there, %u, %u, %u wanted",
		    room->sets, room->log_sets, room->cells, image->need.sets, image->need.log_sets,
		    image->need.cells);
	return message_hint(message, -ENOSPC,
			    "give `sources:` less, share the table out anew with `weir apply "
			    "--flush`, or make a larger one: `weir detach --all`, then attach");
}

static int too_big(const struct ruleset *ruleset, struct message *message)
{
	message_set(message, -E2BIG, "a table for %" PRIu64 " sources is too large",
		    ruleset->sources);
	return message_hint(message, -E2BIG,
			    "give `table: sources:` and the limits' `sources:` less");
}

static int report(int err, const struct plan *plan, const struct capacity *room,
		  struct message *message)
{
	switch (err) {
	case 0:
		return 0;
	case -ENOSPC:
		return no_room(room, plan->image, message);
	case -E2BIG:
		return too_big(plan->ruleset, message);
	default:
		return message_set(message, err, "%s", strerror(-err));
	}
}

/* Everything that is owned, in the room there is. */
static int plan_all(struct plan *plan, const struct capacity *room, unsigned int cpus)
{
	int err = 0;

	if (plan->ruleset->table == TABLE_SETS)
		err = plan_slices(plan, room);
	if (!err)
		err = plan_ids(plan, room);
	if (!err)
		err = plan_cells(plan, room);
	if (err)
		return err;
	plan_changes(plan);
	copy_instance_limits(plan->image);
	image_finish(plan->image, cpus);
	return 0;
}

int image_first(const struct ruleset *ruleset, unsigned int cpus, struct capacity *room,
		struct image **image, struct message *message)
{
	struct plan plan = { .ruleset = ruleset };
	struct capacity size = { .table = ruleset->table };
	int err = image_new(ruleset, &plan.image);

	if (!err)
		err = plan_claims(&plan);
	if (!err)
		err = plan_need(&plan);
	if (!err) {
		size = plan_room(&plan.image->need);
		err = plan_all(&plan, &size, cpus);
	}
	err = report(err, &plan, &size, message);
	plan_free(&plan);
	if (err) {
		image_free(plan.image);
		return err;
	}
	*room = size;
	*image = plan.image;
	return 0;
}

static int other_table(const struct ruleset *ruleset, const struct capacity *room,
		       struct message *message)
{
	message_set(message, -EINVAL, "the running instance's table is `%s`, the policy wants `%s`",
		    table_kind_name(room->table), table_kind_name(ruleset->table));
	return message_hint(
		message, -EINVAL,
		"the table's kind can't change under traffic: `weir detach --all`, then attach");
}

int image_next(const struct ruleset *ruleset, unsigned int cpus, const struct capacity *room,
	       const struct image *old, bool flush, struct image **image, struct message *message)
{
	struct plan plan = { .ruleset = ruleset, .old = old, .flush = flush };
	int err;

	if (ruleset->table != room->table)
		return other_table(ruleset, room, message);
	err = image_new(ruleset, &plan.image);
	if (!err)
		err = plan_claims(&plan);
	if (!err)
		err = plan_need(&plan);
	if (!err && plan.image->policy_count > room->policies)
		err = -ENOSPC;
	if (!err)
		err = plan_all(&plan, room, cpus);
	err = report(err, &plan, room, message);
	plan_free(&plan);
	if (err) {
		image_free(plan.image);
		return err;
	}
	*image = plan.image;
	return 0;
}
