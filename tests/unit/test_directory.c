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
#include "../../user/filter.h"
#include "random.h"

static const struct directory_cell *directory_fetch(void *directory, __u32 index)
{
	const struct directory *all = directory;

	assert_true(index < all->count);
	return &all->cells[index];
}

static __u64 filter_word(const void *filter, __u32 index)
{
	const uint64_t *words = filter;

	assert_in_range(index, FILTER_POLICIES, FILTER_ALL - 1);
	return words[index];
}

#include "../../bpf/directory.h"
#include "../../bpf/filter.h"

enum sizes {
	PREFIXES = 6 * DIRECTORY_LARGE,
	COMPARISONS = 16000000, /* prefixes x addresses, at most in one set */
	ADDRESSES = 2000,
};

/* A directory with its filter, as the program has them. */
struct finder {
	struct directory directory;
	struct filter filter;
	size_t spared; /* walks */
};

static void finder_new(struct finder *finder, const struct image_prefix *prefixes, size_t count,
		       unsigned int family)
{
	*finder = (struct finder){};
	assert_int_equal(directory_build(prefixes, count, family, 0, &finder->directory), 0);
	assert_int_equal(filter_new(&finder->filter), 0);
	for (size_t i = 0; i < count && finder->directory.filtered; i++)
		if (prefixes[i].prefix.family == family)
			filter_add_policy(&finder->filter, &prefixes[i].prefix);
}

static void finder_free(struct finder *finder)
{
	directory_free(&finder->directory);
	filter_free(&finder->filter);
}

static uint32_t root_word(const struct directory_cell *root, uint32_t slot)
{
	return root[slot / DIRECTORY_CHILDREN].child[slot % DIRECTORY_CHILDREN];
}

/* As policy_word of bpf/classify.h. */
static uint32_t find(struct finder *finder, const struct prefix *address)
{
	const struct directory *directory = &finder->directory;
	const uint32_t *head = directory->root[DIRECTORY_HEAD].child;
	uint32_t slot = directory_slot(address->addr);
	uint32_t word = head[DIRECTORY_ALL], ask = head[DIRECTORY_FILTER];

	if (word)
		return word;
	if (ask && !filter_policies(finder->filter.words, address->addr, address->family,
				    ask & DIRECTORY_MANY)) {
		finder->spared++;
		word = head[DIRECTORY_AROUND];
		if (directory_ends(word))
			return word;
		return root_word(directory->root + DIRECTORY_ROOT, slot);
	}
	word = root_word(directory->root, slot);
	if (directory_ends(word))
		return word;
	return directory_walk(&finder->directory, word, address->addr, address->len);
}

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

/* Returns the number of walks that the filter spared. */
static size_t compare_family(struct random *random, const struct image_prefix *prefixes,
			     size_t count, unsigned int family, unsigned int spread)
{
	struct finder finder;
	size_t addresses = COMPARISONS / count < ADDRESSES ? COMPARISONS / count : ADDRESSES;

	finder_new(&finder, prefixes, count, family);
	for (size_t i = 0; i < addresses; i++) {
		struct prefix at = random_address(random, family, prefixes, count, spread);

		assert_int_equal(find(&finder, &at), search(prefixes, count, &at));
	}
	finder_free(&finder);
	return finder.spared;
}

static void test_as_search(void **state)
{
	static const size_t counts[] = { 1, 2, 3, 20, 300, 3000 };
	static struct image_prefix prefixes[3000];
	struct random random = { 7 };

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		for (unsigned int spread = 1; spread <= 16; spread += 5) {
			size_t count = random_prefixes(&random, prefixes, counts[i], spread);

			assert_int_equal(compare_family(&random, prefixes, count, 4, spread), 0);
			assert_int_equal(compare_family(&random, prefixes, count, 6, spread), 0);
		}
}

static void test_large_as_search(void **state)
{
	static struct image_prefix prefixes[PREFIXES];
	struct random random = { 11 };

	(void)state;
	for (unsigned int spread = 4; spread <= 16; spread += 6) {
		size_t count = random_prefixes(&random, prefixes, PREFIXES, spread);

		assert_true(compare_family(&random, prefixes, count, 4, spread) > 20);
		assert_true(compare_family(&random, prefixes, count, 6, spread) > 20);
	}
}

static void test_empty(void **state)
{
	const struct prefix address = { 4, 32, { 10, 1, 2, 3 } };
	struct finder finder;

	(void)state;
	finder_new(&finder, NULL, 0, 4);
	assert_int_equal(finder.directory.count, 0);
	assert_int_equal(find(&finder, &address), 0);
	finder_free(&finder);
}

/* The words that spare a read of the root: what all addresses share, and what is around prefixes.
 */
static void check_head(const struct image_prefix *prefixes, size_t count, uint32_t all,
		       uint32_t around)
{
	struct finder finder;

	finder_new(&finder, prefixes, count, 4);
	assert_int_equal(finder.directory.root[DIRECTORY_HEAD].child[DIRECTORY_ALL], all);
	assert_int_equal(finder.directory.root[DIRECTORY_HEAD].child[DIRECTORY_AROUND], around);
	finder_free(&finder);
}

static void test_head(void **state)
{
	const struct image_prefix everybody = { .prefix = { .family = 4 }, .policy = 3 };
	const struct image_prefix ten = { .prefix = { 4, 8, { 10 } }, .policy = 4 };
	const struct image_prefix longer = { .prefix = { 4, 24, { 10, 1, 2 } }, .policy = 5 };
	const uint32_t word = DIRECTORY_MATCH | 3;

	(void)state;
	check_head((struct image_prefix[]){ everybody }, 1, word, word);
	check_head((struct image_prefix[]){ everybody, longer }, 2, 0, word);
	check_head((struct image_prefix[]){ longer }, 1, 0, 0);
	check_head((struct image_prefix[]){ everybody, ten }, 2, 0, DIRECTORY_NODE);
}

static void test_policy_too_high(void **state)
{
	struct image_prefix prefix = { .prefix = { .family = 4 }, .policy = 1 };
	struct directory directory = { .count = 77 };

	(void)state;
	assert_int_equal(directory_build(&prefix, 1, 4, DIRECTORY_POLICY, &directory), -E2BIG);
	assert_int_equal(directory.count, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_search),	cmocka_unit_test(test_large_as_search),
		cmocka_unit_test(test_empty),		cmocka_unit_test(test_head),
		cmocka_unit_test(test_policy_too_high),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
