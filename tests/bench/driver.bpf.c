/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drives the program under test: each run gives the frame another source and
 * hands it on. What the drivers themselves take is measured by handing the
 * frame to bare_drop. Then floors: what no limiter or list of so many sources
 * can do without, and nothing else. All are xdp.frags, as weir is: the kernel
 * refuses tail calls between such programs and others.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "drive.h"

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} judge SEC(".maps");

/* Lists of addresses, one behind the other. Sized before load. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, DRIVE_LIST);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct drive_address);
} addresses SEC(".maps");

#define FRAME_BYTES(ip) \
	(sizeof(struct ethhdr) + sizeof(ip) + sizeof(struct udphdr) + sizeof(struct drive))

static __always_inline __u32 next_place(struct drive *drive)
{
	return drive->base + (drive->turn++ * drive->stride & drive->mask);
}

static __always_inline void *ip_of(struct xdp_md *ctx, __u32 frame_bytes)
{
	void *frame = (void *)(long)ctx->data;

	return frame + frame_bytes > (void *)(long)ctx->data_end ? NULL
								 : frame + sizeof(struct ethhdr);
}

/* Behind the IP header of `bytes`, and UDP's. */
static __always_inline struct drive *drive_of(void *ip, __u32 bytes)
{
	return ip + bytes + sizeof(struct udphdr);
}

static __always_inline const struct drive_address *next_listed(struct drive *drive)
{
	__u32 place = next_place(drive);

	return bpf_map_lookup_elem(&addresses, &place);
}

SEC("xdp.frags")
int drive4(struct xdp_md *ctx)
{
	struct iphdr *ip = ip_of(ctx, FRAME_BYTES(*ip));

	if (!ip)
		return XDP_ABORTED;
	ip->saddr = bpf_htonl(next_place(drive_of(ip, sizeof(*ip))));
	bpf_tail_call(ctx, &judge, 0);
	return XDP_ABORTED;
}

/* Sources differ in their /64, which is what weir takes for a source. */
SEC("xdp.frags")
int drive6(struct xdp_md *ctx)
{
	struct ipv6hdr *ip = ip_of(ctx, FRAME_BYTES(*ip));

	if (!ip)
		return XDP_ABORTED;
	ip->saddr.in6_u.u6_addr32[1] = bpf_htonl(next_place(drive_of(ip, sizeof(*ip))));
	bpf_tail_call(ctx, &judge, 0);
	return XDP_ABORTED;
}

SEC("xdp.frags")
int drive_list4(struct xdp_md *ctx)
{
	struct iphdr *ip = ip_of(ctx, FRAME_BYTES(*ip));
	const struct drive_address *address;

	if (!ip)
		return XDP_ABORTED;
	address = next_listed(drive_of(ip, sizeof(*ip)));
	if (!address)
		return XDP_ABORTED;
	ip->saddr = address->word[0];
	bpf_tail_call(ctx, &judge, 0);
	return XDP_ABORTED;
}

SEC("xdp.frags")
int drive_list6(struct xdp_md *ctx)
{
	struct ipv6hdr *ip = ip_of(ctx, FRAME_BYTES(*ip));
	const struct drive_address *address;

	if (!ip)
		return XDP_ABORTED;
	address = next_listed(drive_of(ip, sizeof(*ip)));
	if (!address)
		return XDP_ABORTED;
	__builtin_memcpy(&ip->saddr, address, sizeof(*address));
	bpf_tail_call(ctx, &judge, 0);
	return XDP_ABORTED;
}

SEC("xdp.frags")
int bare_drop(struct xdp_md *ctx)
{
	return XDP_DROP;
}

/* The least that any limiter by source reads. */
SEC("xdp.frags")
int bare_parse(struct xdp_md *ctx)
{
	struct ethhdr *ethernet = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(ethernet + 1);

	if ((void *)(ip + 1) > (void *)(long)ctx->data_end ||
	    ethernet->h_proto != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	return ip->saddr == bpf_htonl(0x7f000001) ? XDP_PASS : XDP_DROP;
}

/* ---- floors ---- */

enum floor_size {
	FLOOR_SETS = 1 << 18,  /* of weir's 1M states */
	FLOOR_BITS = 1 << 24,  /* one for each /24 */
	FLOOR_WORDS = 1 << 24, /* the same */
};

struct floor_set {
	__u64 word[16];
};

/* The kernel gives each element of an array 8 bytes or more. */
struct floor_pair {
	__u32 word[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FLOOR_SETS);
	__type(key, __u32);
	__type(value, struct floor_set);
} floor_sets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FLOOR_BITS / 64);
	__type(key, __u32);
	__type(value, __u64);
} floor_bits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FLOOR_WORDS / 2);
	__type(key, __u32);
	__type(value, struct floor_pair);
} floor_words SEC(".maps");

/* Where the source's state lies: a multiplication is no keyed hash, but it spreads. 0: no source.
 */
static __always_inline int floor_place(struct xdp_md *ctx, __u32 places, __u32 *place)
{
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *ethernet = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(ethernet + 1);
	struct ipv6hdr *ipv6 = (void *)(ethernet + 1);
	__u64 source;

	if ((void *)(ip + 1) > end)
		return 0;
	source = ip->saddr;
	if (ethernet->h_proto != bpf_htons(ETH_P_IP)) {
		if ((void *)(ipv6 + 1) > end)
			return 0;
		source = (__u64)ipv6->saddr.in6_u.u6_addr32[1] << 32 |
			 ipv6->saddr.in6_u.u6_addr32[0];
	}
	*place = (source * 0x9e3779b97f4a7c15ULL >> 32) & (places - 1);
	return 1;
}

/* Of a limiter: the clock, and the source's state, read and changed so that all CPUs agree. */
SEC("xdp.frags")
int floor_state(struct xdp_md *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	struct floor_set *set;
	__u64 before;
	__u32 place;

	if (!floor_place(ctx, FLOOR_SETS, &place))
		return XDP_PASS;
	set = bpf_map_lookup_elem(&floor_sets, &place);
	if (!set)
		return XDP_PASS;
	before = *(volatile __u64 *)&set->word[0];
	if (before > now || __sync_val_compare_and_swap(&set->word[0], before, now) != before)
		return XDP_PASS;
	return XDP_DROP;
}

/* Of a list of prefixes that most sources are not in. */
SEC("xdp.frags")
int floor_bit(struct xdp_md *ctx)
{
	const __u64 *bits;
	__u32 place, word;

	if (!floor_place(ctx, FLOOR_BITS, &place))
		return XDP_PASS;
	word = place / 64;
	bits = bpf_map_lookup_elem(&floor_bits, &word);
	return bits && *bits >> (place & 63) & 1 ? XDP_PASS : XDP_DROP;
}

/* Of a list that the sources are in: 32 bits for each /24, as the first level of DIR-24-8. */
SEC("xdp.frags")
int floor_word(struct xdp_md *ctx)
{
	const struct floor_pair *pair;
	__u32 place, index;

	if (!floor_place(ctx, FLOOR_WORDS, &place))
		return XDP_PASS;
	index = place / 2;
	pair = bpf_map_lookup_elem(&floor_words, &index);
	return pair && pair->word[place & 1] ? XDP_PASS : XDP_DROP;
}

char LICENSE[] SEC("license") = "GPL";
