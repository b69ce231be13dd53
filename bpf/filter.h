/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is asked of the map `filter` before anything is looked up for an
 * address (abi.h says what the bits mean). Pure: bits are read by
 *
 *     static int filter_bit(const void *filter, __u32 first, __u32 bit)
 *
 * of whoever includes this file: the bit, of those that begin at the word `first`.
 */
#ifndef WEIR_FILTER_H
#define WEIR_FILTER_H

#include "block.h"

#define FILTER_INLINE static inline __attribute__((always_inline, unused))

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

/* The deep bits, the block's and the address' own. */
FILTER_INLINE int filter_ask_deep(const void *filter, __u32 first, const __u8 *address, __u32 block,
				  __u32 family)
{
	return filter_fine(filter, first, block, family) ||
	       filter_fine(filter, first, filter_deep(address, family), family);
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
	       filter_ask_deep(filter, FILTER_ENTRIES_DEEP, address, block, family);
}

/* May a policy's prefix that is longer than the root's 16 bits cover the address? */
FILTER_INLINE int filter_policies(const void *filter, const __u8 *address, __u32 family, int many)
{
	__u32 block = filter_block(address, family);

	if (!many && !filter_coarse(filter, FILTER_POLICIES_COARSE, address, family))
		return 0;
	if (!filter_fine(filter, FILTER_POLICIES, block, family))
		return 0;
	return !many || filter_ask_deep(filter, FILTER_POLICIES_DEEP, address, block, family);
}

#endif
