/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a policy would have done to the frames of a capture: the limiter judges
 * each at its own time, and what it said is counted. Must not know files.
 */
#ifndef WEIR_REPLAY_H
#define WEIR_REPLAY_H

#include "limiter.h"
#include "source_map.h"
#include "trace.h"

/* When refusals began and ended; 0: none. */
struct replay_span {
	uint64_t first_ns;
	uint64_t last_ns;
};

struct replay_limit {
	uint64_t granted;	/* packets it concerned that passed */
	struct counter refused; /* observed ones too */
	struct replay_span refusals;
};

struct replay_policy {
	struct counter passed, dropped, observed; /* observed ones are passed too */
	struct replay_limit limits[LIMITS_MAX];
};

struct replay_source {
	uint64_t passed, refused; /* packets; refused: dropped or observed */
	struct replay_span refusals;
	int32_t policy; /* of the last refusal; -1: none */
	int32_t limit;
};

struct replay {
	struct limiter *limiter;
	const struct ruleset *ruleset;
	struct counter passed, dropped;
	struct counter reasons[REASON_COUNT];
	uint64_t first_ns, last_ns;
	uint64_t backwards;		/* frames that were older than the one before */
	struct replay_policy *policies; /* as many as the image has */
	struct source_map sources;
};

/* The ruleset is borrowed. 0 or -errno with *message. */
int replay_init(struct replay *replay, const struct ruleset *ruleset, struct message *message);
void replay_free(struct replay *replay);

/* Judge one more frame. *decision may be NULL. 0 or -errno with *message. */
int replay_frame(struct replay *replay, const struct trace_frame *frame, struct decision *decision,
		 struct message *message);

/* The sources refused most, worst first; *list is malloc'ed, *count at most `most`. */
struct replay_refused {
	struct prefix source;
	struct replay_source counts;
};
int replay_worst(const struct replay *replay, size_t most, struct replay_refused **list,
		 size_t *count);

/* How many sources were seen, and how many of them refused at least once. */
void replay_count_sources(const struct replay *replay, size_t *seen, size_t *refused);

#endif
