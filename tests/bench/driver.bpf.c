/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drives the program under test: each run gives the frame another source and
 * hands it on. What the drivers themselves take is measured by handing the
 * frame to bare_drop. All are xdp.frags, as weir is: the kernel refuses tail
 * calls between such programs and others.
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

char LICENSE[] SEC("license") = "GPL";
