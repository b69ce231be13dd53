/* SPDX-License-Identifier: GPL-2.0-only */
/* The filter lets through to every prefix, and to little else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/filter.h"
#include "random.h"

static __u64 filter_word(const void *filter, __u32 index)
{
	const uint64_t *words = filter;

	assert_true(index < FILTER_ALL);
	return words[index];
}

#include "../../bpf/filter.h"

enum sizes {
	ADDRESSES = 1000,
};

static void check_places(const struct prefix *at)
{
	assert_true(filter_block(at->addr, at->family) < FILTER_BITS);
	assert_true(filter_deep_word(filter_block(at->addr, at->family)) < FILTER_WORDS);
}

/* What is asked of many entries tells most; what is asked of fewer must let through as much. */
static bool asks_entry(const struct filter *filter, const struct prefix *at)
{
	static const uint32_t entries[] = { 1, FILTER_FEW - 1, FILTER_FEW, FILTER_MANY - 1 };
	bool asked = filter_entries(filter->words, at->addr, at->family, FILTER_MANY);

	check_places(at);
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++)
		assert_true(!asked ||
			    filter_entries(filter->words, at->addr, at->family, entries[i]));
	return asked;
}

static bool asks_policy(const struct filter *filter, const struct prefix *at)
{
	bool asked = filter_policies(filter->words, at->addr, at->family, true);

	check_places(at);
	assert_true(!asked || filter_policies(filter->words, at->addr, at->family, false));
	return asked;
}

static struct prefix random_address(struct random *random, unsigned int family)
{
	struct prefix at = { .family = family, .len = family == 4 ? 32 : 128 };

	for (unsigned int i = 0; i < at.len / 8; i++)
		at.addr[i] = random_below(random, 256);
	return at;
}

/* The bits of `at` from `len` on are the other's. */
static struct prefix splice(struct prefix at, unsigned int len, const struct prefix *other)
{
	for (unsigned int bit = len; bit < 128; bit++) {
		uint8_t mask = 0x80 >> bit % 8;

		at.addr[bit / 8] = (at.addr[bit / 8] & ~mask) | (other->addr[bit / 8] & mask);
	}
	return at;
}

static struct prefix random_prefix(struct random *random, unsigned int family, unsigned int len)
{
	static const struct prefix zero;
	struct prefix at = splice(random_address(random, family), len, &zero);

	at.len = len;
	return at;
}

/* An address in the prefix: the first, the last, or any. */
static struct prefix inside(struct random *random, const struct prefix *prefix, int which)
{
	struct prefix tail = random_address(random, prefix->family), at;

	if (which < 2)
		memset(tail.addr, which ? 0xff : 0, prefix->family == 4 ? 4 : 16);
	at = splice(*prefix, prefix->len, &tail);
	at.len = tail.len;
	return at;
}

/* Returns how many random addresses outside the prefix are let through. */
static size_t passed_outside(struct random *random, const struct filter *filter,
			     const struct prefix *prefix,
			     bool (*asks)(const struct filter *, const struct prefix *))
{
	size_t passed = 0;

	for (int i = 0; i < ADDRESSES; i++) {
		struct prefix at = random_address(random, prefix->family);

		passed += !prefix_contains(prefix, &at) && asks(filter, &at);
	}
	return passed;
}

static void check_prefix(struct random *random, const struct prefix *prefix)
{
	struct filter filter;

	assert_int_equal(filter_new(&filter), 0);
	assert_int_equal(passed_outside(random, &filter, prefix, asks_entry), 0);
	filter_add_entry(&filter, prefix);
	filter_add_policy(&filter, prefix);
	for (int i = 0; i < ADDRESSES; i++) {
		struct prefix at = inside(random, prefix, i);

		assert_true(asks_entry(&filter, &at));
		assert_int_equal(asks_policy(&filter, &at), prefix->len > 16);
	}
	/* Of IPv6 so many blocks lie in a short one that their hashes cover much of the rest. */
	if (prefix->family == 4 || prefix->len >= 16) {
		assert_true(passed_outside(random, &filter, prefix, asks_entry) < ADDRESSES / 50);
		assert_true(passed_outside(random, &filter, prefix, asks_policy) < ADDRESSES / 50);
	}
	filter_free(&filter);
}

static void test_each_length(void **state)
{
	struct random random = { 3 };
	struct prefix prefix;

	(void)state;
	for (unsigned int len = 0; len <= 32; len++) {
		prefix = random_prefix(&random, 4, len);
		check_prefix(&random, &prefix);
	}
	for (unsigned int len = 7; len <= 128; len++) {
		prefix = random_prefix(&random, 6, len);
		check_prefix(&random, &prefix);
	}
}

static void test_everybody(void **state)
{
	struct random random = { 4 };
	const struct prefix all = { .family = 6 };
	struct filter filter;

	(void)state;
	assert_int_equal(filter_new(&filter), 0);
	filter_add_entry(&filter, &all);
	for (int i = 0; i < ADDRESSES; i++) {
		struct prefix six = random_address(&random, 6), four = random_address(&random, 4);

		assert_true(asks_entry(&filter, &six));
		assert_false(asks_entry(&filter, &four));
	}
	filter_free(&filter);
}

/* Of more bits than there are all are set, and nothing is lost that comes later. */
static void test_too_much_work(void **state)
{
	struct random random = { 5 };
	struct filter filter;

	(void)state;
	assert_int_equal(filter_new(&filter), 0);
	for (int i = 0; i < 40; i++) {
		struct prefix prefix = random_prefix(&random, 6, i < 36 ? 13 + i % 3 : 48 + i);
		struct prefix at = inside(&random, &prefix, i % 3);

		filter_add_entry(&filter, &prefix);
		assert_true(asks_entry(&filter, &at));
	}
	filter_free(&filter);
}

/* A list of hosts: one address in a thousand that are not on it may be let through. */
static void test_hosts(void **state)
{
	struct random random = { 6 };
	size_t passed = 0;
	struct filter filter;

	(void)state;
	assert_int_equal(filter_new(&filter), 0);
	for (int i = 0; i < 100000; i++) {
		struct prefix four = random_address(&random, 4), six = random_address(&random, 6);

		filter_add_entry(&filter, &four);
		filter_add_entry(&filter, &six);
		assert_true(asks_entry(&filter, &four) && asks_entry(&filter, &six));
	}
	for (int i = 0; i < 100000; i++) {
		struct prefix four = random_address(&random, 4), six = random_address(&random, 6);

		passed += asks_entry(&filter, &four) + asks_entry(&filter, &six);
	}
	assert_true(passed < 200);
	filter_free(&filter);
}

/* Before a swap both are let through to, after it the new one. */
static void test_swap(void **state)
{
	const struct prefix old = { 4, 32, { 192, 0, 2, 1 } },
			    new = { 6, 64, { 0x20, 1, 13, 184 } };
	struct filter in_use, next;

	(void)state;
	assert_int_equal(filter_new(&in_use), 0);
	assert_int_equal(filter_new(&next), 0);
	filter_add_entry(&in_use, &old);
	filter_add_policy(&in_use, &old);
	filter_add_entry(&next, &new);
	filter_join(in_use.words, next.words, FILTER_ENTRIES, FILTER_POLICIES);
	assert_true(asks_entry(&in_use, &old) && asks_entry(&in_use, &new));
	filter_settle(in_use.words, next.words, FILTER_ENTRIES, FILTER_POLICIES);
	assert_true(!asks_entry(&in_use, &old) && asks_entry(&in_use, &new));
	assert_true(asks_policy(&in_use, &old));
	filter_settle(in_use.words, NULL, FILTER_ENTRIES, FILTER_POLICIES);
	assert_false(asks_entry(&in_use, &new));
	filter_free(&in_use);
	filter_free(&next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_length),   cmocka_unit_test(test_everybody),
		cmocka_unit_test(test_too_much_work), cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_swap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
