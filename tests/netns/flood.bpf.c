// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gives each live frame its source and sends it out. The kernel hands the same
 * frames out again and again as they were left, so that checksums are carried
 * forward from the address that is in the frame.
 */
#include <stddef.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

enum {
	CLOCK_EVERY = 64,
};

const volatile __u32 out_ifindex = 0;
const volatile __u32 source_base = 0; /* IPv4: the address; IPv6: its second 32 bits */
const volatile __u32 source_mask = 0; /* that many sources, less one */
const volatile __u32 each = 1;	      /* packets of a source in a row */

__u32 source = 0;
__u32 sent_of_source = 0;
__u64 frames = 0;
__u64 first_ns = 0; /* when frames left; the last one to within CLOCK_EVERY frames */
__u64 last_ns = 0;

/* RFC 1624, equation 3, for 32 bits that change. */
static __always_inline __u16 checksum_replace(__u16 checksum, __u32 from, __u32 to)
{
	__u32 sum = (__u16)~checksum;

	sum += (__u16)~from + (__u16) ~(from >> 16);
	sum += (__u16)to + (__u16)(to >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static __always_inline __u32 next_source(void)
{
	__u32 number = source & source_mask;

	if (frames++ % CLOCK_EVERY == 0) {
		last_ns = bpf_ktime_get_ns();
		if (!first_ns)
			first_ns = last_ns;
	}
	if (++sent_of_source >= each) {
		sent_of_source = 0;
		source++;
	}
	return bpf_htonl(source_base + number);
}

SEC("xdp")
int forge4(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct iphdr *ip = (void *)(long)ctx->data + sizeof(struct ethhdr);
	__u32 from;

	if ((void *)(ip + 1) > end)
		return XDP_ABORTED;
	from = ip->saddr;
	ip->saddr = next_source();
	ip->check = checksum_replace(ip->check, from, ip->saddr);
	return bpf_redirect(out_ifindex, 0);
}

SEC("xdp")
int forge6(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct ipv6hdr *ip = (void *)(long)ctx->data + sizeof(struct ethhdr);
	struct udphdr *udp = (void *)(ip + 1);
	__u32 from;

	if ((void *)(udp + 1) > end)
		return XDP_ABORTED;
	from = ip->saddr.in6_u.u6_addr32[1];
	ip->saddr.in6_u.u6_addr32[1] = next_source();
	udp->check = checksum_replace(udp->check, from, ip->saddr.in6_u.u6_addr32[1]);
	return bpf_redirect(out_ifindex, 0);
}

char LICENSE[] SEC("license") = "GPL";
