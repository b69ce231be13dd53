/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "directory.h"

/* In the place of a cell's index. */
#define AT_ROOT UINT32_MAX

struct builder {
	struct directory_cell *root;
	struct directory_cell *cells;
	size_t count, room;
	uint32_t base;
	int error;
};

/* A part of the address space: those that share `depth` bits; its prefixes are longer. */
struct block {
	const struct image_prefix *first;
	size_t count;
	unsigned int depth;
	uint32_t around; /* what holds where none of them does */
};

/* Returns the index of a new cell, all zero. */
static uint32_t cell_new(struct builder *builder)
{
	size_t room = builder->room;
	struct directory_cell *cells;

	if (builder->count == DIRECTORY_INDEX)
		builder->error = -E2BIG;
	if (builder->error)
		return 0;
	if (builder->count == room) {
		room = room ? room * 2 : 256;
		cells = reallocarray(builder->cells, room, sizeof(*cells));
		if (!cells) {
			builder->error = -ENOMEM;
			return 0;
		}
		builder->cells = cells;
		builder->room = room;
	}
	memset(builder->cells + builder->count, 0, sizeof(*cells));
	return builder->count++;
}

static uint32_t match_word(struct builder *builder, const struct image_prefix *prefix)
{
	uint32_t policy = builder->base + prefix->policy;

	if (policy > DIRECTORY_POLICY)
		builder->error = -E2BIG;
	return DIRECTORY_MATCH | (uint32_t)prefix->prefix.len << DIRECTORY_LEN |
	       (policy & DIRECTORY_POLICY);
}

/* The `bits` bits of the prefix' address that follow `depth`, both multiples of 4. */
static uint32_t address_bits(const struct image_prefix *prefix, unsigned int depth,
			     unsigned int bits)
{
	uint32_t value = 0;

	for (unsigned int at = depth; at < depth + bits; at += 4)
		value = value << 4 | (prefix->prefix.addr[at / 8] >> (at & 4 ? 0 : 4) & 15);
	return value;
}

static uint32_t build_block(struct builder *builder, const struct block *block);

static uint32_t build_leaf(struct builder *builder, const struct block *block)
{
	const struct image_prefix *prefix = block->first;
	uint32_t index = cell_new(builder);
	struct directory_leaf *leaf;

	if (builder->error)
		return 0;
	leaf = &builder->cells[index].leaf;
	memcpy(leaf->address, prefix->prefix.addr, sizeof(leaf->address));
	leaf->len = prefix->prefix.len;
	leaf->inside = match_word(builder, prefix);
	leaf->outside = block->around;
	return DIRECTORY_LEAF | index;
}

/* Cells move when there are more of them: not to be kept. */
static uint32_t *child_of(const struct builder *builder, uint32_t cell, uint32_t child)
{
	if (cell != AT_ROOT)
		return &builder->cells[cell].child[child];
	return &builder->root[child / DIRECTORY_CHILDREN].child[child % DIRECTORY_CHILDREN];
}

/*
 * Prefixes that end within this stride hold for a range of children. They come
 * in the order of address and length: one within another follows it, and wins.
 */
static void spread_short(struct builder *builder, const struct block *block, uint32_t cell,
			 unsigned int bits)
{
	for (size_t i = 0; i < block->count; i++) {
		const struct image_prefix *prefix = &block->first[i];
		uint32_t first, span;

		if (prefix->prefix.len > block->depth + bits)
			continue;
		first = address_bits(prefix, block->depth, bits);
		span = 1U << (block->depth + bits - prefix->prefix.len);
		for (uint32_t child = first; child < first + span; child++)
			*child_of(builder, cell, child) = match_word(builder, prefix);
	}
}

/* Longer prefixes make a block of each child that has any: runs of neighbours in the order. */
static void descend(struct builder *builder, const struct block *block, uint32_t cell,
		    unsigned int bits)
{
	const struct image_prefix *end = block->first + block->count;
	const struct image_prefix *at = block->first;

	while (at < end && !builder->error) {
		struct block below = { .first = at, .depth = block->depth + bits };
		uint32_t child = address_bits(at, block->depth, bits), word;

		if (at->prefix.len <= below.depth) {
			at++;
			continue;
		}
		while (at < end && at->prefix.len > below.depth &&
		       address_bits(at, block->depth, bits) == child)
			at++;
		below.count = at - below.first;
		below.around = *child_of(builder, cell, child);
		word = build_block(builder, &below);
		*child_of(builder, cell, child) = word;
	}
}

static void fill_cell(struct builder *builder, const struct block *block, uint32_t cell)
{
	for (uint32_t child = 0; child < DIRECTORY_CHILDREN; child++)
		*child_of(builder, cell, child) = block->around;
	spread_short(builder, block, cell, 4);
	descend(builder, block, cell, 4);
}

/* Is the filter to be asked, by the number of prefixes? enum directory_filter */
static uint32_t filter_use(size_t count)
{
	uint32_t many = count >= FILTER_MANY ? DIRECTORY_MANY : 0;

	return count >= DIRECTORY_LARGE ? DIRECTORY_ASK | many : 0;
}

/* What all addresses share, as far as the root's words tell before longer prefixes are put in. */
static void fill_head(struct builder *builder, const struct block *all)
{
	uint32_t *head = builder->root[DIRECTORY_HEAD].child, word = *child_of(builder, AT_ROOT, 0);
	bool longer = false;

	for (uint32_t slot = 1; slot < 65536; slot++)
		if (*child_of(builder, AT_ROOT, slot) != word)
			word = DIRECTORY_NODE;
	for (size_t i = 0; i < all->count; i++)
		longer |= all->first[i].prefix.len > 16;
	head[DIRECTORY_AROUND] = word;
	head[DIRECTORY_ALL] = longer || word == DIRECTORY_NODE ? 0 : word;
	head[DIRECTORY_FILTER] = filter_use(all->count);
}

static void fill_root(struct builder *builder, const struct block *all)
{
	spread_short(builder, all, AT_ROOT, 16);
	fill_head(builder, all);
	memcpy(builder->root + DIRECTORY_ROOT, builder->root,
	       DIRECTORY_ROOT * sizeof(*builder->root));
	descend(builder, all, AT_ROOT, 16);
}

/* Returns the word that stands for the block. */
static uint32_t build_block(struct builder *builder, const struct block *block)
{
	uint32_t cell;

	if (block->count == 1)
		return build_leaf(builder, block);
	cell = cell_new(builder);
	if (builder->error)
		return 0;
	fill_cell(builder, block, cell);
	return DIRECTORY_NODE | cell;
}

/* How many of the prefixes from `first` on are of the family. */
static size_t family_run(const struct image_prefix *prefixes, size_t first, size_t count,
			 unsigned int family)
{
	size_t at = first;

	while (at < count && prefixes[at].prefix.family == family)
		at++;
	return at - first;
}

int directory_build(const struct image_prefix *prefixes, size_t count, unsigned int family,
		    uint32_t base, struct directory *directory)
{
	size_t first = family == 6 ? family_run(prefixes, 0, count, 4) : 0;
	struct builder builder = { .base = base };
	struct block all = { .count = family_run(prefixes, first, count, family) };

	builder.root = calloc(DIRECTORY_ROOT_CELLS, sizeof(*builder.root));
	if (!builder.root)
		return -ENOMEM;
	if (all.count) {
		all.first = prefixes + first;
		fill_root(&builder, &all);
	}
	if (builder.error) {
		free(builder.root);
		free(builder.cells);
		return builder.error;
	}
	directory->root = builder.root;
	directory->cells = builder.cells;
	directory->count = builder.count;
	directory->filtered = filter_use(all.count) != 0;
	return 0;
}

void directory_free(struct directory *directory)
{
	free(directory->root);
	free(directory->cells);
	*directory = (struct directory){ 0 };
}
