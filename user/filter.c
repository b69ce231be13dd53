/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../bpf/block.h"
#include "filter.h"

int filter_new(struct filter *filter)
{
	*filter = (struct filter){ .words = calloc(FILTER_ALL, sizeof(*filter->words)) };
	return filter->words ? 0 : -ENOMEM;
}

void filter_free(struct filter *filter)
{
	free(filter->words);
	filter->words = NULL;
}

/* A packet that is judged meanwhile sees the old word or the new one. */
static void word_set(uint64_t *at, uint64_t word)
{
	if (*at != word)
		__atomic_store_n(at, word, __ATOMIC_RELAXED);
}

enum kind {
	KIND_ENTRIES,
	KIND_ENTRIES_DEEP,
	KIND_POLICIES,
	KIND_POLICIES_DEEP,
	NO_COARSE = FILTER_ALL,
};

/* Where its bits begin. */
static const struct kind_words {
	uint32_t coarse, fine;
} kinds[] = {
	[KIND_ENTRIES] = { FILTER_ENTRIES_COARSE, FILTER_ENTRIES },
	[KIND_ENTRIES_DEEP] = { NO_COARSE, FILTER_ENTRIES_DEEP },
	[KIND_POLICIES] = { FILTER_POLICIES_COARSE, FILTER_POLICIES },
	[KIND_POLICIES_DEEP] = { NO_COARSE, FILTER_POLICIES_DEEP },
};

static void bit_set(uint64_t *words, uint32_t bit)
{
	uint64_t *at = &words[bit / 64];

	word_set(at, *at | 1ULL << bit % 64);
}

/* The coarse bit is asked first, so it is set last. */
static void set_both(struct filter *filter, enum kind kind, bool six, uint32_t bit)
{
	const struct kind_words *at = &kinds[kind];

	bit_set(filter->words + at->fine + (six ? FILTER_WORDS : 0), bit);
	if (at->coarse != NO_COARSE)
		bit_set(filter->words + at->coarse + (six ? FILTER_COARSE_WORDS : 0),
			bit >> FILTER_COARSE);
}

/* What it takes to set all bits, one by one, is the most; then all are set. */
static bool fill_instead(struct filter *filter, enum kind kind, bool six, uint64_t bits)
{
	uint64_t *work = &filter->work[2 * kind + six];

	if (*work > FILTER_BITS)
		return true;
	*work += bits;
	if (*work <= FILTER_BITS)
		return false;
	for (uint32_t bit = 0; bit < FILTER_BITS; bit++)
		set_both(filter, kind, six, bit);
	return true;
}

/* Where part number `part` of the prefix begins, of those that the first `len` bits tell apart. */
static void part_address(const struct prefix *prefix, unsigned int len, uint64_t part,
			 uint8_t address[16])
{
	uint64_t first;

	memcpy(address, prefix->addr, 16);
	memcpy(&first, address, sizeof(first));
	first = bpf_cpu_to_be64(bpf_be64_to_cpu(first) + (part << (64 - len)));
	memcpy(address, &first, sizeof(first));
}

/* The bits of all parts of the prefix: of one, if it is as long as `len` or longer. */
static void add_parts(struct filter *filter, enum kind kind, const struct prefix *prefix,
		      unsigned int len, __u32 (*bit_of)(const __u8 *address, __u32 family))
{
	uint64_t parts = prefix->len < len ? 1ULL << (len - prefix->len) : 1;
	bool six = prefix->family == 6;
	uint8_t address[16];

	if (fill_instead(filter, kind, six, parts))
		return;
	for (uint64_t part = 0; part < parts; part++) {
		part_address(prefix, len, part, address);
		set_both(filter, kind, six, bit_of(address, prefix->family));
	}
}

/* The deep bits are asked last, so they are set first. */
static void add(struct filter *filter, enum kind kind, enum kind deep, const struct prefix *prefix)
{
	unsigned int block_len = prefix->family == 4 ? FILTER_BLOCK4 : FILTER_BLOCK6;
	unsigned int deep_len = prefix->family == 4 ? FILTER_DEEP4 : FILTER_DEEP6;

	if (prefix->len < deep_len)
		add_parts(filter, deep, prefix, block_len, filter_block);
	else
		add_parts(filter, deep, prefix, deep_len, filter_deep);
	add_parts(filter, kind, prefix, block_len, filter_block);
}

void filter_add_entry(struct filter *filter, const struct prefix *prefix)
{
	add(filter, KIND_ENTRIES, KIND_ENTRIES_DEEP, prefix);
}

void filter_add_policy(struct filter *filter, const struct prefix *prefix)
{
	if (prefix->len > 16)
		add(filter, KIND_POLICIES, KIND_POLICIES_DEEP, prefix);
}

void filter_join(uint64_t *words, const uint64_t *from, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		word_set(&words[i], words[i] | from[i]);
}

void filter_settle(uint64_t *words, const uint64_t *from, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		word_set(&words[i], from ? from[i] : 0);
}
