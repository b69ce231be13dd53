/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../bpf/packet.h"
#include "replay.h"

int replay_init(struct replay *replay, const struct ruleset *ruleset, struct message *message)
{
	/* No secret is needed: nobody is attacked. The same capture gives the same answer. */
	static const uint64_t secret[2];
	struct replay made = { .ruleset = ruleset };
	int err = limiter_new(ruleset, secret, &made.limiter, message);

	if (err)
		return err;
	made.policies =
		calloc(limiter_image(made.limiter)->policy_count + 1, sizeof(*made.policies));
	if (!made.policies) {
		limiter_free(made.limiter);
		return message_set(message, -ENOMEM, "no memory to count policies");
	}
	source_map_init(&made.sources, sizeof(struct replay_source));
	*replay = made;
	return 0;
}

void replay_free(struct replay *replay)
{
	limiter_free(replay->limiter);
	free(replay->policies);
	source_map_free(&replay->sources);
	memset(replay, 0, sizeof(*replay));
}

static void add(struct counter *counter, uint32_t length)
{
	counter->packets++;
	counter->bytes += length;
}

static void span_add(struct replay_span *span, uint64_t time_ns)
{
	if (!span->first_ns)
		span->first_ns = time_ns;
	span->last_ns = time_ns;
}

/* Would the packet have been dropped, had the policy been enforced? */
static bool was_refused(const struct decision *decision)
{
	return !decision->granted || decision->reason == REASON_OBSERVED;
}

static void count_limits(struct replay *replay, const struct packet *packet,
			 const struct decision *decision, uint64_t time_ns)
{
	const struct image *image = limiter_image(replay->limiter);
	const struct policy *policy = &image->policies[decision->policy].policy;
	struct replay_limit *limits = replay->policies[decision->policy].limits;
	uint32_t services = image_services(image, packet);

	if (was_refused(decision)) {
		if (decision->limit < 0)
			return;
		add(&limits[decision->limit].refused, packet->length);
		span_add(&limits[decision->limit].refusals, time_ns);
		return;
	}
	for (uint32_t i = 0; i < policy->count; i++)
		if (!policy->limits[i].services || (policy->limits[i].services & services))
			limits[i].granted++;
}

static void count_policy(struct replay *replay, const struct packet *packet,
			 const struct decision *decision, uint64_t time_ns)
{
	struct replay_policy *policy;

	if (decision->policy < 0)
		return;
	policy = &replay->policies[decision->policy];
	add(decision->granted ? &policy->passed : &policy->dropped, packet->length);
	if (decision->reason == REASON_OBSERVED)
		add(&policy->observed, packet->length);
	count_limits(replay, packet, decision, time_ns);
}

static int count_source(struct replay *replay, const struct packet *packet,
			const struct decision *decision, uint64_t time_ns)
{
	const struct ruleset *ruleset = replay->ruleset;
	struct prefix prefix = source_of(packet, ruleset->ipv4_len, ruleset->ipv6_len);
	struct replay_source *source = source_map_get(&replay->sources, &prefix, 0);

	if (!source)
		return -ENOMEM;
	if (!was_refused(decision)) {
		source->passed++;
		return 0;
	}
	source->refused++;
	source->policy = decision->policy;
	source->limit = decision->limit;
	span_add(&source->refusals, time_ns);
	return 0;
}

static void count_time(struct replay *replay, uint64_t time_ns)
{
	if (!replay->first_ns)
		replay->first_ns = time_ns;
	if (time_ns < replay->last_ns)
		replay->backwards++;
	else
		replay->last_ns = time_ns;
}

int replay_frame(struct replay *replay, const struct trace_frame *frame, struct decision *decision,
		 struct message *message)
{
	uint64_t now = frame->time_ns ? frame->time_ns : 1;
	struct decision made;
	struct packet packet;
	int err;

	err = limiter_allow_frame(replay->limiter, frame->bytes, frame->captured, frame->length,
				  now, &made);
	if (err == -EINVAL)
		return message_set(message, err,
				   "packet %" PRIu64 ": its time, %" PRIu64
				   " ns since 1970, is beyond what limits count with",
				   frame->number, frame->time_ns);
	if (!err &&
	    limiter_parse(frame->bytes, frame->captured, frame->length, &packet) == PACKET_IP) {
		count_policy(replay, &packet, &made, now);
		err = count_source(replay, &packet, &made, now);
	}
	if (err)
		return message_set(message, err, "packet %" PRIu64 ": %s", frame->number,
				   strerror(-err));
	count_time(replay, now);
	add(made.granted ? &replay->passed : &replay->dropped, frame->length);
	add(&replay->reasons[made.reason], frame->length);
	if (decision)
		*decision = made;
	return 0;
}

static int compare_refused(const void *a, const void *b)
{
	const struct replay_refused *one = a, *two = b;

	if (one->counts.refused != two->counts.refused)
		return one->counts.refused < two->counts.refused ? 1 : -1;
	return prefix_compare(&one->source, &two->source);
}

int replay_worst(const struct replay *replay, size_t most, struct replay_refused **list,
		 size_t *count)
{
	struct replay_refused *made = calloc(replay->sources.count + 1, sizeof(*made));
	const struct replay_source *source;
	struct prefix prefix;
	size_t at = 0, found = 0;

	if (!made)
		return -ENOMEM;
	while ((source = source_map_next(&replay->sources, &at, &prefix, NULL)))
		if (source->refused)
			made[found++] = (struct replay_refused){ prefix, *source };
	qsort(made, found, sizeof(*made), compare_refused);
	*list = made;
	*count = found < most ? found : most;
	return 0;
}

void replay_count_sources(const struct replay *replay, size_t *seen, size_t *refused)
{
	const struct replay_source *source;
	size_t at = 0;

	*seen = replay->sources.count;
	*refused = 0;
	while ((source = source_map_next(&replay->sources, &at, NULL, NULL)))
		*refused += source->refused > 0;
}
