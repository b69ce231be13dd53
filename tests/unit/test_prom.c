/* SPDX-License-Identifier: GPL-2.0-only */
/* The metrics page: names of the contract, sums, escapes, and which format is asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../user/render_prom.h"

static struct snapshot_limit limits[] = { { .name = (char *)"packets", .refused = { 30, 1260 } } };
static struct snapshot_policy policies[] = {
	{ .name = (char *)"every\"one\\",
	  .reasons = { [REASON_GRANTED] = { 70, 2940 }, [REASON_LIMIT] = { 30, 1260 } },
	  .limits = limits,
	  .limit_count = 1 },
	{ .name = (char *)"bad", .reasons = { [REASON_BLOCKED] = { 5, 500 } } },
};
static struct attachment interfaces[] = {
	{ .interface = "eth0", .ifindex = 2, .attached = true, .native = true },
	{ .ifindex = 7 },
};
static struct snapshot snapshot = {
	.generation = 3,
	.interfaces = interfaces,
	.interface_count = 2,
	.reasons = { [REASON_GRANTED] = { 70, 2940 },
		     [REASON_LIMIT] = { 30, 1260 },
		     [REASON_BLOCKED] = { 7, 700 },
		     [REASON_MALFORMED] = { 1, 14 } },
	.policies = policies,
	.policy_count = 2,
	.table = { .capacity = 1000, .live = 12, .displaced = 4 },
	.events_lost = 9,
	.protecting = true,
};

static char *page_of(struct prom_page page)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(render_prom(&page, out), 0);
	fclose(out);
	return text;
}

static void has_line(const char *text, const char *line)
{
	char whole[256];

	snprintf(whole, sizeof(whole), "\n%s\n", line);
	if (!strstr(text, whole))
		fail_msg("no line '%s' in:\n%s", line, text);
}

static void every_metric_of_the_contract(void **state)
{
	const uint64_t top[] = { 400, 20 };
	char *text = page_of((struct prom_page){ &snapshot, top, 2, false });

	(void)state;
	has_line(text, "weir_packets_total{policy=\"bad\",verdict=\"drop\",reason=\"blocked\"} 5");
	has_line(text, "weir_bytes_total{policy=\"bad\",verdict=\"drop\",reason=\"blocked\"} 500");
	has_line(text, "weir_table_states{state=\"live\"} 12");
	has_line(text, "weir_table_states{state=\"capacity\"} 1000");
	has_line(text, "weir_table_displaced_total 4");
	has_line(text, "weir_interface_attached{interface=\"eth0\",mode=\"native\"} 1");
	has_line(text, "weir_interface_attached{interface=\"ifindex-7\",mode=\"none\"} 0");
	has_line(text, "weir_policy_generation 3");
	has_line(text, "weir_top_source_dropped_packets{rank=\"1\"} 400");
	has_line(text, "weir_top_source_dropped_packets{rank=\"2\"} 20");
	has_line(text, "weir_build_info{version=\"" WEIR_VERSION "\"} 1");
	has_line(text, "weir_protecting 1");
	has_line(text, "# TYPE weir_packets_total counter");
	assert_null(strstr(text, "# EOF"));
	free(text);
}

static void names_are_escaped(void **state)
{
	char *text = page_of((struct prom_page){ &snapshot, NULL, 0, false });

	(void)state;
	has_line(text, "weir_packets_total{policy=\"every\\\"one\\\\\",verdict=\"pass\","
		       "reason=\"granted\"} 70");
	has_line(text, "weir_limit_refused_packets_total{policy=\"every\\\"one\\\\\","
		       "limit=\"packets\"} 30");
	free(text);
}

/* An entry's blocks are what the totals have more than the policies. */
static void what_no_policy_judged_is_there_too(void **state)
{
	char *text = page_of((struct prom_page){ &snapshot, NULL, 0, false });

	(void)state;
	has_line(text, "weir_packets_total{policy=\"\",verdict=\"drop\",reason=\"blocked\"} 2");
	has_line(text, "weir_packets_total{policy=\"\",verdict=\"drop\",reason=\"malformed\"} 1");
	has_line(text, "weir_packets_total{policy=\"\",verdict=\"pass\",reason=\"unmatched\"} 0");
	free(text);
}

static void malformed_takes_the_configured_verdict(void **state)
{
	struct snapshot passing = snapshot;
	char *text;

	(void)state;
	passing.malformed_pass = true;
	text = page_of((struct prom_page){ &passing, NULL, 0, false });
	has_line(text, "weir_packets_total{policy=\"\",verdict=\"pass\",reason=\"malformed\"} 1");
	free(text);
}

static void ranks_only_when_asked(void **state)
{
	char *text = page_of((struct prom_page){ &snapshot, NULL, 0, false });

	(void)state;
	assert_null(strstr(text, "weir_top_source"));
	free(text);
}

static void openmetrics_names_families(void **state)
{
	char *text = page_of((struct prom_page){ &snapshot, NULL, 0, true });
	size_t length = strlen(text);

	(void)state;
	has_line(text, "# TYPE weir_packets counter");
	has_line(text, "# TYPE weir_build info");
	has_line(text, "weir_build_info{version=\"" WEIR_VERSION "\"} 1");
	assert_string_equal(text + length - 6, "# EOF\n");
	free(text);
}

static void an_instance_that_is_not_there_protects_nothing(void **state)
{
	char *text = page_of((struct prom_page){ NULL, NULL, 0, false });

	(void)state;
	has_line(text, "weir_protecting 0");
	assert_null(strstr(text, "weir_packets_total"));
	free(text);
}

static void accept_header(void **state)
{
	(void)state;
	assert_false(prom_wants_openmetrics(NULL));
	assert_false(prom_wants_openmetrics("*/*"));
	assert_false(prom_wants_openmetrics("text/plain"));
	assert_true(prom_wants_openmetrics("application/openmetrics-text"));
	assert_true(prom_wants_openmetrics("application/openmetrics-text;version=1.0.0,"
					   "application/openmetrics-text;version=0.0.1;q=0.75,"
					   "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"));
	assert_false(
		prom_wants_openmetrics("text/plain;q=0.9, application/openmetrics-text;q=0.2"));
	assert_false(prom_wants_openmetrics("application/openmetrics-text; q=0"));
	assert_false(prom_wants_openmetrics("application/openmetrics-textual"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_metric_of_the_contract),
		cmocka_unit_test(names_are_escaped),
		cmocka_unit_test(what_no_policy_judged_is_there_too),
		cmocka_unit_test(malformed_takes_the_configured_verdict),
		cmocka_unit_test(ranks_only_when_asked),
		cmocka_unit_test(openmetrics_names_families),
		cmocka_unit_test(an_instance_that_is_not_there_protects_nothing),
		cmocka_unit_test(accept_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
