/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>

#include "impact.h"
#include "limiter.h"

enum {
	LEAST_FRAME = 64, /* what a byte limit is asked for */
};

static const struct image_policy *policy_of(const struct image *image, const struct prefix *source)
{
	struct prefix address = *source;
	int index;

	address.len = source->family == 4 ? 32 : 128;
	index = image_match(image, &address, NULL);
	return index < 0 ? NULL : &image->policies[index];
}

/* The limit of the new policy that goes on with the states of an old one, or NULL. */
static const struct limit *heir(const struct image_policy *policy, uint32_t id)
{
	for (uint32_t i = 0; i < policy->policy.count; i++)
		if (policy->limits[i].id == id && !policy->limits[i].restart)
			return &policy->policy.limits[i];
	return NULL;
}

static bool rule_refuses(const struct limit *rule, const struct source_state *state, uint64_t now)
{
	uint64_t cost = rule->flags & LIMIT_BYTES ? LEAST_FRAME : 1;
	struct state clamped = state->state;

	/* apply clamps debts to a smaller burst */
	if (rule->algorithm == ALGO_TOKEN_BUCKET && !(clamped.word & STATE_BANNED) &&
	    clamped.word > now + rule->burst_ns)
		clamped = (struct state){ now + rule->burst_ns, rule->burst_frac, 0 };
	return state_retry_ns(rule, &clamped, &state->ring, now, cost) > 0;
}

static bool refused_after(const struct source_state *state, const struct image *after, uint64_t now)
{
	const struct image_policy *policy;
	const struct limit *rule;

	if (!state->policy) /* an entry outranks the file before and after */
		return rule_refuses(&state->rule, state, now);
	policy = policy_of(after, &state->source);
	if (!policy || !policy->policy.enforced)
		return false;
	if (policy->policy.action != ACTION_LIMIT)
		return policy->policy.action == ACTION_DROP;
	rule = heir(policy, state->rule.id);
	return rule && rule_refuses(rule, state, now);
}

static int by_source(const void *a, const void *b)
{
	const struct source_state *x = a, *y = b;

	return prefix_compare(&x->source, &y->source);
}

void impact_read(struct source_state *states, size_t count, const struct image *after, uint64_t now,
		 struct impact *impact)
{
	*impact = (struct impact){ 0 };
	if (!count)
		return;
	qsort(states, count, sizeof(*states), by_source);
	for (size_t i = 0, next; i < count; i = next) {
		bool live = false, refused = false;

		for (next = i; next < count && !by_source(&states[i], &states[next]); next++) {
			const struct source_state *state = &states[next];

			live |= state_live(&state->rule, state->state.word, now);
			refused |= refused_after(state, after, now);
		}
		impact->live += live;
		impact->refused += live && refused;
	}
}
