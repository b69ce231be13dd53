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

#include "credit.h"
#include "parse.h"

/* The outcome, and the limit that refused: its place in the policy. */
struct judgement {
	__u32 outcome;
	__u32 limit;
};

struct account {
	const struct policy *policy;
	const struct packet *packet;
	__u32 services; /* mask of what the packet asks for */
	__u32 lens;	/* key lengths that charge.key was made with */
	struct charge charge;
};

#define NO_LENS (~0U)

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

/* Limits with the same key lengths share key and hash. */
static __always_inline void account_key(struct account *account, const struct limit *limit)
{
	__u32 lens = limit->flags & LIMIT_SHARED ? 0xffff : limit->ipv4_len << 8 | limit->ipv6_len;

	account->charge.cost = limit->flags & LIMIT_BYTES ? account->packet->length : 1;
	if (lens == account->lens)
		return;
	account->lens = lens;
	if (limit->flags & LIMIT_SHARED) {
		account->charge.key = key_shared();
		account->charge.hash = 0;
		return;
	}
	account->charge.key = source_key(account->packet, limit->ipv4_len, limit->ipv6_len);
	account->charge.hash = source_hash(&account->charge.key);
}

/* The limit at `i` if there is one that concerns the packet; the charge is then made for it. */
static __always_inline const struct limit *account_limit(struct account *account, __u32 i)
{
	const struct limit *limit = &account->policy->limits[i];

	if (limit->services && !(limit->services & account->services))
		return NULL;
	account_key(account, limit);
	return limit;
}

static __always_inline int account_look(struct account *account, __u32 i)
{
	const struct limit *limit = account_limit(account, i);

	return limit ? limit_look(limit, &account->charge) : OUTCOME_OPEN;
}

static __always_inline int account_take(struct account *account, __u32 i)
{
	const struct limit *limit = account_limit(account, i);

	return limit ? limit_take(limit, &account->charge) : OUTCOME_GRANTED;
}

/* What the limits before `upto` granted goes back to them. */
__noinline int give_back(const struct policy *policy, const struct packet *packet, __u32 services,
			 __u32 upto, __u64 now)
{
	struct account account = {
		.policy = policy,
		.packet = packet,
		.services = services,
		.lens = NO_LENS,
		.charge = { .now = now },
	};

	if (!policy || !packet)
		return 0;
	for (__u32 i = 0; i < LIMITS_MAX && i < upto; i++) {
		const struct limit *limit = account_limit(&account, i);

		if (limit)
			limit_give_back(limit, &account.charge);
	}
	return 0;
}

static __always_inline struct judgement account_packet(struct account *account)
{
	struct judgement judgement = { OUTCOME_GRANTED, 0 };
	__u32 count = account->policy->count;

	for (__u32 i = 0; i < LIMITS_MAX && i < count; i++) {
		judgement.outcome = account_look(account, i);
		judgement.limit = i;
		if (judgement.outcome != OUTCOME_OPEN)
			return judgement;
	}
	for (__u32 i = 0; i < LIMITS_MAX && i < count; i++) {
		judgement.outcome = account_take(account, i);
		judgement.limit = i;
		if (judgement.outcome == OUTCOME_GRANTED)
			continue;
		give_back(account->policy, account->packet, account->services, i,
			  account->charge.now);
		return judgement;
	}
	judgement.outcome = OUTCOME_GRANTED;
	return judgement;
}

#endif
