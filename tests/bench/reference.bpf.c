/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What weir is compared with: its own parser and clock with nothing behind, and
 * the same limit on the kernel's LRU hash. Includes the program, so that the
 * parser is the very one; its own entry points are not loaded.
 */
#include "../../bpf/weir.bpf.c"

enum reference_size {
	LRU_STATES = 1 << 20,
	LRU_RATE = 1000,
	LRU_BURST = 2000,
	LRU_INTERVAL_NS = 1000000000 / LRU_RATE,
	LRU_TRIES = 4, /* compare-and-swap against other CPUs */
};

/* The packet has to be there as weir's later stages would read it. */
static __always_inline void keep(const struct packet *packet)
{
	asm volatile("" : : "r"(packet) : "memory");
}

SEC("xdp.frags")
int parse_drop(struct xdp_md *ctx)
{
	struct packet packet = {};
	int kind = parse(ctx, &packet);

	keep(&packet);
	return kind == PACKET_IP ? XDP_DROP : XDP_PASS;
}

SEC("xdp.frags")
int parse_clock(struct xdp_md *ctx)
{
	struct packet packet = {};
	__u64 now = WEIR_CLOCK();
	int kind = parse(ctx, &packet);

	keep(&packet);
	return kind == PACKET_IP && now ? XDP_DROP : XDP_PASS;
}

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, LRU_STATES);
	__type(key, __u64);
	__type(value, __u64);
} lru SEC(".maps");

/* The bucket is full again at *full; the kernel refuses a spin lock in an LRU hash. */
static __always_inline int lru_take(__u64 *full, __u64 now)
{
	for (int i = 0; i < LRU_TRIES; i++) {
		__u64 old = READ_ONCE(*full);
		__u64 next = (old > now ? old : now) + LRU_INTERVAL_NS;

		if (next > now + (__u64)LRU_BURST * LRU_INTERVAL_NS)
			return 0;
		if (__sync_val_compare_and_swap(full, old, next) == old)
			return 1;
	}
	return 0;
}

static __always_inline int lru_judge(const struct packet *packet, __u64 now)
{
	__u64 source = source_key(packet, 32, 64).hi;
	__u64 *full = bpf_map_lookup_elem(&lru, &source);
	__u64 first = now + LRU_INTERVAL_NS;

	if (full)
		return lru_take(full, now);
	bpf_map_update_elem(&lru, &source, &first, BPF_ANY);
	return 1;
}

SEC("xdp.frags")
int lru_limit(struct xdp_md *ctx)
{
	struct packet packet = {};
	__u64 now = WEIR_CLOCK();
	int granted;

	if (parse(ctx, &packet) != PACKET_IP)
		return XDP_PASS;
	granted = lru_judge(&packet, now);
	count(granted ? CELL_ENTRY_ALLOWED : CELL_ENTRY_BLOCKED, packet.length);
	return granted ? XDP_PASS : XDP_DROP;
}
