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

/* Are the deep bits of the block set, or those of the address? They lie in the word `index`. */
FILTER_INLINE int filter_deep(const void *filter, __u32 index, const __u8 *address, __u32 block,
			      __u32 family)
{
	__u64 clear = ~filter_word(filter, index);

	return !(clear & filter_block_bits(block)) ||
	       !(clear & filter_address_bits(address, family));
}

/*
 * May a prefix of the list that begins at the word `list` cover the address? `address` in network
 * order, `family` 4 or 6. Each read is likely to miss the cache, and who is listed pays for all: so
 * no more is asked than `few` prefixes or `many` need.
 */
FILTER_INLINE int filter_listed(const void *filter, __u32 list, const __u8 *address, __u32 family,
				int few, int many)
{
	__u32 block = filter_block(address, family), coarse = list + FILTER_COARSE_AT;
	__u32 fine = list + FILTER_FINE_AT, deep = list + FILTER_DEEP_AT;

	if (family == 6) {
		coarse += FILTER_COARSE_WORDS;
		fine += FILTER_WORDS;
		deep += FILTER_WORDS;
	}
	if (!many && !filter_bit(filter, coarse, block >> FILTER_COARSE))
		return 0;
	if (few)
		return 1;
	if (!filter_bit(filter, fine, block))
		return 0;
	return !many || filter_deep(filter, deep + filter_deep_word(block), address, block, family);
}

/* May an entry cover the address? `entries`: how many there are. */
FILTER_INLINE int filter_entries(const void *filter, const __u8 *address, __u32 family,
				 __u32 entries)
{
	return filter_listed(filter, FILTER_ENTRIES, address, family, entries < FILTER_FEW,
			     entries >= FILTER_MANY);
}

/* May a policy's prefix that is longer than the root's 16 bits cover the address? */
FILTER_INLINE int filter_policies(const void *filter, const __u8 *address, __u32 family, int many)
{
	return filter_listed(filter, FILTER_POLICIES, address, family, 0, many);
}

#endif
