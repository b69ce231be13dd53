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

static void bits_set(uint64_t *word, uint64_t bits)
{
	word_set(word, *word | bits);
}

enum kind {
	KIND_ENTRIES,
	KIND_POLICIES,
};

/* So many bits shorter than the deep length, a prefix is marked as four of that length. */
enum filter_spread {
	SPREAD_MOST = 2,
};

/* Where its bits begin. */
static const struct kind_words {
	uint32_t coarse, fine, deep;
} kinds[] = {
	[KIND_ENTRIES] = { FILTER_ENTRIES_COARSE, FILTER_ENTRIES, FILTER_ENTRIES_DEEP },
	[KIND_POLICIES] = { FILTER_POLICIES_COARSE, FILTER_POLICIES, FILTER_POLICIES_DEEP },
};

static void fill(uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		word_set(&words[i], ~0ULL);
}

/* What it takes to set all bits, one by one, is the most; then all are set, once. */
static bool is_too_much(uint64_t work)
{
	return work > FILTER_BITS;
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

/* One, if the prefix is as long as `len` or longer. */
static uint64_t parts_of(const struct prefix *prefix, unsigned int len)
{
	return prefix->len < len ? 1ULL << (len - prefix->len) : 1;
}

static unsigned int block_len(const struct prefix *prefix)
{
	return prefix->family == 4 ? FILTER_BLOCK4 : FILTER_BLOCK6;
}

/* The coarse bit is asked first, so it is set last. */
static void add_blocks(struct filter *filter, enum kind kind, const struct prefix *prefix)
{
	bool six = prefix->family == 6;
	uint64_t *coarse = filter->words + kinds[kind].coarse + (six ? FILTER_COARSE_WORDS : 0);
	uint64_t *fine = filter->words + kinds[kind].fine + (six ? FILTER_WORDS : 0);
	uint64_t *work = &filter->work[2 * kind + six];
	uint64_t parts = parts_of(prefix, block_len(prefix));

	if (is_too_much(*work))
		return;
	*work += parts;
	if (is_too_much(*work)) {
		fill(fine, FILTER_WORDS);
		fill(coarse, FILTER_COARSE_WORDS);
		return;
	}
	for (uint64_t part = 0; part < parts; part++) {
		uint8_t address[16];
		uint32_t bit;

		part_address(prefix, block_len(prefix), part, address);
		bit = filter_block(address, prefix->family);
		bits_set(&fine[bit / 64], 1ULL << bit % 64);
		bit >>= FILTER_COARSE;
		bits_set(&coarse[bit / 64], 1ULL << bit % 64);
	}
}

/* Of the prefixes that it is cut into, or where these are many, of its blocks. */
static void add_deep(struct filter *filter, enum kind kind, const struct prefix *prefix)
{
	bool six = prefix->family == 6;
	uint64_t *deep = filter->words + kinds[kind].deep + (six ? FILTER_WORDS : 0);
	uint64_t *work = &filter->deep_work[2 * kind + six];
	unsigned int len = six ? FILTER_DEEP6 : FILTER_DEEP4;
	bool whole_blocks = prefix->len + SPREAD_MOST < (int)len;
	uint64_t parts;

	if (whole_blocks)
		len = block_len(prefix);
	parts = parts_of(prefix, len);
	if (is_too_much(*work))
		return;
	*work += parts;
	if (is_too_much(*work)) {
		fill(deep, FILTER_WORDS);
		return;
	}
	for (uint64_t part = 0; part < parts; part++) {
		uint8_t address[16];
		uint32_t block;

		part_address(prefix, len, part, address);
		block = filter_block(address, prefix->family);
		bits_set(&deep[filter_deep_word(block)],
			 whole_blocks ? filter_block_bits(block)
				      : filter_address_bits(address, prefix->family));
	}
}

/* The deep bits are asked last, so they are set first. */
static void add(struct filter *filter, enum kind kind, const struct prefix *prefix)
{
	add_deep(filter, kind, prefix);
	add_blocks(filter, kind, prefix);
}

void filter_add_entry(struct filter *filter, const struct prefix *prefix)
{
	add(filter, KIND_ENTRIES, prefix);
}

void filter_add_policy(struct filter *filter, const struct prefix *prefix)
{
	if (prefix->len > 16)
		add(filter, KIND_POLICIES, prefix);
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
