/* SPDX-License-Identifier: GPL-2.0-only */
/* Before a change: the difference in words, who would be refused, who would be locked out. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../bpf/algo.h"
#include "../../user/difference.h"
#include "../../user/impact.h"
#include "../../user/lockout.h"
#include "rules.h"

#define BASE                                                                                   \
	"services: {dns: [udp/53]}\n"                                                          \
	"policies:\n"                                                                          \
	"  - name: everyone\n"                                                                 \
	"    sources: [0.0.0.0/0, 10.0.0.0/8]\n"                                               \
	"    limits: [{name: packets, rate: 100/s, burst: 200}, {service: dns, rate: 50/s}]\n" \
	"  - {name: bad, sources: [203.0.113.0/24], action: drop}\n"

/* The lines, each with a line end. */
static void assert_difference(const char *before, const char *after, const char *wanted)
{
	struct ruleset *old = rules_read(before), *new = rules_read(after);
	struct difference difference;
	char got[2000] = "";
	size_t used = 0;

	assert_int_equal(difference_read(old, new, &difference), 0);
	for (size_t i = 0; i < difference.count; i++)
		used += (size_t)snprintf(got + used, sizeof(got) - used, "%s\n",
					 difference.lines[i]);
	assert_string_equal(got, wanted);
	difference_free(&difference);
	ruleset_free(old);
	ruleset_free(new);
}

static void equal_rules_differ_in_nothing(void **state)
{
	(void)state;
	assert_difference(BASE, BASE, "");
}

static void a_limit_differs_by_what_changed(void **state)
{
	(void)state;
	assert_difference(BASE,
			  "services: {dns: [udp/53]}\n"
			  "policies:\n"
			  "  - name: everyone\n"
			  "    sources: [0.0.0.0/0, 10.0.0.0/8]\n"
			  "    limits: [{name: packets, rate: 100/s, burst: 300},\n"
			  "      {name: dns, service: dns, rate: 20/s, ban: 10s},\n"
			  "      {name: new, rate: 1Mbit/s, per: policy}]\n"
			  "  - {name: bad, sources: [203.0.113.0/24], action: drop}\n",
			  "everyone/packets: burst 200 -> 300\n"
			  "everyone/dns: 50/s -> 20/s; burst 50 -> 20; ban none -> 10s\n"
			  "everyone/new: added, 1Mbit/s burst 125kB per policy for every packet\n");
}

static void policies_differ_by_prefixes_action_and_mode(void **state)
{
	(void)state;
	assert_difference(BASE,
			  "services: {dns: [udp/53, tcp/53]}\n"
			  "table: {sources: 2M, on_full: lenient}\n"
			  "policies:\n"
			  "  - name: everyone\n"
			  "    sources: [0.0.0.0/0, 10.0.0.0/9, 10.128.0.0/9, 11.0.0.0/8]\n"
			  "    mode: 25%\n"
			  "    limits: [{name: packets, rate: 100/s, burst: 200},\n"
			  "      {service: dns, rate: 50/s}]\n"
			  "  - {name: good, sources: [203.0.113.0/24], action: pass}\n",
			  "table: sources 1000000 -> 2000000; on_full strict -> lenient\n"
			  "service dns: matches other packets\n"
			  "everyone: mode enforce -> 25%; 3 prefixes added; 1 prefix removed\n"
			  "good: policy added, pass for 1 prefix, enforce\n"
			  "bad: policy removed\n");
}

/* ---- impact ---- */

struct world {
	struct ruleset *old_rules, *new_rules;
	struct image *old, *new;
	struct impact impact;
};

#define NOW (1000 * NS_PER_SEC)

static void world_start(struct world *world, const char *before, const char *after)
{
	struct capacity room;

	world->old_rules = rules_read(before);
	world->new_rules = rules_read(after);
	assert_int_equal(image_first(world->old_rules, 2, &room, &world->old, NULL), 0);
	assert_int_equal(
		image_next(world->new_rules, 2, &room, world->old, false, &world->new, NULL), 0);
	impact_start(world->new, NOW, &world->impact);
}

/* A source that took `taken` packets just now under the first policy's limit. */
static void world_add(struct world *world, const char *source, unsigned int limit, uint64_t taken)
{
	const struct image_policy *policy = &world->old->policies[0];
	struct source_state state = { .source = rules_prefix(source),
				      .policy = policy,
				      .limit = limit,
				      .rule = policy->policy.limits[limit] };

	for (uint64_t i = 0; i < taken; i++)
		assert_true(state_take(&state.rule, &state.state, NULL, NOW, 1));
	assert_int_equal(impact_add(&world->impact, &state), 0);
}

static void world_end(struct world *world)
{
	image_free(world->new);
	image_free(world->old);
	ruleset_free(world->old_rules);
	ruleset_free(world->new_rules);
}

static void a_smaller_burst_refuses_who_owes_more(void **state)
{
	struct world world;

	(void)state;
	world_start(&world, BASE,
		    "policies:\n"
		    "  - {name: everyone, sources: [0.0.0.0/0],\n"
		    "     limits: [{name: packets, rate: 100/s, burst: 10}]}\n");
	world_add(&world, "192.0.2.1", 0, 9);
	world_add(&world, "192.0.2.2", 0, 10);
	world_add(&world, "192.0.2.3", 0, 200);
	world_add(&world, "192.0.2.3", 1, 1); /* the same source under another limit */
	impact_finish(&world.impact);
	assert_int_equal(world.impact.live, 3);
	assert_int_equal(world.impact.refused, 2);
	world_end(&world);
}

static void who_comes_under_a_drop_policy_is_refused(void **state)
{
	struct world world;

	(void)state;
	world_start(&world, BASE,
		    "policies:\n"
		    "  - {name: everyone, sources: [0.0.0.0/0],\n"
		    "     limits: [{name: packets, rate: 100/s, burst: 200}]}\n"
		    "  - {name: bad, sources: [192.0.2.0/25], action: drop}\n"
		    "  - {name: seen, sources: [192.0.2.128/25], action: drop, mode: observe}\n");
	world_add(&world, "192.0.2.1", 0, 1);
	world_add(&world, "192.0.2.200", 0, 1);
	world_add(&world, "198.51.100.1", 0, 1);
	impact_finish(&world.impact);
	assert_int_equal(world.impact.live, 3);
	assert_int_equal(world.impact.refused, 1);
	world_end(&world);
}

static void a_limit_that_begins_anew_refuses_nobody(void **state)
{
	struct world world;

	(void)state;
	world_start(&world, BASE,
		    "policies:\n"
		    "  - {name: everyone, sources: [0.0.0.0/0],\n"
		    "     limits: [{name: other, rate: 1/hour, burst: 5}]}\n");
	world_add(&world, "192.0.2.3", 0, 200);
	impact_finish(&world.impact);
	assert_int_equal(world.impact.live, 1);
	assert_int_equal(world.impact.refused, 0);
	world_end(&world);
}

/* ---- lock-out ---- */

static bool locks_out(const char *rules, const struct entry_state *entry, const char *address,
		      char *what, size_t size)
{
	struct prefix peer = rules_prefix(address);
	struct ruleset *ruleset = rules_read(rules);
	bool found = lockout_find(ruleset, entry, &peer, what, size);

	ruleset_free(ruleset);
	return found;
}

static void the_longest_prefix_decides_who_is_locked_out(void **state)
{
	static const char nested[] =
		"policies:\n"
		"  - {name: bad, sources: [10.0.0.0/8, 10.1.2.0/24], action: drop}\n"
		"  - {name: good, sources: [10.1.0.0/16], action: pass}\n"
		"  - {name: seen, sources: [11.0.0.0/8], action: drop, mode: observe}\n";
	char what[128];

	(void)state;
	assert_true(locks_out(nested, NULL, "10.9.9.9", what, sizeof(what)));
	assert_string_equal(what, "policy `bad`");
	assert_false(locks_out(nested, NULL, "10.1.9.9", what, sizeof(what)));
	assert_true(locks_out(nested, NULL, "10.1.2.9", what, sizeof(what)));
	assert_false(locks_out(nested, NULL, "11.0.0.1", what, sizeof(what)));
	assert_false(locks_out(nested, NULL, "2001:db8::1", what, sizeof(what)));
}

static void entries_outrank_policies_of_their_length(void **state)
{
	struct entry_state entry = { .prefix = rules_prefix("203.0.113.0/24"),
				     .entry.kind = ENTRY_ALLOW };
	char what[128];

	(void)state;
	assert_true(locks_out(BASE, NULL, "203.0.113.5", what, sizeof(what)));
	assert_false(locks_out(BASE, &entry, "203.0.113.5", what, sizeof(what)));
	assert_true(locks_out(BASE "entries: [{block: 203.0.113.0/24}]\n", &entry, "203.0.113.5",
			      what, sizeof(what)));
	assert_string_equal(what, "the block entry 203.0.113.0/24");
	entry.prefix = rules_prefix("203.0.0.0/16");
	assert_true(locks_out(BASE, &entry, "203.0.113.5", what, sizeof(what)));
	entry.entry.kind = ENTRY_BLOCK;
	assert_true(locks_out(BASE, &entry, "203.0.5.5", what, sizeof(what)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_rules_differ_in_nothing),
		cmocka_unit_test(a_limit_differs_by_what_changed),
		cmocka_unit_test(policies_differ_by_prefixes_action_and_mode),
		cmocka_unit_test(a_smaller_burst_refuses_who_owes_more),
		cmocka_unit_test(who_comes_under_a_drop_policy_is_refused),
		cmocka_unit_test(a_limit_that_begins_anew_refuses_nobody),
		cmocka_unit_test(the_longest_prefix_decides_who_is_locked_out),
		cmocka_unit_test(entries_outrank_policies_of_their_length),
	};

	return cmocka_run_group_tests_name("change", tests, NULL, NULL);
}
