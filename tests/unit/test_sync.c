/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Readings of a table and what follows from them; what is told, and what another node makes of it;
 * and a fleet of buckets that charge each other, which hold one limit together.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../user/limiter.h"
#include "../../user/sync.h"
#include "rules.h"

#define SEC NS_PER_SEC
#define T0  (1000 * SEC)

enum {
	PLACES = 64,
};

/* One token a second, 100 at once. */
static struct limit rule = {
	.interval_ns = SEC,
	.burst_ns = 100 * SEC,
	.burst = 100,
	.id = 7,
	.ipv4_len = 32,
};

static struct sync *begun(size_t top)
{
	struct sync *sync = sync_new(PLACES, top);

	assert_non_null(sync);
	sync_begin(sync, T0);
	return sync;
}

static struct key key_of(uint32_t address)
{
	return (struct key){ .hi = address, .family = 4 };
}

static void see(struct sync *sync, uint64_t place, uint32_t address, uint64_t passed)
{
	sync_see(sync, &(struct sync_sight){ .place = place,
					     .policy = 1,
					     .limit = 2,
					     .rule = &rule,
					     .key = key_of(address),
					     .passed = passed });
}

static size_t uses(const struct sync *sync)
{
	size_t count, left;

	sync_uses(sync, &count, &left);
	return count;
}

static uint64_t used(const struct sync *sync, uint32_t address)
{
	size_t count, left;
	const struct sync_use *list = sync_uses(sync, &count, &left);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		if (list[i].key.hi == address)
			sum += list[i].tokens;
	return sum;
}

static void the_first_reading_tells_nothing(void **unused)
{
	struct sync *sync = begun(10);

	(void)unused;
	see(sync, 0, 1, 1000);
	assert_int_equal(uses(sync), 0);
	sync_begin(sync, T0 + SEC);
	see(sync, 0, 1, 1000);
	assert_int_equal(uses(sync), 0);
	sync_free(sync);
	sync_free(NULL);
}

static void use_is_what_passed_since(void **unused)
{
	struct sync *sync = begun(10);
	const struct sync_use *list;
	size_t count, left;

	(void)unused;
	see(sync, 0, 1, 1000);
	sync_begin(sync, T0 + SEC);
	see(sync, 0, 1, 1007);
	see(sync, 1, 2, 5);
	assert_int_equal(used(sync, 1), 7);
	assert_int_equal(used(sync, 2), 5);
	list = sync_uses(sync, &count, &left);
	assert_int_equal(count, 2);
	assert_int_equal(left, 0);
	assert_int_equal(list[0].policy, 1);
	assert_int_equal(list[0].limit, 2);
	sync_begin(sync, T0 + 2 * SEC);
	see(sync, 0, 1, 1008);
	assert_int_equal(used(sync, 1), 1);
	sync_free(sync);
}

static void a_count_that_went_back_began_anew(void **unused)
{
	struct sync *sync = begun(10);

	(void)unused;
	see(sync, 3, 1, 1000);
	sync_begin(sync, T0 + SEC);
	see(sync, 3, 1, 4);
	assert_int_equal(used(sync, 1), 4);
	sync_free(sync);
}

static void who_took_the_place_of_another_began_at_0(void **unused)
{
	struct sync *sync = begun(10);

	(void)unused;
	see(sync, 3, 1, 10);
	sync_begin(sync, T0 + SEC);
	see(sync, 3, 2, 12);
	assert_int_equal(used(sync, 1), 0);
	assert_int_equal(used(sync, 2), 12);
	rule.id = 8; /* the slice changed hands */
	sync_begin(sync, T0 + 2 * SEC);
	see(sync, 3, 2, 13);
	assert_int_equal(used(sync, 2), 13);
	rule.id = 7;
	sync_free(sync);
}

static void counts_of_40_bits(void **unused)
{
	struct sync *sync = begun(10);

	(void)unused;
	see(sync, 0, 1, 0xffffffffff - 5);
	sync_begin(sync, T0 + SEC);
	see(sync, 0, 1, 0xffffffffff); /* where they stop */
	assert_int_equal(used(sync, 1), 5);
	sync_begin(sync, T0 + 2 * SEC);
	see(sync, 0, 1, 0xffffffffff);
	assert_int_equal(uses(sync), 0);
	see(sync, 1, 2, 0xffffffffff); /* more than a charge can say */
	assert_int_equal(used(sync, 2), 0xffffffff);
	sync_free(sync);
}

static void a_place_beyond_the_table_is_none(void **unused)
{
	struct sync *sync = begun(10);

	(void)unused;
	sync_begin(sync, T0 + SEC);
	see(sync, PLACES, 1, 5);
	assert_int_equal(uses(sync), 0);
	sync_charged(sync, PLACES, &(struct key){ .hi = 1 }, 5);
	sync_free(sync);
}

static void the_hottest_are_told(void **unused)
{
	struct sync *sync = begun(4);
	size_t count, left;

	(void)unused;
	sync_begin(sync, T0 + SEC);
	for (uint32_t i = 0; i < 20; i++)
		see(sync, i, 100 + i, 1 + (i * 7) % 20);
	sync_uses(sync, &count, &left);
	assert_int_equal(count, 4);
	assert_int_equal(left, 16);
	for (uint32_t i = 0; i < 20; i++) {
		uint64_t passed = 1 + (i * 7) % 20;

		assert_int_equal(used(sync, 100 + i), passed > 16 ? passed : 0);
	}
	sync_free(sync);
}

/* A larger share of a smaller burst is hotter, whatever the unit. */
static void heat_is_a_share_of_the_burst(void **unused)
{
	struct limit small = rule;
	struct sync *sync = begun(1);
	struct sync_sight sight = { .place = 1, .rule = &small, .key = key_of(2), .passed = 6 };

	(void)unused;
	small.burst = 10;
	sync_begin(sync, T0 + SEC);
	see(sync, 0, 1, 50);
	sync_see(sync, &sight);
	assert_int_equal(used(sync, 2), 6);
	assert_int_equal(uses(sync), 1);
	sync_free(sync);
}

/* ---- byte limits: states count packets ---- */

static struct limit bytes_rule = {
	.interval_ns = 1000,
	.burst_ns = 1000 * 10000,
	.burst = 10000,
	.id = 9,
	.flags = LIMIT_BYTES,
	.ipv4_len = 32,
};

/* A source's bucket, its count, and the place it is read from. */
struct bucket {
	struct state state;
	uint64_t passed;
};

static void send_frame(struct bucket *bucket, uint64_t now, uint64_t length)
{
	bucket->passed += (uint64_t)state_take(&bytes_rule, &bucket->state, NULL, now, length);
}

static uint64_t read_bytes(struct sync *sync, const struct bucket *bucket, uint64_t now,
			   double frame)
{
	sync_begin(sync, now);
	sync_see(sync, &(struct sync_sight){ .rule = &bytes_rule,
					     .key = key_of(1),
					     .state = bucket->state,
					     .passed = bucket->passed,
					     .frame = frame });
	return used(sync, 1);
}

static void a_bucket_that_was_never_full_tells_its_bytes(void **unused)
{
	struct sync *sync = begun(10);
	struct bucket bucket = { 0 };

	(void)unused;
	send_frame(&bucket, T0, 9000);
	read_bytes(sync, &bucket, T0, 100);
	send_frame(&bucket, T0 + 1000000, 1400);
	send_frame(&bucket, T0 + 2000000, 70);
	assert_int_equal(read_bytes(sync, &bucket, T0 + 3000000, 100), 1470);
	sync_free(sync);
}

/* Full in between: a frame of the policy is the guess, what the bucket knows the bound. */
static void a_bucket_that_was_full_bounds_the_guess(void **unused)
{
	struct sync *sync = begun(10);
	struct bucket bucket = { 0 };

	(void)unused;
	read_bytes(sync, &bucket, T0, 100);
	send_frame(&bucket, T0 + 100000, 1000);
	send_frame(&bucket, T0 + 100000, 1000);
	assert_int_equal(read_bytes(sync, &bucket, T0 + 200000, 900), 1900); /* 1800 is too few */
	send_frame(&bucket, T0 + 20000000, 500);
	assert_int_equal(read_bytes(sync, &bucket, T0 + 30000000, 600), 600); /* can't be told */
	sync_free(sync);
}

/* Frames are a guess until some were granted: too long a one would charge others too much. */
static void a_bucket_seen_first_bounds_the_guess(void **unused)
{
	struct sync *sync = begun(10);
	struct bucket bucket = { 0 };

	(void)unused;
	send_frame(&bucket, T0, 46);
	send_frame(&bucket, T0, 46);
	assert_int_equal(read_bytes(sync, &bucket, T0 + 1000000, 512), 92);
	sync_free(sync);
}

static void what_was_charged_is_not_its_use(void **unused)
{
	struct sync *sync = begun(10);
	struct bucket bucket = { 0 };
	const struct key other = key_of(5), own = key_of(1);

	(void)unused;
	send_frame(&bucket, T0, 2000);
	read_bytes(sync, &bucket, T0, 100);
	assert_int_equal(state_charge(&bytes_rule, &bucket.state, T0 + 1000, 3000, 0), 1);
	sync_charged(sync, 0, &own, 3000);
	sync_charged(sync, 0, &other, 9999); /* not in this place */
	send_frame(&bucket, T0 + 2000, 400);
	assert_int_equal(read_bytes(sync, &bucket, T0 + 3000, 400), 400);
	sync_free(sync);
}

/* ---- as text ---- */

static const char two_limits[] =
	"services: {dns: [udp/53]}\n"
	"policies:\n"
	"  - name: everyone\n"
	"    sources: [0.0.0.0/0, '::/0']\n"
	"    limits:\n"
	"      - {name: packets, rate: 10/s, burst: 100}\n"
	"      - {name: bytes, rate: 1MB/s, per: {ipv4: 24, ipv6: 48}}\n"
	"      - {name: all, per: policy, rate: 1000/s}\n"
	"  - {name: partners, sources: [192.0.2.0/24], action: pass}\n"
	"  - {name: names, sources: [198.51.100.0/24], limits: [{service: dns, rate: 5/s}]}\n";

static struct image *image_of(const char *text, struct ruleset **ruleset)
{
	struct capacity room;
	struct image *image = NULL;

	*ruleset = rules_read(text);
	assert_int_equal(image_first(*ruleset, 1, &room, &image, NULL), 0);
	return image;
}

struct heard {
	struct sync_use list[8];
	size_t count;
};

static int keep(const struct sync_use *use, void *context)
{
	struct heard *heard = context;

	assert_true(heard->count < 8);
	heard->list[heard->count++] = *use;
	return 0;
}

static struct sync_heard hear(const struct image *image, const char *text, struct heard *heard)
{
	struct sync_heard sum = { 0 };

	*heard = (struct heard){ 0 };
	assert_int_equal(sync_parse(image, text, strlen(text), keep, heard, &sum), 0);
	assert_int_equal(sum.known, heard->count);
	return sum;
}

static void what_is_told_is_heard(void **unused)
{
	struct ruleset *ruleset;
	struct image *image = image_of(two_limits, &ruleset);
	const struct limit *limits = image->policies[0].policy.limits;
	struct prefix v4 = rules_prefix("203.0.113.7"), v6 = rules_prefix("2001:db8:1::/48");
	const struct sync_use told[] = {
		{ 0, 0, limit_key(&limits[0], &v4), 12 },
		{ 0, 1, limit_key(&limits[1], &v4), 4294967295 },
		{ 0, 1, limit_key(&limits[1], &v6), 1 },
		{ 2, 0, limit_key(&image->policies[2].policy.limits[0], &v4), 3 },
	};
	struct heard heard;
	char *text;
	size_t length;

	(void)unused;
	assert_int_equal(sync_write(image, told, 4, &text, &length), 0);
	assert_string_equal(text, "everyone packets 203.0.113.7/32 12 packets\n"
				  "everyone bytes 203.0.113.0/24 4294967295 bytes\n"
				  "everyone bytes 2001:db8:1::/48 1 bytes\n"
				  "names dns 203.0.113.7/32 3 packets\n");
	assert_int_equal(length, strlen(text));
	hear(image, text, &heard);
	assert_int_equal(heard.count, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(heard.list[i].policy, told[i].policy);
		assert_int_equal(heard.list[i].limit, told[i].limit);
		assert_int_equal(heard.list[i].tokens, told[i].tokens);
		assert_memory_equal(&heard.list[i].key, &told[i].key, sizeof(struct key));
	}
	free(text);
	image_free(image);
	ruleset_free(ruleset);
}

static void what_is_not_known_here_is_left_out(void **unused)
{
	static const char *const lines[] = {
		"nobody packets 203.0.113.7/32 1 packets",   /* policy */
		"everyone other 203.0.113.7/32 1 packets",   /* limit */
		"everyone packets 203.0.113.0/24 1 packets", /* key length */
		"everyone packets 2001:db8::/48 1 packets",
		"everyone packets 203.0.113.7/32 1 bytes", /* unit */
		"everyone all 203.0.113.7/32 1 packets",   /* one for all sources */
		"partners packets 192.0.2.1/32 1 packets", /* no limits */
	};
	struct ruleset *ruleset;
	struct image *image = image_of(two_limits, &ruleset);
	struct heard heard;

	(void)unused;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct sync_heard sum = hear(image, lines[i], &heard);

		assert_int_equal(sum.known, 0);
		assert_int_equal(sum.unknown, 1);
		assert_int_equal(sum.bad, 0);
	}
	image_free(image);
	ruleset_free(ruleset);
}

static void what_is_no_line_is_left_out_too(void **unused)
{
	static const char *const lines[] = {
		"\n",
		"everyone",
		"everyone packets 203.0.113.7/32 1",
		"everyone packets 203.0.113.7/32 1 packets more",
		"everyone  203.0.113.7/32 1 packets",
		"everyone packets 203.0.113.7/33 1 packets",
		"everyone packets 203.0.113.7/8 1 packets",
		"everyone packets here 1 packets",
		"everyone packets 203.0.113.7/32 0 packets",
		"everyone packets 203.0.113.7/32 -1 packets",
		"everyone packets 203.0.113.7/32 1e3 packets",
		"everyone packets 203.0.113.7/32 4294967296 packets",
		"everyone packets 203.0.113.7/32 99999999999999999999 packets",
	};
	struct ruleset *ruleset;
	struct image *image = image_of(two_limits, &ruleset);
	struct heard heard;
	char longer[1000];

	(void)unused;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(hear(image, lines[i], &heard).bad, 1);
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(hear(image, longer, &heard).bad, 1);
	/* What is good around it counts, and a last line without an end. */
	assert_int_equal(hear(image,
			      "everyone packets 203.0.113.7/32 1 packets\n\x01\xff\n"
			      "everyone packets 203.0.113.8/32 2 packets",
			      &heard)
				 .known,
			 2);
	assert_int_equal(hear(image, "", &heard).bad, 0);
	image_free(image);
	ruleset_free(ruleset);
}

/* ---- the promise ---- */

enum {
	NODES_MOST = 8,
};

/* Tokens that `nodes` grant in `seconds` to a source that floods all, or `shared` of them. */
static uint64_t fleet_grants(const struct limit *limit, size_t nodes, uint64_t seconds,
			     bool charging)
{
	struct state states[NODES_MOST] = { 0 };
	uint64_t debt_ns = sync_debt_ns(nodes, SEC), all = 0;

	for (uint64_t t = 0; t < seconds; t++) {
		uint64_t granted[NODES_MOST] = { 0 };

		for (size_t n = 0; n < nodes; n++)
			for (uint64_t ms = 0; ms < 1000; ms++)
				for (int i = 0; i < 2; i++)
					granted[n] += (uint64_t)state_take(
						limit, &states[n], NULL,
						T0 + t * SEC + ms * 1000000, 1);
		for (size_t n = 0; n < nodes; n++) {
			all += granted[n];
			for (size_t other = 0; other < nodes && charging; other++)
				if (other != n && granted[other])
					state_charge(limit, &states[n], T0 + (t + 1) * SEC,
						     granted[other], debt_ns);
		}
	}
	return all;
}

/* Over by what all may grant before they hear of each other, and not by the minute. */
static void a_fleet_holds_one_bucket(void **unused)
{
	struct limit limit = { .interval_ns = 10000000, .burst_ns = SEC, .burst = 100 };

	(void)unused;
	for (size_t nodes = 2; nodes <= NODES_MOST; nodes *= 2) {
		uint64_t alone = fleet_grants(&limit, nodes, 60, false);
		uint64_t together = fleet_grants(&limit, nodes, 60, true);

		assert_in_range(alone, nodes * 6000, nodes * 6101);
		/* Each its burst, 60 s of the rate in all, and one interval's grants of each. */
		assert_in_range(together, 4500, nodes * 100 + 6000 + nodes * 100);
	}
}

static void a_fleet_holds_one_window(void **unused)
{
	struct limit limit = { .interval_ns = 10 * SEC,
			       .burst = 100,
			       .algorithm = ALGO_FIXED_WINDOW };

	(void)unused;
	/* T0 begins a window: each node its quota before it hears, and none after. */
	assert_int_equal(fleet_grants(&limit, 4, 10, true), 400);
	limit.burst = 4000; /* 2000 a node and second: heard of in time */
	assert_int_equal(fleet_grants(&limit, 4, 10, true), 8000);
	limit.algorithm = ALGO_SLIDING_WINDOW;
	assert_in_range(fleet_grants(&limit, 2, 60, true), 4000, 6 * 4000);
}

static void debt_is_bounded(void **unused)
{
	(void)unused;
	assert_int_equal(sync_debt_ns(0, 0), 0);
	assert_int_equal(sync_debt_ns(3, SEC), 3 * SEC);
	assert_int_equal(sync_debt_ns(SIZE_MAX, SEC), 3600 * SEC);
	assert_int_equal(sync_debt_ns(5, 3600 * SEC), 3600 * SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_reading_tells_nothing),
		cmocka_unit_test(use_is_what_passed_since),
		cmocka_unit_test(a_count_that_went_back_began_anew),
		cmocka_unit_test(who_took_the_place_of_another_began_at_0),
		cmocka_unit_test(counts_of_40_bits),
		cmocka_unit_test(a_place_beyond_the_table_is_none),
		cmocka_unit_test(the_hottest_are_told),
		cmocka_unit_test(heat_is_a_share_of_the_burst),
		cmocka_unit_test(a_bucket_that_was_never_full_tells_its_bytes),
		cmocka_unit_test(a_bucket_that_was_full_bounds_the_guess),
		cmocka_unit_test(a_bucket_seen_first_bounds_the_guess),
		cmocka_unit_test(what_was_charged_is_not_its_use),
		cmocka_unit_test(what_is_told_is_heard),
		cmocka_unit_test(what_is_not_known_here_is_left_out),
		cmocka_unit_test(what_is_no_line_is_left_out_too),
		cmocka_unit_test(a_fleet_holds_one_bucket),
		cmocka_unit_test(a_fleet_holds_one_window),
		cmocka_unit_test(debt_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
