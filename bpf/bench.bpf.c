// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drives the program under test for `weir bench`: each run gives the frame
 * another source and hands it on. The time of the driver alone is taken by
 * handing it to `end`.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

/* Sources - 1; a power of two of them from 10.0.0.0 on. */
__u32 source_mask;
__u32 turn;

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} judge SEC(".maps");

/* An odd factor visits every source once a round, in an order that no cache foresees. */
static __always_inline __u32 next_source(void)
{
	return 0x0a000000 + (turn++ * 2654435761U & source_mask);
}

SEC("xdp.frags")
int drive(struct xdp_md *ctx)
{
	struct ethhdr *ethernet = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(ethernet + 1);

	if ((void *)(ip + 1) > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	ip->saddr = bpf_htonl(next_source());
	bpf_tail_call(ctx, &judge, 0);
	return XDP_ABORTED;
}

SEC("xdp.frags")
int end(struct xdp_md *ctx)
{
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "GPL";
