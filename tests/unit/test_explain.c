/* SPDX-License-Identifier: GPL-2.0-only */
/* How a packet would be judged, from evidence by hand; and the same shown as JSON and text. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../bpf/algo.h"
#include "../../bpf/packet.h"
#include "../../user/explain.h"
#include "../../user/packet_words.h"
#include "../../user/render_json.h"
#include "../../user/render_text.h"
#include "rules.h"

#define NOW (1000 * NS_PER_SEC)

static const char rules[] =
	"services: {dns: [udp/53], web: [tcp/80]}\n"
	"policies:\n"
	"  - name: everyone\n"
	"    sources: [0.0.0.0/0]\n"
	"    limits:\n"
	"      - {name: packets, rate: 1/s, burst: 10}\n"
	"      - {service: dns, rate: 1/s, burst: 5, ban: 60s}\n"
	"      - {name: bytes, rate: 8kbit/s, burst: 2000B}\n"
	"  - {name: good, sources: [10.8.0.0/16], action: pass}\n"
	"  - {name: bad, sources: [10.7.0.0/16], action: drop}\n"
	"  - {name: watched, sources: [10.6.0.0/16], action: drop, mode: observe}\n"
	"  - {name: half, sources: [10.5.0.0/16], action: drop, mode: 50%}\n";

struct world {
	struct ruleset *ruleset;
	struct image *image;
	struct source_state states[4];
	struct evidence evidence;
	struct explanation explanation;
};

static int world_make(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct capacity room;

	world->ruleset = rules_read(rules);
	assert_int_equal(image_first(world->ruleset, 2, &room, &world->image, NULL), 0);
	world->evidence =
		(struct evidence){ .image = world->image, .states = world->states, .now = NOW };
	*state = world;
	return 0;
}

static int world_free(void **state)
{
	struct world *world = *state;

	image_free(world->image);
	ruleset_free(world->ruleset);
	free(world);
	return 0;
}

/* What a source took just now from a limit of the first policy. */
static struct source_state *took(struct world *world, unsigned int limit, uint64_t tokens)
{
	struct source_state *state = &world->states[world->evidence.state_count++];

	*state = (struct source_state){ .policy = &world->image->policies[0],
					.limit = limit,
					.rule = world->image->policies[0].policy.limits[limit],
					.passed = tokens,
					.dropped = 3 };
	assert_true(state_take(&state->rule, &state->state, NULL, NOW, tokens));
	return state;
}

static const struct explanation *explain(struct world *world, const char *text)
{
	char words[80], *argv[16], *rest;
	struct message message = { 0 };
	struct packet packet;
	int argc = 0;

	snprintf(words, sizeof(words), "%s", text);
	for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	assert_int_equal(packet_read_words(argc, argv, &packet, &message), 0);
	assert_int_equal(explain_packet(&world->evidence, &packet, &world->explanation, &message),
			 0);
	return &world->explanation;
}

static void assert_verdict(struct world *world, const char *text, bool passes, enum reason reason)
{
	const struct explanation *got = explain(world, text);

	if (got->passes != passes || got->reason != reason)
		fail_msg("%s: %s, %s", text, got->passes ? "pass" : "drop",
			 reason_name(got->reason));
}

static void the_policy_decides(void **state)
{
	struct world *world = *state;

	assert_verdict(world, "10.1.0.1", true, REASON_GRANTED);
	assert_verdict(world, "10.8.0.1", true, REASON_ALLOWED);
	assert_verdict(world, "10.7.0.1", false, REASON_BLOCKED);
	assert_verdict(world, "10.6.0.1", true, REASON_OBSERVED);
	assert_verdict(world, "2001:db8::1", true, REASON_UNMATCHED);
}

static void the_limits_left_decide(void **state)
{
	struct world *world = *state;
	const struct explanation *got;

	took(world, 0, 10);
	assert_verdict(world, "10.1.0.1", false, REASON_LIMIT);
	got = explain(world, "10.1.0.1");
	assert_int_equal(got->limits[0].remaining, 0);
	assert_int_equal(got->limits[0].retry_after_ns, NS_PER_SEC);
	assert_true(got->limits[2].granted);
	world->evidence.now = NOW + NS_PER_SEC - 1;
	assert_verdict(world, "10.1.0.1", false, REASON_LIMIT);
	world->evidence.now = NOW + NS_PER_SEC;
	assert_verdict(world, "10.1.0.1", true, REASON_GRANTED);
}

static void a_limit_of_a_service_is_for_its_packets_only(void **state)
{
	struct world *world = *state;

	took(world, 1, 5);
	assert_verdict(world, "10.1.0.1 proto udp dport 53", false, REASON_LIMIT);
	assert_verdict(world, "10.1.0.1 proto udp dport 54", true, REASON_GRANTED);
	assert_verdict(world, "10.1.0.1 proto tcp dport 53", true, REASON_GRANTED);
	state_ban(&world->states[0].rule, &world->states[0].state, NOW);
	assert_verdict(world, "10.1.0.1 proto udp dport 53", false, REASON_BAN);
	assert_int_equal(world->explanation.limits[1].banned_for_ns, 60 * NS_PER_SEC);
	world->evidence.now = NOW + 60 * NS_PER_SEC;
	assert_verdict(world, "10.1.0.1 proto udp dport 53", true, REASON_GRANTED);
}

static void byte_limits_ask_for_the_length(void **state)
{
	struct world *world = *state;

	took(world, 2, 1000);
	assert_verdict(world, "10.1.0.1 len 1000", true, REASON_GRANTED);
	assert_verdict(world, "10.1.0.1 len 1001", false, REASON_LIMIT);
	assert_int_equal(world->explanation.limits[2].retry_after_ns, NS_PER_SEC / 1000);
	assert_verdict(world, "10.1.0.1 len 2001", false, REASON_LIMIT);
	assert_true(world->explanation.limits[2].retry_after_ns == ~0ULL);
}

static void an_entry_outranks_what_is_no_longer(void **state)
{
	struct entry_state entry = { .prefix = rules_prefix("10.0.0.0/8"),
				     .entry.kind = ENTRY_BLOCK };
	struct world *world = *state;

	world->evidence.entry = &entry;
	assert_verdict(world, "10.1.0.1", false, REASON_BLOCKED);
	assert_true(world->explanation.by_entry);
	assert_null(world->explanation.policy);
	assert_verdict(world, "10.8.0.1", true, REASON_ALLOWED); /* /16 of the file is longer */
	assert_false(world->explanation.by_entry);
	entry.prefix = rules_prefix("10.7.0.0/16");
	entry.entry.kind = ENTRY_ALLOW;
	assert_verdict(world, "10.7.0.1", true, REASON_ALLOWED);
}

static void an_entrys_limit_is_read_from_its_words(void **state)
{
	struct entry_state entry = { .prefix = rules_prefix("10.1.0.0/16"),
				     .entry.kind = ENTRY_LIMIT,
				     .text = "1/s burst 3 per 32 service dns" };
	struct world *world = *state;
	struct source_state *taken = &world->states[0];

	world->evidence.entry = &entry;
	explain(world, "10.1.0.1 proto udp dport 53");
	assert_int_equal(world->explanation.limit_count, 1);
	assert_int_equal(world->explanation.limits[0].remaining, 3);
	*taken = (struct source_state){ .entry = entry.prefix, .state.word = NOW + 3 * NS_PER_SEC };
	world->evidence.state_count = 1;
	assert_verdict(world, "10.1.0.1 proto udp dport 53", false, REASON_LIMIT);
	assert_verdict(world, "10.1.0.1 proto udp dport 54", true, REASON_GRANTED);
	snprintf(entry.text, sizeof(entry.text), "1/s burst 3 service gone");
	assert_int_equal(explain_packet(&world->evidence,
					&(struct packet){ .family = 4, .source = { 10, 1, 0, 1 } },
					&world->explanation, NULL),
			 -EINVAL);
}

/* Of 1000 sources about half; each always the same. */
static void a_share_of_the_sources_is_told_by_the_hash(void **state)
{
	static const struct secret secret = { { 0x0123456789abcdef, 0xfedcba9876543210 } };
	struct world *world = *state;
	unsigned int dropped = 0;

	world->evidence.secret = &secret;
	for (unsigned int i = 0; i < 1000; i++) {
		char address[32];
		bool passes;

		snprintf(address, sizeof(address), "10.5.%u.%u", i / 250, i % 250);
		passes = explain(world, address)->passes;
		assert_int_equal(explain(world, address)->passes, passes);
		assert_int_equal(world->explanation.reason,
				 passes ? REASON_OBSERVED : REASON_BLOCKED);
		dropped += !passes;
	}
	assert_in_range(dropped, 400, 600);
}

/* ---- shown ---- */

static void assert_json(json_t *document, const char *wanted)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	json_print(document, false, out);
	fclose(out);
	assert_string_equal(text, wanted);
	free(text);
}

static void json_is_that_of_the_contract(void **state)
{
	struct world *world = *state;

	took(world, 0, 10);
	assert_json(json_explanation(explain(world, "10.1.0.1 proto udp dport 53 len 100")),
		    "{\"source\":\"10.1.0.1\",\"policy\":\"everyone\",\"services\":[\"dns\"],"
		    "\"limits\":[{\"name\":\"packets\",\"granted\":false,\"remaining\":0,"
		    "\"retry_after_ns\":1000000000},{\"name\":\"dns\",\"granted\":true,"
		    "\"remaining\":5,\"retry_after_ns\":0},{\"name\":\"bytes\",\"granted\":true,"
		    "\"remaining\":2000,\"retry_after_ns\":0}],\"verdict\":\"drop\","
		    "\"reason\":\"limit\"}\n");
	assert_json(json_source(explain(world, "10.1.0.1")),
		    "{\"source\":\"10.1.0.1\",\"policy\":\"everyone\",\"limits\":["
		    "{\"name\":\"packets\",\"remaining\":0,\"retry_after_ns\":1000000000,"
		    "\"passed\":10,\"dropped\":3},{\"name\":\"dns\",\"remaining\":5,"
		    "\"retry_after_ns\":0,\"passed\":0,\"dropped\":0,\"banned_for_ns\":0},"
		    "{\"name\":\"bytes\",\"remaining\":2000,\"retry_after_ns\":0,\"passed\":0,"
		    "\"dropped\":0}]}\n");
	assert_json(json_explanation(explain(world, "2001:db8::1")),
		    "{\"source\":\"2001:db8::1\",\"services\":[],\"limits\":[],"
		    "\"verdict\":\"pass\",\"reason\":\"unmatched\"}\n");
}

static void text_tells_the_same(void **state)
{
	struct text_style style = { .human = false, .color = false };
	struct world *world = *state;
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	took(world, 0, 10);
	text_explanation(explain(world, "10.1.0.1 proto udp dport 53"), &style, out);
	fclose(out);
	assert_string_equal(text, "source    10.1.0.1\n"
				  "policy    everyone\n"
				  "services  dns\n"
				  "\n"
				  "limit    grants    left  next in  banned for\n"
				  "packets  no           0       1s\n"
				  "dns      yes          5      now\n"
				  "bytes    yes     2000 B      now\n"
				  "\n"
				  "verdict   drop, limit\n");
	free(text);
}

#define explain_test(name) cmocka_unit_test_setup_teardown(name, world_make, world_free)

int main(void)
{
	const struct CMUnitTest tests[] = {
		explain_test(the_policy_decides),
		explain_test(the_limits_left_decide),
		explain_test(a_limit_of_a_service_is_for_its_packets_only),
		explain_test(byte_limits_ask_for_the_length),
		explain_test(an_entry_outranks_what_is_no_longer),
		explain_test(an_entrys_limit_is_read_from_its_words),
		explain_test(a_share_of_the_sources_is_told_by_the_hash),
		explain_test(json_is_that_of_the_contract),
		explain_test(text_tells_the_same),
	};

	return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
