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

/* So many bits shorter than the deep length, a prefix is marked as four of that length. */
enum filter_spread {
	SPREAD_MOST = 2,
};

/* The bits of one kind and family. */
struct layer {
	uint64_t *words;  /* FILTER_WORDS */
	uint64_t *coarse; /* FILTER_COARSE_WORDS, of fine ones; else NULL */
	uint64_t *work;	  /* parts marked so far */
};

/* Mark the block or the longer part that the address lies in. */
typedef void mark_fn(const struct layer *layer, const uint8_t *address, uint32_t family);

/* The coarse bit is asked first, so it is set last. */
static void mark_block(const struct layer *layer, const uint8_t *address, uint32_t family)
{
	uint32_t bit = filter_block(address, family);

	bits_set(&layer->words[bit / 64], 1ULL << bit % 64);
	bit >>= FILTER_COARSE;
	bits_set(&layer->coarse[bit / 64], 1ULL << bit % 64);
}

static void mark_block_deep(const struct layer *layer, const uint8_t *address, uint32_t family)
{
	uint32_t block = filter_block(address, family);

	bits_set(&layer->words[filter_deep_word(block)], filter_block_bits(block));
}

static void mark_address_deep(const struct layer *layer, const uint8_t *address, uint32_t family)
{
	uint32_t block = filter_block(address, family);

	bits_set(&layer->words[filter_deep_word(block)], filter_address_bits(address, family));
}

static void fill(uint64_t *words, size_t count)
{
	for (size_t i = 0; words && i < count; i++)
		word_set(&words[i], ~0ULL);
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

/*
 * Mark all parts of the prefix: one, if it is as long as `len` or longer. What it takes to set all
 * bits, one by one, is the most; then all are set, once.
 */
static void mark_parts(const struct layer *layer, const struct prefix *prefix, unsigned int len,
		       mark_fn *mark)
{
	uint64_t parts = prefix->len < len ? 1ULL << (len - prefix->len) : 1;
	uint8_t address[16];

	if (*layer->work > FILTER_BITS)
		return;
	*layer->work += parts;
	if (*layer->work > FILTER_BITS) {
		fill(layer->words, FILTER_WORDS);
		fill(layer->coarse, FILTER_COARSE_WORDS);
		return;
	}
	for (uint64_t part = 0; part < parts; part++) {
		part_address(prefix, len, part, address);
		mark(layer, address, prefix->family);
	}
}

/* The deep bits are asked last, so they are set first. */
static void add(struct filter *filter, enum filter_list list, const struct prefix *prefix)
{
	bool six = prefix->family == 6;
	unsigned int at = 2 * (list == FILTER_POLICIES) + six;
	unsigned int block_len = six ? FILTER_BLOCK6 : FILTER_BLOCK4;
	unsigned int deep_len = six ? FILTER_DEEP6 : FILTER_DEEP4;
	uint64_t *words = filter->words + list;
	struct layer fine = {
		.words = words + FILTER_FINE_AT + (six ? FILTER_WORDS : 0),
		.coarse = words + FILTER_COARSE_AT + (six ? FILTER_COARSE_WORDS : 0),
		.work = &filter->work[at],
	};
	struct layer deep = {
		.words = words + FILTER_DEEP_AT + (six ? FILTER_WORDS : 0),
		.work = &filter->deep_work[at],
	};

	if (prefix->len < deep_len - SPREAD_MOST)
		mark_parts(&deep, prefix, block_len, mark_block_deep);
	else
		mark_parts(&deep, prefix, deep_len, mark_address_deep);
	mark_parts(&fine, prefix, block_len, mark_block);
}

void filter_add_entry(struct filter *filter, const struct prefix *prefix)
{
	add(filter, FILTER_ENTRIES, prefix);
}

void filter_add_policy(struct filter *filter, const struct prefix *prefix)
{
	if (prefix->len > 16)
		add(filter, FILTER_POLICIES, prefix);
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
