/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From bytes to struct packet: Ethernet, up to PARSE_TAGS tags, IPv4 with
 * options, IPv6 with up to PARSE_HEADERS extension headers, ports and types.
 * Must not know maps, limits or verdicts. Later stages see the struct, never a
 * header. Whoever includes this file first defines
 *
 *     static int frame_load(PARSE_FRAME *frame, __u32 offset, void *to, __u32 size)
 *
 * 0 if `size` bytes at `offset` were copied, nonzero if the frame is shorter: in the program
 * that may reach behind the linear part of a frame, which it knows by its context instead of
 * struct frame.
 */
#ifndef WEIR_PARSE_H
#define WEIR_PARSE_H

#include <linux/icmpv6.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>

#include "abi.h"
#include "packet.h"

#define PARSE_INLINE static inline __attribute__((always_inline, unused))

enum parse_size {
	PARSE_TAGS = 4,
	PARSE_HEADERS = 8,
};

#ifndef PARSE_FRAME
struct frame {
	void *context; /* frame_load's own */
	__u32 length;  /* whole frame, as on the wire, without the checksum */
};
#define PARSE_FRAME	    const struct frame
#define PARSE_STEP	    PARSE_INLINE /* in the program: a function the verifier proves by itself */
#define frame_length(frame) ((frame)->length)
#endif

#define ETH_P_QINQ_OLD 0x9100

/* The first bytes of a TCP or UDP header. */
struct ports {
	__be16 sport;
	__be16 dport;
};

#define TCP_FLAGS_OFFSET 13

enum tcp_flag {
	TCP_SYN = 0x02,
	TCP_ACK = 0x10,
};

PARSE_INLINE int parse_ports(PARSE_FRAME *frame, __u32 offset, __u32 end, struct packet *packet)
{
	struct ports ports;

	if (offset + sizeof(ports) > end || frame_load(frame, offset, &ports, sizeof(ports)))
		return -1;
	packet->dport = bpf_ntohs(ports.dport);
	packet->has_ports = 1;
	return 0;
}

/* Flags that a tiny first fragment leaves to the next one (RFC 1858) count as those of a SYN. */
PARSE_INLINE void parse_tcp(PARSE_FRAME *frame, __u32 offset, __u32 end, struct packet *packet)
{
	__u8 flags;

	if (parse_ports(frame, offset, end, packet))
		return;
	if (offset + TCP_FLAGS_OFFSET >= end ||
	    frame_load(frame, offset + TCP_FLAGS_OFFSET, &flags, 1))
		flags = TCP_SYN;
	packet->syn = (flags & (TCP_SYN | TCP_ACK)) == TCP_SYN;
}

/*
 * A header too short for ports is no fault: the packet is charged without them. The IP packet
 * ends at `end`; what the frame holds behind is padding.
 */
PARSE_INLINE void parse_transport(PARSE_FRAME *frame, __u32 offset, __u32 end,
				  struct packet *packet)
{
	__u8 type;

	switch (packet->proto) {
	case IPPROTO_TCP:
		parse_tcp(frame, offset, end, packet);
		return;
	case IPPROTO_UDP:
		parse_ports(frame, offset, end, packet);
		return;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		if (offset >= end || frame_load(frame, offset, &type, 1))
			return;
		packet->type = type;
		packet->has_type = 1;
	}
}

#define IPV4_OFFSET_MASK 0x1fff

/* A total length of 0 is a super-packet of over 64 KiB (BIG TCP). */
PARSE_INLINE enum packet_kind parse_ipv4(PARSE_FRAME *frame, __u32 offset, struct packet *packet)
{
	struct iphdr ip;
	__be32 source[2] = {};
	__u64 half;
	__u32 total, header;

	if (frame_load(frame, offset, &ip, sizeof(ip)))
		return PACKET_MALFORMED;
	header = ip.ihl * 4;
	total = bpf_ntohs(ip.tot_len);
	if (!total && packet->length - offset > 0xffff)
		total = packet->length - offset;
	if (ip.version != 4 || header < sizeof(ip) || total < header ||
	    total > packet->length - offset)
		return PACKET_MALFORMED;
	packet->family = 4;
	packet->proto = ip.protocol;
	source[0] = ip.saddr;
	__builtin_memcpy(&half, source, sizeof(half));
	/* Volatile, so that no half of it is written: the next stage would wait for both. */
	*(volatile __u64 *)&packet->source_half[0] = half;
	__builtin_memcpy(packet->destination, &ip.daddr, 4);
	if (!(ip.frag_off & bpf_htons(IPV4_OFFSET_MASK)))
		parse_transport(frame, offset + header, offset + total, packet);
	return PACKET_IP;
}

/* Header types after which RFC 8200 lets another one follow; IANA's list of 2024. */
PARSE_INLINE int is_extension(__u8 next)
{
	switch (next) {
	case 0:	  /* hop-by-hop options */
	case 43:  /* routing */
	case 44:  /* fragment */
	case 51:  /* authentication */
	case 60:  /* destination options */
	case 135: /* mobility */
	case 139: /* host identity */
	case 140: /* shim6 */
		return 1;
	}
	return 0;
}

struct extension {
	__u8 next;
	__u8 length;
	__be16 fragment;
};

#define IPV6_OFFSET_MASK 0xfff8

PARSE_INLINE __u32 extension_bytes(__u8 type, __u8 length)
{
	switch (type) {
	case 44:
		return 8;
	case 51: /* RFC 4302: in 4-byte units, less 2 */
		return (length + 2) * 4;
	default:
		return (length + 1) * 8;
	}
}

enum extension_step {
	STEP_NEXT = 0xff,   /* type of the header that follows */
	STEP_LATER = 0x100, /* a fragment, not the first */
	STEP_BYTES = 12,    /* shift: how long this header is, at most 2048 */
};

/* One header of the chain: STEP_NEXT | STEP_LATER | bytes << STEP_BYTES, or -1. */
PARSE_STEP int extension_step(PARSE_FRAME *frame, __u32 offset, __u32 type)
{
	struct extension head;
	int later;

	if (frame_load(frame, offset, &head, sizeof(head)))
		return -1;
	later = type == 44 && (head.fragment & bpf_htons(IPV6_OFFSET_MASK));
	return head.next | (later ? STEP_LATER : 0) |
	       extension_bytes(type, head.length) << STEP_BYTES;
}

/*
 * Walks the chain from `next` on. On PACKET_IP, *offset is the transport header, or 0
 * where a later fragment or an unknown header hides it.
 */
PARSE_INLINE enum packet_kind parse_extensions(PARSE_FRAME *frame, __u32 *offset, __u8 next,
					       struct packet *packet)
{
	int step = 0;

	for (int i = 0; i < PARSE_HEADERS && is_extension(next) && !(step & STEP_LATER); i++) {
		step = extension_step(frame, *offset, next);
		if (step < 0)
			return PACKET_MALFORMED;
		*offset += step >> STEP_BYTES;
		if (*offset > packet->length)
			return PACKET_MALFORMED;
		next = step & STEP_NEXT;
	}
	packet->proto = next;
	if (step & STEP_LATER)
		*offset = 0;
	else if (is_extension(next))
		return PACKET_MALFORMED;
	return PACKET_IP;
}

PARSE_INLINE int is_neighbour_discovery(PARSE_FRAME *frame, __u32 offset, const struct ipv6hdr *ip)
{
	__u8 head[2];

	return ip->nexthdr == IPPROTO_ICMPV6 && ip->hop_limit == 255 &&
	       !frame_load(frame, offset, head, sizeof(head)) && head[0] >= 133 && head[0] <= 137 &&
	       head[1] == 0;
}

/* A payload length of 0 is a jumbogram (RFC 2675) or a super-packet: up to the frame's end. */
PARSE_INLINE enum packet_kind parse_ipv6(PARSE_FRAME *frame, __u32 offset, struct packet *packet)
{
	struct ipv6hdr ip;
	enum packet_kind kind;
	__u32 end;

	if (frame_load(frame, offset, &ip, sizeof(ip)))
		return PACKET_MALFORMED;
	offset += sizeof(ip);
	end = ip.payload_len ? offset + bpf_ntohs(ip.payload_len) : packet->length;
	if (ip.version != 6 || end > packet->length)
		return PACKET_MALFORMED;
	packet->family = 6;
	__builtin_memcpy(packet->source_half, &ip.saddr, 16);
	__builtin_memcpy(packet->destination, &ip.daddr, 16);
	if (is_neighbour_discovery(frame, offset, &ip))
		return PACKET_NEIGHBOUR_DISCOVERY;
	kind = parse_extensions(frame, &offset, ip.nexthdr, packet);
	if (kind == PACKET_IP && offset)
		parse_transport(frame, offset, end, packet);
	return kind;
}

PARSE_INLINE int is_tag(__be16 type)
{
	return type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD) ||
	       type == bpf_htons(ETH_P_QINQ_OLD);
}

/*
 * Fills *packet (zeroed by the caller) from a frame that begins with its Ethernet header.
 * A tag with nothing behind it, or one more tag than PARSE_TAGS, is malformed.
 */
PARSE_INLINE enum packet_kind parse_frame(PARSE_FRAME *frame, struct packet *packet)
{
	__u32 offset = ETH_HLEN;
	__be16 type;

	packet->length = frame_length(frame);
	if (frame_load(frame, offset - 2, &type, 2))
		return PACKET_NOT_IP;
	for (int i = 0; i < PARSE_TAGS && is_tag(type); i++) {
		offset += 4;
		if (frame_load(frame, offset - 2, &type, 2))
			return PACKET_MALFORMED;
	}
	if (type == bpf_htons(ETH_P_IP))
		return parse_ipv4(frame, offset, packet);
	if (type == bpf_htons(ETH_P_IPV6))
		return parse_ipv6(frame, offset, packet);
	return is_tag(type) ? PACKET_MALFORMED : PACKET_NOT_IP;
}

#endif
