/* SPDX-License-Identifier: GPL-2.0-only */
/* Words of the command line, the packets and entries they describe, lists of prefixes, tables. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../user/columns.h"
#include "../../user/entry.h"
#include "../../user/packet_words.h"
#include "../../user/prefix_list.h"
#include "../../user/words.h"
#include "rules.h"

static const char *const verbs[] = { "status", "stats", "source", "apply", "attach" };

static int find(const char *word, struct message *message)
{
	return word_find(word, verbs, 5, "command", message);
}

static void a_word_is_found_whole_or_by_its_beginning(void **state)
{
	struct message message;

	(void)state;
	assert_int_equal(find("stats", &message), 1);
	assert_int_equal(find("so", &message), 2);
	assert_int_equal(find("ap", &message), 3);
}

static void doubt_is_an_error_that_names_all(void **state)
{
	struct message message;

	(void)state;
	assert_int_equal(find("stat", &message), -EINVAL);
	assert_string_equal(message.text, "`stat` may be several commands");
	assert_string_equal(message.hint, "did you mean one of: status, stats?");
	assert_int_equal(find("", &message), -EINVAL);
}

static void the_nearest_word_is_offered(void **state)
{
	static const struct {
		const char *typed, *meant;
	} rows[] = {
		{ "statsu", "status" },	 /* two letters swapped */
		{ "aply", "apply" },	 /* one missing */
		{ "soource", "source" }, /* one more */
		{ "attech", "attach" },	 /* another */
	};
	struct message message;
	char wanted[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(find(rows[i].typed, &message), -EINVAL);
		snprintf(wanted, sizeof(wanted), "did you mean `%s`?", rows[i].meant);
		assert_string_equal(message.hint, wanted);
	}
	assert_int_equal(find("frobnicate", &message), -EINVAL);
	assert_string_equal(message.hint, "known: status, stats, source, apply, attach");
	assert_int_equal(find("a word that is far longer than any of ours can be", &message),
			 -EINVAL);
}

/* ---- packets ---- */

static int describe(char *words, struct packet *packet, struct message *message)
{
	char *argv[16], *rest;
	int argc = 0;

	for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	return packet_read_words(argc, argv, packet, message);
}

static void a_packet_is_described_in_words(void **state)
{
	char dns[] = "10.0.0.1 proto udp dport 53 len 100", syn[] = "2001:db8::1 syn dport 443",
	     ping[] = "10.0.0.1 proto icmp type 8 to 192.0.2.1";
	struct message message;
	struct packet packet;

	(void)state;
	assert_int_equal(describe(dns, &packet, &message), 0);
	assert_int_equal(packet.family, 4);
	assert_int_equal(packet.proto, 17);
	assert_int_equal(packet.dport, 53);
	assert_true(packet.has_ports);
	assert_int_equal(packet.length, 100);
	assert_int_equal(describe(syn, &packet, &message), 0);
	assert_int_equal(packet.family, 6);
	assert_int_equal(packet.proto, 6);
	assert_true(packet.syn);
	assert_int_equal(describe(ping, &packet, &message), 0);
	assert_true(packet.has_type);
	assert_int_equal(packet.type, 8);
	assert_memory_equal(packet.destination, "\300\0\2\1", 4);
}

static void what_no_packet_can_be_is_refused(void **state)
{
	static const char *const rows[] = {
		"10.0.0.0/8",
		"10.0.0.1 dport 53",
		"10.0.0.1 proto icmp dport 53",
		"10.0.0.1 proto udp type 8",
		"10.0.0.1 proto udp syn",
		"10.0.0.1 proto udp dport 65536",
		"10.0.0.1 proto udp dport -1",
		"10.0.0.1 proto udp dport 5x",
		"10.0.0.1 proto 256",
		"10.0.0.1 proto tpc",
		"10.0.0.1 to 2001:db8::1",
		"10.0.0.1 len 0",
		"10.0.0.1 len 99999999999999999",
		"10.0.0.1 proto",
		"10.0.0.1 colour",
		"example.org",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct message message = { 0 };
		struct packet packet;
		char words[80];

		snprintf(words, sizeof(words), "%s", rows[i]);
		if (describe(words, &packet, &message) != -EINVAL)
			fail_msg("%s was taken", rows[i]);
		assert_true(*message.text);
	}
}

/* ---- entries ---- */

static int read_entry(const char *text, const struct ruleset *ruleset, struct entry_spec *entry,
		      struct message *message)
{
	char words[128], *argv[16], *rest;
	int argc = 0;

	snprintf(words, sizeof(words), "%s", text);
	for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	return entry_read(ENTRY_LIMIT, argc, argv, ruleset, entry, message);
}

static struct ruleset *some_rules(void)
{
	return rules_read("services: {dns: [udp/53], web: [tcp/80]}\n"
			  "policies:\n"
			  "  - {name: all, sources: [0.0.0.0/0], limits: [{rate: 1/s}]}\n");
}

static void a_limit_is_read_in_any_order_of_clauses(void **state)
{
	static const char *const rows[] = {
		"10.0.0.0/8 10 Mbit/s burst 4 MB per 24 service web for 10min",
		"10.0.0.0/8 10Mbit/s for 10min serv web per /24 burst 4MB",
	};
	struct ruleset *ruleset = some_rules();

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct message message;
		struct entry_spec entry;

		assert_int_equal(read_entry(rows[i], ruleset, &entry, &message), 0);
		assert_int_equal(entry.prefix.len, 8);
		assert_true(entry.limit.rate.bytes);
		assert_int_equal(entry.limit.burst, 4000000);
		assert_int_equal(entry.limit.ipv4_len, 24);
		assert_int_equal(entry.limit.service, 1);
		assert_int_equal(entry.for_ns, 600 * NS_PER_SEC);
		entry_spec_free(&entry);
	}
	ruleset_free(ruleset);
}

static void what_the_kernel_keeps_reads_back_the_same(void **state)
{
	static const char *const rows[] = {
		"10.0.0.0/8 10/s",
		"10.0.0.0/8 3/hour burst 7 per policy",
		"10.0.0.0/8 100Mbit/s per 16 service dns",
		"2001:db8::/32 1M/s per 48",
	};
	struct ruleset *ruleset = some_rules();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char text[ENTRY_TEXT], again[ENTRY_TEXT];
		struct entry_spec entry, copy;
		struct message message;

		assert_int_equal(read_entry(rows[i], ruleset, &entry, &message), 0);
		assert_int_equal(entry_limit_text(&entry, ruleset, text, &message), 0);
		copy = entry;
		assert_int_equal(
			entry_limit_read(text, &entry.prefix, ruleset, &copy.limit, &message), 0);
		assert_int_equal(entry_limit_text(&copy, ruleset, again, &message), 0);
		assert_string_equal(text, again);
		assert_int_equal(entry.limit.burst, copy.limit.burst);
		assert_int_equal(entry.limit.per, copy.limit.per);
		entry_spec_free(&entry);
		entry_spec_free(&copy);
	}
	ruleset_free(ruleset);
}

static void a_wrong_limit_is_refused_with_the_reason(void **state)
{
	static const char *const rows[] = {
		"10.0.0.1/8 1/s",
		"10.0.0.0/8 0/s",
		"10.0.0.0/8 10 bps",
		"10.0.0.0/8 1/s burst",
		"10.0.0.0/8 1/s burst 0",
		"10.0.0.0/8 1/s burst 4MB",
		"10.0.0.0/8 1Mbit/s burst 1000B",
		"10.0.0.0/8 1/s per 33",
		"10.0.0.0/8 1/s per x",
		"10.0.0.0/8 1/s service ftp",
		"10.0.0.0/8 1/s for 0s",
		"10.0.0.0/8 1/s for ever",
		"10.0.0.0/8 1/s brst 5",
	};
	struct ruleset *ruleset = some_rules();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct message message = { 0 };
		struct entry_spec entry;

		if (read_entry(rows[i], ruleset, &entry, &message) != -EINVAL)
			fail_msg("%s was taken", rows[i]);
		assert_true(*message.text);
	}
	ruleset_free(ruleset);
}

/* ---- lists ---- */

static void a_list_holds_prefixes_comments_and_blanks(void **state)
{
	static const char text[] = "# head\n10.0.0.1\n\n \t10.1.0.0/16\t# net\r\n2001:db8::/32";
	struct problems problems = { 0 };
	struct prefix *list;
	size_t count;

	(void)state;
	assert_int_equal(prefix_list_parse(text, strlen(text), &list, &count, &problems), 0);
	assert_int_equal(count, 3);
	assert_int_equal(list[0].len, 32);
	assert_int_equal(list[1].len, 16);
	assert_int_equal(list[2].family, 6);
	free(list);
	assert_int_equal(prefix_list_parse("", 0, &list, &count, &problems), 0);
	assert_int_equal(count, 0);
	free(list);
}

static void every_bad_line_of_a_list_is_named(void **state)
{
	static const char text[] = "10.0.0.1\n  nonsense\n10.0.0.1/8\n10.0.0.2 10.0.0.3\n";
	struct problems problems = { 0 };
	struct prefix *list;
	size_t count;

	(void)state;
	assert_int_equal(prefix_list_parse(text, strlen(text), &list, &count, &problems), -EINVAL);
	assert_int_equal(problems.count, 3);
	assert_int_equal(problems.list[0].place.line, 2);
	assert_int_equal(problems.list[0].place.column, 3);
	assert_int_equal(problems.list[1].place.line, 3);
	assert_int_equal(problems.list[2].place.line, 4);
	problems_free(&problems);
}

/* ---- tables ---- */

static void columns_line_up_whatever_the_letters(void **state)
{
	static const char *const titles[] = { "name", ">count", "note", NULL };
	struct columns columns;
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	(void)state;
	columns_start(&columns, titles);
	columns_cell(&columns, "%s", "zürich");
	columns_cell(&columns, "%d", 5);
	columns_blank(&columns, 1);
	columns_cell(&columns, "%s", "x");
	columns_cell(&columns, "%d", 123456);
	columns_cell(&columns, "%s", "y");
	columns_print(&columns, false, out);
	fclose(out);
	assert_string_equal(text, "name     count  note\n"
				  "zürich       5\n"
				  "x       123456  y\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_is_found_whole_or_by_its_beginning),
		cmocka_unit_test(doubt_is_an_error_that_names_all),
		cmocka_unit_test(the_nearest_word_is_offered),
		cmocka_unit_test(a_packet_is_described_in_words),
		cmocka_unit_test(what_no_packet_can_be_is_refused),
		cmocka_unit_test(a_limit_is_read_in_any_order_of_clauses),
		cmocka_unit_test(what_the_kernel_keeps_reads_back_the_same),
		cmocka_unit_test(a_wrong_limit_is_refused_with_the_reason),
		cmocka_unit_test(a_list_holds_prefixes_comments_and_blanks),
		cmocka_unit_test(every_bad_line_of_a_list_is_named),
		cmocka_unit_test(columns_line_up_whatever_the_letters),
	};

	return cmocka_run_group_tests_name("words", tests, NULL, NULL);
}
