/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Longest prefix by a multibit trie: 16 bits at the root, then 4 bits a cell,
 * and a leaf as soon as only one prefix is left below. A policy for everybody
 * costs one read, a million of prefixes a handful, where the kernel's LPM trie
 * goes a node for each bit that tells prefixes apart. Of many prefixes most
 * sources are in none: there the root knows the answer too, and a filter that
 * it is the answer. Built by user space (directory.c), never changed
 * afterwards. Pure: cells are fetched by
 *
 *     static const struct directory_cell *directory_fetch(void *directory, __u32 index)
 *
 * of whoever includes this file.
 */
#ifndef WEIR_DIRECTORY_H
#define WEIR_DIRECTORY_H

#include <bpf/bpf_endian.h>

#include "abi.h"

#define DIRECTORY_INLINE static inline __attribute__((always_inline, unused))

DIRECTORY_INLINE struct prefix_match directory_match(__u32 word)
{
	return (struct prefix_match){
		.policy = word & DIRECTORY_POLICY,
		.len = (word >> DIRECTORY_LEN) & 0xff,
	};
}

/* Does the address, in network order, begin with the leaf's prefix? `bits` is 32 or 128. */
DIRECTORY_INLINE int leaf_covers(const struct directory_cell *leaf, const __u8 *address, __u32 bits)
{
	__u32 left = leaf->leaf.len;
	__be32 word;

	for (__u32 i = 0; i < bits / 32; i++) {
		__u32 keep = left >= 32 ? 32 : left;
		__u32 mask = keep ? ~0U << (32 - keep) : 0;

		__builtin_memcpy(&word, address + 4 * i, sizeof(word));
		if ((word ^ leaf->leaf.address[i]) & bpf_htonl(mask))
			return 0;
		left -= keep;
	}
	return 1;
}

/* Which word of the root the address begins at. */
DIRECTORY_INLINE __u32 directory_slot(const __u8 *address)
{
	return (__u32)address[0] << 8 | address[1];
}

/* Is the word the answer: 0, or a DIRECTORY_MATCH? Else it leads to a cell. */
DIRECTORY_INLINE int directory_ends(__u32 word)
{
	return !(word & DIRECTORY_NODE);
}

/*
 * The answer that the address is led to from the root's word. `bits` is the address' length, 32
 * or 128, a constant for whoever calls.
 */
DIRECTORY_INLINE __u32 directory_walk(void *directory, __u32 word, const __u8 *address, __u32 bits)
{
	const struct directory_cell *cell;

	for (__u32 depth = 16; depth < bits && (word & DIRECTORY_TYPE) == DIRECTORY_NODE;
	     depth += 4) {
		__u32 nibble = address[depth / 8 & 15] >> (depth & 4 ? 0 : 4);

		cell = directory_fetch(directory, word & DIRECTORY_INDEX);
		word = cell ? cell->child[nibble % DIRECTORY_CHILDREN] : 0;
	}
	if ((word & DIRECTORY_TYPE) != DIRECTORY_LEAF)
		return word;
	cell = directory_fetch(directory, word & DIRECTORY_INDEX);
	if (!cell)
		return 0;
	return leaf_covers(cell, address, bits) ? cell->leaf.inside : cell->leaf.outside;
}

#endif
