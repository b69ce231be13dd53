/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compile.h"

static int by_base(const void *a, const void *b)
{
	const struct slice *left = a, *right = b;

	return left->base < right->base ? -1 : left->base > right->base;
}

static int larger_first(const void *a, const void *b)
{
	const struct slice *left = *(struct slice *const *)a, *right = *(struct slice *const *)b;

	if (left->size != right->size)
		return left->size > right->size ? -1 : 1;
	return left < right ? -1 : left > right; /* keeps the caller's order */
}

/*
 * Place `count` slices of one size into the gaps of `taken`, sorted and with room behind its
 * *taken_count elements. One walk serves all, since no earlier gap gets wider.
 */
static int place_equal(struct slice *taken, size_t *taken_count, uint32_t total,
		       struct slice **wanted, size_t count)
{
	uint64_t size = wanted[0]->size, base = 0;
	size_t old = *taken_count, next = 0;

	for (size_t i = 0; i < count;) {
		base = (base + size - 1) / size * size;
		if (base + size > total)
			return -ENOSPC;
		while (next < old && (uint64_t)taken[next].base + taken[next].size <= base)
			next++;
		if (next < old && taken[next].base < base + size) {
			base = (uint64_t)taken[next].base + taken[next].size;
			continue;
		}
		wanted[i]->base = (uint32_t)base;
		taken[(*taken_count)++] = *wanted[i++];
		base += size;
	}
	qsort(taken, *taken_count, sizeof(*taken), by_base);
	return 0;
}

static int place_sorted(struct slice *taken, size_t taken_count, uint32_t total,
			struct slice **order, size_t count)
{
	for (size_t i = 0, run; i < count; i += run) {
		int err;

		for (run = 1; i + run < count && order[i + run]->size == order[i]->size;)
			run++;
		err = place_equal(taken, &taken_count, total, order + i, run);
		if (err)
			return err;
	}
	return 0;
}

int slices_place(const struct slice *used, size_t used_count, uint32_t total, struct slice *wanted,
		 size_t count)
{
	struct slice *taken = calloc(used_count + count + 1, sizeof(*taken));
	struct slice *placed = calloc(count + 1, sizeof(*placed));
	struct slice **order = calloc(count + 1, sizeof(*order));
	size_t taken_count = 0, order_count = 0;
	int err = -ENOMEM;

	if (!taken || !placed || !order)
		goto out;
	for (size_t i = 0; i < used_count; i++)
		if (used[i].size)
			taken[taken_count++] = used[i];
	qsort(taken, taken_count, sizeof(*taken), by_base);
	memcpy(placed, wanted, count * sizeof(*placed));
	for (size_t i = 0; i < count; i++)
		if (placed[i].size)
			order[order_count++] = &placed[i];
	qsort(order, order_count, sizeof(*order), larger_first);
	err = place_sorted(taken, taken_count, total, order, order_count);
	if (!err)
		memcpy(wanted, placed, count * sizeof(*placed));
out:
	free(order);
	free(placed);
	free(taken);
	return err;
}

int slice_find(const struct slice *used, size_t count, uint32_t total, uint32_t size,
	       uint32_t *base)
{
	struct slice wanted = { 0, size };
	int err = slices_place(used, count, total, &wanted, 1);

	if (!err)
		*base = wanted.base;
	return err;
}
