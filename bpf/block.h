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

/* Which of the FILTER_WORDS deep words, 2^18, is the block's. */
BLOCK_INLINE __u32 filter_deep_word(__u32 block)
{
	return (block * 0x9e3779b1U) >> (32 - 18);
}

/*
 * Two bits of a word, by the highest of a product. Its factors are others than the word's, so that
 * not all of a word's prefixes set the same: those of SplitMix64 (Steele, Lea, Flood: Fast
 * splittable pseudorandom number generators, OOPSLA 2014).
 */
BLOCK_INLINE __u64 filter_deep_bits(__u64 mixed)
{
	return 1ULL << (mixed >> 58) | 1ULL << (mixed >> 52 & 63);
}

/* In its word: those of a whole block. */
BLOCK_INLINE __u64 filter_block_bits(__u32 block)
{
	return filter_deep_bits((block + 1) * 0x94d049bb133111ebULL);
}

/* Those of the address' first FILTER_DEEP4 or FILTER_DEEP6 bits. Eight bytes are read. */
BLOCK_INLINE __u64 filter_address_bits(const __u8 *address, __u32 family)
{
	__u32 len = family == 4 ? FILTER_DEEP4 : FILTER_DEEP6;
	__be64 raw;

	__builtin_memcpy(&raw, address, sizeof(raw));
	return filter_deep_bits((bpf_be64_to_cpu(raw) >> (64 - len)) * 0xbf58476d1ce4e5b9ULL);
}

#endif
