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
#include "parse.h"

/* The outcome, and the limit that refused: its place in the policy. */
struct judgement {
	__u32 outcome;
	__u32 limit;
};

/*
 * The packet at hand and what is made of it on the way. Not on the stack:
 * there the verifier follows each value, and proves all that comes after once
 * for every shape of frame and every limit that may refuse.
 */
struct desk {
	struct packet packet;
	struct charge charge;
	struct judgement judgement;
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
		return key_ipv4(packet->source, ipv4_len);
	return key_ipv6(packet->source, ipv6_len);
}

/*
 * The hash is that of the key the CPU charged last, if the key is the same: from one limit to the
 * next, and from one packet of a flooding source to the next.
 */
static __always_inline void charge_key(struct desk *desk, const struct limit *limit)
{
	struct charge *charge = &desk->charge;
	struct key key;

	if (limit->flags & LIMIT_SHARED)
		key = key_shared();
	else
		key = source_key(&desk->packet, limit->ipv4_len, limit->ipv6_len);
	if (key.hi == charge->key.hi && key.lo == charge->key.lo &&
	    key.family == charge->key.family)
		return;
	charge->key = key;
	charge->hash = limit->flags & LIMIT_SHARED ? 0 : source_hash(&key);
}

/* The limit at `i` if it concerns the packet; the charge is then made for it. */
static __always_inline const struct limit *account_limit(const struct policy *policy,
							 struct desk *desk, __u32 services, __u32 i)
{
	const struct limit *limit = &policy->limits[i];

	if (limit->services && !(limit->services & services))
		return NULL;
	desk->charge.cost = limit->flags & LIMIT_BYTES ? desk->packet.length : 1;
	charge_key(desk, limit);
	return limit;
}

/* What the limits before `upto` granted goes back to them. */
__noinline int give_back(const struct policy *policy, struct desk *desk, __u32 services, __u32 upto)
{
	if (!policy || !desk)
		return 0;
	for (__u32 i = 0; i < LIMITS_MAX && i < upto; i++) {
		const struct limit *limit = account_limit(policy, desk, services, i);

		if (limit)
			limit_give_back(limit, &desk->charge);
	}
	return 0;
}

static __always_inline int judge(struct desk *desk, int outcome, __u32 limit)
{
	desk->judgement.outcome = outcome;
	desk->judgement.limit = limit;
	return outcome;
}

/* The second walk: charge each limit, or none. */
__noinline int account_charge(const struct policy *policy, struct desk *desk, __u32 services)
{
	if (!policy || !desk)
		return OUTCOME_GRANTED;
	for (__u32 i = 0; i < LIMITS_MAX && i < policy->count; i++) {
		const struct limit *limit = account_limit(policy, desk, services, i);
		int outcome = limit ? limit_take(limit, &desk->charge) : OUTCOME_GRANTED;

		if (outcome == OUTCOME_GRANTED)
			continue;
		give_back(policy, desk, services, i);
		return judge(desk, outcome, i);
	}
	return judge(desk, OUTCOME_GRANTED, 0);
}

static __always_inline int look_at(const struct policy *policy, struct desk *desk, __u32 services,
				   __u32 i)
{
	const struct limit *limit = account_limit(policy, desk, services, i);

	return limit ? limit_look(limit, &desk->charge) : OUTCOME_OPEN;
}

__noinline int look_at_further(const struct policy *policy, struct desk *desk, __u32 services,
			       __u32 i)
{
	if (!policy || !desk || i >= LIMITS_MAX)
		return OUTCOME_OPEN;
	return look_at(policy, desk, services, i);
}

/*
 * The first limit, which ends most refusals, is looked at without a call; where its refusals last,
 * by the coarse clock first, at the latest it may be: what is refused then is refused now. Only
 * the first, as the first to refuse is the one that counts, and may begin a ban.
 */
static __always_inline int look_at_first(const struct policy *policy, struct desk *desk,
					 __u32 services)
{
	int look = policy->limits[0].flags & LIMIT_COARSE ? 0 : 1;
	int outcome = OUTCOME_OPEN;

	for (; look < 2 && outcome == OUTCOME_OPEN; look++) {
		desk->charge.now = look ? WEIR_CLOCK() : WEIR_CLOCK_COARSE() + CLOCK_LAG_NS;
		outcome = policy->count ? look_at(policy, desk, services, 0) : OUTCOME_OPEN;
	}
	return outcome;
}

/* Fills desk->judgement. */
static __always_inline void account_packet(const struct policy *policy, struct desk *desk,
					   __u32 services)
{
	int outcome = look_at_first(policy, desk, services);
	__u32 i = 0;

	while (outcome == OUTCOME_OPEN && ++i < LIMITS_MAX && i < policy->count)
		outcome = look_at_further(policy, desk, services, i);
	if (outcome == OUTCOME_OPEN)
		account_charge(policy, desk, services);
	else
		judge(desk, outcome, i);
}

#endif
