/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From times to the table, its ratios and the verdicts on the targets, as text
 * and as JSON. Must not know how anything was measured.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include "rows.h"
#include "setup.h"

enum report_size {
	ROUNDS_MOST = 31,
	PAIRS_MOST = 31,
};

/* What the rounds gave for one row. Times are of a packet on one CPU. */
struct result {
	const struct row *row;
	double gross[ROUNDS_MOST]; /* the driver's own time included */
	double net[ROUNDS_MOST];   /* less that of the driver in the same round */
};

/* Times of a row and of its driver right before. */
struct turns {
	double gross[PAIRS_MOST];
	double driver[PAIRS_MOST];
};

/* A target's two rows, measured in turn. */
struct duel {
	struct turns row, other;
	unsigned int pairs; /* 0: a row was left out */
};

struct report {
	const struct result *results;
	size_t count;
	unsigned int rounds;
	const struct duel *duels; /* by target */
	const struct made *made;
	size_t made_count;
};

void report_text(const struct report *report, FILE *out);
int report_json(const struct report *report, const char *path);

#endif
