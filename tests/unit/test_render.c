/* SPDX-License-Identifier: GPL-2.0-only */
/* A snapshot as JSON documents and as tables, to the letter; errors as JSON; YAML as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../user/render_json.h"
#include "../../user/render_text.h"
#include "../../user/render_yaml.h"
#include "rules.h"

static char *warnings[] = { (char *)"the sky is falling" };
static char limit_name[] = "packets", policy_name[] = "everyone";

static struct attachment interfaces[] = {
	{ .interface = "eth0",
	  .ifindex = 2,
	  .attached = true,
	  .native = true,
	  .frags = true,
	  .program_id = 77 },
	{ .interface = "eth1",
	  .ifindex = 3,
	  .attached = false,
	  .native = false,
	  .frags = true,
	  .program_id = 77 },
};

static struct snapshot_limit limits[] = { { .name = limit_name, .refused = { 30, 3000 } } };

static struct snapshot_policy policies[] = {
	{ .name = policy_name,
	  .passed = { 10, 1000 },
	  .dropped = { 30, 3000 },
	  .limits = limits,
	  .limit_count = 1 },
};

static const struct snapshot sample = {
	.instance = "default",
	.generation = 4,
	.layout = 1,
	.interfaces = interfaces,
	.interface_count = 2,
	.passed = { 12, 1200 },
	.dropped = { 12345678901, 1ULL << 63 },
	.reasons = { [REASON_GRANTED] = { 10, 1000 },
		     [REASON_NOT_IP] = { 2, 200 },
		     [REASON_LIMIT] = { 30, 3000 },
		     [REASON_MALFORMED] = { 1, 14 } },
	.policies = policies,
	.policy_count = 1,
	.table = { .kind = TABLE_SETS,
		   .capacity = 1000,
		   .live = 7,
		   .displaced = 2,
		   .refused_full = 0,
		   .bytes = 5 << 20,
		   .forged_rate = 20000 },
	.entry_count = 3,
	.warnings = warnings,
	.warning_count = 1,
};

static char *json_text(json_t *document)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	json_print(document, false, out);
	fclose(out);
	return text;
}

static void assert_json(json_t *document, const char *wanted)
{
	char *text = json_text(document);

	assert_string_equal(text, wanted);
	free(text);
}

/* Key order included; a number beyond 2^63 - 1 stops there. */
static void stats_are_those_of_the_contract(void **state)
{
	(void)state;
	assert_json(json_stats(&sample),
		    "{\"instance\":\"default\",\"generation\":4,\"interfaces\":["
		    "{\"name\":\"eth0\",\"ifindex\":2,\"mode\":\"native\",\"program_id\":77,"
		    "\"attached\":true},{\"name\":\"eth1\",\"ifindex\":3,\"mode\":\"generic\","
		    "\"program_id\":77,\"attached\":false}],"
		    "\"totals\":{\"passed\":{\"packets\":12,\"bytes\":1200},"
		    "\"dropped\":{\"packets\":12345678901,\"bytes\":9223372036854775807}},"
		    "\"reasons\":[{\"reason\":\"granted\",\"verdict\":\"pass\",\"packets\":10,"
		    "\"bytes\":1000},{\"reason\":\"not-ip\",\"verdict\":\"pass\",\"packets\":2,"
		    "\"bytes\":200},{\"reason\":\"limit\",\"verdict\":\"drop\",\"packets\":30,"
		    "\"bytes\":3000},{\"reason\":\"malformed\",\"verdict\":\"drop\",\"packets\":1,"
		    "\"bytes\":14}],"
		    "\"policies\":[{\"name\":\"everyone\",\"passed\":{\"packets\":10,"
		    "\"bytes\":1000},\"dropped\":{\"packets\":30,\"bytes\":3000},"
		    "\"observed\":{\"packets\":0,\"bytes\":0},\"limits\":[{\"name\":\"packets\","
		    "\"refused\":{\"packets\":30,\"bytes\":3000}}]}],"
		    "\"table\":{\"kind\":\"sets\",\"capacity\":1000,\"live\":7,\"displaced\":2,"
		    "\"refused_full\":0}}\n");
}

static void malformed_goes_by_the_configuration(void **state)
{
	struct snapshot passing = sample;
	char *text;

	(void)state;
	passing.malformed_pass = true;
	text = json_text(json_stats(&passing));
	assert_non_null(strstr(text, "\"reason\":\"malformed\",\"verdict\":\"pass\""));
	free(text);
}

static void status_is_that_of_the_contract(void **state)
{
	(void)state;
	assert_json(json_status(&sample),
		    "{\"instance\":\"default\",\"interfaces\":[{\"name\":\"eth0\",\"ifindex\":2,"
		    "\"mode\":\"native\",\"program_id\":77,\"attached\":true},{\"name\":\"eth1\","
		    "\"ifindex\":3,\"mode\":\"generic\",\"program_id\":77,\"attached\":false}],"
		    "\"mode\":\"native\",\"generation\":4,\"layout_version\":1,"
		    "\"warnings\":[\"the sky is falling\"],\"protecting\":false,"
		    "\"table\":{\"kind\":\"sets\",\"capacity\":1000,\"live\":7,\"displaced\":2,"
		    "\"refused_full\":0,\"memory_bytes\":5242880,"
		    "\"forged_packets_per_second\":20000.0},\"entries\":3,\"events_lost\":0}\n");
}

static void an_error_holds_message_hint_and_problems(void **state)
{
	struct message message = { "it broke", "mend it" };
	struct problems problems = { 0 };

	(void)state;
	assert_json(json_error(&message, NULL, &problems),
		    "{\"error\":{\"message\":\"it broke\",\"hint\":\"mend it\"}}\n");
	problems_add(&problems, (struct place){ 7, 3 }, -EINVAL, "unknown key `x`");
	assert_json(json_error(&message, "a.yaml", &problems),
		    "{\"error\":{\"message\":\"it broke\",\"hint\":\"mend it\",\"problems\":["
		    "{\"file\":\"a.yaml\",\"line\":7,\"column\":3,"
		    "\"message\":\"unknown key `x`\"}]}}\n");
	problems_free(&problems);
}

/* What a file or a name holds need not be UTF-8; the document has to be one all the same. */
static void bytes_that_are_no_text_leave_a_document(void **state)
{
	struct message message = { "can't read \xff\xfe", "" };
	struct problems problems = { 0 };
	char *text = json_text(json_error(&message, NULL, &problems));
	json_t *read = json_loads(text, 0, NULL);

	(void)state;
	assert_non_null(json_object_get(json_object_get(read, "error"), "message"));
	json_decref(read);
	free(text);
}

static void yaml_becomes_json_of_the_same_shape(void **state)
{
	static const char yaml[] = "a: [1, {b: 'c d'}]\n\"e\": {}\n";
	json_t *document;

	(void)state;
	assert_int_equal(json_of_yaml(yaml, strlen(yaml), &document, NULL), 0);
	assert_json(document, "{\"a\":[\"1\",{\"b\":\"c d\"}],\"e\":{}}\n");
	assert_int_equal(json_of_yaml("a: [", 4, &document, NULL), -EINVAL);
}

static char *stats_text(struct text_style style)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	text_stats(&sample, &style, out);
	fclose(out);
	return text;
}

static void tables_are_exact_in_a_pipe(void **state)
{
	char *text = stats_text((struct text_style){ false, false });

	(void)state;
	assert_string_equal(text,
			    "total        packets                bytes\n"
			    "passed            12                 1200\n"
			    "dropped  12345678901  9223372036854775808\n"
			    "\n"
			    "reason     verdict  packets  bytes\n"
			    "granted    pass          10   1000\n"
			    "not-ip     pass           2    200\n"
			    "limit      drop          30   3000\n"
			    "malformed  drop           1     14\n"
			    "\n"
			    "policy    limit    passed  dropped  observed  refused\n"
			    "everyone               10       30         0\n"
			    "          packets                                  30\n"
			    "\n"
			    "table      sets, strict: 7 of 1000 states live, 2 displaced, 5 MiB\n"
			    "           forged sources together get at most 20.0k packets/s "
			    "through\n");
	free(text);
}

static void tables_are_human_and_coloured_where_that_is_welcome(void **state)
{
	char *text = stats_text((struct text_style){ true, true });

	(void)state;
	assert_non_null(strstr(text, "12.3G"));
	assert_null(strstr(text, "12345678901"));
	assert_non_null(strstr(text, "\033[1mtotal"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stats_are_those_of_the_contract),
		cmocka_unit_test(malformed_goes_by_the_configuration),
		cmocka_unit_test(status_is_that_of_the_contract),
		cmocka_unit_test(an_error_holds_message_hint_and_problems),
		cmocka_unit_test(bytes_that_are_no_text_leave_a_document),
		cmocka_unit_test(yaml_becomes_json_of_the_same_shape),
		cmocka_unit_test(tables_are_exact_in_a_pipe),
		cmocka_unit_test(tables_are_human_and_coloured_where_that_is_welcome),
	};

	return cmocka_run_group_tests_name("render", tests, NULL, NULL);
}
