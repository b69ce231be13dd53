/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compile.h"
#include "compile_parts.h"

/* Time in 2^-32 ns, as the program counts it, in one number. */
typedef unsigned __int128 fine_ns;

static fine_ns interval_of(const struct limit_spec *spec)
{
	uint64_t ns;
	uint32_t frac;

	units_interval(&spec->rate, &ns, &frac);
	return (fine_ns)ns << 32 | frac;
}

static fine_ns burst_time(const struct limit_spec *spec)
{
	return interval_of(spec) * spec->burst;
}

static uint64_t rate_tokens(const struct rate *rate)
{
	return rate->bits ? rate->amount / 8 : rate->amount;
}

/*
 * Tokens that a CPU draws from a shared limit at a time: those of a millisecond, but all CPUs
 * together hold at most a sixteenth of the burst. Bytes are drawn in units of a full frame.
 */
static uint32_t batch_of(const struct limit_spec *spec, unsigned int cpus)
{
	const uint64_t unit = spec->rate.bytes ? 1522 : 1;
	uint64_t batch = (fine_ns)rate_tokens(&spec->rate) * 1000000 / spec->rate.window_ns;
	uint64_t most = spec->burst / (16 * (uint64_t)(cpus ? cpus : 1));

	if (batch > most)
		batch = most;
	batch /= unit;
	if (batch > 64)
		batch = 64;
	return batch > 1 ? (uint32_t)(batch * unit) : 0;
}

static uint8_t limit_flags(const struct limit_spec *spec, bool lenient, bool wide)
{
	return (spec->rate.bytes ? LIMIT_BYTES : 0) | (lenient ? LIMIT_LENIENT : 0) |
	       (spec->per != PER_SOURCE ? LIMIT_SHARED : 0) | (wide ? LIMIT_WIDE : 0);
}

void limit_compile(const struct limit_spec *spec, const struct allocation *own, bool lenient,
		   bool wide, unsigned int cpus, struct limit *limit)
{
	fine_ns interval = interval_of(spec), burst = burst_time(spec);
	bool bucket = spec->algorithm == ALGO_TOKEN_BUCKET;

	*limit = (struct limit){
		.interval_ns = bucket ? (uint64_t)(interval >> 32) : spec->rate.window_ns,
		.interval_frac = bucket ? (uint32_t)interval : 0,
		.burst_ns = bucket ? (uint64_t)(burst >> 32) : 0,
		.burst_frac = bucket ? (uint32_t)burst : 0,
		.burst = bucket ? spec->burst : rate_tokens(&spec->rate),
		.ban_ns = spec->ban_ns,
		.id = own->id,
		.services = spec->service >= 0 ? 1U << spec->service : 0,
		.slice_base = own->slice_base,
		.slice_mask = own->slice_sets ? own->slice_sets - 1 : 0,
		.log_base = own->log_base,
		.cells = own->cells,
		.batch = bucket && spec->per != PER_SOURCE && own->credit != NO_CREDIT
				 ? batch_of(spec, cpus)
				 : 0,
		.credit = own->credit != NO_CREDIT ? own->credit : 0,
		.algorithm = spec->algorithm,
		.flags = limit_flags(spec, lenient, wide),
		.ipv4_len = spec->ipv4_len,
		.ipv6_len = spec->ipv6_len,
	};
}

/* ---- what a change of a live limit means for its states ---- */

static bool same_key(const struct limit_spec *old, const struct limit_spec *new)
{
	if (old->per != new->per)
		return false;
	return new->per != PER_SOURCE ||
	       (old->ipv4_len == new->ipv4_len && old->ipv6_len == new->ipv6_len);
}

/* A bucket's debt is a time, whatever the token; a window's count is of its tokens. */
static bool states_carry(const struct limit_spec *old, const struct limit_spec *new)
{
	if (!same_key(old, new) || old->algorithm != new->algorithm)
		return false;
	return new->algorithm == ALGO_TOKEN_BUCKET ||
	       (old->rate.window_ns == new->rate.window_ns && old->rate.bytes == new->rate.bytes);
}

static bool burst_shrinks(const struct limit_spec *old, const struct limit_spec *new)
{
	return new->algorithm == ALGO_TOKEN_BUCKET &&burst_time(new) < burst_time(old);
}

/* ---- claims: who needs a slice, in the order of the file ---- */

struct claim {
	const struct limit_spec *spec;
	struct allocation *own;
	const struct allocation *before; /* of the same names in the old image, or NULL */
	const struct limit_spec *spec_before;
	bool kept; /* keeps the slice it had */
};

struct plan {
	const struct ruleset *ruleset;
	struct image *image;
	const struct image *old;
	const struct image_policy **by_name; /* the old image's */
	bool flush;
	struct claim *claims;
	size_t count;
};

static bool is_shared(const struct claim *claim)
{
	return claim->spec->per != PER_SOURCE;
}

static bool is_automatic(const struct claim *claim)
{
	return !is_shared(claim) && !claim->spec->sources;
}

static bool is_log(const struct claim *claim)
{
	return claim->spec->algorithm == ALGO_SLIDING_LOG;
}

static int compare_names(const void *a, const void *b)
{
	const struct image_policy *left = *(const struct image_policy *const *)a;
	const struct image_policy *right = *(const struct image_policy *const *)b;

	return strcmp(left->name, right->name);
}

static const struct image_policy *old_policy(const struct plan *plan, const char *name)
{
	const struct image_policy key = { .name = name }, *wanted = &key;
	const struct image_policy **found;

	if (!plan->old || !plan->old->policy_count)
		return NULL;
	found = bsearch(&wanted, plan->by_name, plan->old->policy_count, sizeof(*plan->by_name),
			compare_names);
	return found ? *found : NULL;
}

/* Index of a limit of the policy, or -1; instance: among the instance's limits. */
static int old_limit(const struct plan *plan, const struct image_policy *policy, const char *name,
		     bool instance)
{
	for (uint32_t i = 0; policy && i < policy->policy.count; i++)
		if (image_limit_is_instance(plan->old, policy->specs[i]) == instance &&
		    !strcmp(policy->specs[i]->name, name))
			return (int)i;
	return -1;
}

static const struct image_policy *first_limiting(const struct image *image)
{
	for (size_t i = 0; image && i < image->policy_count; i++)
		if (image->policies[i].policy.action == ACTION_LIMIT)
			return &image->policies[i];
	return NULL;
}

/* What one limit and policy keep from the old image: counter cells, id, credit, slice. */
static void claim_inherit(struct plan *plan, struct claim *claim, const struct image_policy *old,
			  bool instance)
{
	int index = old_limit(plan, old, claim->spec->name, instance);

	if (index < 0)
		return;
	claim->before = &old->limits[index];
	claim->spec_before = old->specs[index];
	claim->own->id = claim->before->id;
	claim->own->credit = claim->before->credit;
	claim->kept = !plan->flush && claim->before->slice_sets &&
		      claim->own->wide == claim->before->wide &&
		      claim->spec->per == claim->spec_before->per &&
		      claim->spec->sources == claim->spec_before->sources &&
		      is_log(claim) == (claim->spec_before->algorithm == ALGO_SLIDING_LOG);
	if (!claim->kept)
		return;
	claim->own->slice_base = claim->before->slice_base;
	claim->own->slice_sets = claim->before->slice_sets;
	claim->own->log_base = claim->before->log_base;
}

static bool policy_has_ipv6(const struct policy_spec *policy)
{
	for (size_t i = 0; i < policy->source_count; i++)
		if (policy->sources[i].family == 6)
			return true;
	return false;
}

static bool limiting_has_ipv6(const struct ruleset *ruleset)
{
	for (size_t i = 0; i < ruleset->policy_count; i++)
		if (ruleset->policies[i].action == ACTION_LIMIT &&
		    policy_has_ipv6(&ruleset->policies[i]))
			return true;
	return false;
}

static void claim_limits(struct plan *plan, size_t index, bool first)
{
	struct image_policy *policy = &plan->image->policies[index];
	const struct image_policy *old = old_policy(plan, policy->name);
	bool ipv6 = policy_has_ipv6(&plan->ruleset->policies[index]);

	for (uint32_t i = 0; i < policy->policy.count; i++) {
		const struct limit_spec *spec = policy->specs[i];
		bool instance = image_limit_is_instance(plan->image, spec);
		struct claim *claim = &plan->claims[plan->count];

		if (instance && !first)
			continue;
		*claim = (struct claim){ .spec = spec, .own = &policy->limits[i] };
		claim->own->wide = !is_shared(claim) && spec->ipv6_len > 64 &&
				   (instance ? limiting_has_ipv6(plan->ruleset) : ipv6);
		claim_inherit(plan, claim, instance ? first_limiting(plan->old) : old, instance);
		plan->count++;
	}
}

static int plan_claims(struct plan *plan)
{
	size_t most = 1, old_count = plan->old ? plan->old->policy_count : 0;
	const struct image_policy *first = first_limiting(plan->image);

	for (size_t i = 0; i < plan->image->policy_count; i++)
		most += plan->image->policies[i].policy.count;
	plan->claims = calloc(most, sizeof(*plan->claims));
	plan->by_name = calloc(old_count + 1, sizeof(*plan->by_name));
	if (!plan->claims || !plan->by_name)
		return -ENOMEM;
	for (size_t i = 0; i < old_count; i++)
		plan->by_name[i] = &plan->old->policies[i];
	qsort(plan->by_name, old_count, sizeof(*plan->by_name), compare_names);
	for (size_t i = 0; i < plan->image->policy_count; i++)
		claim_limits(plan, i, &plan->image->policies[i] == first);
	return 0;
}

static void plan_free(struct plan *plan)
{
	free(plan->claims);
	free(plan->by_name);
}

/* ---- slices ---- */

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
		uint64_t own = is_shared(&plan->claims[i]) ? 0 : plan->claims[i].spec->sources;

		left -= own < left ? own : left;
		sharers += is_automatic(&plan->claims[i]);
	}
	return sharers ? (left + sharers - 1) / sharers : 0;
}

static uint32_t wanted_sets(const struct claim *claim, uint64_t share)
{
	uint32_t sets;

	if (is_shared(claim))
		return 1;
	sets = sets_for(is_automatic(claim) ? share : claim->spec->sources, claim->own->wide);
	return is_automatic(claim) && sets && sets < AUTOMATIC_LEAST ? AUTOMATIC_LEAST : sets;
}

/* An automatic slice in a table that is short of room: halved `shift` times. */
static uint32_t narrowed(const struct claim *claim, uint32_t sets, unsigned int shift)
{
	if (!is_automatic(claim))
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

		if (logs && !is_log(claim))
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

		if (claim->kept || !is_automatic(claim))
			continue;
		while (wanted_sets(claim, share) >> shift > AUTOMATIC_LEAST)
			shift++;
		most = shift > most ? shift : most;
	}
	return most;
}

/* All automatic slices shrink alike, until everything fits. */
static int plan_slices(struct plan *plan, const struct capacity *room)
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
		log_sets += is_log(claim) ? size : 0;
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

		states += is_shared(claim);
		if (is_log(claim))
			rings += is_shared(claim)      ? 1
				 : is_automatic(claim) ? share
						       : claim->spec->sources;
	}
	if (states > INT32_MAX || rings > INT32_MAX)
		return -E2BIG;
	need->states = states;
	need->log_sets = (uint32_t)rings;
	return 0;
}

static int plan_need(const struct plan *plan)
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
		need->credits += is_shared(&plan->claims[i]);
	return need->table == TABLE_SETS ? table_need(plan, need) : hash_need(plan, need);
}

static uint32_t at_least(uint32_t value, uint32_t least)
{
	return value > least ? value : least;
}

/* A quarter of the table, and as many policies and counters again, are for later applies. */
static struct capacity room_for(const struct capacity *need)
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

/* ---- counter cells, ids, credits ---- */

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
	const struct image_policy *old = old_policy(plan, policy->name);
	int64_t cell = old ? old->cells : take_run(taken, total, CELL_POLICY_COUNT, &cursor[0]);

	if (cell < 0)
		return -ENOSPC;
	policy->cells = (uint32_t)cell;
	for (uint32_t i = 0; i < policy->policy.count; i++) {
		bool instance = image_limit_is_instance(plan->image, policy->specs[i]);
		int index = old_limit(plan, old, policy->specs[i]->name, instance);

		cell = index >= 0 ? old->limits[index].cells
				  : take_run(taken, total, CELL_LIMIT_COUNT, &cursor[1]);
		if (cell < 0)
			return -ENOSPC;
		policy->limits[i].cells = (uint32_t)cell;
	}
	return 0;
}

static int plan_cells(const struct plan *plan, const struct capacity *room)
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
static int plan_ids(struct plan *plan, const struct capacity *room)
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
		if (is_shared(claim) && claim->before && claim->before->credit != NO_CREDIT)
			continue;
		if (is_shared(claim))
			credit = take_run(taken, room->credits, 1, &cursor);
		claim->own->credit = credit < 0 ? NO_CREDIT : (uint32_t)credit;
	}
	free(taken);
	return 0;
}

/* ---- the change rule, and the copies of the instance's limits ---- */

/* In a first image nothing was there before; the maps are new. */
static void plan_changes(struct plan *plan)
{
	for (size_t i = 0; plan->old && i < plan->count; i++) {
		struct claim *claim = &plan->claims[i];
		bool moved = plan->ruleset->table == TABLE_SETS && !claim->kept;

		claim->own->restart =
			!claim->before || moved || !states_carry(claim->spec_before, claim->spec);
		claim->own->clamp =
			!claim->own->restart && burst_shrinks(claim->spec_before, claim->spec);
	}
}

static void copy_instance_limits(struct image *image)
{
	const struct image_policy *first = first_limiting(image);

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
		size = room_for(&plan.image->need);
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
