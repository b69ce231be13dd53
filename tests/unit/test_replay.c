/* SPDX-License-Identifier: GPL-2.0-only */
/* Captures of several kinds read as frames, judged at their own time, and turned into limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <unistd.h>
#include <errno.h>
#include <arpa/inet.h>
#include <cmocka.h>
#include <pcap/pcap.h>

#include "../../user/config.h"
#include "../../user/replay.h"
#include "../../user/suggest.h"

#define T0     1764500000ULL /* seconds since 1970 */
#define SECOND NS_PER_SEC

static char path[] = "/tmp/weir-replay-XXXXXX";

/* A capture being written. */
struct writer {
	pcap_t *pcap;
	pcap_dumper_t *dumper;
	int link;
};

static struct writer writer_open(int link)
{
	struct writer writer = { .link = link };

	writer.pcap = pcap_open_dead_with_tstamp_precision(link, 65535, PCAP_TSTAMP_PRECISION_NANO);
	writer.dumper = pcap_dump_open(writer.pcap, path);
	assert_non_null(writer.dumper);
	return writer;
}

static void writer_close(struct writer *writer)
{
	pcap_dump_close(writer->dumper);
	pcap_close(writer->pcap);
}

static void write_bytes(struct writer *writer, uint64_t time_ns, const uint8_t *bytes,
			uint32_t captured, uint32_t length)
{
	struct pcap_pkthdr head = { .ts = { (time_t)(time_ns / SECOND),
					    (suseconds_t)(time_ns % SECOND) },
				    .caplen = captured,
				    .len = length };

	pcap_dump((u_char *)writer->dumper, &head, bytes);
}

/* IPv4 + UDP, 28 bytes. */
static void udp4(uint8_t *to, uint32_t source, uint16_t port)
{
	static const uint8_t ip[20] = { 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17 };
	uint32_t from = htonl(source);
	uint16_t dport = htons(port);

	memset(to, 0, 28);
	memcpy(to, ip, sizeof(ip));
	memcpy(to + 12, &from, 4);
	memcpy(to + 22, &dport, 2);
}

/* What the link type puts before an IPv4 packet. */
static uint32_t put_header(int link, bool outgoing, uint8_t *to)
{
	memset(to, 0, 20);
	switch (link) {
	case DLT_EN10MB:
		to[12] = 8;
		return 14;
	case DLT_LINUX_SLL:
		to[1] = outgoing ? 4 : 0;
		to[14] = 8;
		return 16;
	case DLT_LINUX_SLL2:
		to[0] = 8;
		to[10] = outgoing ? 4 : 0;
		return 20;
	case DLT_NULL:
		to[0] = 2;
		return 4;
	default:
		return 0;
	}
}

static void write_udp(struct writer *writer, uint64_t time_ns, uint32_t source, uint16_t port)
{
	uint8_t bytes[64];
	uint32_t header = put_header(writer->link, false, bytes);

	udp4(bytes + header, source, port);
	write_bytes(writer, time_ns, bytes, header + 28, header + 28);
}

static struct ruleset *ruleset_of(const char *yaml)
{
	struct problems problems = { 0 };
	struct ruleset *ruleset;

	if (config_parse(yaml, strlen(yaml), &ruleset, &problems))
		fail_msg("%s", problems.list[0].message.text);
	return ruleset;
}

static void replay_all(struct replay *replay, const struct ruleset *ruleset, const char *expression,
		       uint64_t *outgoing)
{
	struct message message;
	struct trace_frame frame;
	struct trace *trace;
	int got;

	assert_int_equal(replay_init(replay, ruleset, &message), 0);
	assert_int_equal(trace_open(path, expression, &trace, &message), 0);
	while ((got = trace_next(trace, &frame, &message)) == 1)
		assert_int_equal(replay_frame(replay, &frame, NULL, &message), 0);
	assert_int_equal(got, 0);
	if (outgoing)
		*outgoing = trace_outgoing(trace);
	trace_close(trace);
}

static const char ten_a_second[] =
	"services: {dns: [udp/53]}\n"
	"policies:\n"
	"  - {name: everyone, sources: [0.0.0.0/0], limits: [{rate: 10/s, burst: 5},\n"
	"     {service: dns, rate: 1/hour, burst: 2}]}\n"
	"  - {name: bad, sources: [203.0.113.0/24], action: drop}\n";

/* 5 at once, then one each 100 ms: the capture's clock rules, whatever the machine's says. */
static void capture_time_is_the_clock(void **state)
{
	struct writer writer = writer_open(DLT_EN10MB);
	struct ruleset *ruleset = ruleset_of(ten_a_second);
	struct replay replay;
	struct replay_refused *worst;
	size_t count;

	(void)state;
	for (int i = 0; i < 20; i++)
		write_udp(&writer, T0 * SECOND + (uint64_t)i, 0x0a000001, 9);
	for (int i = 0; i < 10; i++)
		write_udp(&writer, T0 * SECOND + (uint64_t)(i + 1) * SECOND / 10 + 100, 0x0a000001,
			  9);
	writer_close(&writer);
	replay_all(&replay, ruleset, NULL, NULL);
	assert_int_equal(replay.passed.packets, 15);
	assert_int_equal(replay.dropped.packets, 15);
	assert_int_equal(replay.dropped.bytes, 15 * 42);
	assert_int_equal(replay.reasons[REASON_LIMIT].packets, 15);
	assert_int_equal(replay.policies[0].limits[0].refused.packets, 15);
	assert_int_equal(replay.policies[0].limits[0].granted, 15);
	assert_int_equal(replay.policies[0].limits[1].granted, 0);
	assert_int_equal(replay_worst(&replay, 10, &worst, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(worst[0].counts.refused, 15);
	assert_int_equal(worst[0].counts.refusals.first_ns, T0 * SECOND + 5);
	assert_int_equal(worst[0].counts.refusals.last_ns, T0 * SECOND + 19);
	free(worst);
	replay_free(&replay);
	ruleset_free(ruleset);
}

static void policies_and_services_are_told_apart(void **state)
{
	struct writer writer = writer_open(DLT_EN10MB);
	struct ruleset *ruleset = ruleset_of(ten_a_second);
	struct replay replay;
	size_t seen, refused;

	(void)state;
	for (int i = 0; i < 4; i++)
		write_udp(&writer, T0 * SECOND, 0x0a000001, 53);
	write_udp(&writer, T0 * SECOND, 0xcb007101, 53);
	writer_close(&writer);
	replay_all(&replay, ruleset, NULL, NULL);
	assert_int_equal(replay.policies[0].limits[1].granted, 2);
	assert_int_equal(replay.policies[0].limits[1].refused.packets, 2);
	assert_int_equal(replay.policies[1].dropped.packets, 1);
	assert_int_equal(replay.reasons[REASON_BLOCKED].packets, 1);
	replay_count_sources(&replay, &seen, &refused);
	assert_int_equal(seen, 2);
	assert_int_equal(refused, 2);
	replay_free(&replay);
	ruleset_free(ruleset);
}

static void every_link_type(void **state)
{
	static const int links[] = { DLT_EN10MB, DLT_LINUX_SLL, DLT_LINUX_SLL2,
				     DLT_RAW,	 DLT_IPV4,	DLT_NULL };
	struct ruleset *ruleset = ruleset_of(ten_a_second);

	(void)state;
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		struct writer writer = writer_open(links[i]);
		struct replay replay;

		for (int j = 0; j < 7; j++)
			write_udp(&writer, T0 * SECOND, 0x0a000001, 9);
		writer_close(&writer);
		replay_all(&replay, ruleset, NULL, NULL);
		assert_int_equal(replay.reasons[REASON_GRANTED].packets, 5);
		assert_int_equal(replay.reasons[REASON_LIMIT].bytes, 2 * 42);
		replay_free(&replay);
	}
	ruleset_free(ruleset);
}

/* A capture on `any` holds the host's own packets too: XDP never sees those. */
static void own_packets_are_not_judged(void **state)
{
	struct ruleset *ruleset = ruleset_of(ten_a_second);
	struct writer writer = writer_open(DLT_LINUX_SLL);
	struct replay replay;
	uint64_t outgoing;
	uint8_t bytes[64];

	(void)state;
	put_header(DLT_LINUX_SLL, true, bytes);
	udp4(bytes + 16, 0x0a000001, 9);
	for (int i = 0; i < 9; i++)
		write_bytes(&writer, T0 * SECOND, bytes, 44, 44);
	write_udp(&writer, T0 * SECOND, 0x0a000001, 9);
	writer_close(&writer);
	replay_all(&replay, ruleset, NULL, &outgoing);
	assert_int_equal(outgoing, 9);
	assert_int_equal(replay.passed.packets, 1);
	replay_free(&replay);
	ruleset_free(ruleset);
}

static void filter_expression(void **state)
{
	struct ruleset *ruleset = ruleset_of(ten_a_second);
	struct writer writer = writer_open(DLT_EN10MB);
	struct message message;
	struct replay replay;
	struct trace *trace;

	(void)state;
	write_udp(&writer, T0 * SECOND, 0x0a000001, 9);
	write_udp(&writer, T0 * SECOND, 0x0a000001, 53);
	writer_close(&writer);
	replay_all(&replay, ruleset, "udp port 53", NULL);
	assert_int_equal(replay.passed.packets, 1);
	assert_int_equal(trace_open(path, "udp prt", &trace, &message), -EINVAL);
	replay_free(&replay);
	ruleset_free(ruleset);
}

/* Byte limits charge the length on the wire, not what the snap length kept of it. */
static void snap_length_does_not_matter(void **state)
{
	struct ruleset *ruleset =
		ruleset_of("policies: [{name: all, sources: [0.0.0.0/0],\n"
			   "            limits: [{rate: 1kB/s, burst: 4500B}]}]\n");
	struct writer writer = writer_open(DLT_EN10MB);
	struct replay replay;
	uint8_t bytes[64];

	(void)state;
	put_header(DLT_EN10MB, false, bytes);
	udp4(bytes + 14, 0x0a000001, 9);
	bytes[16] = 1500 >> 8;
	bytes[17] = 1500 & 0xff;
	for (int i = 0; i < 4; i++)
		write_bytes(&writer, T0 * SECOND, bytes, 42, 1514);
	writer_close(&writer);
	replay_all(&replay, ruleset, NULL, NULL);
	assert_int_equal(replay.passed.packets, 2);
	assert_int_equal(replay.passed.bytes, 2 * 1514);
	replay_free(&replay);
	ruleset_free(ruleset);
}

static void truncated_file_gives_what_it_holds(void **state)
{
	struct writer writer = writer_open(DLT_EN10MB);
	struct message message;
	struct trace_frame frame;
	struct trace *trace;

	(void)state;
	for (int i = 0; i < 3; i++)
		write_udp(&writer, T0 * SECOND, 0x0a000001, 9);
	writer_close(&writer);
	assert_int_equal(truncate(path, 24 + 3 * (16 + 42) - 1), 0);
	assert_int_equal(trace_open(path, NULL, &trace, &message), 0);
	assert_int_equal(trace_next(trace, &frame, &message), 1);
	assert_int_equal(trace_next(trace, &frame, &message), 1);
	assert_int_equal(trace_next(trace, &frame, &message), -EIO);
	assert_int_equal(frame.number, 2);
	trace_close(trace);
}

static void not_a_capture(void **state)
{
	struct message message;
	struct trace *trace;

	(void)state;
	assert_int_equal(trace_open("/dev/null", NULL, &trace, &message), -EINVAL);
	assert_int_equal(trace_open("/nonexistent.pcap", NULL, &trace, &message), -EINVAL);
	assert_non_null(strstr(message.text, "/nonexistent.pcap"));
}

/* ---- suggest ---- */

static void suggest_all(struct suggest *suggest, const struct ruleset *given)
{
	struct message message;
	struct trace_frame frame;
	struct trace *trace;

	assert_int_equal(suggest_init(suggest, given, &message), 0);
	while (suggest->pass != SUGGEST_DONE) {
		assert_int_equal(trace_open(path, NULL, &trace, &message), 0);
		while (trace_next(trace, &frame, &message) == 1)
			assert_int_equal(suggest_frame(suggest, &frame), 0);
		trace_close(trace);
		if (suggest_end_pass(suggest, &message))
			fail_msg("%s", message.text);
	}
}

/* 20 sources, 10 s: each asks for DNS 20 times a second; one of them 40 times, 8 at once. */
static void write_dns_traffic(void)
{
	struct writer writer = writer_open(DLT_EN10MB);

	for (uint64_t i = 0; i < 200; i++) {
		uint64_t at = T0 * SECOND + i * SECOND / 20;

		for (uint32_t source = 1; source <= 20; source++)
			write_udp(&writer, at, 0x0a000000 + source, 53);
		if (i % 8 == 7)
			for (int j = 0; j < 8; j++)
				write_udp(&writer, at, 0x0a000001, 53);
	}
	writer_close(&writer);
}

static const struct limit_spec *limit_for(const struct suggest *suggest, const char *service)
{
	const struct policy_spec *policy = &suggest->ruleset->policies[0];

	for (size_t i = 0; i < policy->limit_count; i++) {
		int number = policy->limits[i].service;

		if (number >= 0 && !strcmp(suggest->ruleset->services[number].name, service))
			return &policy->limits[i];
	}
	return NULL;
}

static void services_are_found_and_limited(void **state)
{
	const struct limit_spec *limit;
	struct suggest suggest;
	struct replay replay;

	(void)state;
	write_dns_traffic();
	suggest_all(&suggest, NULL);
	limit = limit_for(&suggest, "udp-53");
	assert_non_null(limit);
	/* 400 packets of the busiest source in 9.95 s, and half as much again, in two digits */
	assert_int_equal(limit->rate.amount, 61);
	assert_int_equal(limit->rate.window_ns, SECOND);
	/* 9 at once, and half as much again */
	assert_in_range(limit->burst, 13, 20);
	replay_all(&replay, suggest.ruleset, NULL, NULL);
	assert_int_equal(replay.dropped.packets, 0);
	replay_free(&replay);
	suggest_free(&suggest);
}

/* What is printed must be what apply takes. */
static void suggestion_is_a_policy_file(void **state)
{
	struct problems problems = { 0 };
	struct ruleset *again;
	struct suggest suggest;
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	(void)state;
	write_dns_traffic();
	suggest_all(&suggest, NULL);
	assert_int_equal(config_write(suggest.ruleset, out), 0);
	fclose(out);
	if (config_parse(text, length, &again, &problems))
		fail_msg("%s in\n%s", problems.list[0].message.text, text);
	assert_int_equal(again->policies[0].limit_count, 3);
	ruleset_free(again);
	free(text);
	suggest_free(&suggest);
}

static void given_services_are_used(void **state)
{
	struct ruleset *given = ruleset_of("services: {names: [udp/53], web: [tcp/80]}\n"
					   "policies: [{name: x, sources: [10.0.0.0/8], "
					   "action: pass}]\n");
	struct suggest suggest;

	(void)state;
	write_dns_traffic();
	suggest_all(&suggest, given);
	assert_non_null(limit_for(&suggest, "names"));
	assert_null(limit_for(&suggest, "web")); /* nobody asked for it */
	assert_null(limit_for(&suggest, "udp-53"));
	suggest_free(&suggest);
	ruleset_free(given);
}

static void nothing_to_suggest_from(void **state)
{
	struct message message;
	struct suggest suggest;

	(void)state;
	assert_int_equal(suggest_init(&suggest, NULL, &message), 0);
	assert_int_equal(suggest_end_pass(&suggest, &message), -ENODATA);
	suggest_free(&suggest);
}

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capture_time_is_the_clock),
		cmocka_unit_test(policies_and_services_are_told_apart),
		cmocka_unit_test(every_link_type),
		cmocka_unit_test(own_packets_are_not_judged),
		cmocka_unit_test(filter_expression),
		cmocka_unit_test(snap_length_does_not_matter),
		cmocka_unit_test(truncated_file_gives_what_it_holds),
		cmocka_unit_test(not_a_capture),
		cmocka_unit_test(services_are_found_and_limited),
		cmocka_unit_test(suggestion_is_a_policy_file),
		cmocka_unit_test(given_services_are_used),
		cmocka_unit_test(nothing_to_suggest_from),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
