/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limiter.h"
#include "rates.h"

enum {
	FRAME_BYTES = 1514, /* what a byte limit is asked for, to tell when it grants again */
};

static uint64_t grown(uint64_t before, uint64_t now)
{
	return now >= before ? now - before : now;
}

static struct speed speed_between(const struct counter *before, const struct counter *now,
				  double seconds)
{
	static const struct counter none;

	if (seconds <= 0)
		return (struct speed){ 0 };
	if (!before)
		before = &none;
	return (struct speed){
		(double)grown(before->packets, now->packets) / seconds,
		(double)grown(before->bytes, now->bytes) * 8 / seconds,
	};
}

static const struct snapshot_policy *policy_named(const struct snapshot *snapshot, size_t guess,
						  const char *name)
{
	if (guess < snapshot->policy_count && !strcmp(snapshot->policies[guess].name, name))
		return &snapshot->policies[guess];
	for (size_t i = 0; i < snapshot->policy_count; i++)
		if (!strcmp(snapshot->policies[i].name, name))
			return &snapshot->policies[i];
	return NULL;
}

static void policy_between(const struct snapshot_policy *before, const struct snapshot_policy *now,
			   double seconds, struct policy_rates *rates)
{
	snprintf(rates->name, sizeof(rates->name), "%s", now->name);
	rates->passed = speed_between(before ? &before->passed : NULL, &now->passed, seconds);
	rates->dropped = speed_between(before ? &before->dropped : NULL, &now->dropped, seconds);
	for (int i = 0; i < REASON_COUNT; i++)
		rates->reasons[i] = speed_between(before ? &before->reasons[i] : NULL,
						  &now->reasons[i], seconds);
}

static void name_source(const struct source_state *state, struct source_rates *rates)
{
	char prefix[PREFIX_TEXT];

	if (state->policy) {
		snprintf(rates->policy, sizeof(rates->policy), "%s", state->policy->name);
		snprintf(rates->limit, sizeof(rates->limit), "%s",
			 state->policy->specs[state->limit]->name);
		return;
	}
	snprintf(rates->policy, sizeof(rates->policy), "%s",
		 units_address_text(&state->entry, prefix, sizeof(prefix)));
	snprintf(rates->limit, sizeof(rates->limit), "by hand");
}

static const struct source_rates *source_before(const struct rates *last,
						const struct source_rates *source)
{
	for (size_t i = 0; last && i < last->source_count; i++) {
		const struct source_rates *old = &last->sources[i];

		if (!prefix_compare(&old->source, &source->source) &&
		    !strcmp(old->limit, source->limit) && !strcmp(old->policy, source->policy))
			return old;
	}
	return NULL;
}

static void source_between(const struct source_state *state, uint64_t now, const struct rates *last,
			   double seconds, struct source_rates *rates)
{
	uint64_t cost = state->rule.flags & LIMIT_BYTES ? FRAME_BYTES : 1;
	uint64_t until = state->state.word & ~STATE_BANNED;
	const struct source_rates *before;

	name_source(state, rates);
	rates->source = state->source;
	rates->passed = state->passed;
	rates->dropped = state->dropped;
	rates->remaining = state_remaining(&state->rule, &state->state, &state->ring, now);
	rates->retry_ns = state_retry_ns(&state->rule, &state->state, &state->ring, now, cost);
	if (state_banned(state->state.word, now))
		rates->ban_ns = until - now;
	rates->debt_ns = rates->ban_ns ? rates->ban_ns : rates->retry_ns;
	if (!rates->ban_ns && state->rule.algorithm == ALGO_TOKEN_BUCKET)
		rates->debt_ns = until > now ? until - now : 0;
	before = source_before(last, rates);
	if (before && seconds > 0)
		rates->drops = (double)grown(before->dropped, rates->dropped) / seconds;
}

static int rates_allocate(const struct snapshot *now, size_t source_count, struct rates *rates)
{
	rates->policies = calloc(now->policy_count + 1, sizeof(*rates->policies));
	rates->sources = calloc(source_count + 1, sizeof(*rates->sources));
	if (!rates->policies || !rates->sources) {
		rates_free(rates);
		return -ENOMEM;
	}
	rates->policy_count = now->policy_count;
	rates->source_count = source_count;
	return 0;
}

int rates_between(const struct snapshot *before, const struct snapshot *now,
		  const struct source_state *sources, size_t source_count, const struct rates *last,
		  struct rates *rates)
{
	struct rates made = { .time_ns = now->time_ns };
	double seconds;
	int err = rates_allocate(now, source_count, &made);

	if (err)
		return err;
	if (before && now->time_ns > before->time_ns)
		made.span_ns = now->time_ns - before->time_ns;
	seconds = (double)made.span_ns / NS_PER_SEC;
	made.passed = speed_between(before ? &before->passed : NULL, &now->passed, seconds);
	made.dropped = speed_between(before ? &before->dropped : NULL, &now->dropped, seconds);
	for (int i = 0; i < REASON_COUNT; i++)
		made.reasons[i] = speed_between(before ? &before->reasons[i] : NULL,
						&now->reasons[i], seconds);
	for (size_t i = 0; i < now->policy_count; i++)
		policy_between(before ? policy_named(before, i, now->policies[i].name) : NULL,
			       &now->policies[i], seconds, &made.policies[i]);
	for (size_t i = 0; i < source_count; i++)
		source_between(&sources[i], now->time_ns, last, seconds, &made.sources[i]);
	*rates = made;
	return 0;
}

void rates_free(struct rates *rates)
{
	free(rates->policies);
	free(rates->sources);
	*rates = (struct rates){ 0 };
}
