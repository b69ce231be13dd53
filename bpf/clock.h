/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The clocks: monotonic ns, read once a packet and only where the verdict asks
 * for it. The coarse one costs a fifth but lags behind by up to a tick; it
 * serves what is certain all the same. Tests put clocks of their own here.
 */
#ifndef WEIR_CLOCK_H
#define WEIR_CLOCK_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#ifndef WEIR_CLOCK
#define WEIR_CLOCK()	    bpf_ktime_get_ns()
#define WEIR_CLOCK_COARSE() bpf_ktime_get_coarse_ns()
#endif

#endif
