/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which bits of the map `filter` stand for an address (abi.h says what they
 * mean). The factors spread neighbours over all bits: Knuth, The Art of
 * Computer Programming 3, 6.4, multiplication by the golden ratio. Who aims at
 * set bits gains the lookup that there was without a filter. Pure.
 */
#ifndef WEIR_BLOCK_H
#define WEIR_BLOCK_H

#include <bpf/bpf_endian.h>

#include "abi.h"

#define BLOCK_INLINE static inline __attribute__((always_inline, unused))

/* The bit of the address' block. `address` in network order, `family` 4 or 6. */
BLOCK_INLINE __u32 filter_block(const __u8 *address, __u32 family)
{
	__be32 raw;
	__u32 first;

	__builtin_memcpy(&raw, address, sizeof(raw));
	first = bpf_ntohl(raw);
	return (family == 4 ? first : first * 0x9e3779b1U) >> 8;
}

/* The bit of the address' first FILTER_DEEP4 or FILTER_DEEP6 bits. Eight bytes are read. */
BLOCK_INLINE __u32 filter_deep(const __u8 *address, __u32 family)
{
	__u32 len = family == 4 ? FILTER_DEEP4 : FILTER_DEEP6;
	__be64 raw;

	__builtin_memcpy(&raw, address, sizeof(raw));
	return (bpf_be64_to_cpu(raw) >> (64 - len)) * 0x9e3779b97f4a7c15ULL >> 40;
}

#endif
