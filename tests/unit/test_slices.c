/* SPDX-License-Identifier: GPL-2.0-only */
/* The allocator of slices, against a look at every set. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "../../user/compile.h"
#include "random.h"

enum sizes {
	TOTAL = 512,
	MOST = 40,
};

/* Takes the slice's sets, each of which nobody may have. */
static void take(bool *taken, const struct slice *slice)
{
	assert_int_equal(slice->size & (slice->size - 1), 0);
	assert_int_equal(slice->base % slice->size, 0);
	assert_true(slice->base + slice->size <= TOTAL);
	for (uint32_t i = 0; i < slice->size; i++) {
		assert_false(taken[slice->base + i]);
		taken[slice->base + i] = true;
	}
}

static bool gap_exists(const bool *taken, uint32_t total, uint32_t size, uint32_t *base)
{
	for (uint32_t at = 0; at + size <= total; at += size) {
		uint32_t run = 0;

		while (run < size && !taken[at + run])
			run++;
		if (run == size) {
			*base = at;
			return true;
		}
	}
	return false;
}

static void empty_table_begins_at_0(void **unused)
{
	uint32_t base = 7;

	(void)unused;
	assert_int_equal(slice_find(NULL, 0, 64, 64, &base), 0);
	assert_int_equal(base, 0);
}

static void no_room_leaves_the_output_alone(void **unused)
{
	const struct slice used[] = { { 32, 1 } };
	uint32_t base = 7;

	(void)unused;
	assert_int_equal(slice_find(used, 1, 64, 64, &base), -ENOSPC);
	assert_int_equal(slice_find(used, 1, 63, 32, &base), 0);
	assert_int_equal(base, 0);
	base = 7;
	assert_int_equal(slice_find(NULL, 0, 63, 64, &base), -ENOSPC);
	assert_int_equal(base, 7);
}

/* Table sizes near 2^32 must not wrap. */
static void largest_sizes_fit(void **unused)
{
	const struct slice used[] = { { 0, 1U << 31 } };
	uint32_t base = 0;

	(void)unused;
	assert_int_equal(slice_find(used, 1, UINT32_MAX, 1U << 31, &base), -ENOSPC);
	assert_int_equal(slice_find(used, 1, UINT32_MAX, 1U << 30, &base), 0);
	assert_int_equal(base, 1U << 31);
}

static void find_is_the_first_aligned_gap(void **unused)
{
	struct random random = { 1 };

	(void)unused;
	for (int round = 0; round < 200; round++) {
		bool taken[TOTAL] = { false };
		struct slice used[MOST];
		size_t count = 0;

		while (count < MOST) {
			struct slice next = { 0, 1U << random_below(&random, 7) };
			uint32_t expected = 0;
			bool there = gap_exists(taken, TOTAL, next.size, &expected);
			int err = slice_find(used, count, TOTAL, next.size, &next.base);

			assert_int_equal(err, there ? 0 : -ENOSPC);
			if (err)
				break;
			assert_int_equal(next.base, expected);
			take(taken, &next);
			used[count++] = next;
			if (random_below(&random, 4) == 0) { /* one goes */
				size_t gone = random_below(&random, count);

				memset(taken + used[gone].base, 0, used[gone].size);
				used[gone] = used[--count];
			}
		}
	}
}

static void placed_together_all_or_none(void **unused)
{
	struct random random = { 2 };
	int fits = 0, fails = 0;

	(void)unused;
	for (int round = 0; round < 500; round++) {
		bool taken[TOTAL] = { false };
		struct slice used[2] = { { 256, 64 }, { 17, 1 } }, wanted[MOST], before[MOST];
		size_t count = 1 + random_below(&random, MOST);
		uint32_t sum = 0;

		for (size_t i = 0; i < count; i++) {
			wanted[i] = (struct slice){ 999, 1U << random_below(&random, 7) };
			sum += wanted[i].size;
		}
		memcpy(before, wanted, sizeof(before));
		if (slices_place(used, 2, TOTAL, wanted, count)) {
			assert_memory_equal(wanted, before, count * sizeof(*wanted));
			fails++;
			/* All gaps but those around 17 are 64 sets or more, so little is wasted. */
			assert_true(sum > TOTAL - 64 - 32 - 64);
			continue;
		}
		fits++;
		take(taken, &used[0]);
		take(taken, &used[1]);
		for (size_t i = 0; i < count; i++)
			take(taken, &wanted[i]);
	}
	assert_true(fits > 50 && fails > 50);
}

static void powers_of_two_pack_without_waste(void **unused)
{
	struct slice wanted[] = { { 0, 1 }, { 0, 64 }, { 0, 1 }, { 0, 32 }, { 0, 16 },
				  { 0, 2 }, { 0, 4 },  { 0, 8 }, { 0, 0 } };

	(void)unused;
	assert_int_equal(slices_place(NULL, 0, 128, wanted, 9), 0);
	assert_int_equal(slices_place(NULL, 0, 127, wanted, 9), -ENOSPC);
	assert_int_equal(wanted[1].base, 0);
	assert_int_equal(wanted[0].base, 126);
	assert_int_equal(wanted[2].base, 127);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_table_begins_at_0),
		cmocka_unit_test(no_room_leaves_the_output_alone),
		cmocka_unit_test(largest_sizes_fit),
		cmocka_unit_test(find_is_the_first_aligned_gap),
		cmocka_unit_test(placed_together_all_or_none),
		cmocka_unit_test(powers_of_two_pack_without_waste),
	};

	return cmocka_run_group_tests_name("slices", tests, NULL, NULL);
}
