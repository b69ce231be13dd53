/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a CPU keeps in mind of the sources whose packets it drops, so that the
 * next ones cost a few comparisons: the verdict, until when it is certain, and
 * what it was told by, the state's word and the epoch of policies and entries.
 * As long as these stay, the way through classify.h and account.h would end in
 * the same verdict. A cache: nothing is lost when a memo is.
 */
#ifndef WEIR_MEMO_H
#define WEIR_MEMO_H

#include "clock.h"
#include "packet.h"
#include "table.h"
#include "verdict.h"

enum memo_size {
	MEMO_SLOTS = 256,
};

#define NO_STATE (~0U)

struct memo {
	__u64 source[2];
	__u64 until;
	__u64 word; /* of the state that tells it */
	__u32 set;  /* NO_STATE: an entry or a policy tells it */
	__u8 way;
	__u8 tally; /* the slot that counts the state's packets */
	__u8 family;
	__u8 pad;
	struct verdict verdict;
	__u32 epoch;
	__u32 length; /* shorter frames may pass */
};

/* Who aims at a slot only makes others take the longer way; the secret keeps that a toss. */
static __always_inline struct memo *memo_of(struct memo *memos, const struct packet *packet)
{
	__u64 mixed = (packet->source_half[0] ^ packet->source_half[1]) * (secret1 | 1);
	struct memo *memo = &memos[mixed >> 56 & (MEMO_SLOTS - 1)];

	barrier_var(memo); /* one pointer, not made anew for each of its words */
	return memo;
}

/* The state's word is what it was, and its packets are counted in this CPU's slot. */
static __always_inline struct tally *memo_tally(const struct memo *memo)
{
	__u32 index = memo->set;
	const struct set *set = bpf_map_lookup_elem(&sets, &index);
	struct tally *slot = tally_slot(memo->tally);

	if (!set || !slot || slot->set != index || slot->way != memo->way || tally_is_full(slot) ||
	    READ_ONCE(set->hot.word[way_bounded(memo->way)]) != memo->word)
		return NULL;
	return slot;
}

/* The verdict on the packet's source, if it is in mind and still certain; else NULL. */
static __always_inline const struct verdict *
memo_recall(struct memo *memos, const struct packet *packet, __u32 epoch, struct moment *time)
{
	const struct memo *memo = memo_of(memos, packet);
	struct tally *slot = NULL;

	if (memo->epoch != epoch || memo->source[0] != packet->source_half[0] ||
	    memo->source[1] != packet->source_half[1] || memo->family != packet->family ||
	    packet->length < memo->length)
		return NULL;
	if (memo->set != NO_STATE) {
		slot = memo_tally(memo);
		if (!slot)
			return NULL;
	}
	if (!clock_before(time, memo->until))
		return NULL;
	if (slot) {
		slot->dropped++;
		slot->missed = 0;
	}
	return &memo->verdict;
}

/* A memo of the packet's source, to be filled in. */
static __always_inline struct memo *memo_begin(struct memo *memos, const struct packet *packet)
{
	struct memo *memo = memo_of(memos, packet);

	memo->source[0] = packet->source_half[0];
	memo->source[1] = packet->source_half[1];
	memo->family = packet->family;
	return memo;
}

#endif
