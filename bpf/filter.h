/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is asked of the map `filter` before anything is looked up for an
 * address (abi.h says what the bits mean). Pure: they are read by
 *
 *     static __u64 filter_word(const void *filter, __u32 index)
 *
 * of whoever includes this file.
 */
#ifndef WEIR_FILTER_H
#define WEIR_FILTER_H

#include "block.h"

#define FILTER_INLINE static inline __attribute__((always_inline, unused))

/* The bit, of those that begin at the word `first`. */
FILTER_INLINE int filter_bit(const void *filter, __u32 first, __u32 bit)
{
	return filter_word(filter, first + bit / 64) >> (bit & 63) & 1;
}

/* The question for coarse bits. `address` in network order, `family` 4 or 6: so in all below. */
FILTER_INLINE int filter_coarse(const void *filter, __u32 first, const __u8 *address, __u32 family)
{
	if (family == 6)
		first += FILTER_COARSE_WORDS;
	return filter_bit(filter, first, filter_block(address, family) >> FILTER_COARSE);
}

FILTER_INLINE int filter_fine(const void *filter, __u32 first, __u32 bit, __u32 family)
{
	return filter_bit(filter, first + (family == 6 ? FILTER_WORDS : 0), bit);
}

/* Are the deep bits of the block set, or those of the address? They lie in one word. */
FILTER_INLINE int filter_deep(const void *filter, __u32 first, const __u8 *address, __u32 block,
			      __u32 family)
{
	__u32 index = first + filter_deep_word(block) + (family == 6 ? FILTER_WORDS : 0);
	__u64 clear = ~filter_word(filter, index);

	return !(clear & filter_block_bits(block)) ||
	       !(clear & filter_address_bits(address, family));
}

/*
 * May an entry cover the address? `entries`: how many there are. Each read is likely to miss the
 * cache, and who is listed pays for all: so no more is asked than that many entries need.
 */
FILTER_INLINE int filter_entries(const void *filter, const __u8 *address, __u32 family,
				 __u32 entries)
{
	__u32 block = filter_block(address, family);

	if (entries < FILTER_MANY && !filter_coarse(filter, FILTER_ENTRIES_COARSE, address, family))
		return 0;
	if (entries < FILTER_FEW)
		return 1;
	if (!filter_fine(filter, FILTER_ENTRIES, block, family))
		return 0;
	return entries < FILTER_MANY ||
	       filter_deep(filter, FILTER_ENTRIES_DEEP, address, block, family);
}

/* May a policy's prefix that is longer than the root's 16 bits cover the address? */
FILTER_INLINE int filter_policies(const void *filter, const __u8 *address, __u32 family, int many)
{
	__u32 block = filter_block(address, family);

	if (!many && !filter_coarse(filter, FILTER_POLICIES_COARSE, address, family))
		return 0;
	if (!filter_fine(filter, FILTER_POLICIES, block, family))
		return 0;
	return !many || filter_deep(filter, FILTER_POLICIES_DEEP, address, block, family);
}

#endif
