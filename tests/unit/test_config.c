/* SPDX-License-Identifier: GPL-2.0-only */
/* The policy file: what is read, what is refused and where, and that what is written reads back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <glob.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../user/config.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ENFORCED_ALL 65536

static void print_problems(const struct problems *problems)
{
	for (size_t i = 0; i < problems->count; i++)
		print_error("%u:%u: %s (%s)\n", problems->list[i].place.line,
			    problems->list[i].place.column, problems->list[i].message.text,
			    problems->list[i].message.hint);
}

static struct ruleset *parsed(const char *text, size_t length)
{
	struct ruleset *ruleset = NULL;
	struct problems problems = {};

	if (config_parse(text, length, &ruleset, &problems)) {
		print_problems(&problems);
		fail_msg("refused: %.2000s", text);
	}
	assert_int_equal(problems.count, 0);
	return ruleset;
}

static struct ruleset *parsed_text(const char *text)
{
	return parsed(text, strlen(text));
}

static char *written(const struct ruleset *ruleset, size_t *length)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, length);

	assert_non_null(out);
	assert_int_equal(config_write(ruleset, out), 0);
	fclose(out);
	return text;
}

static void assert_limits_equal(const struct limit_spec *a, const struct limit_spec *b)
{
	assert_string_equal(a->name, b->name);
	assert_int_equal(a->named, b->named);
	assert_true(a->rate.amount == b->rate.amount);
	assert_true(a->rate.window_ns == b->rate.window_ns);
	assert_int_equal(a->rate.bytes, b->rate.bytes);
	assert_int_equal(a->rate.bits, b->rate.bits);
	assert_true(a->burst == b->burst);
	assert_int_equal(a->burst_given, b->burst_given);
	assert_int_equal(a->burst_bytes, b->burst_bytes);
	assert_int_equal(a->algorithm, b->algorithm);
	assert_int_equal(a->per, b->per);
	assert_int_equal(a->ipv4_len, b->ipv4_len);
	assert_int_equal(a->ipv6_len, b->ipv6_len);
	assert_int_equal(a->len_given, b->len_given);
	assert_int_equal(a->service, b->service);
	assert_true(a->ban_ns == b->ban_ns);
	assert_true(a->sources == b->sources);
}

static void assert_prefixes_equal(const struct prefix *a, const struct prefix *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(prefix_compare(&a[i], &b[i]), 0);
}

static void assert_services_equal(const struct service_spec *a, const struct service_spec *b)
{
	assert_string_equal(a->name, b->name);
	assert_int_equal(a->match_count, b->match_count);
	for (size_t i = 0; i < a->match_count; i++) {
		assert_int_equal(a->matches[i].kind, b->matches[i].kind);
		assert_int_equal(a->matches[i].first, b->matches[i].first);
		assert_int_equal(a->matches[i].last, b->matches[i].last);
	}
	assert_int_equal(a->to_count, b->to_count);
	assert_prefixes_equal(a->to, b->to, a->to_count);
}

static void assert_policies_equal(const struct policy_spec *a, const struct policy_spec *b)
{
	assert_string_equal(a->name, b->name);
	assert_int_equal(a->action, b->action);
	assert_int_equal(a->enforced, b->enforced);
	assert_int_equal(a->source_count, b->source_count);
	assert_prefixes_equal(a->sources, b->sources, a->source_count);
	assert_int_equal(a->limit_count, b->limit_count);
	for (size_t i = 0; i < a->limit_count; i++)
		assert_limits_equal(&a->limits[i], &b->limits[i]);
}

static void assert_entries_equal(const struct entry_spec *a, const struct entry_spec *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_prefixes_equal(&a->prefix, &b->prefix, 1);
	assert_true(a->for_ns == b->for_ns);
	if (a->kind == ENTRY_LIMIT)
		assert_limits_equal(&a->limit, &b->limit);
}

/* All but the places. */
static void assert_rulesets_equal(const struct ruleset *a, const struct ruleset *b)
{
	assert_int_equal(a->interface_count, b->interface_count);
	for (size_t i = 0; i < a->interface_count; i++)
		assert_string_equal(a->interfaces[i], b->interfaces[i]);
	assert_int_equal(a->mode, b->mode);
	assert_int_equal(a->table, b->table);
	assert_true(a->sources == b->sources);
	assert_int_equal(a->lenient, b->lenient);
	assert_int_equal(a->ipv4_len, b->ipv4_len);
	assert_int_equal(a->ipv6_len, b->ipv6_len);
	assert_int_equal(a->malformed_pass, b->malformed_pass);
	assert_int_equal(a->service_count, b->service_count);
	for (size_t i = 0; i < a->service_count; i++)
		assert_services_equal(&a->services[i], &b->services[i]);
	assert_int_equal(a->limit_count, b->limit_count);
	for (size_t i = 0; i < a->limit_count; i++)
		assert_limits_equal(&a->limits[i], &b->limits[i]);
	assert_int_equal(a->policy_count, b->policy_count);
	for (size_t i = 0; i < a->policy_count; i++)
		assert_policies_equal(&a->policies[i], &b->policies[i]);
	assert_int_equal(a->entry_count, b->entry_count);
	for (size_t i = 0; i < a->entry_count; i++)
		assert_entries_equal(&a->entries[i], &b->entries[i]);
}

/* Writing and reading changes nothing, nor does writing once more. */
static void assert_round_trip(const struct ruleset *ruleset)
{
	size_t length, again_length;
	char *text = written(ruleset, &length), *again_text;
	struct ruleset *again = parsed(text, length);

	assert_rulesets_equal(ruleset, again);
	again_text = written(again, &again_length);
	assert_string_equal(text, again_text);
	free(again_text);
	free(text);
	ruleset_free(again);
}

/* The example of the contract. */
static const char example[] =
	"interfaces: [eth0]            # used when attach is given none\n"
	"mode: auto\n"
	"table: {kind: sets, sources: 1M, on_full: strict}\n"
	"key: {ipv4: 32, ipv6: 64}     # how much of the address makes a source\n"
	"malformed: drop               # or pass\n"
	"services:\n"
	"  dns:        [udp/53, tcp/53]\n"
	"  web:        [tcp/80, tcp/443, udp/443]\n"
	"  game:       [udp/27000-27100]\n"
	"  handshakes: [tcp/syn]\n"
	"  ping:       [icmp/echo-request, icmpv6/echo-request]\n"
	"policies:\n"
	"  - name: everyone\n"
	"    sources: [0.0.0.0/0, \"::/0\"]\n"
	"    mode: enforce\n"
	"    limits:\n"
	"      - {rate: 20000/s, burst: 40000, sources: 512k}\n"
	"      - {rate: 200Mbit/s, burst: 4MB}\n"
	"      - {name: dns-queries, service: dns, rate: 50/s, burst: 100}\n"
	"      - {service: handshakes, rate: 20/s, burst: 40, ban: 60s}\n"
	"      - {per: {ipv4: 24, ipv6: 48}, rate: 100k/s, burst: 200k}\n"
	"      - {per: policy, rate: 1M/s, burst: 2M}\n"
	"      - {algorithm: sliding-log, service: ping, rate: 5/s}\n"
	"  - {name: partners, sources: [198.51.100.0/24], action: pass}\n"
	"  - {name: bad, sources: [203.0.113.0/24], action: drop}\n";

static void the_example_is_understood(void **state)
{
	static const char *const names[] = { "packets",	   "bytes",	     "dns-queries",
					     "handshakes", "subnet-packets", "policy-packets",
					     "ping" };
	struct ruleset *ruleset = parsed_text(example);
	const struct policy_spec *everyone = &ruleset->policies[0];

	(void)state;
	assert_int_equal(ruleset->interface_count, 1);
	assert_string_equal(ruleset->interfaces[0], "eth0");
	assert_int_equal(ruleset->sources, 1000000);
	assert_int_equal(ruleset->service_count, 5);
	assert_int_equal(ruleset->services[2].matches[0].kind, MATCH_UDP);
	assert_int_equal(ruleset->services[2].matches[0].first, 27000);
	assert_int_equal(ruleset->services[2].matches[0].last, 27100);
	assert_int_equal(ruleset->services[3].matches[0].kind, MATCH_SYN);
	assert_int_equal(ruleset->services[4].matches[1].kind, MATCH_ICMPV6);
	assert_int_equal(ruleset->services[4].matches[1].first, 128);
	assert_int_equal(ruleset->policy_count, 3);
	assert_int_equal(everyone->action, ACTION_LIMIT);
	assert_int_equal(everyone->enforced, ENFORCED_ALL);
	assert_int_equal(everyone->source_count, 2);
	assert_int_equal(everyone->limit_count, COUNT(names));
	for (size_t i = 0; i < COUNT(names); i++)
		assert_string_equal(everyone->limits[i].name, names[i]);
	assert_int_equal(everyone->limits[0].sources, 512000);
	assert_true(everyone->limits[1].rate.bits);
	assert_int_equal(everyone->limits[1].burst, 4000000);
	assert_int_equal(everyone->limits[2].service, 0);
	assert_int_equal(everyone->limits[3].ban_ns, 60 * NS_PER_SEC);
	assert_int_equal(everyone->limits[4].ipv4_len, 24);
	assert_int_equal(everyone->limits[4].ipv6_len, 48);
	assert_int_equal(everyone->limits[5].per, PER_POLICY);
	assert_int_equal(everyone->limits[6].algorithm, ALGO_SLIDING_LOG);
	assert_int_equal(everyone->limits[6].burst, 5);
	assert_int_equal(everyone->limits[3].place.line, 20);
	assert_int_equal(everyone->limits[3].place.column, 9);
	assert_int_equal(ruleset->policies[1].action, ACTION_PASS);
	assert_int_equal(ruleset->policies[2].action, ACTION_DROP);
	assert_round_trip(ruleset);
	ruleset_free(ruleset);
}

static void what_is_beyond_the_example(void **state)
{
	static const char text[] =
		"policies:\n" /* before the services it names */
		"- name: 25-percent\n"
		"  sources: 10.0.0.0/8\n" /* a lone value is a list of one */
		"  mode: 25%\n"
		"  limits: [{rate: 1/s, service: dns, per: {ipv4: 24}}]\n"
		"- {name: free, sources: [\"2001:db8::/32\"], action: unlimited}\n"
		"- {name: watched, sources: [192.0.2.0/24], action: drop, mode: observe}\n"
		"services:\n"
		"  dns: {match: [udp/53], to: [192.0.2.53/32, \"2001:db8::53\"]}\n"
		"  tunnels: [gre, proto/4-5, icmp, tcp, icmp/8-13, icmpv6/200]\n"
		"limits: [{rate: 1M/s}, {rate: 10Gbit/s, per: instance}]\n"
		"entries:\n"
		"- {block: 192.0.2.1, for: 10min}\n"
		"- {allow: \"2001:db8:1::/48\"}\n"
		"- {limit: 192.0.2.0/24, rate: 5/s, burst: 7, per: {ipv4: 28, ipv6: 56}}\n";
	struct ruleset *ruleset = parsed_text(text);

	(void)state;
	assert_int_equal(ruleset->policies[0].enforced, ENFORCED_ALL / 4);
	assert_int_equal(ruleset->policies[0].limits[0].service, 0);
	assert_int_equal(ruleset->policies[0].limits[0].ipv4_len, 24);
	assert_int_equal(ruleset->policies[0].limits[0].ipv6_len, 64);
	assert_int_equal(ruleset->policies[1].action, ACTION_PASS);
	assert_int_equal(ruleset->policies[2].enforced, 0);
	assert_int_equal(ruleset->services[0].to_count, 2);
	assert_int_equal(ruleset->services[1].matches[0].kind, MATCH_PROTO);
	assert_int_equal(ruleset->services[1].matches[0].first, 47);
	assert_int_equal(ruleset->services[1].matches[1].last, 5);
	assert_int_equal(ruleset->services[1].matches[3].first, 6);
	assert_int_equal(ruleset->services[1].matches[4].last, 13);
	assert_int_equal(ruleset->limits[0].per, PER_INSTANCE);
	assert_string_equal(ruleset->limits[1].name, "instance-bytes");
	assert_int_equal(ruleset->entries[0].for_ns, 600 * NS_PER_SEC);
	assert_int_equal(ruleset->entries[1].kind, ENTRY_ALLOW);
	assert_int_equal(ruleset->entries[2].limit.burst, 7);
	assert_string_equal(ruleset->entries[2].limit.name, "subnet-packets");
	assert_round_trip(ruleset);
	ruleset_free(ruleset);
}

static void the_default_policy_is_sound(void **state)
{
	size_t length;
	const char *text = config_default(&length);
	struct ruleset *ruleset = parsed(text, length);

	(void)state;
	assert_string_equal(ruleset->policies[0].name, "everyone");
	assert_int_equal(ruleset->policies[0].enforced, ENFORCED_ALL);
	assert_round_trip(ruleset);
	ruleset_free(ruleset);
}

static void the_examples_are_sound(void **state)
{
	glob_t files;

	(void)state;
	assert_int_equal(glob("share/examples/*.yaml", 0, NULL, &files), 0);
	assert_in_range(files.gl_pathc, 4, 100);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		struct ruleset *ruleset;
		size_t length;
		char *text;

		assert_int_equal(config_read_text(files.gl_pathv[i], &text, &length, NULL), 0);
		ruleset = parsed(text, length);
		assert_true(ruleset->policy_count > 0);
		assert_round_trip(ruleset);
		ruleset_free(ruleset);
		free(text);
	}
	globfree(&files);
}

/* A file with one mistake: where, and part of the message or the hint. */
struct mistake {
	const char *text;
	unsigned int line, column;
	const char *why;
};

#define POLICY(body)  "policies:\n- {name: a, sources: [10.0.0.0/8], " body "}\n"
#define LIMIT(body)   POLICY("limits: [{" body "}]")
#define SERVICE(word) "services: {s: [" word "]}\n"

static void assert_mistake(const struct mistake *row)
{
	struct ruleset *untouched = (struct ruleset *)row, *ruleset = untouched;
	struct problems problems = {};
	const struct problem *problem;

	if (config_parse(row->text, strlen(row->text), &ruleset, &problems) != -EINVAL)
		fail_msg("taken: %s", row->text);
	assert_ptr_equal(ruleset, untouched);
	print_problems(problems.count == 1 ? &(struct problems){} : &problems);
	if (problems.count != 1)
		fail_msg("%zu problems in: %s", problems.count, row->text);
	problem = &problems.list[0];
	if (problem->place.line != row->line || problem->place.column != row->column ||
	    (!strstr(problem->message.text, row->why) && !strstr(problem->message.hint, row->why)))
		fail_msg("%s\nwanted %u:%u %s\ngot    %u:%u %s (%s)", row->text, row->line,
			 row->column, row->why, problem->place.line, problem->place.column,
			 problem->message.text, problem->message.hint);
	problems_free(&problems);
}

static void assert_mistakes(const struct mistake *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_mistake(&rows[i]);
}

static void yaml_is_refused(void **state)
{
	static const struct mistake rows[] = {
		{ "", 1, 1, "the file is empty" },
		{ "# nothing\n", 1, 1, "the file is empty" },
		{ "---\n...\n", 2, 1, "a policy file is a mapping" },
		{ "just text\n", 1, 1, "a policy file is a mapping" },
		{ "- a\n- b\n", 1, 1, "a policy file is a mapping" },
		{ "mode: auto\n---\nmode: auto\n", 2, 1, "a second document begins here" },
		{ "mode: auto\n--- [\n", 3, 1, "syntax" },
		{ "mode: &a auto\n", 1, 7, "anchors (&)" },
		{ "mode: *a\n", 1, 7, "aliases (*)" },
		{ "mode: !!str auto\n", 1, 7, "tags (!)" },
		{ "mode: auto\n\n\n\n\n\nkey: {ipv4: 32\n", 8, 1, "syntax" },
		{ "mode: auto\n\n\n\n\n\nkey: ]\n", 7, 6, "syntax" },
		{ "mode: auto\n\tkey: {ipv4: 32}\n", 2, 1, "syntax" },
		{ "mode: auto\nmalformed: \001\n", 2, 12, "not text" },
		{ "mode: \"a\\0uto\"\n", 1, 7, "NUL" },
		{ "mode: [auto]\n", 1, 7, "not a list" },
		{ "mode: {a: b}\n", 1, 7, "not a mapping" },
		{ "[mode]: auto\n", 1, 1, "not a list" },
		{ "interfaces: {a: b}\n", 1, 13, "a list is wanted" },
		{ "mode: auto\nmode: native\n", 2, 1, "key 'mode' is given twice" },
		{ "mode: auto\n? mode\n: auto\n", 2, 3, "key 'mode' is given twice" },
		{ "policies: [{name: a, sources: [::/0]}]\n", 1, 32,
		  "quote what begins with a colon" },
		{ "key:\n\tipv4: 32\n", 2, 1, "indent by spaces" },
		{ "<<: {mode: auto}\n", 1, 1, "unknown key `<<`" },
	};

	(void)state;
	assert_mistakes(rows, COUNT(rows));
}

static void keys_and_words_are_refused(void **state)
{
	static const struct mistake rows[] = {
		{ "]\n", 1, 1, "syntax" },
		{ "polices: []\n", 1, 1, "did you mean `policies`" },
		{ "Mode: auto\n", 1, 1, "did you mean `mode`" },
		{ "mod: auto\n", 1, 1, "did you mean `mode`" },
		{ "mode: nativ\n", 1, 7, "did you mean `native`" },
		{ "mode: no\n", 1, 7, "unknown mode `no`" },
		{ "mode:\n", 1, 6, "unknown mode ``" },
		{ "malformed: on\n", 1, 12, "unknown action for malformed packets `on`" },
		{ "table: sets\n", 1, 8, "table is a mapping" },
		{ "table: {kind: lru}\n", 1, 15, "known: sets, hash, percpu" },
		{ "table: {sources: 0}\n", 1, 18, "is 0" },
		{ "table: {sources: 1e6}\n", 1, 18, "has an exponent" },
		{ "table: {sources: 5G}\n", 1, 18, "at most 4294967295" },
		{ "table: {on_full: yes}\n", 1, 18, "known: strict, lenient" },
		{ "table: {size: 5}\n", 1, 9, "unknown key `size`" },
		{ "key: {ipv4: 33}\n", 1, 13, "at most 32" },
		{ "key: {ipv4: 0}\n", 1, 13, "is 0" },
		{ "key: {ipv6: 129}\n", 1, 13, "at most 128" },
		{ "key: 24\n", 1, 6, "key is a mapping" },
		{ "interfaces: [\"\"]\n", 1, 14, "not a name of an interface" },
		{ "interfaces: [eth0, a/b]\n", 1, 20, "not a name of an interface" },
		{ "interfaces: [sixteencharacter]\n", 1, 14, "not a name of an interface" },
		{ "interfaces: [\"eth\\e[0m\"]\n", 1, 14, "eth?[0m" },
		{ "interfaces: [[eth0]]\n", 1, 14, "not a list" },
	};

	(void)state;
	assert_mistakes(rows, COUNT(rows));
}

static void policies_are_refused(void **state)
{
	static const struct mistake rows[] = {
		{ "policies: {}\n", 1, 11, "a list is wanted" },
		{ "policies: [a]\n", 1, 12, "a policy is a mapping" },
		{ "policies:\n", 1, 10, "a policy is a mapping" },
		{ "policies:\n- {name: a, action: pass}\n", 2, 3, "has no 'sources'" },
		{ "policies:\n- {sources: [1::1], action: pass}\n", 2, 3, "has no 'name'" },
		{ "policies:\n- {name: a, sources: [], action: pass}\n", 2, 22, "is empty" },
		{ "policies:\n- {name: a b, sources: [1::1], action: pass}\n", 2, 10,
		  "not a name" },
		{ "policies:\n- {name: a, sources: [10.0.0.1/8], action: pass}\n", 2, 23,
		  "10.0.0.0/8 was meant" },
		{ "policies:\n- {name: a, sources: [\"::ffff:10.0.0.1\"], action: pass}\n", 2, 23,
		  "write 10.0.0.1/32" },
		{ "policies:\n- {name: a, sources: [a.example], action: pass}\n", 2, 23,
		  "not an IPv4 address" },
		{ POLICY("action: block"), 2, 44, "known: pass, drop, limit" },
		{ POLICY("action: dorp"), 2, 44, "did you mean `drop`" },
		{ POLICY("mode: enforce"), 2, 3, "policy 'a' has no limits" },
		{ POLICY("limits: []"), 2, 3, "policy 'a' has no limits" },
		{ POLICY("action: pass, limits: [{rate: 1/s}]"), 2, 59, "does not limit" },
		{ POLICY("action: drop, mode: maybe"), 2, 56, "unknown mode 'maybe'" },
		{ POLICY("action: drop, mode: 0%"), 2, 56, "unknown mode '0%'" },
		{ POLICY("action: drop, mode: 101%"), 2, 56, "unknown mode '101%'" },
		{ POLICY("action: drop, mode: 25"), 2, 56, "unknown mode '25'" },
		{ POLICY("action: drop, mode: -5%"), 2, 56, "unknown mode '-5%'" },
		{ POLICY("action: drop") "- {name: a, sources: [1::1], action: drop}\n", 3, 3,
		  "policy 'a' exists already, in line 2" },
		{ POLICY("action: drop") "- {name: b, sources: [10.0.0.0/8], action: drop}\n", 3,
		  23, "is in policy 'a' already, in line 2" },
		{ "policies:\n- {name: a, sources: [1::1, \"1::1/128\"], action: pass}\n", 2, 29,
		  "is in policy 'a' already" },
	};

	(void)state;
	assert_mistakes(rows, COUNT(rows));
}

static void limits_are_refused(void **state)
{
	static const struct mistake rows[] = {
		{ POLICY("limits: [5/s]"), 2, 45, "a limit is a mapping" },
		{ LIMIT("burst: 5"), 2, 45, "has no 'rate'" },
		{ LIMIT("rate: 0"), 2, 52, "is 0" },
		{ LIMIT("rate: -5"), 2, 52, "is negative" },
		{ LIMIT("rate: 1e3"), 2, 52, "has an exponent" },
		{ LIMIT("rate: nan"), 2, 52, "does not begin with a number" },
		{ LIMIT("rate: "), 2, 52, "is empty" },
		{ LIMIT("rate: \"\""), 2, 52, "is empty" },
		{ LIMIT("rate: 1.5.2"), 2, 52, "is not a number" },
		{ LIMIT("rate: 18446744073709551616"), 2, 52, "is too large" },
		{ LIMIT("rate: 1000"), 2, 52, "has no unit" },
		{ LIMIT("rate: 10 bps"), 2, 52, "bits or bytes?" },
		{ LIMIT("rate: 10mbps"), 2, 52, "write 10Mbit/s or 10MB/s" },
		{ LIMIT("rate: [5/s]"), 2, 52, "not a list" },
		{ LIMIT("rate: 5/s, burst: 0"), 2, 64, "is 0" },
		{ LIMIT("rate: 5/s, burst: -1"), 2, 64, "is negative" },
		{ LIMIT("burst: -1, rate: 1MB/s"), 2, 53, "is negative" },
		{ LIMIT("rate: 5/s, burst: 4MB"), 2, 45, "the rate counts packets" },
		{ LIMIT("rate: 5MB/s, burst: 4000"), 2, 45, "needs a unit" },
		{ LIMIT("rate: 5MB/s, burst: 1000B"), 2, 45, "below one full frame" },
		{ LIMIT("rate: 1/day, burst: 1M"), 2, 45, "2^62 ns" },
		{ LIMIT("rate: 5/s, algorithm: leaky"), 2, 68, "known: token-bucket" },
		{ LIMIT("rate: 5/s, algorithm: fixed-windw"), 2, 68, "did you mean" },
		{ LIMIT("rate: 5/s, burst: 5, algorithm: fixed-window"), 2, 45,
		  "burst is for token-bucket" },
		{ LIMIT("rate: 65/s, algorithm: sliding-log"), 2, 45, "at most 64" },
		{ LIMIT("rate: 5MB/s, algorithm: sliding-log"), 2, 45, "not bytes" },
		{ LIMIT("rate: 5G/s, algorithm: sliding-window"), 2, 45, "at most 4294967295" },
		{ LIMIT("rate: 5/s, ban: 1"), 2, 62, "has no unit" },
		{ LIMIT("rate: 5/min, burst: 5, ban: 59s"), 2, 45,
		  "ban 59s is shorter than the refill: an exhausted limit takes 1min" },
		{ LIMIT("rate: 5/s, per: subnet"), 2, 62, "known: source, policy, instance" },
		{ LIMIT("rate: 5/s, per: instance"), 2, 45, "outside the policies" },
		{ LIMIT("rate: 5/s, per: {ipv4: 33}"), 2, 69, "at most 32" },
		{ LIMIT("rate: 5/s, per: {v4: 3}"), 2, 63, "known: ipv4, ipv6" },
		{ LIMIT("rate: 5/s, per: policy, sources: 5"), 2, 45, "has one state" },
		{ LIMIT("rate: 5/s, sources: 2M"), 2, 45, "given away" },
		{ LIMIT("rate: 5/s, service: dns"), 2, 66, "unknown service `dns`" },
		{ "services: {dns: [udp/53]}\n" LIMIT("rate: 5/s, service: dsn"), 3, 66,
		  "did you mean `dns`" },
		{ LIMIT("rate: 5/s, name: \"a{}\""), 2, 63, "not a name" },
		{ LIMIT("rate: 5/s, name: x}, {rate: 6/s, name: x"), 2, 67, "exists already" },
		{ "limits: [{rate: 5/s, name: x}]\n" LIMIT("rate: 5/s, name: x"), 3, 45,
		  "limit 'x' exists already" },
		{ LIMIT("rate: 5/s, name: x") "limits: [{rate: 5/s, name: x}]\n", 3, 10,
		  "limit 'x' exists already" },
		{ "limits: [{rate: 5/s, per: source}]\n", 1, 10, "are per: instance" },
		{ "limits: [{rate: 5/s, per: {ipv4: 8}}]\n", 1, 10, "are per: instance" },
	};

	(void)state;
	assert_mistakes(rows, COUNT(rows));
}

static void services_are_refused(void **state)
{
	static const struct mistake rows[] = {
		{ "services: [dns]\n", 1, 11, "services is a mapping" },
		{ "services: {a b: [udp/53]}\n", 1, 12, "not a name" },
		{ "services: {s: []}\n", 1, 15, "matches nothing" },
		{ "services: {s: {to: [1::1]}}\n", 1, 15, "has no 'match'" },
		{ "services: {s: {match: [udp/53], to: [[::1]]}}\n", 1, 39, "quote" },
		{ "services: {s: {match: [udp/53], to: [[1::1]]}}\n", 1, 38, "not a list" },
		{ "services: {s: {match: [udp/53], to: [10.0.0.1/8]}}\n", 1, 38, "was meant" },
		{ "services: {s: [udp/53], s: [tcp/53]}\n", 1, 25, "service 's' exists already" },
		{ SERVICE("upd/53"), 1, 16, "did you mean `udp`" },
		{ SERVICE("dns"), 1, 16, "write udp/53" },
		{ SERVICE("udp/65536"), 1, 16, "up to 65535" },
		{ SERVICE("udp/"), 1, 16, "not a number" },
		{ SERVICE("udp/http"), 1, 16, "not a number" },
		{ SERVICE("udp/syn"), 1, 16, "not a number" },
		{ SERVICE("tcp/-80"), 1, 16, "not a number" },
		{ SERVICE("tcp/80-"), 1, 16, "not a number" },
		{ SERVICE("tcp/90-80"), 1, 16, "the range is empty" },
		{ SERVICE("tcp/80-90-100"), 1, 16, "not a number" },
		{ SERVICE("proto/256"), 1, 16, "up to 255" },
		{ SERVICE("icmp/256"), 1, 16, "up to 255" },
		{ SERVICE("icmp/echo"), 1, 16, "unknown ICMP type" },
		{ SERVICE("icmp/packet-too-big"), 1, 16, "unknown ICMP type" },
		{ SERVICE("icmpv6/echo-requset"), 1, 16, "did you mean `echo-request`" },
		{ SERVICE("gre/1"), 1, 16, "unknown protocol" },
		{ SERVICE("[udp/53]"), 1, 16, "not a list" },
	};

	(void)state;
	assert_mistakes(rows, COUNT(rows));
}

static void entries_are_refused(void **state)
{
	static const struct mistake rows[] = {
		{ "entries: [10.0.0.1]\n", 1, 11, "an entry is a mapping" },
		{ "entries: [{for: 10min}]\n", 1, 11, "one of block, allow and limit" },
		{ "entries: [{block: 1::1, allow: 1::2}]\n", 1, 32,
		  "one of block, allow and limit" },
		{ "entries: [{block: 10.0.0.1/8}]\n", 1, 19, "was meant" },
		{ "entries: [{block: 1::1, for: 0s}]\n", 1, 30, "is 0" },
		{ "entries: [{block: 1::1, rate: 5/s}]\n", 1, 11, "only a limit entry" },
		{ "entries: [{limit: 1::1}]\n", 1, 11, "has no 'rate'" },
		{ "entries: [{limit: 1::1, rate: 5}]\n", 1, 31, "has no unit" },
		{ "entries: [{limit: 1::1, rate: 1MB/s, burst: 5B}]\n", 1, 11, "full frame" },
		{ "entries: [{block: 1::1}, {allow: \"1::1/128\"}]\n", 1, 26,
		  "has an entry already, in line 1" },
		{ "entries: [{limit: 10.1.1.0/24, rate: 5/s, service: x}]\n", 1, 52,
		  "unknown service" },
		{ "entries: [{limit: 1::1, rate: 5/s, ban: 1h}]\n", 1, 36, "unknown key `ban`" },
		{ "entries: [{limit: 1::1, rate: 5/s, per: instance}]\n", 1, 11,
		  "outside the policies" },
	};

	(void)state;
	assert_mistakes(rows, COUNT(rows));
}

static void all_problems_are_reported_in_order(void **state)
{
	static const char text[] = "interfces: [eth0]\n"
				   "mode: no\n"
				   "mode: auto\n"
				   "services: {s: [upd/53]}\n"
				   "policies:\n"
				   "- name: a\n"
				   "  sources: [10.0.0.1/8, 1::1]\n"
				   "  limits:\n"
				   "  - {rate: 5}\n"
				   "  - {rate: 5/s, service: t}\n"
				   "- {name: a, sources: [1::1], action: pass}\n";
	static const unsigned int places[][2] = { { 1, 1 },   { 2, 7 },	 { 3, 1 },
						  { 4, 16 },  { 7, 13 }, { 9, 12 },
						  { 10, 26 }, { 11, 3 }, { 11, 23 } };
	struct problems problems = {};
	struct ruleset *ruleset;

	(void)state;
	assert_int_equal(config_parse(text, strlen(text), &ruleset, &problems), -EINVAL);
	assert_int_equal(problems.count, COUNT(places));
	for (size_t i = 0; i < COUNT(places); i++) {
		assert_int_equal(problems.list[i].place.line, places[i][0]);
		assert_int_equal(problems.list[i].place.column, places[i][1]);
	}
	problems_free(&problems);
}

/* cases.md T07: rates beyond 32 bits come back as they were written. */
static void large_rates_are_listed_whole(void **state)
{
	static const char *const rates[][2] = { { "10gbit", "rate: 10Gbit/s," },
						{ "40gbit", "rate: 40Gbit/s," },
						{ "100gbit", "rate: 100Gbit/s," } };
	char text[256];

	(void)state;
	for (size_t i = 0; i < COUNT(rates); i++) {
		struct ruleset *ruleset;
		size_t length;
		char *out;

		snprintf(text, sizeof(text), LIMIT("rate: %s, burst: 20MB"), rates[i][0]);
		ruleset = parsed_text(text);
		out = written(ruleset, &length);
		assert_non_null(strstr(out, rates[i][1]));
		free(out);
		ruleset_free(ruleset);
	}
}

/* cases.md T19: the all-zero prefixes are listed once each, even alone. */
static void default_routes_are_listed(void **state)
{
	static const char *const prefixes[] = { "0.0.0.0/0", "::/0" };
	char text[256];

	(void)state;
	for (size_t i = 0; i < COUNT(prefixes); i++) {
		struct ruleset *ruleset;
		size_t length;
		char *out, *found;

		snprintf(text, sizeof(text),
			 "policies: [{name: a, sources: [\"%s\"], action: drop}]\n", prefixes[i]);
		ruleset = parsed_text(text);
		out = written(ruleset, &length);
		found = strstr(out, prefixes[i]);
		assert_non_null(found);
		assert_null(strstr(found + 1, prefixes[i]));
		free(out);
		ruleset_free(ruleset);
	}
}

/* xorshift64: the same rulesets in every run. */
static uint64_t draw(uint64_t *seed, uint64_t below)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (*seed >> 11) % below;
}

static char *named(const char *prefix, size_t number)
{
	char *name;

	assert_true(asprintf(&name, "%s%zu", prefix, number) > 0);
	return name;
}

static struct prefix random_prefix(uint64_t *seed, size_t number)
{
	struct prefix prefix = { .family = draw(seed, 2) ? 4 : 6 };

	/* Unlike all others by its number, in the first 24 bits. */
	prefix.addr[0] = (uint8_t)(number >> 16) + 32;
	prefix.addr[1] = (uint8_t)(number >> 8);
	prefix.addr[2] = (uint8_t)number;
	prefix.len = (uint8_t)(24 + draw(seed, prefix.family == 4 ? 9 : 105));
	for (unsigned int i = 24; i < prefix.len; i++)
		prefix.addr[i / 8] |= (uint8_t)(draw(seed, 2) << (7 - i % 8));
	return prefix;
}

static void random_rate(uint64_t *seed, struct limit_spec *limit)
{
	static const uint64_t windows[] = { 1, 60, 3600, 86400 };
	struct rate *rate = &limit->rate;

	rate->window_ns = windows[draw(seed, COUNT(windows))] * NS_PER_SEC;
	rate->bytes = limit->algorithm != ALGO_SLIDING_LOG && draw(seed, 2);
	rate->bits = rate->bytes && draw(seed, 2);
	if (limit->algorithm == ALGO_SLIDING_LOG)
		rate->amount = 1 + draw(seed, LOG_SLOTS);
	else if (limit->algorithm == ALGO_TOKEN_BUCKET)
		rate->amount = 8 + draw(seed, 100000000000);
	else
		rate->amount = 8 * FRAME_FULL + draw(seed, UINT32_MAX - 8 * FRAME_FULL);
	if (draw(seed, 2) && limit->algorithm == ALGO_TOKEN_BUCKET)
		rate->amount = rate->amount / 1000000 * 1000000 + 1000000;
}

static void random_limit(uint64_t *seed, struct limit_spec *limit, size_t number, size_t services)
{
	limit->algorithm = draw(seed, ALGO_COUNT);
	random_rate(seed, limit);
	limit->burst_given = limit->algorithm == ALGO_TOKEN_BUCKET && draw(seed, 2);
	if (limit->burst_given)
		limit->burst = FRAME_FULL + draw(seed, 50000);
	limit->burst_bytes = limit->burst_given && limit->rate.bytes;
	limit->per = draw(seed, 3) ? PER_SOURCE : PER_POLICY;
	limit->len_given = limit->per == PER_SOURCE && draw(seed, 2);
	if (limit->len_given) {
		limit->ipv4_len = (uint8_t)(1 + draw(seed, 32));
		limit->ipv6_len = (uint8_t)(1 + draw(seed, 128));
	}
	limit->service = (int)draw(seed, services + 1) - 1;
	if (limit->per == PER_SOURCE && draw(seed, 2))
		limit->sources = 1 + draw(seed, 1000);
	if ((limit->burst_given || limit->algorithm != ALGO_TOKEN_BUCKET) && draw(seed, 2))
		limit->ban_ns = limit_refill_ns(limit) + draw(seed, 1000000000000);
	if (limit->ban_ns > 1ULL << 62)
		limit->ban_ns = 0;
	limit->named = draw(seed, 2);
	if (limit->named)
		limit->name = named("limit-", number);
}

static void random_service(uint64_t *seed, struct service_spec *service, size_t number)
{
	service->name = named("s", number);
	service->match_count = 1 + draw(seed, 4);
	service->matches = calloc(service->match_count, sizeof(*service->matches));
	for (size_t i = 0; i < service->match_count; i++) {
		struct service_match *match = &service->matches[i];
		uint64_t most;

		match->kind = draw(seed, MATCH_SYN + 1);
		if (match->kind == MATCH_SYN)
			continue;
		most = match->kind <= MATCH_UDP ? 65535 : 255;
		match->first = match->last = (uint16_t)draw(seed, most + 1);
		if (draw(seed, 2))
			match->last =
				(uint16_t)(match->first + draw(seed, most - match->first + 1));
	}
	service->to_count = draw(seed, 3);
	service->to = calloc(3, sizeof(*service->to));
	for (size_t i = 0; i < service->to_count; i++)
		service->to[i] = random_prefix(seed, i);
}

static void random_policy(uint64_t *seed, struct policy_spec *policy, size_t number,
			  size_t services)
{
	policy->name = named("policy_", number);
	policy->enforced = (uint32_t)draw(seed, ENFORCED_ALL + 1);
	policy->action = draw(seed, ACTION_LIMIT + 1);
	policy->source_count = 1 + draw(seed, 9);
	policy->sources = calloc(policy->source_count, sizeof(*policy->sources));
	for (size_t i = 0; i < policy->source_count; i++)
		policy->sources[i] = random_prefix(seed, number * 16 + i);
	policy->limits = calloc(LIMITS_MAX, sizeof(*policy->limits));
	if (policy->action != ACTION_LIMIT)
		return;
	policy->limit_count = 1 + draw(seed, 6);
	for (size_t i = 0; i < policy->limit_count; i++)
		random_limit(seed, &policy->limits[i], i, services);
}

static void random_entry(uint64_t *seed, struct entry_spec *entry, size_t number, size_t services)
{
	entry->kind = ENTRY_BLOCK + draw(seed, 3);
	entry->prefix = random_prefix(seed, number);
	if (draw(seed, 2))
		entry->for_ns = 1 + draw(seed, 1ULL << 50);
	if (entry->kind != ENTRY_LIMIT)
		return;
	/* Entries know no other algorithm and none of these. */
	do {
		free(entry->limit.name);
		entry->limit = (struct limit_spec){};
		random_limit(seed, &entry->limit, number, services);
	} while (entry->limit.algorithm != ALGO_TOKEN_BUCKET || entry->limit.named ||
		 entry->limit.ban_ns || entry->limit.sources);
}

static void random_interfaces(uint64_t *seed, struct ruleset *ruleset)
{
	static const char *const names[] = { "eth0", "it's", "#1", "*",	 "&a", "!x", "-", "no",
					     "1e3",  "~",    "{}", "\"", "[a", "%x", "@", "a,b" };

	ruleset->interface_count = draw(seed, 4);
	ruleset->interfaces = calloc(4, sizeof(*ruleset->interfaces));
	for (size_t i = 0; i < ruleset->interface_count; i++)
		ruleset->interfaces[i] = named(names[draw(seed, COUNT(names))], i);
}

static struct ruleset *random_ruleset(uint64_t *seed)
{
	struct ruleset *ruleset = ruleset_new();

	assert_non_null(ruleset);
	random_interfaces(seed, ruleset);
	ruleset->mode = draw(seed, 3);
	ruleset->table = draw(seed, TABLE_COUNT);
	ruleset->sources = 1000000 + draw(seed, 1000000);
	ruleset->lenient = draw(seed, 2);
	ruleset->malformed_pass = draw(seed, 2);
	ruleset->ipv4_len = (uint8_t)(1 + draw(seed, 32));
	ruleset->ipv6_len = (uint8_t)(1 + draw(seed, 128));
	ruleset->service_count = draw(seed, SERVICES_MAX + 1);
	ruleset->services = calloc(SERVICES_MAX, sizeof(*ruleset->services));
	for (size_t i = 0; i < ruleset->service_count; i++)
		random_service(seed, &ruleset->services[i], i);
	ruleset->limit_count = draw(seed, 3);
	ruleset->limits = calloc(2, sizeof(*ruleset->limits));
	for (size_t i = 0; i < ruleset->limit_count; i++) {
		random_limit(seed, &ruleset->limits[i], 10 + i, ruleset->service_count);
		ruleset->limits[i].per = PER_INSTANCE;
		ruleset->limits[i].sources = 0;
		ruleset->limits[i].len_given = false;
		ruleset->limits[i].ipv4_len = ruleset->limits[i].ipv6_len = 0;
	}
	ruleset->policy_count = draw(seed, 20);
	ruleset->policies = calloc(20, sizeof(*ruleset->policies));
	for (size_t i = 0; i < ruleset->policy_count; i++)
		random_policy(seed, &ruleset->policies[i], i, ruleset->service_count);
	ruleset->entry_count = draw(seed, 20);
	ruleset->entries = calloc(20, sizeof(*ruleset->entries));
	for (size_t i = 0; i < ruleset->entry_count; i++)
		random_entry(seed, &ruleset->entries[i], i, ruleset->service_count);
	return ruleset;
}

static void random_rulesets_round_trip(void **state)
{
	uint64_t seed = 0x77656972;

	(void)state;
	for (int i = 0; i < 300; i++) {
		struct ruleset *ruleset = random_ruleset(&seed);
		struct problems problems = {};

		if (ruleset_complete(ruleset, &problems)) {
			print_problems(&problems);
			fail_msg("ruleset %d is refused", i);
		}
		assert_round_trip(ruleset);
		ruleset_free(ruleset);
	}
}

/* cases.md T32: 10 000 policies of each family, with comments and blank lines. */
static void many_policies_are_read(void **state)
{
	struct ruleset *ruleset;
	size_t length;
	char *text = NULL;
	FILE *out = open_memstream(&text, &length);

	(void)state;
	fputs("policies:\n", out);
	for (unsigned int i = 0; i < 10000; i++) {
		fprintf(out, "  # customer %u\n\n", i);
		fprintf(out,
			"  - {name: v4-%u, sources: [10.%u.%u.0/24], limits: [{rate: %u/s}]}\n", i,
			i >> 8, i & 255, i + 1);
		fprintf(out, "  - name: v6-%u\n    sources: [\"2001:db8:%x::/48\"]\n", i, i);
		fprintf(out, "    limits:\n      - {rate: 1Mbit/s, burst: 64kB}\n");
	}
	fclose(out);
	ruleset = parsed(text, length);
	assert_int_equal(ruleset->policy_count, 20000);
	assert_string_equal(ruleset->policies[19998].name, "v4-9999");
	assert_int_equal(ruleset->policies[19998].limits[0].burst, 10000);
	assert_round_trip(ruleset);
	ruleset_free(ruleset);
	free(text);
}

/* A block list: the doubles at its ends are found among all that lies between. */
static void many_prefixes_are_read(void **state)
{
	const unsigned int count = 300000;
	struct problems problems = {};
	struct ruleset *ruleset;
	size_t length;
	char *text = NULL;
	FILE *out = open_memstream(&text, &length);

	(void)state;
	fputs("policies:\n- name: bad\n  action: drop\n  sources:\n", out);
	for (unsigned int i = 0; i < count; i++)
		fprintf(out, "  - %u.%u.%u.%u\n", i * 7 % 200 + 1, i & 255, i >> 8 & 255,
			i >> 16 & 255);
	fflush(out);
	ruleset = parsed(text, length);
	assert_int_equal(ruleset->policies[0].source_count, count);
	ruleset_free(ruleset);
	fputs("  - 1.0.0.0/32\n", out);
	fclose(out);
	assert_int_equal(config_parse(text, length, &ruleset, &problems), -EINVAL);
	assert_int_equal(problems.count, 1);
	assert_int_equal(problems.list[0].place.line, count + 5);
	assert_non_null(strstr(problems.list[0].message.text, "in line 5"));
	problems_free(&problems);
	free(text);
}

static void files_are_read_whole(void **state)
{
	char path[] = "/tmp/weir-test-XXXXXX";
	int fd = mkstemp(path);
	struct message message = {};
	size_t length = 0;
	char *text = NULL;

	(void)state;
	assert_true(fd >= 0);
	for (int i = 0; i < 3000; i++)
		assert_int_equal(write(fd, example, sizeof(example)), sizeof(example));
	close(fd);
	assert_int_equal(config_read_text(path, &text, &length, &message), 0);
	assert_int_equal(length, 3000 * sizeof(example));
	assert_memory_equal(text + 2999 * sizeof(example), example, sizeof(example));
	free(text);
	unlink(path);
	assert_int_equal(config_read_text(path, &text, &length, &message), -ENOENT);
	assert_non_null(strstr(message.text, path));
	assert_int_equal(config_read_text("/tmp", &text, &length, &message), -EISDIR);
}

static void a_full_disk_is_reported(void **state)
{
	struct ruleset *ruleset = parsed_text(example);
	FILE *out = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(out);
	setvbuf(out, NULL, _IONBF, 0);
	assert_int_equal(config_write(ruleset, out), -EIO);
	fclose(out);
	ruleset_free(ruleset);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_example_is_understood),
		cmocka_unit_test(what_is_beyond_the_example),
		cmocka_unit_test(the_default_policy_is_sound),
		cmocka_unit_test(the_examples_are_sound),
		cmocka_unit_test(yaml_is_refused),
		cmocka_unit_test(keys_and_words_are_refused),
		cmocka_unit_test(policies_are_refused),
		cmocka_unit_test(limits_are_refused),
		cmocka_unit_test(services_are_refused),
		cmocka_unit_test(entries_are_refused),
		cmocka_unit_test(all_problems_are_reported_in_order),
		cmocka_unit_test(large_rates_are_listed_whole),
		cmocka_unit_test(default_routes_are_listed),
		cmocka_unit_test(random_rulesets_round_trip),
		cmocka_unit_test(many_policies_are_read),
		cmocka_unit_test(many_prefixes_are_read),
		cmocka_unit_test(files_are_read_whole),
		cmocka_unit_test(a_full_disk_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
