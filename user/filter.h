/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sets the bits that bpf/filter.h asks: where entries and policies'
 * prefixes are. Works on the words of the map `filter`, or on a copy of them
 * of the same size. Pure; must not know maps.
 */
#ifndef WEIR_FILTER_BITS_H
#define WEIR_FILTER_BITS_H

#include "../bpf/abi.h"
#include "units.h"

/* A copy to fill. */
struct filter {
	uint64_t *words;       /* FILTER_ALL */
	uint64_t work[4];      /* blocks marked so far: of entries, of policies; IPv4, IPv6 each */
	uint64_t deep_work[4]; /* the same in deep bits */
};

/* All clear: 0 or -ENOMEM. */
int filter_new(struct filter *filter);
void filter_free(struct filter *filter);

/*
 * The bits of an entry, and of a policy's prefix (none where the root tells it). Where the work
 * grows out of proportion, as with ::/0, all bits of the kind are set. Readers may look meanwhile.
 */
void filter_add_entry(struct filter *filter, const struct prefix *prefix);
void filter_add_policy(struct filter *filter, const struct prefix *prefix);

/*
 * Bring a filter that is in use to another one's bits, in the words [first, end): both ones'
 * before a swap, so that old and new are found, and exactly the new one's after it. Words that do
 * not change are not written. from NULL: all clear.
 */
void filter_join(uint64_t *words, const uint64_t *from, size_t first, size_t end);
void filter_settle(uint64_t *words, const uint64_t *from, size_t first, size_t end);

#endif
