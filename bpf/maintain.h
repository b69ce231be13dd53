/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * States changed on behalf of user space, under their lock, while packets
 * flow: forget one source, clamp debts to a smaller burst, clear a slice, charge
 * what a source used on another node.
 * Table `sets` only; the kernel's hashes are changed by map updates.
 */
#ifndef WEIR_MAINTAIN_H
#define WEIR_MAINTAIN_H

#include "clock.h"
#include "table.h"

static __always_inline void set_forget_way(struct set *set, __u32 way)
{
	const struct state empty = {};

	way = way_bounded(way);
	set_lift(set, way);
	set_forget_counts(set, way);
	set_write_state(set, way, 0, &empty);
}

static __always_inline __u32 maintain_forget(const struct limit *limit, const struct key *key)
{
	struct charge charge = { .key = *key };
	__u32 index, way;
	struct set *set;
	struct log_set *rings;

	if (!(limit->flags & LIMIT_SHARED))
		charge.hash = key_hash(key, secret0, secret1);
	index = set_index(limit, &charge);
	set = bpf_map_lookup_elem(&sets, &index);
	rings = set_rings(limit, &charge);
	if (!set)
		return 0;
	bpf_spin_lock(&set->lock);
	way = set_find(set, limit, key);
	if (way < SET_WAYS) {
		set_forget_way(set, way);
		if (rings)
			log_clear(&rings->way[way_bounded(way)]);
	}
	bpf_spin_unlock(&set->lock);
	return way < SET_WAYS;
}

/* Under the lock: a newcomer displaces by the rule for packets, see set_take_miss. */
static __always_inline __u32 set_charge_miss(struct set *set, __u32 way, const struct limit *limit,
					     const struct charge *charge, __u64 debt_ns,
					     const struct state *old, int live)
{
	struct state state = *old;

	if (!newcomer_state(limit, &state, NULL, live, charge->now) ||
	    !state_charge(limit, &state, charge->now, charge->cost, debt_ns)) {
		set_put_back(set, way, old->word);
		return 0;
	}
	set_write_newcomer(set, way, limit, &charge->key, &state);
	return 1;
}

static __always_inline __u32 set_charge_hit(struct set *set, __u32 way, const struct limit *limit,
					    const struct charge *charge, __u64 debt_ns)
{
	struct state state = set_lift(set, way);
	__u32 done = state_charge(limit, &state, charge->now, charge->cost, debt_ns);

	set_write_state(set, way, charge->key.family, &state);
	return done;
}

static __always_inline __u32 maintain_charge(const struct limit *limit, struct maintain *command,
					     __u64 now)
{
	struct charge charge = { .key = command->key, .now = now, .cost = command->cost };
	__u64 debt_ns = command->debt_ns;
	__u32 index, way, done;
	struct set *set;
	int live = 0;

	if (charge.cost > 0xffffffff || debt_ns > 1ULL << 62)
		return 0;
	charge.hash = key_hash(&charge.key, secret0, secret1);
	index = set_index(limit, &charge);
	set = bpf_map_lookup_elem(&sets, &index);
	if (!set || limit->flags & LIMIT_SHARED || limit->algorithm == ALGO_SLIDING_LOG)
		return 0;
	bpf_spin_lock(&set->lock);
	way = set_find(set, limit, &charge.key);
	if (way < SET_WAYS) {
		way = way_bounded(way);
		done = set_charge_hit(set, way, limit, &charge, debt_ns);
	} else {
		struct state old;

		way = way_bounded(set_lift_cheapest(set, limit, &old));
		live = state_live(limit, old.word, now);
		done = set_charge_miss(set, way, limit, &charge, debt_ns, &old, live);
	}
	bpf_spin_unlock(&set->lock);
	if (live && done)
		count(limit->cells + CELL_LIMIT_DISPLACED, 0);
	command->first = index;
	command->count = way;
	return done;
}

/* A debt beyond the burst comes from a larger burst of before; the balance is then 0. */
static __always_inline __u32 set_clamp(struct set *set, const struct limit *limit, __u64 now)
{
	__u64 latest = now + limit->burst_ns;
	__u32 done = 0;

	for (__u32 i = 0; i < SET_WAYS; i++) {
		struct state state = set_lift(set, i);

		if (!(state.word & STATE_BANNED) && state.word > latest) {
			state.word = latest;
			set->cold.extra[i] = limit->burst_frac;
			done++;
		}
		set_put_back(set, i, state.word);
	}
	return done;
}

static __always_inline __u32 set_clear(struct set *set)
{
	__u32 done = 0;

	for (__u32 i = 0; i < SET_WAYS; i++) {
		if (family_of_way(set->cold.families, i))
			done++;
		set_forget_way(set, i);
	}
	for (__u32 i = 0; i < SET_WAYS; i++)
		set->hot.key[i] = 0;
	return done;
}

struct sweep {
	const struct limit *limit;
	__u64 now;
	__u32 op;
	__u32 first;
	__u32 done;
	__u32 pad;
};

static long sweep_set(__u32 i, struct sweep *sweep)
{
	__u32 index = sweep->first + i;
	struct set *set = bpf_map_lookup_elem(&sets, &index);
	const struct limit *limit = sweep->limit;
	__u32 done;

	if (!set)
		return 1;
	bpf_spin_lock(&set->lock);
	if (sweep->op == MAINTAIN_CLAMP)
		done = set_clamp(set, limit, sweep->now);
	else
		done = set_clear(set);
	bpf_spin_unlock(&set->lock);
	sweep->done += done;
	return 0;
}

/* A cleared state finds its ring by its way: what the ring holds goes too. */
static long sweep_log(__u32 i, struct sweep *sweep)
{
	__u32 index = sweep->limit->log_base + sweep->first - sweep->limit->slice_base + i;
	struct log_set *rings = bpf_map_lookup_elem(&logs, &index);

	if (!rings)
		return 1;
	for (__u32 way = 0; way < SET_WAYS; way++)
		log_clear(&rings->way[way]);
	return 0;
}

static __always_inline int maintain_run(struct maintain *command)
{
	__u32 at = command->policy, limit_at = command->limit;
	const struct policy *policy = bpf_map_lookup_elem(&policies, &at);
	struct sweep sweep = { .op = command->op, .first = command->first };

	if (!policy || limit_at >= LIMITS_MAX || command->count > MAINTAIN_MOST)
		return XDP_ABORTED;
	sweep.limit = &policy->limits[limit_at];
	sweep.now = WEIR_CLOCK();
	if (command->op == MAINTAIN_FORGET) {
		struct key key = command->key;

		command->done = maintain_forget(sweep.limit, &key);
		return XDP_PASS;
	}
	if (command->op == MAINTAIN_CHARGE) {
		command->done = maintain_charge(sweep.limit, command, sweep.now);
		return XDP_PASS;
	}
	bpf_loop(command->count, sweep_set, &sweep, 0);
	if (command->op == MAINTAIN_CLEAR && sweep.limit->algorithm == ALGO_SLIDING_LOG)
		bpf_loop(command->count, sweep_log, &sweep, 0);
	command->done = sweep.done;
	return XDP_PASS;
}

#endif
