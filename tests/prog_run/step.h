/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One line of a fixture: frames and what ought to become of them, or a change
 * from outside. Must not know the rows it is part of.
 *
 *   [@TIME] [N x] FRAME [every TIME] -> [N] REASON[:POLICY[/LIMIT]], ...   in this order
 *   [@TIME] [N x] FRAME [every TIME] => [N] REASON..., ...                 in any order
 *   block PREFIX [for TIME]   allow PREFIX [for TIME]   limit PREFIX LIMIT-YAML [for TIME]
 *   remove PREFIX             forget ADDRESS            apply N [flush]: the row's Nth policy
 *   source ADDRESS LIMIT N passed M dropped             what is remembered of a source
 *   states N: so many sources are remembered            displaced N: states that were displaced
 *
 * TIME after @ counts from the row's start. Without a number: all that are left; in a list of any
 * order, `some` or no number: at least one.
 */
#ifndef WEIR_TEST_STEP_H
#define WEIR_TEST_STEP_H

#include "counts.h"

struct walk {
	struct rig *rig;
	struct counts counts;
	const char *const *policies; /* what `apply` takes from */
	const char *table;	     /* ... and the table's line behind it */
	struct counter sent;
};

/* 0, or -EINVAL with what came out instead in *message. */
int step_run(struct walk *walk, const char *line, struct message *message);

#endif
