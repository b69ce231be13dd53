/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happened between two snapshots, per second; and the sources of a
 * snapshot with what is left to them. Owns its memory and its names, so that
 * it outlives the snapshots. Must not know how it is shown.
 */
#ifndef WEIR_RATES_H
#define WEIR_RATES_H

#include "snapshot.h"

/* Per second. */
struct speed {
	double packets;
	double bits;
};

enum rates_size {
	RATES_NAME = 64,
};

struct policy_rates {
	char name[RATES_NAME];
	struct speed passed, dropped;
	struct speed reasons[REASON_COUNT];
};

/* One state of the table: a source under one limit. */
struct source_rates {
	struct prefix source;
	char policy[RATES_NAME];
	char limit[RATES_NAME];
	uint64_t passed, dropped;
	double drops; /* per second, since the list before */
	uint64_t remaining;
	uint64_t retry_ns; /* ~0: never */
	uint64_t ban_ns;   /* 0: not banned */
	uint64_t debt_ns;  /* until the state says nothing any more */
};

struct rates {
	uint64_t time_ns;    /* of the later snapshot */
	uint64_t sources_ns; /* when reading the table began */
	uint64_t span_ns;
	struct speed passed, dropped;
	struct speed reasons[REASON_COUNT];
	struct policy_rates *policies;
	size_t policy_count;
	struct source_rates *sources;
	size_t source_count;
};

/* What was read at one time; the table takes a while, so it has a time of its own. */
struct rates_sample {
	const struct snapshot *snapshot;
	const struct source_state *sources;
	size_t source_count;
	uint64_t sources_ns;
};

/*
 * From the snapshot before (NULL for the first: all speeds 0) to this sample. `last` gives the
 * drops that sources had then, may be NULL. Counters that went back were started anew: they count
 * from 0. 0 or -ENOMEM, *rates untouched.
 */
int rates_between(const struct snapshot *before, const struct rates_sample *sample,
		  const struct rates *last, struct rates *rates);
void rates_free(struct rates *rates);

#endif
