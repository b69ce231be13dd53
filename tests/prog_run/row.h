/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fixtures: a policy, and what becomes of frames under it, step by step as
 * step.h reads them. A row without a `table:` of its own is proven with each
 * kind of table: they are to judge alike.
 */
#ifndef WEIR_TEST_ROW_H
#define WEIR_TEST_ROW_H

enum row_size {
	ROW_POLICIES = 3,
	ROW_STEPS = 24,
};

struct row {
	const char *name;		      /* what it proves; NULL ends a list of rows */
	const char *policy[ROW_POLICIES + 1]; /* the first is in force at the start */
	const char *steps[ROW_STEPS + 1];
};

/* Everybody under one policy, `all`, with these limits. */
#define ALL(limits) "policies: [{name: all, sources: [0.0.0.0/0, '::/0'], limits: [" limits "]}]\n"

/* The plainest of them: five packets, then one in an hour. */
#define FIVE ALL("{rate: 1/hour, burst: 5}")

extern const struct row rows_action[];
extern const struct row rows_apply[];
extern const struct row rows_entry[];
extern const struct row rows_key[];
extern const struct row rows_memo[];
extern const struct row rows_nested[];
extern const struct row rows_parse[];
extern const struct row rows_rate[];
extern const struct row rows_service[];
extern const struct row rows_table[];

#endif
