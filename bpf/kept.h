/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a search among many entries found, kept by each CPU for the next packets
 * of the same source: one that is listed, so that the bits of filter.h do not
 * spare it the search, costs a read instead of a walk through the trie. A cache:
 * who makes sources push one another out gains the search that there was without
 * it.
 */
#ifndef WEIR_KEPT_H
#define WEIR_KEPT_H

#include "maps.h"
#include "packet.h"

enum kept_size {
	KEPT_WAYS = 4,
	KEPT_SETS_BITS = 5, /* of a page */
	KEPT_PAGES_BITS = 7,
	KEPT_SETS = 1 << KEPT_SETS_BITS,
	KEPT_PAGES = 1 << KEPT_PAGES_BITS,
};

/*
 * The tag: the epoch, which comes round after 2^28 changes, whether the address is IPv6, and the
 * kind of entry, 0 for none.
 */
#define KEPT_TAG_EPOCH 3
#define KEPT_TAG_SIX   4U
#define KEPT_TAG_ENTRY 3U

struct kept {
	__u64 source[2];
	__u64 until; /* it holds until then */
	__u32 policy;
	__u32 tag;
};

struct kept_set {
	struct kept way[KEPT_WAYS];
};

struct kept_page {
	struct kept_set set[KEPT_SETS];
};

/* In pages: the kernel gives each CPU at most 32 KiB at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KEPT_PAGES);
	__type(key, __u32);
	__type(value, struct kept_page);
} kept_pages SEC(".maps");

/* Where the source's ruling is, if it is kept. */
static __always_inline struct kept_set *kept_set_of(const struct packet *packet)
{
	__u64 mixed = (packet->source_half[0] ^ packet->source_half[1]) * (secret0 | 1);
	__u32 number = mixed >> (64 - KEPT_PAGES_BITS);
	struct kept_page *page = bpf_map_lookup_elem(&kept_pages, &number);

	mixed >>= 64 - KEPT_PAGES_BITS - KEPT_SETS_BITS;
	return page ? &page->set[mixed & (KEPT_SETS - 1)] : NULL;
}

/* `epoch` is an even one: in odd ones user space is changing what rules. */
static __always_inline __u32 kept_tag(const struct packet *packet, __u32 epoch)
{
	return epoch << KEPT_TAG_EPOCH | (packet->family == 6 ? KEPT_TAG_SIX : 0);
}

static __always_inline int kept_is(const struct kept *kept, const struct packet *packet, __u32 tag)
{
	return (kept->tag & ~KEPT_TAG_ENTRY) == tag && kept->source[0] == packet->source_half[0] &&
	       kept->source[1] == packet->source_half[1];
}

static __always_inline struct kept *kept_find(struct kept_set *set, const struct packet *packet,
					      __u32 epoch)
{
	__u32 tag = kept_tag(packet, epoch);

	for (int i = 0; i < KEPT_WAYS; i++)
		if (kept_is(&set->way[i], packet, tag))
			return &set->way[i];
	return NULL;
}

/*
 * Keep what rules the packet's source, in the place of what was kept of it (NULL: nothing) or of
 * any other: sources come again in no order that would tell which of them is needed least.
 */
static __always_inline void kept_fill(struct kept_set *set, struct kept *kept,
				      const struct packet *packet, __u32 epoch, __u32 entry,
				      __u32 policy, __u64 until)
{
	if (!kept)
		kept = &set->way[bpf_get_prandom_u32() & (KEPT_WAYS - 1)];
	kept->source[0] = packet->source_half[0];
	kept->source[1] = packet->source_half[1];
	kept->until = until;
	kept->policy = policy;
	kept->tag = kept_tag(packet, epoch) | entry;
}

#endif
