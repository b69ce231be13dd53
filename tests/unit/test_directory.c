/* SPDX-License-Identifier: GPL-2.0-only */
/* The directory answers as a search through all prefixes does. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/directory.h"
#include "random.h"

static const struct directory_cell *directory_fetch(void *directory, __u32 index)
{
	const struct directory *all = directory;

	assert_true(index < all->count);
	return &all->cells[index];
}

#include "../../bpf/directory.h"

enum sizes {
	ADDRESSES = 20000,
};

static uint32_t search(const struct image_prefix *prefixes, size_t count,
		       const struct prefix *address)
{
	uint32_t word = 0;
	int longest = -1;

	for (size_t i = 0; i < count; i++) {
		const struct prefix *prefix = &prefixes[i].prefix;

		if (prefix->family != address->family || prefix->len <= longest ||
		    !prefix_contains(prefix, address))
			continue;
		longest = prefix->len;
		word = DIRECTORY_MATCH | (uint32_t)prefix->len << DIRECTORY_LEN |
		       prefixes[i].policy;
	}
	return word;
}

static void cut(struct prefix *prefix)
{
	for (unsigned int bit = prefix->len; bit < 128; bit++)
		prefix->addr[bit / 8] &= ~(0x80 >> bit % 8);
}

/* `spread` bytes of the address vary; the rest is the same, so that prefixes nest. */
static struct prefix random_prefix(struct random *random, unsigned int family, unsigned int spread)
{
	struct prefix prefix = { .family = family };
	unsigned int bytes = family == 4 ? 4 : 16;

	for (unsigned int i = 0; i < bytes; i++)
		prefix.addr[i] = i < spread ? random_below(random, 256) : 0x5a;
	prefix.len = random_below(random, bytes * 8 + 1);
	return prefix;
}

static int compare(const void *a, const void *b)
{
	const struct image_prefix *left = a, *right = b;

	return prefix_compare(&left->prefix, &right->prefix);
}

/* Sorted, each prefix once. */
static size_t random_prefixes(struct random *random, struct image_prefix *prefixes, size_t count,
			      unsigned int spread)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		prefixes[i].prefix = random_prefix(random, i % 2 ? 6 : 4, spread);
		prefixes[i].policy = i;
		cut(&prefixes[i].prefix);
	}
	qsort(prefixes, count, sizeof(*prefixes), compare);
	for (size_t i = 0; i < count; i++)
		if (!kept || compare(&prefixes[kept - 1], &prefixes[i]))
			prefixes[kept++] = prefixes[i];
	return kept;
}

/* Half of the addresses lie in some prefix, near its edges or anywhere in it. */
static struct prefix random_address(struct random *random, unsigned int family,
				    const struct image_prefix *prefixes, size_t count,
				    unsigned int spread)
{
	struct prefix address = random_prefix(random, family, spread);
	const struct prefix *near = &prefixes[random_below(random, count)].prefix;

	address.len = family == 4 ? 32 : 128;
	if (random_below(random, 2) && near->family == family)
		for (unsigned int bit = 0; bit < near->len; bit++) {
			unsigned int mask = 0x80 >> bit % 8;

			address.addr[bit / 8] =
				(address.addr[bit / 8] & ~mask) | (near->addr[bit / 8] & mask);
		}
	return address;
}

static void compare_family(struct random *random, const struct image_prefix *prefixes, size_t count,
			   unsigned int family, unsigned int spread)
{
	struct directory directory;

	assert_int_equal(directory_build(prefixes, count, family, 0, &directory), 0);
	for (int i = 0; i < ADDRESSES / 10; i++) {
		struct prefix at = random_address(random, family, prefixes, count, spread);
		uint32_t found = directory_find(&directory, at.addr, family == 4 ? 32 : 128);

		assert_int_equal(found, search(prefixes, count, &at));
	}
	directory_free(&directory);
}

static void test_as_search(void **state)
{
	static const size_t counts[] = { 1, 2, 3, 20, 300, 3000 };
	struct image_prefix prefixes[3000];
	struct random random = { 7 };

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		for (unsigned int spread = 1; spread <= 16; spread += 5) {
			size_t count = random_prefixes(&random, prefixes, counts[i], spread);

			compare_family(&random, prefixes, count, 4, spread);
			compare_family(&random, prefixes, count, 6, spread);
		}
}

static void test_empty(void **state)
{
	struct directory directory;
	const uint8_t address[16] = { 10, 1, 2, 3 };

	(void)state;
	assert_int_equal(directory_build(NULL, 0, 4, 0, &directory), 0);
	assert_int_equal(directory.count, DIRECTORY_ROOT);
	assert_int_equal(directory_find(&directory, address, 32), 0);
	directory_free(&directory);
}

static void test_policy_too_high(void **state)
{
	struct image_prefix prefix = { .prefix = { .family = 4 }, .policy = 1 };
	struct directory directory = { NULL, 77 };

	(void)state;
	assert_int_equal(directory_build(&prefix, 1, 4, DIRECTORY_POLICY, &directory), -E2BIG);
	assert_int_equal(directory.count, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_search),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_policy_too_high),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
