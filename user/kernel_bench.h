/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long the program of an instance takes for a packet, by BPF_PROG_TEST_RUN:
 * nothing is attached, no packet leaves. Must not know what is made of it.
 */
#ifndef WEIR_KERNEL_BENCH_H
#define WEIR_KERNEL_BENCH_H

#include "kernel.h"

struct bench_result {
	uint64_t packets;
	double ns;	  /* a packet, without the driver */
	double driver_ns; /* what rewriting the source and the call took, already taken off */
};

/* 42-byte UDP frames from `sources` addresses in turn, for about `for_ns`. A power of two. */
int bench_run(const struct instance *instance, uint32_t sources, uint64_t for_ns,
	      struct bench_result *result, struct message *message);

#endif
