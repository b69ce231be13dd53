/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The time: monotonic ns, read once a packet and only where the verdict asks for
 * it. What is certain is told by jiffies, which cost a load where the clock
 * costs calls: counted from when the CPU last read the clock, they say how late
 * it may be at most. Tests put clocks of their own here.
 */
#ifndef WEIR_CLOCK_H
#define WEIR_CLOCK_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "abi.h"

#ifndef WEIR_CLOCK
#define WEIR_CLOCK()   bpf_ktime_get_ns()
#define WEIR_JIFFIES() bpf_jiffies64()
#endif

/* Of a jiffy; set at load. */
const volatile __u32 tick_ns = 10000000;

enum clock_size {
	CLOCK_TRUST = 64, /* ticks after which a CPU reads the clock again: jiffies may drift */
};

/* A CPU's time: the packet's, and the last at which both clocks were read. */
struct moment {
	__u64 now; /* of the packet; 0: not read yet */
	__u64 ns;
	__u64 jiffies;
};

static __always_inline __u64 clock_now(struct moment *moment)
{
	if (moment->now)
		return moment->now;
	moment->jiffies = WEIR_JIFFIES();
	moment->ns = WEIR_CLOCK();
	moment->now = moment->ns;
	return moment->now;
}

/* Not earlier than now, but for a tick that is over a CLOCK_LAG_NS late. */
static __always_inline __u64 clock_latest(struct moment *moment)
{
	__u64 ticks = WEIR_JIFFIES() - moment->jiffies;

	if (moment->now || ticks > CLOCK_TRUST)
		return clock_now(moment);
	return moment->ns + ticks * tick_ns + CLOCK_LAG_NS;
}

/* Is it before `until`? The clock is read only where jiffies, or the last time, don't tell. */
static __always_inline int clock_before(struct moment *moment, __u64 until)
{
	return until > moment->ns && (until > clock_latest(moment) || until > clock_now(moment));
}

#endif
