/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests and the program under test hand each other: the time it is,
 * and frames to be judged one after the other in one BPF_PROG_TEST_RUN.
 */
#ifndef WEIR_TEST_RECORD_H
#define WEIR_TEST_RECORD_H

#include <linux/types.h>

enum record_size {
	RECORDS = 8192,	    /* in one run */
	RECORD_FRAME = 128, /* bytes stored of a frame; the rest of it is whatever was there */
};

struct test_time {
	__u64 now_ns;
	__u64 step_ns; /* `paced` adds it before each packet */
	__u64 tick_ns; /* the coarse clock stands still that long; not 0 */
	__u64 cursor;  /* the next record */
};

struct record {
	__u64 now_ns;
	__u32 length;
	__u32 cell;    /* the counter cell that ought to count it */
	__u32 verdict; /* out: XDP_PASS or XDP_DROP */
	__u32 counted; /* out: packets that cell counted: 1, or it was the wrong one */
	__u8 frame[RECORD_FRAME];
};

#endif
