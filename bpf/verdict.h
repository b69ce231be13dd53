/* SPDX-License-Identifier: GPL-2.0-only */
/* What becomes of a packet, why, and where that is counted. Decides nothing. */
#ifndef WEIR_VERDICT_H
#define WEIR_VERDICT_H

#include "maps.h"

#define NO_POLICY (~0U)
#define NO_LIMIT  0xff

struct verdict {
	__u8 drop;
	__u8 observed; /* would be a drop, but for observe mode */
	__u8 reason;
	__u8 limit; /* that refused, NO_LIMIT: none */
	__u32 cell;
	__u32 policy;
};

static __always_inline struct verdict pass_as(enum reason reason, __u32 cell)
{
	return (struct verdict){
		.reason = reason, .limit = NO_LIMIT, .cell = cell, .policy = NO_POLICY
	};
}

static __always_inline struct verdict drop_as(enum reason reason, __u32 cell)
{
	struct verdict verdict = pass_as(reason, cell);

	verdict.drop = 1;
	return verdict;
}

#endif
