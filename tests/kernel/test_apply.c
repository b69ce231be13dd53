/* SPDX-License-Identifier: GPL-2.0-only */
/* Policies and entries put in force, changed and taken back, judged by the program itself. */
#include "../../user/apply_filter.h"
#include "../../user/entries.h"
#include "fixture.h"

#define NAME "kernel-a"

static struct fixture f;

#define HOURLY(burst)                                      \
	"table: {sources: 4096}\n"                         \
	"policies:\n"                                      \
	"  - {name: all, sources: [0.0.0.0/0, \"::/0\"], " \
	"limits: [{name: x, rate: 1/hour, burst: " burst "}]}\n"

static void the_longest_prefix_judges(void **state)
{
	(void)state;
	fixture_create(&f, NAME,
		       "policies:\n"
		       "  - {name: a, sources: [10.0.0.0/8], limits: [{rate: 1/hour, burst: 5}]}\n"
		       "  - {name: b, sources: [10.1.0.0/16], action: pass}\n"
		       "  - {name: c, sources: [10.1.2.3/32], action: drop}\n"
		       "  - {name: d, sources: [\"2001:db8::/32\"], limits: "
		       "[{rate: 1/hour, burst: 2}]}\n");
	assert_int_equal(pass(&f, "10.9.9.9", 53, 10), 5);
	assert_int_equal(pass(&f, "10.1.9.9", 53, 10), 10);
	assert_int_equal(pass(&f, "10.1.2.3", 53, 10), 0);
	assert_int_equal(pass(&f, "11.0.0.1", 53, 10), 10);
	assert_int_equal(pass(&f, "2001:db8::1", 53, 10), 2);
	fixture_destroy(&f);
}

static void states_survive_a_change_and_are_clamped(void **state)
{
	(void)state;
	fixture_create(&f, NAME, HOURLY("1000"));
	assert_int_equal(pass(&f, "192.0.2.1", 53, 1), 1);
	must(fixture_apply(&f, HOURLY("5"), false));
	assert_in_range(pass(&f, "192.0.2.1", 53, 100), 1, 5);
	must(fixture_apply(&f, HOURLY("1000"), false));
	assert_in_range(pass(&f, "192.0.2.1", 53, 2000), 1, 1000);
	assert_int_equal(pass(&f, "192.0.2.1", 53, 10), 0);
	must(fixture_apply(&f, HOURLY("5"), true));
	assert_int_equal(pass(&f, "192.0.2.1", 53, 10), 5);
	fixture_destroy(&f);
}

static void set(const char *prefix, enum entry_kind kind, uint64_t expires_ns)
{
	struct prefix at = prefix_from(prefix);

	must(entry_set(&f.instance, f.image, &at, kind, expires_ns, NULL, "", &message));
}

static void drop(const char *prefix)
{
	struct prefix at = prefix_from(prefix);

	must(entry_remove(&f.instance, &at, &message));
}

static void entries_outrank_what_is_no_longer(void **state)
{
	(void)state;
	fixture_create(&f, NAME,
		       "policies:\n"
		       "  - {name: a, sources: [10.1.0.0/16], action: pass}\n"
		       "  - {name: b, sources: [10.1.2.0/24], action: pass}\n");
	set("10.1.0.0/16", ENTRY_BLOCK, 0);
	assert_int_equal(pass(&f, "10.1.1.1", 53, 3), 0);
	assert_int_equal(pass(&f, "10.1.2.1", 53, 3), 3);
	set("10.1.2.1", ENTRY_BLOCK, 0);
	assert_int_equal(pass(&f, "10.1.2.1", 53, 3), 0);
	set("10.1.1.0/24", ENTRY_ALLOW, 0);
	assert_int_equal(pass(&f, "10.1.1.1", 53, 3), 3);
	drop("10.1.1.0/24");
	assert_int_equal(pass(&f, "10.1.1.1", 53, 3), 0);
	drop("10.1.0.0/16");
	drop("10.1.2.1");
	assert_int_equal(pass(&f, "10.1.1.1", 53, 3), 3);
	assert_int_equal(
		entry_remove(&f.instance, &(struct prefix){ .family = 4, .len = 8 }, &message),
		-ENOENT);
	fixture_destroy(&f);
}

/*
 * A writer that dies half-way leaves its change open: no CPU keeps rulings in mind until the next
 * one closes it.
 */
static void a_change_cut_short_is_closed_by_the_next(void **state)
{
	struct live live;

	(void)state;
	fixture_create(&f, NAME, HOURLY("5"));
	must(rulings_open(&f.instance));
	assert_int_equal(pass(&f, "192.0.2.1", 53, 20), 5);
	set("192.0.2.1", ENTRY_BLOCK, 0);
	must(live_read(&f.instance, &live));
	assert_int_equal(live.epoch & 1, 0);
	assert_int_equal(pass(&f, "192.0.2.1", 53, 3), 0);
	must(rulings_open(&f.instance));
	assert_int_equal(pass(&f, "192.0.2.1", 53, 3), 0);
	must(fixture_apply(&f, HOURLY("6"), false));
	must(live_read(&f.instance, &live));
	assert_int_equal(live.epoch & 1, 0);
	assert_int_equal(pass(&f, "192.0.2.1", 53, 3), 0);
	drop("192.0.2.1");
	assert_int_equal(pass(&f, "192.0.2.1", 53, 3), 1);
	fixture_destroy(&f);
}

static void entries_survive_apply_and_expire(void **state)
{
	struct entry_state *list;
	size_t count;

	(void)state;
	fixture_create(&f, NAME, HOURLY("100"));
	set("10.0.0.0/8", ENTRY_BLOCK, 0);
	set("10.2.0.0/16", ENTRY_ALLOW, kernel_now_ns() + 400000000);
	must(fixture_apply(&f, HOURLY("50"), false));
	assert_int_equal(pass(&f, "10.2.0.1", 53, 3), 3);
	usleep(410000);
	assert_int_equal(pass(&f, "10.2.0.1", 53, 3), 0);
	must(entries_read(&f.instance, kernel_now_ns(), &list, &count));
	assert_int_equal(count, 1);
	assert_int_equal(list[0].entry.kind, ENTRY_BLOCK);
	free(list);
	fixture_destroy(&f);
}

static void too_deep_a_nest_is_refused_with_names(void **state)
{
	struct prefix nine = prefix_from("10.0.0.1");
	char prefix[32];
	(void)state;
	fixture_create(&f, NAME, HOURLY("100"));
	for (int len = 8; len < 8 + ENTRY_NEST; len++) {
		snprintf(prefix, sizeof(prefix), "10.0.0.0/%d", len);
		set(prefix, ENTRY_BLOCK, 0);
	}
	assert_int_equal(entry_set(&f.instance, f.image, &nine, ENTRY_ALLOW, 0, NULL, "", &message),
			 -E2BIG);
	assert_non_null(strstr(message.text, "10.0.0.0/9"));
	nine = prefix_from("10.0.0.0/7");
	nine = prefix_from("8.0.0.0/5");
	assert_int_equal(entry_set(&f.instance, f.image, &nine, ENTRY_ALLOW, 0, NULL, "", &message),
			 -E2BIG);
	assert_int_equal(entries_block(&f.instance, &nine, 1, 0, NULL, &message), -E2BIG);
	drop("10.0.0.0/9");
	must(entry_set(&f.instance, f.image, &nine, ENTRY_ALLOW, 0, NULL, "", &message));
	fixture_destroy(&f);
}

/* A limit set by hand: 1 an hour, burst as given, under the image in force. */
static struct policy limit_policy(uint64_t burst)
{
	struct limit_spec spec = { .rate = { 1, 3600 * NS_PER_SEC, false, false },
				   .burst = burst,
				   .ipv4_len = 32,
				   .ipv6_len = 64,
				   .service = -1 };
	const struct allocation own = { .credit = ~0U };
	struct policy policy = { .action = ACTION_LIMIT,
				 .count = 1,
				 .enforced = 65536,
				 .ipv4_len = 32,
				 .ipv6_len = 64 };

	limit_compile(&spec, &own, false, false, 1, &policy.limits[0]);
	return policy;
}

static void set_limit(const char *prefix, uint64_t burst)
{
	struct policy policy = limit_policy(burst);
	struct prefix at = prefix_from(prefix);

	must(entry_set(&f.instance, f.image, &at, ENTRY_LIMIT, 0, &policy, "words", &message));
}

static void limits_by_hand_hold_and_keep_their_states(void **state)
{
	struct entry_state *list;
	size_t count;

	(void)state;
	fixture_create(&f, NAME, HOURLY("100"));
	set_limit("10.0.0.0/24", 5);
	assert_int_equal(pass(&f, "10.0.0.1", 53, 10), 5);
	assert_int_equal(pass(&f, "10.0.0.2", 53, 10), 5);
	assert_int_equal(pass(&f, "10.0.1.1", 53, 10), 10);
	must(fixture_apply(&f, HOURLY("200"), false));
	assert_int_equal(pass(&f, "10.0.0.1", 53, 10), 0);
	set_limit("10.0.0.0/24", 7);
	assert_in_range(pass(&f, "10.0.0.1", 53, 10), 0, 2);
	must(entries_read(&f.instance, kernel_now_ns(), &list, &count));
	assert_int_equal(count, 1);
	assert_string_equal(list[0].text, "words");
	free(list);
	drop("10.0.0.0/24");
	assert_int_equal(pass(&f, "10.0.0.1", 53, 10), 10);
	fixture_destroy(&f);
}

static void limits_by_hand_find_room_until_there_is_none(void **state)
{
	struct policy policy = limit_policy(5);
	struct prefix more = prefix_from("10.9.0.0/24");
	char prefix[32];
	(void)state;
	fixture_create(&f, NAME, HOURLY("100"));
	for (unsigned int i = 0; i < f.instance.meta.entry_policies; i++) {
		snprintf(prefix, sizeof(prefix), "10.8.%u.%u", i / 256, i % 256);
		set_limit(prefix, 5);
	}
	assert_int_equal(
		entry_set(&f.instance, f.image, &more, ENTRY_LIMIT, 0, &policy, "", &message),
		-ENOSPC);
	assert_int_equal(pass(&f, "10.8.0.7", 53, 10), 5);
	drop("10.8.0.8");
	set_limit("10.9.0.0/24", 5);
	assert_int_equal(pass(&f, "10.9.0.7", 53, 10), 5);
	fixture_destroy(&f);
}

static void a_list_of_blocks_is_swapped_in(void **state)
{
	enum { MANY = 200000 };
	struct prefix *prefixes = calloc(MANY, sizeof(*prefixes));
	struct entry_state *list;
	size_t count;

	(void)state;
	fixture_create(&f, NAME, HOURLY("100"));
	set("192.0.2.1", ENTRY_BLOCK, 0);
	set("192.0.2.2", ENTRY_BLOCK, 1);
	set_limit("20.0.0.7", 5);
	for (uint32_t i = 0; i < MANY; i++) {
		uint32_t address = htonl(0x14000000 + i);

		prefixes[i] = (struct prefix){ .family = 4, .len = 32 };
		memcpy(prefixes[i].addr, &address, 4);
	}
	must(entries_block(&f.instance, prefixes, MANY, 0, NULL, &message));
	must(entries_read(&f.instance, kernel_now_ns(), &list, &count));
	assert_int_equal(count, MANY + 1);
	free(list);
	assert_int_equal(pass(&f, "20.0.0.7", 53, 3), 0);
	assert_int_equal(pass(&f, "20.3.13.63", 53, 3), 0);
	assert_int_equal(pass(&f, "20.3.13.64", 53, 3), 3);
	assert_int_equal(pass(&f, "192.0.2.1", 53, 3), 0);
	assert_int_equal(pass(&f, "192.0.2.2", 53, 3), 3);
	drop("20.0.0.7");
	assert_int_equal(pass(&f, "20.0.0.7", 53, 3), 3);
	free(prefixes);
	fixture_destroy(&f);
}

/* ---- the filter ---- */

static unsigned int bits_set(size_t first, size_t end)
{
	unsigned int bits = 0;
	uint64_t *words;

	must(filter_map(&f.instance, &words));
	for (size_t i = first; i < end; i++)
		bits += __builtin_popcountll(words[i]);
	filter_unmap(words);
	return bits;
}

static unsigned int entry_bits(void)
{
	return bits_set(FILTER_ENTRIES, FILTER_POLICIES);
}

static unsigned int policy_bits(void)
{
	return bits_set(FILTER_POLICIES, FILTER_ALL);
}

/* Each entry has a coarse bit here, a fine one and two deep ones. */
static void what_is_removed_leaves_bits_until_the_next_list(void **state)
{
	struct prefix list[2];

	(void)state;
	fixture_create(&f, NAME, HOURLY("100"));
	assert_int_equal(entry_bits(), 0);
	set("192.0.2.1", ENTRY_BLOCK, 0);
	set("2001:db8:1::/48", ENTRY_BLOCK, 0);
	set("198.51.100.0/24", ENTRY_ALLOW, 0);
	assert_int_equal(entry_bits(), 12);
	drop("192.0.2.1");
	assert_int_equal(entry_bits(), 12);
	assert_int_equal(pass(&f, "192.0.2.1", 53, 3), 3);
	assert_int_equal(pass(&f, "2001:db8:1::1", 53, 3), 0);
	list[0] = prefix_from("203.0.113.7");
	list[1] = prefix_from("203.0.112.0/24");
	must(entries_block(&f.instance, list, 2, 0, NULL, &message));
	assert_int_equal(pass(&f, "203.0.113.7", 53, 3), 0);
	assert_int_equal(pass(&f, "203.0.112.9", 53, 3), 0);
	assert_int_equal(pass(&f, "2001:db8:1::1", 53, 3), 0);
	assert_int_equal(entry_bits(), 15); /* the two have a coarse bit in common */
	fixture_destroy(&f);
}

static void the_last_entry_takes_all_bits_with_it(void **state)
{
	(void)state;
	fixture_create(&f, NAME, HOURLY("100"));
	set("0.0.0.0/0", ENTRY_BLOCK, 0);
	set("::/0", ENTRY_BLOCK, 0);
	assert_int_equal(pass(&f, "192.0.2.1", 53, 3), 0);
	assert_int_equal(pass(&f, "2001:db8::1", 53, 3), 0);
	drop("0.0.0.0/0");
	assert_int_equal(pass(&f, "192.0.2.1", 53, 3), 3);
	assert_int_equal(pass(&f, "2001:db8::1", 53, 3), 0);
	drop("::/0");
	assert_int_equal(entry_bits(), 0);
	assert_int_equal(pass(&f, "2001:db8::1", 53, 3), 3);
	fixture_destroy(&f);
}

static void what_expires_takes_its_bits_with_it(void **state)
{
	(void)state;
	fixture_create(&f, NAME, HOURLY("100"));
	set("192.0.2.1", ENTRY_BLOCK, 1);
	set("198.51.100.1", ENTRY_BLOCK, 0);
	assert_int_equal(entry_bits(), 4);
	assert_int_equal(pass(&f, "198.51.100.1", 53, 3), 0);
	assert_int_equal(pass(&f, "192.0.2.1", 53, 3), 3);
	fixture_destroy(&f);
}

/* As a writer leaves it that dies behind any step before its swap: with bits of a list to come. */
static void bits_too_many_are_no_fault(void **state)
{
	struct prefix list = prefix_from("203.0.113.7");
	uint64_t *words;

	(void)state;
	fixture_create(&f, NAME, HOURLY("100"));
	set("10.0.0.0/8", ENTRY_BLOCK, 0);
	set("10.1.0.0/16", ENTRY_ALLOW, 0);
	must(filter_map(&f.instance, &words));
	memset(words, 0xff, FILTER_ALL * sizeof(*words));
	filter_unmap(words);
	assert_int_equal(pass(&f, "10.2.3.4", 53, 3), 0);
	assert_int_equal(pass(&f, "10.1.3.4", 53, 3), 3);
	assert_int_equal(pass(&f, "192.0.2.1", 53, 3), 3);
	assert_int_equal(pass(&f, "2001:db8::1", 53, 3), 3);
	must(entries_block(&f.instance, &list, 1, 0, NULL, &message));
	must(fixture_apply(&f, HOURLY("99"), false));
	assert_int_equal(policy_bits(), 0);
	assert_in_range(entry_bits(), 1, 65536 * 3 + 65536 / 4 + 4);
	assert_int_equal(pass(&f, "10.2.3.4", 53, 3), 0);
	assert_int_equal(pass(&f, "203.0.113.7", 53, 3), 0);
	fixture_destroy(&f);
}

/* `head`, which ends within a list of sources, and so many hosts of each family. */
static char *with_hosts(const char *head, unsigned int count,
			void (*put)(FILE *out, unsigned int number))
{
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	fputs(head, out);
	for (unsigned int i = 0; i < count; i++)
		put(out, i);
	fputs("]}\n", out);
	fclose(out);
	return text;
}

static void put_host(FILE *out, unsigned int i)
{
	fprintf(out, ", 10.0.%u.%u, '2001:db8:%x::/64'", i / 64, i % 64 * 4, i + 1);
}

/* A drop policy of so many hosts, 10.0.0.0 and every 4th address behind it, and 10.9.0.0/17. */
static char *many_hosts(unsigned int count)
{
	return with_hosts("policies:\n  - {name: net, sources: [10.0.0.0/8], action: pass}\n"
			  "  - {name: bad, action: drop, sources: [10.9.0.0/17",
			  count, put_host);
}

static void judge_hosts(unsigned int dropped)
{
	assert_int_equal(pass(&f, "10.0.0.0", 53, 1), dropped ? 0 : 1);
	assert_int_equal(pass(&f, "10.0.78.60", 53, 1), dropped > 5000 ? 0 : 1);
	assert_int_equal(pass(&f, "10.0.78.61", 53, 1), 1);
	assert_int_equal(pass(&f, "10.0.200.0", 53, 1), 1);
	assert_int_equal(pass(&f, "10.9.127.1", 53, 1), dropped ? 0 : 1);
	assert_int_equal(pass(&f, "10.9.128.1", 53, 1), 1);
	assert_int_equal(pass(&f, "2001:db8:1::7", 53, 1), dropped ? 0 : 1);
	assert_int_equal(pass(&f, "2001:db8:0:1::7", 53, 1), 1);
	assert_int_equal(pass(&f, "2001:db9::1", 53, 1), 1);
}

static void a_large_policy_is_filtered_and_a_small_one_not(void **state)
{
	char *large = many_hosts(6000), *small = many_hosts(100);

	(void)state;
	fixture_create(&f, NAME, large);
	judge_hosts(6000);
	assert_int_not_equal(policy_bits(), 0);
	must(fixture_apply(&f, small, false));
	judge_hosts(100);
	assert_int_equal(policy_bits(), 0);
	must(fixture_apply(&f, large, false));
	judge_hosts(6000);
	must(fixture_apply(&f, HOURLY("100"), false));
	judge_hosts(0);
	assert_int_equal(policy_bits(), 0);
	free(large);
	free(small);
	fixture_destroy(&f);
}

static void put_far_host(FILE *out, unsigned int i)
{
	fprintf(out, ", 10.%u.%u.%u, '2001:db8:%x:%x::/64'", i >> 14, i >> 6 & 255, i % 64 * 4,
		i >> 12, i & 4095);
}

/* A drop policy of FILTER_MANY hosts of each family, every 4th of 10.0.0.0/12, and a few more. */
static char *very_many_hosts(void)
{
	return with_hosts("policies:\n"
			  "  - {name: all, sources: [0.0.0.0/0, '::/0'], action: pass}\n"
			  "  - {name: bad, action: drop, sources: [11.0.0.64/26, "
			  "'2001:db9:aa00::/40'",
			  FILTER_MANY, put_far_host);
}

/* By the deep bits: longer and shorter than they are, listed and beside. */
static void a_very_large_policy_is_filtered(void **state)
{
	char *text = very_many_hosts();

	(void)state;
	fixture_create(&f, NAME, text);
	assert_int_not_equal(bits_set(FILTER_POLICIES + FILTER_DEEP_AT, FILTER_ALL), 0);
	assert_int_equal(pass(&f, "10.0.0.0", 53, 1), 0);
	assert_int_equal(pass(&f, "10.15.255.252", 53, 1), 0);
	assert_int_equal(pass(&f, "10.15.255.253", 53, 1), 1);
	assert_int_equal(pass(&f, "10.16.0.0", 53, 1), 1);
	assert_int_equal(pass(&f, "11.0.0.63", 53, 1), 1);
	assert_int_equal(pass(&f, "11.0.0.64", 53, 1), 0);
	assert_int_equal(pass(&f, "11.0.0.127", 53, 1), 0);
	assert_int_equal(pass(&f, "11.0.0.128", 53, 1), 1);
	assert_int_equal(pass(&f, "2001:db8:3f:fff::1", 53, 1), 0);
	assert_int_equal(pass(&f, "2001:db8:3f:1000::1", 53, 1), 1);
	assert_int_equal(pass(&f, "2001:db8:40::1", 53, 1), 1);
	assert_int_equal(pass(&f, "2001:db9:aaff::1", 53, 1), 0);
	assert_int_equal(pass(&f, "2001:db9:ab00::1", 53, 1), 1);
	assert_int_equal(pass(&f, "2a00::1", 53, 1), 1);
	free(text);
	fixture_destroy(&f);
}

static int clean(void **state)
{
	(void)state;
	return fixture_clean(&f, NAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_longest_prefix_judges, clean),
		cmocka_unit_test_teardown(states_survive_a_change_and_are_clamped, clean),
		cmocka_unit_test_teardown(entries_outrank_what_is_no_longer, clean),
		cmocka_unit_test_teardown(a_change_cut_short_is_closed_by_the_next, clean),
		cmocka_unit_test_teardown(entries_survive_apply_and_expire, clean),
		cmocka_unit_test_teardown(too_deep_a_nest_is_refused_with_names, clean),
		cmocka_unit_test_teardown(limits_by_hand_hold_and_keep_their_states, clean),
		cmocka_unit_test_teardown(limits_by_hand_find_room_until_there_is_none, clean),
		cmocka_unit_test_teardown(a_list_of_blocks_is_swapped_in, clean),
		cmocka_unit_test_teardown(what_is_removed_leaves_bits_until_the_next_list, clean),
		cmocka_unit_test_teardown(the_last_entry_takes_all_bits_with_it, clean),
		cmocka_unit_test_teardown(what_expires_takes_its_bits_with_it, clean),
		cmocka_unit_test_teardown(bits_too_many_are_no_fault, clean),
		cmocka_unit_test_teardown(a_large_policy_is_filtered_and_a_small_one_not, clean),
		cmocka_unit_test_teardown(a_very_large_policy_is_filtered, clean),
	};

	return cmocka_run_group_tests_name("apply", tests, mount_sysfs, NULL);
}
