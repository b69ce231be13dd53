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

static double seconds_between(uint64_t from_ns, uint64_t to_ns)
{
	return (double)(to_ns - from_ns) / NS_PER_SEC;
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

/*
 * A table is read in some tenths of a second, so a state may be younger than `now`. No bucket
 * keeps a packet waiting longer than that packet's tokens take.
 */
static uint64_t retry_ns(const struct source_state *state, uint64_t now, uint64_t cost)
{
	uint64_t retry = state_retry_ns(&state->rule, &state->state, &state->ring, now, cost);
	uint64_t most = token_time(&state->rule, cost).ns + 1;

	if (state->rule.algorithm != ALGO_TOKEN_BUCKET || retry == UINT64_MAX ||
	    state_banned(state->state.word, now))
		return retry;
	return retry < most ? retry : most;
}

static void source_between(const struct source_state *state, uint64_t now, const struct rates *last,
			   struct source_rates *rates)
{
	uint64_t cost = state->rule.flags & LIMIT_BYTES ? FRAME_BYTES : 1;
	uint64_t until = state->state.word & ~STATE_BANNED;
	const struct source_rates *before;

	name_source(state, rates);
	rates->source = state->source;
	rates->passed = state->passed;
	rates->dropped = state->dropped;
	rates->remaining = state_remaining(&state->rule, &state->state, &state->ring, now);
	rates->retry_ns = retry_ns(state, now, cost);
	if (state_banned(state->state.word, now))
		rates->ban_ns = until - now;
	rates->debt_ns = rates->ban_ns ? rates->ban_ns : rates->retry_ns;
	if (!rates->ban_ns && state->rule.algorithm == ALGO_TOKEN_BUCKET)
		rates->debt_ns = until > now ? until - now : 0;
	before = source_before(last, rates);
	if (before && now > last->sources_ns)
		rates->drops = (double)grown(before->dropped, rates->dropped) /
			       seconds_between(last->sources_ns, now);
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

int rates_between(const struct snapshot *before, const struct rates_sample *sample,
		  const struct rates *last, struct rates *rates)
{
	const struct snapshot *now = sample->snapshot;
	struct rates made = { .time_ns = now->time_ns, .sources_ns = sample->sources_ns };
	double seconds;
	int err = rates_allocate(now, sample->source_count, &made);

	if (err)
		return err;
	if (before && now->time_ns > before->time_ns)
		made.span_ns = now->time_ns - before->time_ns;
	seconds = seconds_between(0, made.span_ns);
	made.passed = speed_between(before ? &before->passed : NULL, &now->passed, seconds);
	made.dropped = speed_between(before ? &before->dropped : NULL, &now->dropped, seconds);
	for (int i = 0; i < REASON_COUNT; i++)
		made.reasons[i] = speed_between(before ? &before->reasons[i] : NULL,
						&now->reasons[i], seconds);
	for (size_t i = 0; i < now->policy_count; i++)
		policy_between(before ? policy_named(before, i, now->policies[i].name) : NULL,
			       &now->policies[i], seconds, &made.policies[i]);
	for (size_t i = 0; i < sample->source_count; i++)
		source_between(&sample->sources[i], sample->sources_ns, last, &made.sources[i]);
	*rates = made;
	return 0;
}

void rates_free(struct rates *rates)
{
	free(rates->policies);
	free(rates->sources);
	*rates = (struct rates){ 0 };
}
