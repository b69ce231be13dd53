/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a driver program walks through the sources. Lies in the payload of the
 * frame, which a test run leaves as the program left it: so each thread has its
 * own, and no shared line is written. Shared by both sides; knows no rows.
 */
#ifndef BENCH_DRIVE_H
#define BENCH_DRIVE_H

#include <linux/types.h>

enum drive_size {
	/* An odd factor visits every source once a round, in an order that no cache foresees. */
	DRIVE_SCATTER = 2654435761U,
	DRIVE_LIST = 1 << 18, /* addresses in one list */
};

struct drive {
	__u32 turn;
	__u32 stride; /* odd */
	__u32 mask;   /* sources - 1 */
	__u32 base;   /* first address, or place in the lists */
};

struct drive_address {
	__be32 word[4]; /* IPv4 in the first */
};

#endif
