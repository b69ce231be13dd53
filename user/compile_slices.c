/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compile.h"
#include "compile_parts.h"

enum slice_size {
	AUTOMATIC_LEAST = 16, /* sets of a limit that asks for none in particular */
	RESERVE_LEAST = 256,  /* sets kept for later applies and `weir limit` */
	SLICE_MOST = 1 << 28, /* 32 GiB of sets */
};

/* Sets for so many states; 0: too many. */
static uint32_t sets_for(uint64_t sources, bool wide)
{
	uint64_t ways = wide ? SET_WAYS_WIDE : SET_WAYS, sets = 1;

	while (sets * ways < sources && sets <= SLICE_MOST)
		sets <<= 1;
	return sets <= SLICE_MOST ? (uint32_t)sets : 0;
}

/* What is left of table.sources by the limits with a share of their own, for each other one. */
static uint64_t equal_share(const struct plan *plan)
{
	uint64_t left = plan->ruleset->sources, sharers = 0;

	for (size_t i = 0; i < plan->count; i++) {
		uint64_t own =
			claim_is_shared(&plan->claims[i]) ? 0 : plan->claims[i].spec->sources;

		left -= own < left ? own : left;
		sharers += claim_is_automatic(&plan->claims[i]);
	}
	return sharers ? (left + sharers - 1) / sharers : 0;
}

static uint32_t wanted_sets(const struct claim *claim, uint64_t share)
{
	uint32_t sets;

	if (claim_is_shared(claim))
		return 1;
	sets = sets_for(claim_is_automatic(claim) ? share : claim->spec->sources, claim->own->wide);
	return claim_is_automatic(claim) && sets && sets < AUTOMATIC_LEAST ? AUTOMATIC_LEAST : sets;
}

/* An automatic slice in a table that is short of room: halved `shift` times. */
static uint32_t narrowed(const struct claim *claim, uint32_t sets, unsigned int shift)
{
	if (!claim_is_automatic(claim))
		return sets;
	sets >>= shift;
	return sets < AUTOMATIC_LEAST ? AUTOMATIC_LEAST : sets;
}

/* Slices in one pool: of the sets, or of the logs, which only sliding-log limits have. */
static int place_pool(const struct plan *plan, uint32_t total, bool logs, unsigned int shift,
		      struct slice *wanted)
{
	struct slice *used = calloc(plan->count + 1, sizeof(*used));
	uint64_t share = equal_share(plan);
	int err;

	if (!used)
		return -ENOMEM;
	memset(wanted, 0, plan->count * sizeof(*wanted));
	for (size_t i = 0; i < plan->count; i++) {
		const struct claim *claim = &plan->claims[i];
		const struct allocation *own = claim->own;

		if (logs && !claim_is_log(claim))
			continue;
		if (claim->kept)
			used[i] = (struct slice){ logs ? own->log_base : own->slice_base,
						  own->slice_sets };
		else
			wanted[i].size = narrowed(claim, wanted_sets(claim, share), shift);
	}
	err = slices_place(used, plan->count, total, wanted, plan->count);
	free(used);
	return err;
}

static void take_slices(struct plan *plan, const struct slice *sets, const struct slice *logs)
{
	for (size_t i = 0; i < plan->count; i++) {
		struct allocation *own = plan->claims[i].own;

		if (plan->claims[i].kept)
			continue;
		own->slice_base = sets[i].base;
		own->slice_sets = sets[i].size;
		own->log_base = logs[i].base;
	}
}

/* The largest automatic slice still to be placed, in halvings down to the least. */
static unsigned int halvings(const struct plan *plan)
{
	uint64_t share = equal_share(plan);
	unsigned int most = 0;

	for (size_t i = 0; i < plan->count; i++) {
		const struct claim *claim = &plan->claims[i];
		unsigned int shift = 0;

		if (claim->kept || !claim_is_automatic(claim))
			continue;
		while (wanted_sets(claim, share) >> shift > AUTOMATIC_LEAST)
			shift++;
		most = shift > most ? shift : most;
	}
	return most;
}

/* All automatic slices shrink alike, until everything fits. */
int plan_slices(struct plan *plan, const struct capacity *room)
{
	struct slice *sets = calloc(plan->count + 1, sizeof(*sets));
	struct slice *logs = calloc(plan->count + 1, sizeof(*logs));
	unsigned int most = halvings(plan);
	int err = sets && logs ? -ENOSPC : -ENOMEM;

	for (unsigned int shift = 0; err == -ENOSPC && shift <= most; shift++) {
		err = place_pool(plan, room->sets, false, shift, sets);
		if (!err)
			err = place_pool(plan, room->log_sets, true, shift, logs);
	}
	if (!err)
		take_slices(plan, sets, logs);
	free(sets);
	free(logs);
	return err;
}

/* ---- the sum of all claims, and the room to make for them ---- */

static int table_need(const struct plan *plan, struct capacity *need)
{
	uint64_t share = equal_share(plan), sets = 0, log_sets = 0;

	for (size_t i = 0; i < plan->count; i++) {
		const struct claim *claim = &plan->claims[i];
		uint32_t size = claim->kept ? claim->own->slice_sets : wanted_sets(claim, share);

		if (!size)
			return -E2BIG;
		sets += size;
		log_sets += claim_is_log(claim) ? size : 0;
	}
	if (sets > SLICE_MOST)
		return -E2BIG;
	need->sets = (uint32_t)sets;
	need->log_sets = (uint32_t)log_sets;
	return 0;
}

/* The kernel's hash tables have no slices: every limit's states share one map. */
static int hash_need(const struct plan *plan, struct capacity *need)
{
	uint64_t share = equal_share(plan), rings = 0, states = plan->ruleset->sources;

	for (size_t i = 0; i < plan->count; i++) {
		const struct claim *claim = &plan->claims[i];

		states += claim_is_shared(claim);
		if (claim_is_log(claim))
			rings += claim_is_shared(claim)	     ? 1
				 : claim_is_automatic(claim) ? share
							     : claim->spec->sources;
	}
	if (states > INT32_MAX || rings > INT32_MAX)
		return -E2BIG;
	need->states = states;
	need->log_sets = (uint32_t)rings;
	return 0;
}

int plan_need(const struct plan *plan)
{
	struct image *image = plan->image;
	struct capacity *need = &image->need;
	uint64_t cells = CELL_GLOBALS;

	need->table = plan->ruleset->table;
	need->policies = (uint32_t)image->policy_count;
	for (size_t i = 0; i < image->policy_count; i++)
		cells += CELL_POLICY_COUNT + image->policies[i].policy.count * CELL_LIMIT_COUNT;
	if (cells > INT32_MAX / 2)
		return -E2BIG;
	need->cells = (uint32_t)cells;
	for (size_t i = 0; i < plan->count; i++)
		need->credits += claim_is_shared(&plan->claims[i]);
	return need->table == TABLE_SETS ? table_need(plan, need) : hash_need(plan, need);
}

static uint32_t at_least(uint32_t value, uint32_t least)
{
	return value > least ? value : least;
}

/* A quarter of the table, and as many policies and counters again, are for later applies. */
struct capacity plan_room(const struct capacity *need)
{
	struct capacity room = *need;

	if (need->table == TABLE_SETS)
		room.sets += at_least(need->sets / 4, RESERVE_LEAST);
	room.log_sets += at_least(need->log_sets / 4, RESERVE_LEAST);
	room.cells = at_least(2 * need->cells, 4096);
	room.policies = at_least(2 * need->policies, 64);
	room.credits = at_least(2 * need->credits, 256);
	room.entry_policies = 256;
	return room;
}
