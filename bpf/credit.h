/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits with one state for all sources: each CPU draws tokens from it in
 * small batches and spends them without a lock. Drawn tokens are charged when
 * drawn, so the limit never gives out more than it has; what CPUs hold unspent
 * can pass later, at most CPUs x batch on top of it.
 */
#ifndef WEIR_CREDIT_H
#define WEIR_CREDIT_H

#include "table.h"

static __always_inline int credit_used(const struct limit *limit)
{
	return (limit->flags & LIMIT_SHARED) && limit->batch > 1;
}

/* The CPU's credit with this limit. What it holds of another, that had the slot before, is void. */
static __always_inline struct credit *credit_of(const struct limit *limit)
{
	__u32 index = limit->credit;
	struct credit *credit = bpf_map_lookup_elem(&credits, &index);

	if (credit && credit->limit != limit->id + 1) {
		credit->limit = limit->id + 1;
		credit->tokens = 0;
	}
	return credit;
}

static __always_inline void limit_look(const struct limit *limit, struct charge *charge,
				       struct look *look)
{
	const struct credit *credit = credit_used(limit) ? credit_of(limit) : NULL;

	if (!credit || credit->tokens < charge->cost) {
		table_look(limit, charge, look);
		return;
	}
	*look = (struct look){};
	charge->way = SET_WAYS;
}

/* Draw what the packet lacks and a batch more; where that is too much, the packet's need alone. */
static __always_inline int credit_draw(const struct limit *limit, struct charge *charge,
				       struct credit *credit)
{
	__u64 cost = charge->cost, lack = cost - credit->tokens, batch = limit->batch;
	int outcome;

	charge->cost = lack + batch;
	outcome = table_take_locked(limit, charge);
	if (outcome != OUTCOME_GRANTED) {
		batch = 0;
		charge->cost = lack;
		outcome = table_take_locked(limit, charge);
	}
	charge->cost = cost;
	if (outcome == OUTCOME_GRANTED)
		credit->tokens = batch;
	return outcome;
}

__noinline int credit_take(const struct limit *limit, struct charge *charge)
{
	struct credit *credit;

	if (!limit || !charge)
		return OUTCOME_REFUSED;
	credit = credit_of(limit);
	if (!credit)
		return table_take_locked(limit, charge);
	if (credit->tokens < charge->cost)
		return credit_draw(limit, charge, credit);
	credit->tokens -= charge->cost;
	return OUTCOME_GRANTED;
}

static __always_inline int limit_take(const struct limit *limit, struct charge *charge,
				      struct set *set)
{
	return credit_used(limit) ? credit_take(limit, charge) : table_take(limit, charge, set);
}

static __always_inline void limit_give_back(const struct limit *limit, const struct charge *charge)
{
	struct credit *credit = credit_used(limit) ? credit_of(limit) : NULL;

	if (credit)
		credit->tokens += charge->cost;
	else
		table_give_back(limit, charge);
}

#endif
