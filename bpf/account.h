/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A packet against the limits of its policy: it passes when all that concern
 * it grant it, and a refused packet costs nothing. First a look at each, which
 * takes no lock and ends most refusals; then each is charged; a refusal that
 * only shows then (another CPU was faster, a newcomer inherited a debt) gives
 * back what was charged before.
 */
#ifndef WEIR_ACCOUNT_H
#define WEIR_ACCOUNT_H

#include "clock.h"
#include "credit.h"
#include "memo.h"
#include "parse.h"

/* The outcome, and the limit that refused: its place in the policy. Before: the last packet's. */
struct judgement {
	__u32 outcome;
	__u32 limit;
	__u64 until; /* all packets of the source are refused, for certain; 0: no such thing */
};

/*
 * The packet at hand and what is made of it on the way. Not on the stack:
 * there the verifier follows each value, and proves all that comes after once
 * for every shape of frame and every limit that may refuse.
 */
struct desk {
	struct packet packet;
	struct moment time;
	struct judgement judgement;
	struct charge charges[LIMITS_MAX]; /* by the limit's place in the policy */
	struct memo memos[MEMO_SLOTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct desk);
} desks SEC(".maps");

static __always_inline __u64 source_hash(const struct key *key)
{
	return key_hash(key, secret0, secret1);
}

static __always_inline struct key source_key(const struct packet *packet, __u32 ipv4_len,
					     __u32 ipv6_len)
{
	if (packet->family == 4)
		return key_ipv4(packet_source(packet), ipv4_len);
	return key_ipv6(packet_source(packet), ipv6_len);
}

static __always_inline int key_is(const struct charge *charge, const struct key *key)
{
	return charge->key.hi == key->hi && charge->key.lo == key->lo &&
	       charge->key.family == key->family;
}

/*
 * The hash is kept with the key: from one packet of a flooding source to the next, and from a limit
 * to the next one whose keys are cut alike. Returns whether the source is another.
 */
static __always_inline int charge_key(const struct desk *desk, const struct limit *limit,
				      struct charge *charge, __u32 i)
{
	const struct charge *before = i ? charge - 1 : charge;
	struct key key;

	if (limit->flags & LIMIT_SHARED)
		key = key_shared();
	else
		key = source_key(&desk->packet, limit->ipv4_len, limit->ipv6_len);
	if (key_is(charge, &key))
		return 0;
	charge->key = key;
	charge->way = SET_WAYS;
	charge->hash = 0;
	if (limit->flags & LIMIT_SHARED)
		return 0;
	charge->hash = key_is(before, &key) && i ? before->hash : source_hash(&key);
	return 1;
}

static __always_inline int concerns(const struct limit *limit, __u32 services)
{
	return !limit->services || (limit->services & services);
}

static __always_inline int judge(struct desk *desk, int outcome, __u32 limit)
{
	desk->judgement.outcome = outcome;
	desk->judgement.limit = limit;
	return outcome;
}

/* Only what the first limit tells, and of any packet, is all there is to be said of the source. */
static __always_inline void judge_lasting(struct desk *desk, const struct limit *limit,
					  const struct look *look)
{
	if (limit->services || credit_used(limit))
		return;
	desk->judgement.until = look->until;
}

/*
 * The state of another source than before has to come from memory: it is sent for. What is granted
 * needs the clock, what is refused most often not: it is read at once, while the state comes, after
 * a packet that was granted; so the look can tell what there is to charge.
 */
static __always_inline void look_ahead(struct desk *desk, const struct limit *limit,
				       struct charge *charge, __u32 i)
{
	if (charge_key(desk, limit, charge, i) && !i)
		table_touch(limit, charge);
	if (desk->judgement.outcome == OUTCOME_GRANTED)
		clock_now(&desk->time);
}

/* `i`: the limit's place, and the charge's; `look`: what was found, if anything. */
static __always_inline int look_at(struct desk *desk, const struct limit *limit,
				   struct charge *charge, __u32 i, __u32 services,
				   struct look *look)
{
	look->set = NULL;
	if (!concerns(limit, services))
		return OUTCOME_OPEN;
	charge->cost = limit->flags & LIMIT_BYTES ? desk->packet.length : 1;
	charge->next = NEXT_UNKNOWN;
	look_ahead(desk, limit, charge, i);
	charge->now = desk->time.now;
	limit_look(limit, charge, look);
	if (!clock_before(&desk->time, look->until))
		return OUTCOME_OPEN;
	if (table_refused(limit, charge, look) && !i)
		judge_lasting(desk, limit, look);
	return judge(desk, look->outcome, i);
}

static __always_inline int take_from(struct desk *desk, const struct limit *limit,
				     struct charge *charge, __u32 services, struct set *set)
{
	if (!concerns(limit, services))
		return OUTCOME_GRANTED;
	charge->now = clock_now(&desk->time);
	return limit_take(limit, charge, set);
}

/* What the limits before `upto` granted goes back to them. */
__noinline int give_back(const struct policy *policy, struct desk *desk, __u32 services, __u32 upto)
{
	if (!policy || !desk)
		return 0;
	for (__u32 i = 0; i < LIMITS_MAX && i < upto; i++)
		if (concerns(&policy->limits[i], services))
			limit_give_back(&policy->limits[i], &desk->charges[i]);
	return 0;
}

/* Charge those after the first, or none: what was charged goes back. */
__noinline int take_further(const struct policy *policy, struct desk *desk, __u32 services)
{
	if (!policy || !desk)
		return OUTCOME_OPEN;
	for (__u32 i = 1; i < LIMITS_MAX && i < policy->count; i++) {
		const struct limit *limit = &policy->limits[i];
		struct charge *charge = &desk->charges[i];
		int outcome;

		barrier_var(limit); /* one pointer, not made anew from i for each word */
		barrier_var(charge);
		outcome = take_from(desk, limit, charge, services, NULL);
		if (outcome == OUTCOME_GRANTED)
			continue;
		give_back(policy, desk, services, i);
		return judge(desk, outcome, i);
	}
	return OUTCOME_GRANTED;
}

/* A look at those after the first. */
__noinline int look_further(const struct policy *policy, struct desk *desk, __u32 services)
{
	int outcome = OUTCOME_OPEN;
	struct look look;

	if (!policy || !desk)
		return OUTCOME_REFUSED;
	for (__u32 i = 1; i < LIMITS_MAX && i < policy->count && outcome == OUTCOME_OPEN; i++) {
		const struct limit *limit = &policy->limits[i];
		struct charge *charge = &desk->charges[i];

		barrier_var(limit);
		barrier_var(charge);
		outcome = look_at(desk, limit, charge, i, services, &look);
	}
	return outcome;
}

/* Fills desk->judgement. The first limit, often the only one, is dealt with in place. */
static __always_inline void account_packet(const struct policy *policy, struct desk *desk,
					   __u32 services)
{
	const struct limit *limit = &policy->limits[0];
	struct charge *charge = &desk->charges[0];
	struct look look;

	if (!policy->count) {
		judge(desk, OUTCOME_GRANTED, 0);
		return;
	}
	if (look_at(desk, limit, charge, 0, services, &look) != OUTCOME_OPEN)
		return;
	if (policy->count > 1 && look_further(policy, desk, services) != OUTCOME_OPEN)
		return;
	if (judge(desk, take_from(desk, limit, charge, services, look.set), 0) == OUTCOME_GRANTED &&
	    policy->count > 1)
		take_further(policy, desk, services);
}

#endif
