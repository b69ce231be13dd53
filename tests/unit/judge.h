/* SPDX-License-Identifier: GPL-2.0-only */
/* A limiter from the text of a policy, and frames put to it one by one. */
#ifndef TESTS_UNIT_JUDGE_H
#define TESTS_UNIT_JUDGE_H

#include "../../bpf/packet.h"
#include "../../user/limiter.h"
#include "frames.h"
#include "rules.h"

#define SEC  NS_PER_SEC
#define HOUR (3600 * SEC)
#define T0   (1000000 * SEC)

struct judge {
	struct ruleset *ruleset;
	struct limiter *limiter;
	uint64_t now;
	struct decision last;
};

static inline struct judge judge_of(struct ruleset *ruleset)
{
	static const uint64_t secret[2] = { 0x0123456789abcdef, 0xfedcba9876543210 };
	struct judge judge = { .ruleset = ruleset, .now = T0 };
	struct message message = { 0 };

	if (limiter_new(ruleset, secret, &judge.limiter, &message))
		print_message("# %s\n", message.text);
	assert_non_null(judge.limiter);
	return judge;
}

static inline struct judge judge_new(const char *text)
{
	return judge_of(rules_read(text));
}

/* One policy for all sources with these limits. */
static inline struct judge judge_everyone(const char *limits)
{
	return judge_of(rules_everyone(limits));
}

static inline void judge_free(struct judge *judge)
{
	limiter_free(judge->limiter);
	ruleset_free(judge->ruleset);
}

static inline bool judge_frame(struct judge *judge, const struct built *frame)
{
	assert_int_equal(limiter_allow_frame(judge->limiter, frame->bytes, frame->count,
					     frame->count, judge->now, &judge->last),
			 0);
	return judge->last.granted;
}

/* How many of `count` equal frames pass. */
static inline unsigned int judge_flood(struct judge *judge, const struct built *frame,
				       unsigned int count)
{
	unsigned int passed = 0;

	while (count--)
		passed += judge_frame(judge, frame);
	return passed;
}

/* The same with U4 or U6 of the source. */
static inline unsigned int judge_source(struct judge *judge, const char *source, unsigned int count)
{
	struct built frame;

	if (strchr(source, ':'))
		frame_u6(&frame, source);
	else
		frame_u4(&frame, source);
	return judge_flood(judge, &frame, count);
}

#endif
