/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parser makes of a frame: named fields, all that later stages see of
 * it. Must not know how they were read.
 */
#ifndef WEIR_PACKET_H
#define WEIR_PACKET_H

#include "abi.h"

enum packet_kind {
	PACKET_IP,
	PACKET_NOT_IP,
	PACKET_MALFORMED,	    /* IP by its ethertype, but not to be walked */
	PACKET_NEIGHBOUR_DISCOVERY, /* RFC 4861: ICMPv6 133-137, code 0, hop limit 255 */
};

struct packet {
	__u32 length;	/* of the frame */
	__u8 family;	/* 4 or 6 */
	__u8 proto;	/* IPPROTO_*, behind all extension headers */
	__u8 has_ports; /* destination port is known (TCP, UDP) */
	__u8 has_type;	/* ICMP or ICMPv6 type is known */
	__u8 syn;	/* TCP with SYN set and ACK clear */
	__u8 type;
	__u16 dport; /* host order */
	union {
		__u8 source[16]; /* network order; IPv4 in the first four, zeroes behind */
		__u64 source_half[2];
	};
	__u8 destination[16];
};

/* The source, for the compiler to read by words. */
static inline const __u8 *packet_source(const struct packet *packet)
{
	return __builtin_assume_aligned(packet->source, sizeof(__u64));
}

#endif
