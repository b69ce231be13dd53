/* SPDX-License-Identifier: GPL-2.0-only */
/* A ruleset made by hand: defaults, made-up names, and the edges of every check. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <cmocka.h>

#include "../../user/policy.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct limit_spec limit_of(const char *rate, enum algorithm algorithm)
{
	struct limit_spec limit = { .algorithm = algorithm, .service = -1 };

	assert_int_equal(units_rate(rate, &limit.rate, NULL), 0);
	return limit;
}

static struct limit_spec bucket_of(const char *rate, const char *burst)
{
	struct limit_spec limit = limit_of(rate, ALGO_TOKEN_BUCKET);

	if (burst) {
		assert_int_equal(units_burst(burst, &limit.burst, &limit.burst_bytes, NULL), 0);
		limit.burst_given = true;
	}
	return limit;
}

/* Complete one limit under a ruleset of nothing; what is wrong with it, or "". */
static const char *verdict_on(struct limit_spec *limit)
{
	static char text[sizeof(((struct message *)0)->text)];
	struct ruleset *ruleset = ruleset_new();
	struct problems problems = {};
	int err;

	assert_non_null(ruleset);
	err = limit_complete(limit, ruleset, &problems);
	assert_int_equal(err, problems.count ? -EINVAL : 0);
	snprintf(text, sizeof(text), "%s", problems.count ? problems.list[0].message.text : "");
	problems_free(&problems);
	ruleset_free(ruleset);
	free(limit->name);
	limit->name = NULL;
	return text;
}

static void assert_taken(struct limit_spec limit)
{
	assert_string_equal(verdict_on(&limit), "");
}

static void assert_refused(struct limit_spec limit, const char *why)
{
	const char *text = verdict_on(&limit);

	if (!strstr(text, why))
		fail_msg("got '%s', wanted '%s'", text, why);
}

static void default_burst_is_a_second_of_the_rate(void **state)
{
	static const struct {
		const char *rate;
		uint64_t burst;
	} rows[] = {
		{ "20000/s", 20000 },
		{ "1/s", 1 },
		{ "90/min", 1 },
		{ "120/min", 2 },
		{ "1/day", 1 },
		{ "100Gbit/s", 12500000000 },
		{ "200Mbit/s", 25000000 },
		{ "1kB/s", FRAME_FULL },
		{ "8bit/day", FRAME_FULL },
		{ "100GB/day", 1157407 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct limit_spec limit = bucket_of(rows[i].rate, NULL);

		assert_string_equal(verdict_on(&limit), "");
		assert_true(limit.burst == rows[i].burst);
		assert_false(limit.burst_given);
	}
}

static void windows_allow_their_rate(void **state)
{
	struct limit_spec packets = limit_of("7/min", ALGO_FIXED_WINDOW);
	struct limit_spec bits = limit_of("80kbit/s", ALGO_SLIDING_WINDOW);

	(void)state;
	assert_string_equal(verdict_on(&packets), "");
	assert_int_equal(packets.burst, 7);
	assert_string_equal(verdict_on(&bits), "");
	assert_int_equal(bits.burst, 10000);
}

static void key_lengths_come_from_the_file(void **state)
{
	struct limit_spec limit = bucket_of("1/s", NULL);

	(void)state;
	limit.ipv4_len = 24;
	assert_string_equal(verdict_on(&limit), "");
	assert_int_equal(limit.ipv4_len, 24);
	assert_int_equal(limit.ipv6_len, 64);
}

/* 2^62 ns are 53375.99 days: a token a day fits 53375 times. */
static void refill_stays_below_146_years(void **state)
{
	(void)state;
	assert_taken(bucket_of("1/day", "53375"));
	assert_refused(bucket_of("1/day", "53376"), "at most 53375");
	assert_refused(bucket_of("1/day", "18446744073709551615"), "2^62 ns");
	assert_refused(bucket_of("8bit/day", "1MB"), "at most 53375B");
	/* A whole burst of ns: 2^62 tokens at a ns each. */
	assert_taken(bucket_of("1G/s", "4611686018427387904"));
	assert_refused(bucket_of("1G/s", "4611686018427387905"), "over 146 years");
}

static void byte_limits_hold_a_full_frame(void **state)
{
	(void)state;
	assert_taken(bucket_of("1kB/s", "1514B"));
	assert_refused(bucket_of("1kB/s", "1513B"), "below one full frame");
	assert_refused(bucket_of("1mbit", "1000B"), "a frame of 1514 bytes could never pass");
	assert_taken(limit_of("1514B/s", ALGO_FIXED_WINDOW));
	assert_refused(limit_of("1513B/s", ALGO_FIXED_WINDOW), "below one full frame");
	assert_refused(limit_of("8kbit/s", ALGO_SLIDING_WINDOW), "below one full frame");
}

static void burst_and_rate_count_the_same(void **state)
{
	(void)state;
	assert_refused(bucket_of("1MB/s", "1000"), "needs a unit");
	assert_refused(bucket_of("1000/s", "4MB"), "the rate counts packets");
}

static void windows_have_edges(void **state)
{
	struct limit_spec burst = limit_of("5/s", ALGO_FIXED_WINDOW);

	(void)state;
	burst.burst = 5;
	burst.burst_given = true;
	assert_refused(burst, "burst is for token-bucket");
	assert_taken(limit_of("4294967295/day", ALGO_FIXED_WINDOW));
	assert_refused(limit_of("4294967296/day", ALGO_FIXED_WINDOW), "at most 4294967295 packets");
	assert_refused(limit_of("5GB/s", ALGO_SLIDING_WINDOW), "at most 4294967295 bytes");
	assert_taken(limit_of("64/s", ALGO_SLIDING_LOG));
	assert_refused(limit_of("65/s", ALGO_SLIDING_LOG), "at most 64 packets");
	assert_refused(limit_of("2kB/s", ALGO_SLIDING_LOG), "counts packets, not bytes");
}

static void ban_outlasts_the_refill(void **state)
{
	static const struct {
		const char *rate;
		enum algorithm algorithm;
		uint64_t refill_ns;
		const char *takes;
	} rows[] = {
		{ "20/s", ALGO_TOKEN_BUCKET, NS_PER_SEC, "takes 1s" },
		{ "3/s", ALGO_TOKEN_BUCKET, NS_PER_SEC, "takes 1s" },
		{ "2/min", ALGO_FIXED_WINDOW, 60 * NS_PER_SEC, "takes 1min" },
		{ "2/min", ALGO_SLIDING_WINDOW, 120 * NS_PER_SEC, "takes 2min" },
		{ "2/min", ALGO_SLIDING_LOG, 60 * NS_PER_SEC, "takes 1min" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct limit_spec limit = limit_of(rows[i].rate, rows[i].algorithm);

		assert_string_equal(verdict_on(&limit), "");
		/* Rounded up: a third of a second three times. */
		assert_in_range(limit_refill_ns(&limit), rows[i].refill_ns, rows[i].refill_ns + 1);
		limit.ban_ns = limit_refill_ns(&limit);
		assert_taken(limit);
		limit.ban_ns--;
		assert_refused(limit, "shorter than the refill");
		limit.ban_ns = 1;
		if (limit_refill_ns(&limit) == rows[i].refill_ns)
			assert_refused(limit, rows[i].takes);
	}
}

static void shared_limits_have_one_state(void **state)
{
	struct limit_spec limit = bucket_of("5/s", NULL);

	(void)state;
	limit.sources = 1000;
	assert_taken(limit);
	limit.per = PER_POLICY;
	assert_refused(limit, "has one state");
}

static char *copy(const char *text)
{
	char *result = strdup(text);

	assert_non_null(result);
	return result;
}

/* One policy with the limits, whose memory it takes, over 0.0.0.0/0. */
static struct ruleset *ruleset_of(const struct limit_spec *limits, size_t count)
{
	struct ruleset *ruleset = ruleset_new();
	struct policy_spec *policy;

	assert_non_null(ruleset);
	ruleset->services = calloc(1, sizeof(*ruleset->services));
	ruleset->service_count = 1;
	ruleset->services[0].name = copy("dns");
	ruleset->policies = policy = calloc(1, sizeof(*policy));
	ruleset->policy_count = 1;
	policy->name = copy("everyone");
	policy->action = ACTION_LIMIT;
	policy->sources = calloc(1, sizeof(*policy->sources));
	policy->sources[0].family = 4;
	policy->source_count = 1;
	policy->limits = calloc(count ? count : 1, sizeof(*limits));
	memcpy(policy->limits, limits, count * sizeof(*limits));
	policy->limit_count = count;
	return ruleset;
}

static void names_are_made_up(void **state)
{
	struct limit_spec limits[] = {
		bucket_of("1/s", NULL),	  bucket_of("1kB/s", NULL), bucket_of("2/s", NULL),
		bucket_of("3/s", NULL),	  bucket_of("1/s", NULL),   bucket_of("1/s", NULL),
		bucket_of("1kB/s", NULL),
	};
	static const char *const names[] = { "packets",	    "bytes", "packets-3",
					     "packets-2",   "dns",   "subnet-packets",
					     "policy-bytes" };
	struct limit_spec instance = bucket_of("9/s", NULL);
	struct problems problems = {};
	struct ruleset *ruleset;

	(void)state;
	limits[3].name = copy("packets-2");
	limits[3].named = true;
	limits[4].service = 0;
	limits[5].ipv4_len = 24;
	limits[6].per = PER_POLICY;
	ruleset = ruleset_of(limits, COUNT(limits));
	instance.per = PER_INSTANCE;
	ruleset->limits = calloc(1, sizeof(instance));
	ruleset->limits[0] = instance;
	ruleset->limit_count = 1;

	/* Twice: completing what is complete changes nothing. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ruleset_complete(ruleset, &problems), 0);
		for (size_t j = 0; j < COUNT(limits); j++)
			assert_string_equal(ruleset->policies[0].limits[j].name, names[j]);
		assert_string_equal(ruleset->limits[0].name, "instance-packets");
	}
	ruleset_free(ruleset);
}

static void assert_ruleset_refused(struct ruleset *ruleset, const char *why)
{
	struct problems problems = {};

	assert_int_equal(ruleset_complete(ruleset, &problems), -EINVAL);
	assert_int_equal(problems.count, 1);
	if (!strstr(problems.list[0].message.text, why))
		fail_msg("got '%s', wanted '%s'", problems.list[0].message.text, why);
	problems_free(&problems);
	ruleset_free(ruleset);
}

static void limits_are_counted(void **state)
{
	struct limit_spec limits[LIMITS_MAX + 1];
	struct problems problems = {};
	struct ruleset *ruleset;

	(void)state;
	for (size_t i = 0; i < COUNT(limits); i++)
		limits[i] = bucket_of("1/s", NULL);
	ruleset = ruleset_of(limits, LIMITS_MAX);
	assert_int_equal(ruleset_complete(ruleset, &problems), 0);
	ruleset_free(ruleset);
	assert_ruleset_refused(ruleset_of(limits, LIMITS_MAX + 1), "has 9 limits");
	assert_ruleset_refused(ruleset_of(limits, 0), "has no limits");
}

static void instance_limits_count_for_every_policy(void **state)
{
	struct limit_spec limits[LIMITS_MAX];
	struct ruleset *ruleset;

	(void)state;
	for (size_t i = 0; i < COUNT(limits); i++)
		limits[i] = bucket_of("1/s", NULL);
	ruleset = ruleset_of(limits, LIMITS_MAX);
	ruleset->limits = calloc(1, sizeof(limits[0]));
	ruleset->limits[0] = bucket_of("1/s", NULL);
	ruleset->limits[0].per = PER_INSTANCE;
	ruleset->limit_count = 1;
	assert_ruleset_refused(ruleset, "those of the instance included");
}

static void shares_must_fit_the_table(void **state)
{
	struct limit_spec limits[] = { bucket_of("1/s", NULL), bucket_of("1/s", NULL) };
	struct problems problems = {};
	struct ruleset *ruleset;

	(void)state;
	limits[0].sources = 600000;
	limits[1].sources = 400000;
	ruleset = ruleset_of(limits, COUNT(limits));
	assert_int_equal(ruleset_complete(ruleset, &problems), 0);
	ruleset_free(ruleset);
	limits[1].sources++;
	assert_ruleset_refused(ruleset_of(limits, COUNT(limits)), "the table's 1M are given away");
}

static void services_are_counted(void **state)
{
	struct limit_spec limit = bucket_of("1/s", NULL);
	struct ruleset *ruleset = ruleset_of(&limit, 1);
	char name[32];

	(void)state;
	free(ruleset->services[0].name);
	free(ruleset->services);
	ruleset->service_count = SERVICES_MAX + 1;
	ruleset->services = calloc(ruleset->service_count, sizeof(*ruleset->services));
	for (size_t i = 0; i < ruleset->service_count; i++) {
		snprintf(name, sizeof(name), "s%zu", i);
		ruleset->services[i].name = copy(name);
	}
	assert_int_equal(ruleset_service(ruleset, "s31"), 31);
	assert_int_equal(ruleset_service(ruleset, "s99"), -1);
	assert_ruleset_refused(ruleset, "33 services: at most 32");
}

static void names_have_rules(void **state)
{
	char longest[NAME_LENGTH_MAX + 2];

	(void)state;
	memset(longest, 'x', sizeof(longest));
	longest[NAME_LENGTH_MAX] = '\0';
	assert_true(policy_name_valid(longest));
	longest[NAME_LENGTH_MAX] = 'x';
	longest[NAME_LENGTH_MAX + 1] = '\0';
	assert_false(policy_name_valid(longest));
	assert_true(policy_name_valid("a"));
	assert_true(policy_name_valid("10.net_a-b"));
	assert_false(policy_name_valid(""));
	assert_false(policy_name_valid("-a"));
	assert_false(policy_name_valid("a b"));
	assert_false(policy_name_valid("a\"b"));
	assert_false(policy_name_valid("\303\274"));
}

static void problems_are_sorted_and_bounded(void **state)
{
	struct problems problems = {};

	(void)state;
	for (unsigned int i = 0; i < 2 * PROBLEMS_MAX; i++)
		assert_int_equal(problems_add(&problems, (struct place){ 5000 - i / 2, i % 2 + 1 },
					      -EINVAL, "number %u", i),
				 -EINVAL);
	assert_int_equal(problems.count, PROBLEMS_MAX);
	assert_string_equal(problems.list[PROBLEMS_MAX - 1].message.text,
			    "too many problems: the others are not shown");
	problems_sort(&problems);
	for (size_t i = 1; i < problems.count; i++) {
		struct place before = problems.list[i - 1].place, place = problems.list[i].place;

		assert_true(before.line < place.line ||
			    (before.line == place.line && before.column < place.column));
	}
	problems_free(&problems);
	assert_int_equal(problems.count, 0);
	problems_sort(&problems);
	problems_free(&problems);
	ruleset_free(NULL);
}

/* The contract's: scripts compare them. */
static void words_are_stable(void **state)
{
	static const char *const reasons[] = {
		"granted", "allowed", "unmatched", "not-ip",	 "neighbour-discovery", "observed",
		"limit",   "ban",     "blocked",   "table-full", "malformed",
	};
	static const char *const algorithms[] = { "token-bucket", "fixed-window", "sliding-window",
						  "sliding-log" };
	static const char *const tables[] = { "sets", "hash", "percpu" };

	(void)state;
	assert_int_equal(COUNT(reasons), REASON_COUNT);
	for (int i = 0; i < REASON_COUNT; i++)
		assert_string_equal(reason_name(i), reasons[i]);
	for (int i = 0; i < ALGO_COUNT; i++)
		assert_string_equal(algorithm_name(i), algorithms[i]);
	for (int i = 0; i < TABLE_COUNT; i++)
		assert_string_equal(table_kind_name(i), tables[i]);
	assert_string_equal(attach_mode_name(MODE_NATIVE), "native");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(default_burst_is_a_second_of_the_rate),
		cmocka_unit_test(windows_allow_their_rate),
		cmocka_unit_test(key_lengths_come_from_the_file),
		cmocka_unit_test(refill_stays_below_146_years),
		cmocka_unit_test(byte_limits_hold_a_full_frame),
		cmocka_unit_test(burst_and_rate_count_the_same),
		cmocka_unit_test(windows_have_edges),
		cmocka_unit_test(ban_outlasts_the_refill),
		cmocka_unit_test(shared_limits_have_one_state),
		cmocka_unit_test(names_are_made_up),
		cmocka_unit_test(limits_are_counted),
		cmocka_unit_test(instance_limits_count_for_every_policy),
		cmocka_unit_test(shares_must_fit_the_table),
		cmocka_unit_test(services_are_counted),
		cmocka_unit_test(names_have_rules),
		cmocka_unit_test(words_are_stable),
		cmocka_unit_test(problems_are_sorted_and_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
