/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples of dropped frames for who watches. Bounded on each CPU, so that a
 * flood can't turn being watched into load; what was not sent is counted. The
 * watch ends by itself when it is not renewed.
 */
#ifndef WEIR_WATCH_H
#define WEIR_WATCH_H

#include "count.h"
#include "maps.h"

/* The CPU's bucket of events, as bucket_take of algo.h keeps it: when it is full again. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} watch_full_at SEC(".maps");

static __always_inline int watch_admits(const struct live *now_live, __u64 now)
{
	__u64 latest = now + (__u64)now_live->watch_interval_ns * now_live->watch_burst;
	__u32 zero = 0;
	__u64 *full_at = bpf_map_lookup_elem(&watch_full_at, &zero);
	__u64 next;

	if (!full_at)
		return 0;
	next = (*full_at > now ? *full_at : now) + now_live->watch_interval_ns;
	if (next > latest)
		return 0;
	*full_at = next;
	return 1;
}

/*
 * A frame shorter than EVENT_BYTES is copied in full. The helper wants a size of at least 1 and at
 * most the room; the verifier of Linux 6.1 learns that from a mask, not from a comparison with 0.
 */
_Static_assert((EVENT_BYTES & (EVENT_BYTES - 1)) == 0, "EVENT_BYTES is a mask and one");

static __always_inline __u32 watch_copy(struct xdp_md *ctx, struct event *event)
{
	__u32 size = event->length < EVENT_BYTES ? event->length : EVENT_BYTES;

	barrier_var(size);
	size = ((size - 1) & (EVENT_BYTES - 1)) + 1;
	if (bpf_xdp_load_bytes(ctx, 0, event->bytes, size))
		return 0;
	return size;
}

/* What a verdict tells of a drop, or of what would be one. */
struct drop {
	__u64 time_ns;
	__u32 length;
	__u32 policy;
	__u8 reason;
	__u8 limit;
	__u8 observed;
	__u8 pad[5];
};

/* Far from the packet's usual way, so a function by itself. */
__noinline int watch_drop(struct xdp_md *ctx, const struct live *config, const struct drop *drop)
{
	struct event *event;

	if (!config || !drop || config->watch_until_ns <= drop->time_ns)
		return 0;
	event = watch_admits(config, drop->time_ns)
			? bpf_ringbuf_reserve(&events, sizeof(*event), 0)
			: NULL;
	if (!event) {
		count(CELL_EVENTS_LOST, 0);
		return 0;
	}
	event->time_ns = drop->time_ns;
	event->ifindex = ctx->ingress_ifindex;
	event->length = drop->length;
	event->policy = drop->policy;
	event->reason = drop->reason;
	event->limit = drop->limit;
	event->observed = drop->observed;
	event->captured = watch_copy(ctx, event);
	bpf_ringbuf_submit(event, 0);
	return 0;
}

#endif
