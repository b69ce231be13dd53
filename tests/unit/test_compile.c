/* SPDX-License-Identifier: GPL-2.0-only */
/* From rulesets to images: the program's numbers, who owns what, and what stays over a change. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../bpf/packet.h"
#include "../../user/compile.h"
#include "random.h"
#include "rules.h"

enum { CPUS = 4 };

static struct image *first(const struct ruleset *ruleset, struct capacity *room)
{
	struct message message = { 0 };
	struct image *image = NULL;

	if (image_first(ruleset, CPUS, room, &image, &message))
		print_message("# %s\n", message.text);
	assert_non_null(image);
	return image;
}

static struct image *next(const struct ruleset *ruleset, const struct capacity *room,
			  const struct image *old, bool flush)
{
	struct message message = { 0 };
	struct image *image = NULL;

	if (image_next(ruleset, CPUS, room, old, flush, &image, &message))
		print_message("# %s\n", message.text);
	assert_non_null(image);
	return image;
}

static const struct image_policy *policy_of(const struct image *image, const char *name)
{
	for (size_t i = 0; i < image->policy_count; i++)
		if (!strcmp(image->policies[i].name, name))
			return &image->policies[i];
	fail_msg("no policy %s", name);
	return NULL;
}

static unsigned int index_of(const struct image_policy *policy, const char *name)
{
	for (unsigned int i = 0; i < policy->policy.count; i++)
		if (!strcmp(policy->specs[i]->name, name))
			return i;
	fail_msg("no limit %s", name);
	return 0;
}

static const struct allocation *own_of(const struct image *image, const char *policy,
				       const char *limit)
{
	const struct image_policy *in = policy_of(image, policy);

	return &in->limits[index_of(in, limit)];
}

static struct limit limit_of(const struct image *image, const char *policy, const char *limit)
{
	const struct image_policy *in = policy_of(image, policy);

	return in->policy.limits[index_of(in, limit)];
}

/* Who owns what, one byte an element. */
struct owned {
	uint8_t *sets, *logs, *cells;
};

/* Nobody else may own one of these elements, and all lie inside. */
static void claim(uint8_t *owned, uint64_t base, uint32_t count, uint32_t total)
{
	assert_true(base + count <= total);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(owned[base + i]++, 0);
}

static void check_slice(const struct allocation *own, const struct limit *limit,
			const struct capacity *room, struct owned *owned)
{
	uint32_t size = own->slice_sets;

	assert_true(size && !(size & (size - 1)));
	assert_int_equal(own->slice_base % size, 0);
	assert_int_equal(limit->slice_base, own->slice_base);
	assert_int_equal(limit->slice_mask, size - 1);
	claim(owned->sets, own->slice_base, size, room->sets);
	if (limit->algorithm == ALGO_SLIDING_LOG)
		claim(owned->logs, own->log_base, size, room->log_sets);
}

/* Whatever was built: slices aligned, inside and apart, cells apart, ids one a limit. */
static void check_owners(const struct image *image, const struct capacity *room)
{
	struct owned owned = { calloc(room->sets + 1, 1), calloc(room->log_sets + 1, 1),
			       calloc(room->cells + 1, 1) };
	bool instance_seen = false;

	memset(owned.cells, 1, CELL_GLOBALS);
	for (size_t i = 0; i < image->policy_count; i++) {
		const struct image_policy *policy = &image->policies[i];
		uint32_t own_count = (uint32_t)image->ruleset->policies[i].limit_count;

		assert_int_equal(policy->policy.cells, policy->cells);
		claim(owned.cells, policy->cells, CELL_POLICY_COUNT, room->cells);
		for (uint32_t j = 0; j < policy->policy.count; j++) {
			const struct allocation *own = &policy->limits[j];
			const struct limit *limit = &policy->policy.limits[j];

			assert_int_equal(limit->id, own->id);
			assert_true(own->id < image->next_id);
			assert_int_equal(limit->cells, own->cells);
			claim(owned.cells, own->cells, CELL_LIMIT_COUNT, room->cells);
			if (room->table == TABLE_SETS && (j < own_count || !instance_seen))
				check_slice(own, limit, room, &owned);
		}
		instance_seen |= policy->policy.count > own_count;
	}
	free(owned.sets);
	free(owned.logs);
	free(owned.cells);
}

static void assert_same_place(const struct allocation *a, const struct allocation *b)
{
	assert_int_equal(a->id, b->id);
	assert_int_equal(a->slice_base, b->slice_base);
	assert_int_equal(a->slice_sets, b->slice_sets);
	assert_int_equal(a->log_base, b->log_base);
	assert_int_equal(a->cells, b->cells);
	assert_int_equal(a->credit, b->credit);
}

/* ---- the program's numbers ---- */

static void intervals_keep_their_fraction(void **unused)
{
	struct ruleset *ruleset = rules_everyone("[{name: third, rate: 3/s, burst: 6},"
						 " {name: fast, rate: 100Gbit/s, burst: 1GB},"
						 " {name: slow, rate: 1/day, burst: 1}]");
	struct capacity room;
	struct image *image = first(ruleset, &room);
	struct limit limit = limit_of(image, "everyone", "third");

	(void)unused;
	assert_int_equal(limit.interval_ns, 333333333);
	assert_int_equal(limit.interval_frac, 0x55555556); /* a third, rounded up */
	assert_int_equal(limit.burst_ns, 2000000000);
	assert_int_equal(limit.burst_frac, 4); /* 6 x 2^-32 / 3 too much, twice */
	assert_int_equal(limit.flags, 0);
	limit = limit_of(image, "everyone", "fast");
	assert_int_equal(limit.interval_ns, 0);
	assert_int_equal(limit.interval_frac, 343597384); /* 0.08 x 2^32, rounded up */
	assert_int_equal(limit.burst_ns, 80000000);
	assert_int_equal(limit.flags, LIMIT_BYTES);
	limit = limit_of(image, "everyone", "slow");
	assert_int_equal(limit.interval_ns, 86400000000000);
	assert_int_equal(limit.burst, 1);
	image_free(image);
	ruleset_free(ruleset);
}

static void windows_take_the_rates_own_unit(void **unused)
{
	struct ruleset *ruleset =
		rules_everyone("[{name: f, algorithm: fixed-window, rate: 90/min},"
			       " {name: s, algorithm: sliding-window, rate: 8Mbit/s},"
			       " {name: l, algorithm: sliding-log, rate: 5/hour, ban: 2h}]");
	struct capacity room;
	struct image *image = first(ruleset, &room);
	struct limit limit = limit_of(image, "everyone", "f");

	(void)unused;
	assert_int_equal(limit.algorithm, ALGO_FIXED_WINDOW);
	assert_int_equal(limit.interval_ns, 60000000000);
	assert_int_equal(limit.burst, 90);
	limit = limit_of(image, "everyone", "s");
	assert_int_equal(limit.burst, 1000000);
	assert_int_equal(limit.interval_ns, 1000000000);
	assert_int_equal(limit.flags, LIMIT_BYTES);
	limit = limit_of(image, "everyone", "l");
	assert_int_equal(limit.burst, 5);
	assert_int_equal(limit.interval_ns, 3600000000000);
	assert_int_equal(limit.ban_ns, 7200000000000);
	image_free(image);
	ruleset_free(ruleset);
}

/* Batches: a millisecond's tokens, at most 64, at most a sixteenth of the burst over all CPUs. */
static void shared_limits_draw_batches(void **unused)
{
	struct ruleset *ruleset =
		rules_everyone("[{name: big, per: policy, rate: 1M/s, burst: 2M},"
			       " {name: mid, per: policy, rate: 20000/s, burst: 40000},"
			       " {name: thin, per: policy, rate: 1M/s, burst: 640},"
			       " {name: small, per: policy, rate: 100/s, burst: 100},"
			       " {name: own, rate: 1M/s, burst: 2M},"
			       " {name: bytes, per: policy, rate: 10Gbit/s, burst: 100MB},"
			       " {name: win, per: policy, algorithm: fixed-window, rate: 1M/s}]");
	struct capacity room;
	struct image *image = first(ruleset, &room);

	(void)unused;
	assert_int_equal(limit_of(image, "everyone", "big").batch, 64);
	assert_int_equal(limit_of(image, "everyone", "mid").batch, 20);
	assert_int_equal(limit_of(image, "everyone", "thin").batch, 640 / (16 * CPUS));
	assert_int_equal(limit_of(image, "everyone", "small").batch, 0);
	assert_int_equal(limit_of(image, "everyone", "own").batch, 0);
	assert_int_equal(limit_of(image, "everyone", "bytes").batch, 64 * 1522);
	assert_int_equal(limit_of(image, "everyone", "win").batch, 0);
	assert_int_equal(limit_of(image, "everyone", "big").flags, LIMIT_SHARED);
	assert_int_equal(own_of(image, "everyone", "big")->slice_sets, 1);
	check_owners(image, &room);
	image_free(image);
	ruleset_free(ruleset);
}

/* ---- the first image: shares of the table ---- */

static void shares_are_equal_but_for_those_given(void **unused)
{
	struct ruleset *ruleset = rules_read(
		"table: {sources: 100k}\n"
		"policies:\n"
		"  - {name: a, sources: [10.0.0.0/8], limits: [{name: x, rate: 1/s},"
		" {name: y, rate: 2/s, sources: 20k}, {name: t, per: policy, rate: 1/s}]}\n"
		"  - {name: b, sources: ['2001:db8::/32'], limits: [{name: z, rate: 1/s},"
		" {name: w, rate: 1/s, per: {ipv6: 128}}]}\n");
	struct capacity room;
	struct image *image = first(ruleset, &room);

	(void)unused;
	/* 80000 left for three: 26667 states = 6667 sets of 4, rounded up; 13334 of 2 */
	assert_int_equal(own_of(image, "a", "x")->slice_sets, 8192);
	assert_int_equal(own_of(image, "a", "y")->slice_sets, 8192);
	assert_int_equal(own_of(image, "b", "z")->slice_sets, 8192);
	assert_int_equal(own_of(image, "b", "w")->slice_sets, 16384);
	assert_true(limit_of(image, "b", "w").flags & LIMIT_WIDE);
	assert_false(limit_of(image, "b", "z").flags & LIMIT_WIDE);
	assert_int_equal(own_of(image, "a", "t")->slice_sets, 1);
	assert_int_equal(image->need.sets, 3 * 8192 + 16384 + 1);
	assert_int_equal(room.sets, image->need.sets + image->need.sets / 4);
	assert_int_equal(room.cells, 4096);
	assert_int_equal(room.policies, 64);
	assert_int_equal(room.credits, 256);
	assert_int_equal(room.entry_policies, 256);
	check_owners(image, &room);
	image_free(image);
	ruleset_free(ruleset);
}

/* Keys over 64 bits only where IPv6 sources can come: IPv4 alone stays dense. */
static void wide_keys_only_with_ipv6(void **unused)
{
	struct ruleset *ruleset = rules_read(
		"key: {ipv4: 32, ipv6: 128}\n"
		"policies:\n"
		"  - {name: four, sources: [10.0.0.0/8], limits: [{name: x, rate: 1/s}]}\n"
		"  - {name: six, sources: ['2001:db8::/32'], limits: [{name: x, rate: 1/s}]}\n");
	struct capacity room;
	struct image *image = first(ruleset, &room);

	(void)unused;
	assert_int_equal(limit_of(image, "four", "x").flags, 0);
	assert_int_equal(limit_of(image, "six", "x").flags, LIMIT_WIDE);
	image_free(image);
	ruleset_free(ruleset);
}

static void instance_limits_are_one_state_counted_by_policy(void **unused)
{
	struct ruleset *ruleset = rules_read(
		"limits: [{name: total, per: instance, rate: 1M/s}]\n"
		"policies:\n"
		"  - {name: a, sources: [10.0.0.0/8], limits: [{name: x, rate: 1/s}]}\n"
		"  - {name: p, sources: [10.2.0.0/16], action: pass}\n"
		"  - {name: b, sources: [10.1.0.0/16], limits: [{name: x, rate: 1/s}]}\n");
	struct capacity room;
	struct image *image = first(ruleset, &room);
	const struct allocation *a = own_of(image, "a", "total"), *b = own_of(image, "b", "total");

	(void)unused;
	assert_int_equal(policy_of(image, "p")->policy.count, 0);
	assert_int_equal(a->id, b->id);
	assert_int_equal(a->slice_base, b->slice_base);
	assert_int_equal(a->credit, b->credit);
	assert_int_not_equal(a->cells, b->cells);
	assert_int_not_equal(own_of(image, "a", "x")->id, own_of(image, "b", "x")->id);
	check_owners(image, &room);
	image_free(image);
	ruleset_free(ruleset);
}

static void hash_tables_have_no_slices(void **unused)
{
	struct ruleset *ruleset =
		rules_read("table: {kind: hash, sources: 5000}\n"
			   "policies:\n"
			   "  - {name: a, sources: [10.0.0.0/8], limits: [{name: x, rate: 1/s},"
			   " {name: l, algorithm: sliding-log, rate: 5/s}, {name: t, per: policy, "
			   "rate: 1/s}]}\n");
	struct capacity room;
	struct image *image = first(ruleset, &room);

	(void)unused;
	assert_int_equal(room.sets, 0);
	assert_int_equal(room.states, 5001);
	assert_true(room.log_sets >= 2500);
	assert_int_equal(limit_of(image, "a", "x").slice_mask, 0);
	check_owners(image, &room);
	image_free(image);
	ruleset_free(ruleset);
}

static void too_large_a_table_is_refused(void **unused)
{
	struct ruleset *ruleset = rules_everyone("[{rate: 1/s}]");
	struct message message = { 0 };
	struct image *image = NULL;
	struct capacity room;

	(void)unused;
	ruleset->sources = UINT64_MAX / 2;
	assert_int_equal(image_first(ruleset, CPUS, &room, &image, &message), -E2BIG);
	assert_null(image);
	assert_true(message.text[0] && message.hint[0]);
	ruleset->sources = 1ULL << 31;
	assert_int_equal(image_first(ruleset, CPUS, &room, &image, NULL), -E2BIG);
	ruleset_free(ruleset);
}

/* ---- the next image: what stays ---- */

static const char base_rules[] =
	"table: {sources: 64k}\n"
	"limits: [{name: total, per: instance, rate: 1M/s, burst: 2M}]\n"
	"policies:\n"
	"  - {name: a, sources: [10.0.0.0/8], limits: [{name: x, rate: 10/s, burst: 50},"
	" {name: log, algorithm: sliding-log, rate: 5/s, sources: 100}]}\n"
	"  - {name: b, sources: [10.1.0.0/16], limits: [{name: x, rate: 10/s, burst: 50}]}\n";

static void the_same_again_changes_nothing(void **unused)
{
	struct ruleset *old_rules = rules_read(base_rules), *rules = rules_read(base_rules);
	struct capacity room;
	struct image *old = first(old_rules, &room), *image = next(rules, &room, old, false);

	(void)unused;
	for (size_t i = 0; i < image->policy_count; i++)
		for (uint32_t j = 0; j < image->policies[i].policy.count; j++) {
			assert_same_place(&image->policies[i].limits[j],
					  &old->policies[i].limits[j]);
			assert_false(image->policies[i].limits[j].restart);
			assert_false(image->policies[i].limits[j].clamp);
		}
	assert_int_equal(image->next_id, old->next_id);
	assert_memory_equal(&image->policies[0].policy, &old->policies[0].policy,
			    sizeof(struct policy));
	check_owners(image, &room);
	image_free(image);
	image_free(old);
	ruleset_free(rules);
	ruleset_free(old_rules);
}

static void names_keep_their_place_in_any_order(void **unused)
{
	struct ruleset *old_rules = rules_read(base_rules);
	struct ruleset *rules = rules_read(
		"table: {sources: 64k}\n"
		"limits: [{name: total, per: instance, rate: 1M/s, burst: 2M}]\n"
		"policies:\n"
		"  - {name: new, sources: [10.2.0.0/16], limits: [{name: x, rate: 1/s}]}\n"
		"  - {name: b, sources: [10.1.0.0/16], limits: [{name: y, rate: 10/s},"
		" {name: x, rate: 10/s, burst: 50}]}\n"
		"  - {name: a, sources: [10.0.0.0/8], limits: [{name: log, algorithm: sliding-log,"
		" rate: 5/s, sources: 100}, {name: x, rate: 10/s, burst: 50}]}\n");
	struct capacity room;
	struct image *old = first(old_rules, &room), *image = next(rules, &room, old, false);

	(void)unused;
	assert_same_place(own_of(image, "a", "x"), own_of(old, "a", "x"));
	assert_same_place(own_of(image, "a", "log"), own_of(old, "a", "log"));
	assert_same_place(own_of(image, "b", "x"), own_of(old, "b", "x"));
	assert_same_place(own_of(image, "b", "total"), own_of(old, "b", "total"));
	assert_int_equal(policy_of(image, "a")->cells, policy_of(old, "a")->cells);
	assert_int_equal(own_of(image, "new", "total")->id, own_of(old, "a", "total")->id);
	assert_true(own_of(image, "new", "x")->id >= old->next_id);
	assert_true(own_of(image, "new", "x")->restart); /* the slice may have been another's */
	assert_false(own_of(image, "a", "x")->restart);
	check_owners(image, &room);
	image_free(image);
	image_free(old);
	ruleset_free(rules);
	ruleset_free(old_rules);
}

/* Counters of what goes are moved after the swap: nobody may count in those cells before. */
static void cells_of_what_goes_are_not_given_away(void **unused)
{
	struct ruleset *old_rules = rules_read(base_rules);
	struct ruleset *rules = rules_read("policies:\n  - {name: c, sources: [10.0.0.0/8], "
					   "limits: [{name: x, rate: 1/s}]}\n");
	struct capacity room;
	struct image *old = first(old_rules, &room), *image = next(rules, &room, old, false);
	uint32_t cells[2] = { image->policies[0].cells, image->policies[0].limits[0].cells };

	(void)unused;
	for (size_t i = 0; i < old->policy_count; i++) {
		for (int c = 0; c < 2; c++)
			assert_false(cells[c] >= old->policies[i].cells &&
				     cells[c] < old->policies[i].cells + CELL_POLICY_COUNT);
		for (uint32_t j = 0; j < old->policies[i].policy.count; j++)
			for (int c = 0; c < 2; c++)
				assert_false(cells[c] + CELL_LIMIT_COUNT >
						     old->policies[i].limits[j].cells &&
					     cells[c] < old->policies[i].limits[j].cells +
								CELL_LIMIT_COUNT);
	}
	image_free(image);
	image_free(old);
	ruleset_free(rules);
	ruleset_free(old_rules);
}

/* What a change of one limit of a live policy means for its states. */
struct change {
	const char *before;
	const char *after;
	bool restart;
	bool clamp;
};

static const struct change changes[] = {
	/* token bucket: the debt in time stays, whatever changes, cut to a shorter burst */
	{ "rate: 10/s, burst: 50", "rate: 10/s, burst: 50", false, false },
	{ "rate: 10/s, burst: 50", "rate: 10/s, burst: 500", false, false },
	{ "rate: 1/hour, burst: 1000", "rate: 1/hour, burst: 5", false, true },
	{ "rate: 10/s, burst: 50", "rate: 1/s, burst: 50", false, false },
	{ "rate: 10/s, burst: 50", "rate: 100/s, burst: 50", false, true },
	{ "rate: 1/hour, burst: 1000", "rate: 1MB/s, burst: 3000B", false, true },
	{ "rate: 10/s, burst: 50", "rate: 10/s, burst: 50, ban: 1h", false, false },
	/* windows: the counts stay where window and unit do */
	{ "algorithm: fixed-window, rate: 10/s", "algorithm: fixed-window, rate: 99/s", false,
	  false },
	{ "algorithm: fixed-window, rate: 10/s", "algorithm: fixed-window, rate: 1/s", false,
	  false },
	{ "algorithm: fixed-window, rate: 10/s", "algorithm: fixed-window, rate: 10/min", true,
	  false },
	{ "algorithm: fixed-window, rate: 10/s", "algorithm: fixed-window, rate: 1MB/s", true,
	  false },
	{ "algorithm: sliding-window, rate: 8/s", "algorithm: sliding-window, rate: 9/s", false,
	  false },
	{ "algorithm: sliding-log, rate: 8/s", "algorithm: sliding-log, rate: 3/s", false, false },
	{ "algorithm: sliding-log, rate: 8/s", "algorithm: sliding-log, rate: 8/min", true, false },
	/* anything else begins anew */
	{ "algorithm: fixed-window, rate: 8/s", "algorithm: sliding-window, rate: 8/s", true,
	  false },
	{ "algorithm: fixed-window, rate: 8/s", "rate: 8/s", true, false },
	{ "rate: 8/s", "algorithm: sliding-log, rate: 8/s", true, false },
	{ "rate: 8/s", "rate: 8/s, per: {ipv4: 24, ipv6: 64}", true, false },
	{ "rate: 8/s", "rate: 8/s, per: {ipv4: 32, ipv6: 128}", true, false },
	{ "rate: 8/s", "rate: 8/s, per: policy", true, false },
	{ "rate: 8/s, sources: 1k", "rate: 8/s, sources: 2k", true, false },
	{ "rate: 8/s, sources: 1k", "rate: 9/s, sources: 1k", false, false },
	{ "rate: 8/s, sources: 1k", "rate: 8/s", true, false },
};

static void changes_follow_the_rule(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct ruleset *rules[2];
		struct image *old, *image;
		struct capacity room;
		char text[256];

		for (int n = 0; n < 2; n++) {
			snprintf(text, sizeof(text), "[{name: x, %s}]",
				 n ? changes[i].after : changes[i].before);
			rules[n] = rules_everyone(text);
			rules[n]->sources = 4096;
		}
		old = first(rules[0], &room);
		image = next(rules[1], &room, old, false);
		if (own_of(image, "everyone", "x")->restart != changes[i].restart ||
		    own_of(image, "everyone", "x")->clamp != changes[i].clamp)
			fail_msg("%s -> %s", changes[i].before, changes[i].after);
		assert_int_equal(own_of(image, "everyone", "x")->id,
				 own_of(old, "everyone", "x")->id);
		assert_int_equal(own_of(image, "everyone", "x")->cells,
				 own_of(old, "everyone", "x")->cells);
		check_owners(image, &room);
		image_free(image);
		image_free(old);
		ruleset_free(rules[0]);
		ruleset_free(rules[1]);
	}
}

/* In a kernel's hash nothing moves: a limit's own share of the table makes no difference. */
static void hash_states_stay_whatever_the_shares(void **unused)
{
	struct ruleset *old_rules = rules_everyone("[{name: x, rate: 8/s, sources: 1k}]");
	struct ruleset *rules = rules_everyone("[{name: x, rate: 8/s}]");
	struct image *old, *image;
	struct capacity room;

	(void)unused;
	old_rules->table = TABLE_HASH;
	rules->table = TABLE_HASH;
	old = first(old_rules, &room);
	image = next(rules, &room, old, false);
	assert_false(own_of(image, "everyone", "x")->restart);
	image_free(image);
	image_free(old);
	ruleset_free(rules);
	ruleset_free(old_rules);
}

static void new_limits_share_the_reserve(void **unused)
{
	struct ruleset *old_rules = rules_everyone("[{name: x, rate: 8/s}]");
	struct ruleset *rules = rules_everyone(
		"[{name: x, rate: 8/s}, {name: y, rate: 8/s}, {name: z, rate: 8/s}]");
	struct capacity room;
	struct image *old = first(old_rules, &room), *image = next(rules, &room, old, false);

	(void)unused;
	assert_same_place(own_of(image, "everyone", "x"), own_of(old, "everyone", "x"));
	/* a quarter of 262144 sets is free, 87382 each were wished for: alike, and all of it */
	assert_int_equal(own_of(old, "everyone", "x")->slice_sets, 262144);
	assert_int_equal(own_of(image, "everyone", "y")->slice_sets, 32768);
	assert_int_equal(own_of(image, "everyone", "z")->slice_sets, 32768);
	check_owners(image, &room);
	image_free(image);
	image_free(old);
	ruleset_free(rules);
	ruleset_free(old_rules);
}

static void no_room_is_an_error_with_a_remedy(void **unused)
{
	struct ruleset *old_rules = rules_everyone("[{name: x, rate: 8/s}]");
	struct ruleset *rules =
		rules_everyone("[{name: x, rate: 8/s}, {name: y, rate: 8/s, sources: 500k}]");
	struct message message = { 0 };
	struct image *image = NULL, *old;
	struct capacity room;

	(void)unused;
	old = first(old_rules, &room);
	assert_int_equal(image_next(rules, CPUS, &room, old, false, &image, &message), -ENOSPC);
	assert_null(image);
	assert_non_null(strstr(message.hint, "--flush"));
	/* shared out anew there is room for both */
	image = next(rules, &room, old, true);
	assert_int_equal(own_of(image, "everyone", "y")->slice_sets, 131072);
	assert_true(own_of(image, "everyone", "x")->restart);
	check_owners(image, &room);
	image_free(image);
	image_free(old);
	ruleset_free(rules);
	ruleset_free(old_rules);
}

static void another_table_is_refused(void **unused)
{
	struct ruleset *rules = rules_everyone("[{name: x, rate: 8/s}]");
	struct message message = { 0 };
	struct image *image = NULL, *old;
	struct capacity room;

	(void)unused;
	old = first(rules, &room);
	rules->table = TABLE_PERCPU;
	assert_int_equal(image_next(rules, CPUS, &room, old, false, &image, &message), -EINVAL);
	assert_non_null(strstr(message.text, "percpu"));
	image_free(old);
	ruleset_free(rules);
}

/* Random rulesets one after the other, as long as they fit: owners are always sound. */
static struct ruleset *random_rules(struct random *random)
{
	static const char *const kinds[] = { "rate: 8/s", "rate: 9/s, sources: 300",
					     "algorithm: sliding-log, rate: 7/s, sources: 100",
					     "per: policy, rate: 1k/s",
					     "rate: 5/s, per: {ipv6: 128}" };
	struct ruleset *rules;
	size_t length;
	char *text;
	FILE *out = open_memstream(&text, &length);

	fprintf(out, "table: {sources: 20k}\nlimits: [{name: total, per: instance, rate: 1M/s}]\n"
		     "policies:\n");
	for (int i = 0; i < 12; i++) {
		unsigned int limits = 1 + (unsigned int)random_below(random, 4);

		if (random_below(random, 2))
			continue;
		fprintf(out,
			"  - {name: p%d, sources: [10.%d.0.0/16, '2001:db8:%d::/48'], limits: [", i,
			i, i);
		for (unsigned int j = 0; j < limits; j++)
			fprintf(out, "%s{name: l%u, %s}", j ? ", " : "", j,
				kinds[random_below(random, 5)]);
		fprintf(out, "]}\n");
	}
	fprintf(out, "  - {name: last, sources: [0.0.0.0/0], action: pass}\n");
	fclose(out);
	rules = rules_read(text);
	free(text);
	return rules;
}

static void a_long_life_of_changes_stays_sound(void **unused)
{
	struct random random = { 9 };
	struct ruleset *old_rules = random_rules(&random);
	struct capacity room;
	struct image *old = first(old_rules, &room);
	int fitted = 0;

	(void)unused;
	room.sets *= 2;
	room.log_sets *= 4;
	for (int i = 0; i < 200; i++) {
		struct ruleset *rules = random_rules(&random);
		struct image *image = NULL;
		int err = image_next(rules, CPUS, &room, old, random_below(&random, 8) == 0, &image,
				     NULL);

		if (err) {
			assert_int_equal(err, -ENOSPC);
			ruleset_free(rules);
			continue;
		}
		fitted++;
		check_owners(image, &room);
		image_free(old);
		ruleset_free(old_rules);
		old = image;
		old_rules = rules;
	}
	assert_true(fitted > 50);
	image_free(old);
	ruleset_free(old_rules);
}

/* ---- save and restore ---- */

static void saved_owners_come_back(void **unused)
{
	struct ruleset *rules = rules_read(base_rules);
	struct image *image, *back = NULL;
	struct capacity room;
	size_t length = 0;
	char *text = NULL;

	(void)unused;
	image = first(rules, &room);
	assert_int_equal(image_save(image, &text, &length), 0);
	assert_int_equal(image_restore(rules, text, length, &room, CPUS, &back), 0);
	assert_int_equal(back->next_id, image->next_id);
	for (size_t i = 0; i < image->policy_count; i++)
		assert_memory_equal(&back->policies[i].policy, &image->policies[i].policy,
				    sizeof(struct policy));
	image_free(back);
	image_free(image);
	free(text);
	ruleset_free(rules);
}

static void owners_of_other_rules_are_refused(void **unused)
{
	struct ruleset *rules = rules_read(base_rules);
	struct ruleset *others = rules_everyone("[{name: x, rate: 8/s}]");
	struct image *image, *back = NULL;
	struct capacity room, small;
	size_t length = 0;
	char *text = NULL;

	(void)unused;
	image = first(rules, &room);
	assert_int_equal(image_save(image, &text, &length), 0);
	assert_int_equal(image_restore(others, text, length, &room, CPUS, &back), -EINVAL);
	for (size_t cut = 0; cut < length; cut++)
		assert_int_equal(image_restore(rules, text, cut, &room, CPUS, &back), -EINVAL);
	small = room;
	small.sets = image->policies[0].limits[0].slice_sets;
	assert_int_equal(image_restore(rules, text, length, &small, CPUS, &back), -EINVAL);
	small = room;
	small.cells = CELL_GLOBALS;
	assert_int_equal(image_restore(rules, text, length, &small, CPUS, &back), -EINVAL);
	assert_null(back);
	image_free(image);
	free(text);
	ruleset_free(others);
	ruleset_free(rules);
}

/* Damaged text: refused, or an image whose slices and cells still lie inside the maps. */
static void damaged_text_does_no_harm(void **unused)
{
	struct ruleset *rules = rules_read(base_rules);
	struct random random = { 10 };
	struct capacity room;
	struct image *image = first(rules, &room);
	size_t length = 0;
	char *text = NULL;

	(void)unused;
	assert_int_equal(image_save(image, &text, &length), 0);
	for (int i = 0; i < 20000; i++) {
		size_t at = random_below(&random, length);
		char before = text[at];
		struct image *back = NULL;

		text[at] = "0123456789 \n-x"[random_below(&random, 14)];
		if (!image_restore(rules, text, length, &room, CPUS, &back)) {
			for (size_t p = 0; p < back->policy_count; p++)
				for (uint32_t j = 0; j < back->policies[p].policy.count; j++) {
					const struct limit *limit =
						&back->policies[p].policy.limits[j];

					assert_true((uint64_t)limit->slice_base +
							    limit->slice_mask <
						    room.sets);
					assert_int_equal(limit->slice_base & limit->slice_mask, 0);
					assert_true(limit->cells + CELL_LIMIT_COUNT <= room.cells);
				}
			image_free(back);
		}
		text[at] = before;
	}
	free(text);
	image_free(image);
	ruleset_free(rules);
}

/* ---- prefixes and services ---- */

static int slow_match(const struct ruleset *ruleset, const struct prefix *address, uint8_t *len)
{
	int found = -1, best = -1;

	for (size_t i = 0; i < ruleset->policy_count; i++)
		for (size_t j = 0; j < ruleset->policies[i].source_count; j++) {
			const struct prefix *prefix = &ruleset->policies[i].sources[j];

			if (prefix_contains(prefix, address) && prefix->len > best) {
				best = prefix->len;
				found = (int)i;
			}
		}
	*len = (uint8_t)best;
	return found;
}

static void add_random_policy(FILE *out, struct random *random, int number)
{
	uint8_t six = random_below(random, 2), len = (uint8_t)random_below(random, 17);
	uint32_t bits = (uint32_t)random_below(random, 1 << 16) & ~(0xffffU >> len);

	if (six)
		fprintf(out, "  - {name: n%d, sources: ['2001:db8:%x::/%u'], action: pass}\n",
			number, bits & 0xffff, 32 + len);
	else
		fprintf(out, "  - {name: n%d, sources: [10.%u.%u.0/%u], action: pass}\n", number,
			bits >> 8 & 0xff, bits & 0xff, 8 + len);
}

static void match_is_the_longest_prefix(void **unused)
{
	struct random random = { 11 };

	(void)unused;
	for (int round = 0; round < 20; round++) {
		struct ruleset *ruleset = NULL;
		struct problems problems = { 0 };
		struct capacity room;
		struct image *image;
		size_t length;
		char *text;
		FILE *out = open_memstream(&text, &length);

		fprintf(out, "policies:\n");
		for (int i = 0; i < 25; i++)
			add_random_policy(out, &random, i);
		fclose(out);
		if (config_parse(text, length, &ruleset, &problems)) { /* a prefix came twice */
			problems_free(&problems);
			free(text);
			continue;
		}
		image = first(ruleset, &room);
		for (int i = 0; i < 2000; i++) {
			struct prefix address = { .family = 4, .len = 32, .addr = { 10 } };
			uint8_t expected_len, len = 0;
			int expected;

			if (i % 2)
				address = rules_prefix("2001:db8::/128");
			address.addr[i % 2 ? 4 : 1] = (uint8_t)random_next(&random);
			address.addr[i % 2 ? 5 : 2] = (uint8_t)random_next(&random);
			expected = slow_match(ruleset, &address, &expected_len);
			assert_int_equal(image_match(image, &address, &len), expected);
			if (expected >= 0)
				assert_int_equal(len, expected_len);
		}
		image_free(image);
		ruleset_free(ruleset);
		free(text);
	}
}

static uint32_t services(const struct image *image, uint8_t proto, int dport, int type, bool syn,
			 const char *to)
{
	struct packet packet = { .proto = proto,
				 .has_ports = dport >= 0,
				 .has_type = type >= 0,
				 .dport = (uint16_t)dport,
				 .type = (uint8_t)type,
				 .syn = syn };
	struct prefix destination = rules_prefix(to);

	packet.family = destination.family;
	memcpy(packet.destination, destination.addr, 16);
	return image_services(image, &packet);
}

static void services_are_the_union_of_their_rows(void **unused)
{
	enum {
		DNS = 1,
		WEB = 2,
		GAME = 4,
		SYN = 8,
		PING = 16,
		ALL_TCP = 32,
		HERE = 64,
		THERE = 128
	};
	struct ruleset *ruleset = rules_read(
		"services:\n"
		"  dns: [udp/53, tcp/53]\n"
		"  web: [tcp/80, tcp/443, udp/443]\n"
		"  game: [udp/27000-27100]\n"
		"  handshakes: [tcp/syn]\n"
		"  ping: [icmp/echo-request, icmpv6/echo-request]\n"
		"  all-tcp: [tcp]\n"
		"  here: {match: [udp/53], to: [192.0.2.53/32, '2001:db8::/32']}\n"
		"  there: {match: [udp/53], to: [192.0.2.0/24]}\n"
		"policies:\n"
		"  - {name: a, sources: [0.0.0.0/0], limits: [{service: dns, rate: 1/s},"
		" {service: here, rate: 1/s}]}\n"
		"  - {name: b, sources: [10.0.0.0/8], limits: [{service: web, rate: 1/s}]}\n"
		"  - {name: c, sources: [11.0.0.0/8], limits: [{rate: 1/s}]}\n");
	struct capacity room;
	struct image *image = first(ruleset, &room);

	(void)unused;
	assert_int_equal(services(image, 17, 53, -1, 0, "10.0.0.1"), DNS);
	assert_int_equal(services(image, 17, 53, -1, 0, "192.0.2.53"), DNS | HERE | THERE);
	assert_int_equal(services(image, 17, 53, -1, 0, "192.0.2.54"), DNS | THERE);
	assert_int_equal(services(image, 17, 53, -1, 0, "2001:db8::1"), DNS | HERE);
	assert_int_equal(services(image, 17, 54, -1, 0, "192.0.2.53"), 0);
	assert_int_equal(services(image, 6, 53, -1, 0, "10.0.0.1"), DNS | ALL_TCP);
	assert_int_equal(services(image, 6, 443, -1, 1, "10.0.0.1"), WEB | SYN | ALL_TCP);
	assert_int_equal(services(image, 6, -1, -1, 0, "10.0.0.1"), ALL_TCP);
	assert_int_equal(services(image, 17, 26999, -1, 0, "10.0.0.1"), 0);
	assert_int_equal(services(image, 17, 27000, -1, 0, "10.0.0.1"), GAME);
	assert_int_equal(services(image, 17, 27100, -1, 0, "10.0.0.1"), GAME);
	assert_int_equal(services(image, 17, 27101, -1, 0, "10.0.0.1"), 0);
	assert_int_equal(services(image, 1, -1, 8, 0, "10.0.0.1"), PING);
	assert_int_equal(services(image, 1, -1, 0, 0, "10.0.0.1"), 0);
	assert_int_equal(services(image, 58, -1, 128, 0, "10.0.0.1"), PING);
	assert_int_equal(services(image, 58, -1, 8, 0, "10.0.0.1"), 0);
	assert_int_equal(policy_of(image, "a")->policy.services, DNS | HERE);
	assert_int_equal(policy_of(image, "a")->policy.services_anywhere, DNS);
	assert_int_equal(policy_of(image, "a")->policy.flags, POLICY_TO);
	assert_int_equal(policy_of(image, "b")->policy.flags, 0);
	assert_int_equal(policy_of(image, "c")->policy.services, 0);
	image_free(image);
	ruleset_free(ruleset);
}

/* T32: ten thousand policies of each family, and again with one more. */
static void ten_thousand_policies_compile(void **unused)
{
	enum { COUNT = 10000 };
	struct ruleset *rules[2];
	struct image *old, *image;
	struct capacity room;

	(void)unused;
	for (int n = 0; n < 2; n++) {
		size_t length;
		char *text;
		FILE *out = open_memstream(&text, &length);

		fprintf(out, "policies:\n");
		for (int i = 0; i < COUNT + n; i++)
			fprintf(out,
				"  - {name: p%d, sources: [10.%d.%d.0/24, '2001:db8:%x::/48'],"
				" limits: [{rate: 10/s}]}\n",
				i, i >> 8, i & 0xff, i);
		fclose(out);
		rules[n] = rules_read(text);
		free(text);
	}
	old = first(rules[0], &room);
	check_owners(old, &room);
	image = next(rules[1], &room, old, false);
	check_owners(image, &room);
	for (int i = 0; i < COUNT; i++)
		assert_same_place(&image->policies[i].limits[0], &old->policies[i].limits[0]);
	image_free(image);
	image_free(old);
	ruleset_free(rules[0]);
	ruleset_free(rules[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_keep_their_fraction),
		cmocka_unit_test(windows_take_the_rates_own_unit),
		cmocka_unit_test(shared_limits_draw_batches),
		cmocka_unit_test(shares_are_equal_but_for_those_given),
		cmocka_unit_test(wide_keys_only_with_ipv6),
		cmocka_unit_test(instance_limits_are_one_state_counted_by_policy),
		cmocka_unit_test(hash_tables_have_no_slices),
		cmocka_unit_test(too_large_a_table_is_refused),
		cmocka_unit_test(the_same_again_changes_nothing),
		cmocka_unit_test(names_keep_their_place_in_any_order),
		cmocka_unit_test(cells_of_what_goes_are_not_given_away),
		cmocka_unit_test(changes_follow_the_rule),
		cmocka_unit_test(hash_states_stay_whatever_the_shares),
		cmocka_unit_test(new_limits_share_the_reserve),
		cmocka_unit_test(no_room_is_an_error_with_a_remedy),
		cmocka_unit_test(another_table_is_refused),
		cmocka_unit_test(a_long_life_of_changes_stays_sound),
		cmocka_unit_test(saved_owners_come_back),
		cmocka_unit_test(owners_of_other_rules_are_refused),
		cmocka_unit_test(damaged_text_does_no_harm),
		cmocka_unit_test(match_is_the_longest_prefix),
		cmocka_unit_test(services_are_the_union_of_their_rows),
		cmocka_unit_test(ten_thousand_policies_compile),
	};

	return cmocka_run_group_tests_name("compile", tests, NULL, NULL);
}
