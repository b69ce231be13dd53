/* SPDX-License-Identifier: GPL-2.0-only */
/* Per-CPU counter cells. Knows their numbers only, not what they mean. */
#ifndef WEIR_COUNT_H
#define WEIR_COUNT_H

#include "maps.h"

static __always_inline void count(__u32 cell, __u32 bytes)
{
	struct counter *counter = bpf_map_lookup_elem(&counters, &cell);

	if (!counter)
		return;
	counter->packets++;
	counter->bytes += bytes;
}

#endif
