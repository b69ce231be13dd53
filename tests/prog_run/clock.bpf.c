/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shipped program under a clock that the test sets, and two drivers that
 * judge many packets in one BPF_PROG_TEST_RUN.
 */
#include <linux/if_ether.h>

#include "../../bpf/maps.h"
#include "record.h"

struct test_time test_time;

#define WEIR_CLOCK()   (test_time.now_ns)
#define WEIR_JIFFIES() (test_time.now_ns / test_time.tick_ns)
#define KEPT_WORTH     2 /* rows with one entry are searched, those with more are kept */
#include "../../bpf/weir.bpf.c"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RECORDS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct record);
} records SEC(".maps");

static __always_inline struct record *current_record(void)
{
	__u32 index = test_time.cursor;

	return bpf_map_lookup_elem(&records, &index);
}

static __always_inline __u64 counted(__u32 cell)
{
	struct counter *counter = bpf_map_lookup_elem(&counters, &cell);

	return counter ? counter->packets : 0;
}

/* The record's time and its frame. A function of its own for the verifier's sake, as parse(). */
__noinline int record_begin(struct xdp_md *ctx)
{
	struct record *record = current_record();
	__u32 size;

	if (!record)
		return -1;
	size = record->length;
	if (bpf_xdp_adjust_tail(ctx, size - (int)bpf_xdp_get_buff_len(ctx)))
		return -1;
	if (size > RECORD_FRAME)
		size = RECORD_FRAME;
	if (size < ETH_HLEN)
		return -1;
	test_time.now_ns = record->now_ns;
	record->counted = counted(record->cell);
	return bpf_xdp_store_bytes(ctx, 0, record->frame, size);
}

/* What became of it. */
__noinline int record_end(__u32 verdict)
{
	struct record *record = current_record();

	if (!record)
		return XDP_ABORTED;
	record->verdict = verdict;
	record->counted = counted(record->cell) - record->counted;
	test_time.cursor++;
	return verdict;
}

SEC("xdp.frags")
int replay(struct xdp_md *ctx)
{
	if (record_begin(ctx))
		return XDP_ABORTED;
	return record_end(judge_frame(ctx));
}

/* The same frame again and again, evenly spaced. */
SEC("xdp.frags")
int paced(struct xdp_md *ctx)
{
	test_time.now_ns += test_time.step_ns;
	return judge_frame(ctx);
}
