/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
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

struct impact_source {
	struct prefix source;
	bool refused;
};

void impact_start(const struct image *after, uint64_t now, struct impact *impact)
{
	*impact = (struct impact){ .after = after, .now = now };
}

int impact_add(struct impact *impact, const struct source_state *state)
{
	if (impact->count == impact->room) {
		size_t room = impact->room ? 2 * impact->room : 1024;
		struct impact_source *list = reallocarray(impact->list, room, sizeof(*list));

		if (!list)
			return -ENOMEM;
		impact->list = list;
		impact->room = room;
	}
	impact->list[impact->count++] =
		(struct impact_source){ state->source,
					refused_after(state, impact->after, impact->now) };
	return 0;
}

void impact_finish(struct impact *impact)
{
	struct impact_source *list = impact->list;

	if (impact->count)
		qsort(list, impact->count, sizeof(*list), prefix_compare);
	for (size_t i = 0, next; i < impact->count; i = next) {
		bool refused = false;

		for (next = i; next < impact->count; next++) {
			if (prefix_compare(&list[i], &list[next]))
				break;
			refused |= list[next].refused;
		}
		impact->live++;
		impact->refused += refused;
	}
	free(list);
	impact->list = NULL;
	impact->count = impact->room = 0;
}
