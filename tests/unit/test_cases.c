/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cases that real users reported of other limiters, each named by its number: those that
 * arithmetic decides, under a manual clock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "judge.h"
#include "random.h"

enum {
	ICMP = 1,
	TCP = 6,
	UDP = 17,
};

static void t01_keyed_by_source_not_by_flow(void **unused)
{
	struct judge judge = judge_everyone("[{rate: 1/hour, burst: 5}]");
	struct random random = { 1 };
	unsigned int passed = 0;

	(void)unused;
	for (int i = 0; i < 100; i++) {
		struct built frame;

		frame_begin(&frame);
		frame_ipv4(&frame, "10.0.0.1", i % 2 ? UDP : TCP);
		if (i % 2)
			frame_udp(&frame, (uint16_t)random_next(&random));
		else
			frame_tcp(&frame, (uint16_t)random_next(&random), 16);
		frame.bytes[frame.ip + 19] = (uint8_t)random_next(&random);
		frame_end(&frame);
		passed += judge_frame(&judge, &frame);
	}
	assert_int_equal(passed, 5);
	assert_int_equal(judge_source(&judge, "10.0.0.2", 1), 1);
	judge_free(&judge);
}

static void t02_no_starvation_at_low_rates(void **unused)
{
	struct judge judge = judge_everyone("[{rate: 10/s, burst: 1}]");
	unsigned int passed = 0;

	(void)unused;
	for (; judge.now < T0 + 3 * SEC; judge.now += 1003000)
		passed += judge_source(&judge, "10.0.0.1", 1);
	assert_in_range(passed, 28, 31);
	judge_free(&judge);
}

/* Offered every `step_ns` for `span_ns`; how many passed. */
static uint64_t offer(struct judge *judge, const struct packet *packet, uint64_t step_ns,
		      uint64_t span_ns)
{
	uint64_t passed = 0;

	for (uint64_t t = 0; t < span_ns; t += step_ns) {
		assert_int_equal(limiter_allow(judge->limiter, packet, T0 + t, &judge->last), 0);
		passed += judge->last.granted;
	}
	return passed;
}

static void t05_rate_fidelity_in_packets(void **unused)
{
	struct judge judge = judge_everyone("[{rate: 1M/s, burst: 500k}]");
	const struct packet packet = { .family = 4, .source = { 10 }, .proto = UDP, .length = 60 };

	(void)unused;
	/* 10 M packets/s for 0.2 s: the burst and what grew meanwhile, to the packet */
	assert_in_range(offer(&judge, &packet, 100, SEC / 5), 500000 + 199999, 500000 + 200000);
	judge_free(&judge);
}

static void t06_rate_fidelity_in_bytes(void **unused)
{
	struct judge judge = judge_everyone("[{rate: 5.6Gbit/s, burst: 35MB}]");
	const struct packet packet = {
		.family = 4, .source = { 10 }, .proto = UDP, .length = 1514
	};
	uint64_t bytes;

	(void)unused;
	bytes = 1514 * offer(&judge, &packet, 126, SEC / 5); /* 12 GB/s */
	assert_in_range(bytes, 35000000 + 140000000 - 1514, 35000000 + 140000000);
	judge_free(&judge);
}

static void t07_more_than_32_bits(void **unused)
{
	static const char *const rates[] = { "10gbit", "40gbit", "100gbit" };
	static const uint64_t bits[] = { 10000000000, 40000000000, 100000000000 };
	struct judge judge = judge_everyone("[{rate: 10gbit, burst: 20MB}]");
	struct packet packet = { .family = 4, .source = { 10 }, .proto = UDP, .length = 1514 };

	(void)unused;
	for (int i = 0; i < 3; i++) {
		struct rate rate, again;
		char text[UNIT_TEXT];

		assert_int_equal(units_rate(rates[i], &rate, NULL), 0);
		assert_int_equal(rate.amount * (rate.bits ? 1 : 8), bits[i]);
		units_rate_text(&rate, text, sizeof(text));
		assert_int_equal(units_rate(text, &again, NULL), 0);
		assert_int_equal(again.amount, rate.amount);
		assert_int_equal(again.bits, rate.bits);
	}
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(limiter_allow(judge.limiter, &packet, T0, &judge.last), 0);
		assert_true(judge.last.granted);
	}
	judge_free(&judge);
}

static void t08_idle_longer_than_32_bits_of_ns(void **unused)
{
	(void)unused;
	for (uint64_t idle = 4300000000; idle <= 8600000000; idle += 4300000000) {
		struct judge judge = judge_everyone("[{rate: 1/s, burst: 1}]");

		assert_int_equal(judge_source(&judge, "10.0.0.1", 1), 1);
		judge.now += idle;
		assert_int_equal(judge_source(&judge, "10.0.0.1", 2), 1);
		judge_free(&judge);
	}
}

static void t10_idle_banks_no_more_than_the_burst(void **unused)
{
	struct judge judge = judge_everyone("[{rate: 100/s, burst: 10}]");

	(void)unused;
	assert_int_equal(judge_source(&judge, "10.0.0.1", 20), 10);
	judge.now += 3 * SEC;
	assert_int_equal(judge_source(&judge, "10.0.0.1", 50), 10);
	judge_free(&judge);
}

static void t11_no_double_burst_at_a_windows_edge(void **unused)
{
	static const uint64_t at[] = { 0, 500000000, 1000000000, 1010000000 };
	static const unsigned int expected[] = { 10, 5, 5, 0 };
	struct judge judge = judge_everyone("[{rate: 10/s, burst: 10}]");

	(void)unused;
	for (int i = 0; i < 4; i++) {
		judge.now = T0 + at[i];
		assert_int_equal(judge_source(&judge, "10.0.0.1", 10), expected[i]);
	}
	judge_free(&judge);
}

static void t13_families_do_not_collide(void **unused)
{
	struct judge judge = judge_new(
		"policies:\n"
		"  - {name: four, sources: [0.0.0.0/0], limits: [{rate: 1/hour, burst: 2}]}\n"
		"  - {name: six, sources: ['::/0'], limits: [{rate: 1/hour, burst: 2}]}\n");

	(void)unused;
	assert_int_equal(judge_source(&judge, "10.0.0.1", 1), 1);
	/* of one /64, so together */
	assert_int_equal(judge_source(&judge, "::ffff:10.0.0.1", 3), 2);
	assert_int_equal(judge.last.policy, 1);
	assert_int_equal(judge_source(&judge, "::a00:1", 1), 0);
	assert_int_equal(judge_source(&judge, "10.0.0.1", 5), 1);
	judge_free(&judge);
}

static void t14_forged_sources_meet_the_total(void **unused)
{
	struct judge judge =
		judge_everyone("[{rate: 100/s, burst: 10},"
			       " {name: aggregate, per: policy, rate: 1/hour, burst: 100}]");
	unsigned int passed = 0, aggregate = 0;

	(void)unused;
	for (int i = 0; i < 10000; i++) {
		char source[32];

		snprintf(source, sizeof(source), "10.0.%d.%d", i >> 8, i & 0xff);
		passed += judge_source(&judge, source, 1);
		aggregate += !judge.last.granted && judge.last.limit == 1;
	}
	assert_int_equal(passed, 100);
	assert_int_equal(aggregate, 9900);
	judge_free(&judge);
}

static const char *const t17_policies[] = {
	"  - {name: a, sources: [10.0.0.0/8], limits: [{rate: 1/hour, burst: 5}]}\n",
	"  - {name: b, sources: [10.1.0.0/16], action: pass}\n",
	"  - {name: c, sources: [10.1.2.0/24], limits: [{rate: 1/hour, burst: 2}]}\n",
	"  - {name: d, sources: [10.1.2.3/32], action: drop}\n",
};

static struct judge t17_judge(const int *order, int count)
{
	char text[1024] = "policies:\n";

	for (int i = 0; i < count; i++)
		strncat(text, t17_policies[order[i]], sizeof(text) - strlen(text) - 1);
	return judge_new(text);
}

static void t17_longest_prefix_in_any_order(void **unused)
{
	static const int orders[][4] = { { 0, 1, 2, 3 }, { 3, 2, 1, 0 }, { 2, 0, 3, 1 } };
	static const int without_c[] = { 0, 1, 3 };
	struct judge judge;

	(void)unused;
	for (int i = 0; i < 3; i++) {
		judge = t17_judge(orders[i], 4);
		assert_int_equal(judge_source(&judge, "10.9.9.9", 10), 5);
		assert_int_equal(judge_source(&judge, "10.1.9.9", 10), 10);
		assert_int_equal(judge_source(&judge, "10.1.2.9", 10), 2);
		assert_int_equal(judge_source(&judge, "10.1.2.3", 10), 0);
		assert_int_equal(judge_source(&judge, "11.0.0.1", 10), 10);
		assert_int_equal(judge.last.reason, REASON_UNMATCHED);
		judge_free(&judge);
	}
	judge = t17_judge(without_c, 3);
	assert_int_equal(judge_source(&judge, "10.1.2.9", 10), 10);
	assert_int_equal(judge_source(&judge, "10.1.2.3", 10), 0);
	judge_free(&judge);
}

/* A first fragment, then 20 whose payload looks like a UDP header of port 53. */
static unsigned int t22_fragments(struct judge *judge, int family)
{
	unsigned int passed = 0;

	for (int i = 0; i < 21; i++) {
		struct built frame;

		frame_begin(&frame);
		if (family == 4) {
			frame_ipv4_with(&frame, "10.0.0.1", UDP, 0, i ? 185 : 0x2000);
		} else {
			frame_ipv6(&frame, "2001:db8::1", 44);
			frame_fragment6(&frame, UDP, i ? 185 : 0, !i);
		}
		frame_udp(&frame, 53);
		frame_end(&frame);
		passed += judge_frame(judge, &frame);
	}
	return passed;
}

static void t22_fragments_are_charged_and_have_no_ports(void **unused)
{
	static const char with_port[] =
		"services: {dns: [udp/53]}\n"
		"policies:\n"
		"  - {name: a, sources: [0.0.0.0/0, '::/0'], limits: [{service: dns, rate: 1/hour,"
		" burst: 1}]}\n";
	struct judge judge = judge_everyone("[{rate: 1/hour, burst: 5}]");

	(void)unused;
	assert_int_equal(t22_fragments(&judge, 4), 5);
	assert_int_equal(t22_fragments(&judge, 6), 5);
	judge_free(&judge);
	judge = judge_new(with_port);
	assert_int_equal(t22_fragments(&judge, 4), 21);
	assert_int_equal(t22_fragments(&judge, 6), 21);
	judge_free(&judge);
}

static void t23_build(struct built *frame, int kind)
{
	static const uint8_t first[] = { 0, 60, 43, 51, 44, 132, 50, 59, 0 };

	frame_begin(frame);
	frame_ipv6(frame, "2001:db8::1", first[kind]);
	switch (kind) {
	case 0:
	case 2:
		frame_extension(frame, UDP, 1);
		break;
	case 1:
		frame_extension(frame, TCP, 0);
		break;
	case 3:
		frame_ah(frame, 0);
		frame_extension(frame, TCP, 0);
		break;
	case 4:
		frame_fragment6(frame, UDP, 0, 0);
		break;
	case 8:
		frame_extension(frame, UDP, 0);
		frame->bytes[frame->count - 7] = 99;
		break;
	}
	frame_tcp(frame, 80, 2);
	frame_end(frame);
}

static void t23_extension_headers_and_other_protocols(void **unused)
{
	struct judge judge = judge_new("policies:\n  - {name: a, sources: ['::/0'], limits: "
				       "[{rate: 1/hour, burst: 5}]}\n");
	unsigned int passed = 0, malformed = 0;

	(void)unused;
	for (int i = 0; i < 5; i++)
		for (int kind = 0; kind < 9; kind++) {
			struct built frame;

			t23_build(&frame, kind);
			passed += judge_frame(&judge, &frame);
			malformed += judge.last.reason == REASON_MALFORMED;
		}
	assert_int_equal(passed, 5);
	assert_int_equal(malformed, 5);
	judge_free(&judge);
}

static void t24_all_ipv4_protocols_with_options(void **unused)
{
	static const uint8_t protocols[] = { ICMP, 47, 4, 50, 132, 255 };
	struct judge judge = judge_new("policies:\n  - {name: a, sources: [0.0.0.0/0], limits: "
				       "[{rate: 1/hour, burst: 3}]}\n");
	struct built frames[8];
	unsigned int passed = 0, limited = 0;

	(void)unused;
	for (int i = 0; i < 6; i++) {
		frame_begin(&frames[i]);
		frame_ipv4(&frames[i], "10.0.0.1", protocols[i]);
		frame_fill(&frames[i], 0, 8);
	}
	frame_begin(&frames[6]);
	frame_ipv4_with(&frames[6], "10.0.0.1", UDP, 40, 0);
	frame_udp(&frames[6], 53);
	frame_begin(&frames[7]);
	frame_ipv4(&frames[7], "10.0.0.1", UDP);
	frame_fill(&frames[7], 0, 4);
	for (int i = 7; i >= 0; i--) { /* the short one within the budget */
		frame_end(&frames[i]);
		passed += judge_frame(&judge, &frames[i]);
		limited += judge.last.reason == REASON_LIMIT;
	}
	assert_int_equal(passed, 3);
	assert_int_equal(limited, 5);
	judge_free(&judge);
}

static void t25_build(struct built *frame, int kind)
{
	if (kind < 6)
		frame_u4(frame, "10.0.0.1");
	else
		frame_begin(frame);
	switch (kind) {
	case 0:
		frame->count = 14;
		break;
	case 1:
		frame->count = 24;
		break;
	case 2:
		frame->bytes[14] = 0x44;
		break;
	case 3:
		frame->bytes[14] = 0x65;
		break;
	case 4:
		frame_set16(frame, 12, 0x86dd);
		frame_fill(frame, 0, 40);
		break;
	case 5:
		frame_set16(frame, 16, 29);
		break;
	case 6:
		frame_add16(frame, 0x86dd);
		frame_fill(frame, 0x60, 39);
		break;
	case 7:
		frame_tag(frame, 0x8100);
		break;
	}
}

static void t25_malformed_has_one_action_and_no_state(void **unused)
{
	struct judge judge = judge_everyone("[{rate: 1/hour, burst: 1}]");

	(void)unused;
	for (int pass = 0; pass < 2; pass++) {
		judge.ruleset->malformed_pass = pass;
		for (int kind = 0; kind < 8; kind++) {
			struct built frame;

			t25_build(&frame, kind);
			assert_int_equal(judge_frame(&judge, &frame), pass);
			assert_int_equal(judge.last.reason, REASON_MALFORMED);
		}
	}
	assert_int_equal(judge_source(&judge, "10.0.0.1", 1), 1); /* nothing was charged */
	judge_free(&judge);
}

/* ---- T30: one source's state over a change of its limit, as apply carries it ---- */

struct running {
	struct ruleset *ruleset;
	struct capacity room;
	struct image *image;
	struct state state;
};

static struct running running_new(const char *limits)
{
	struct running running = { .ruleset = rules_everyone(limits) };

	assert_int_equal(image_first(running.ruleset, 1, &running.room, &running.image, NULL), 0);
	return running;
}

static void running_free(struct running *running)
{
	image_free(running->image);
	ruleset_free(running->ruleset);
}

static unsigned int running_flood(struct running *running, uint64_t now, unsigned int count,
				  uint64_t cost)
{
	const struct limit *limit = &running->image->policies[0].policy.limits[0];
	unsigned int passed = 0;

	while (count--)
		passed += (unsigned int)state_take(limit, &running->state, NULL, now, cost);
	return passed;
}

/* What apply does to the states of a limit marked so; see bpf/maintain.h. */
static void running_apply(struct running *running, const char *limits, uint64_t now, bool flush)
{
	struct ruleset *ruleset = rules_everyone(limits);
	const struct allocation *own;
	const struct limit *limit;
	struct image *image;

	assert_int_equal(
		image_next(ruleset, 1, &running->room, running->image, flush, &image, NULL), 0);
	own = &image->policies[0].limits[0];
	limit = &image->policies[0].policy.limits[0];
	if (own->restart)
		running->state = (struct state){ 0 };
	if (own->clamp && running->state.word > now + limit->burst_ns)
		running->state = (struct state){ now + limit->burst_ns, limit->burst_frac, 0 };
	image_free(running->image);
	ruleset_free(running->ruleset);
	running->image = image;
	running->ruleset = ruleset;
}

static void t30_limits_change_at_once_and_states_survive(void **unused)
{
	struct running running = running_new("[{name: x, rate: 1/hour, burst: 1000}]");

	(void)unused;
	assert_int_equal(running_flood(&running, T0, 1, 1), 1);
	running_apply(&running, "[{name: x, rate: 1/hour, burst: 5}]", T0, false); /* a */
	assert_in_range(running_flood(&running, T0, 100, 1), 1, 5);
	running_apply(&running, "[{name: x, rate: 1/hour, burst: 1000}]", T0, false); /* b */
	assert_in_range(running_flood(&running, T0, 5000, 1), 1, 1000);
	running_apply(&running, "[{name: x, rate: 1kB/hour, burst: 3000B}]", T0, false); /* c */
	assert_in_range(running_flood(&running, T0, 100, 100), 0, 30);
	running_apply(&running, "[{name: x, rate: 1kB/hour, burst: 3000B}]", T0, false); /* d */
	assert_int_equal(running_flood(&running, T0, 100, 100), 0);
	running_apply(&running, "[{name: x, rate: 1/hour, burst: 5}]", T0, true); /* e */
	assert_int_equal(running_flood(&running, T0, 100, 1), 5);
	running_apply(&running, "[{name: y, rate: 1/hour, burst: 5}]", T0, false); /* f */
	running_apply(&running, "[{name: x, rate: 1/hour, burst: 5}]", T0, false);
	assert_int_equal(running_flood(&running, T0, 100, 1), 5);
	running_free(&running);
}

/* A debt longer than the new burst would refuse the source for long after. */
static void t30_a_smaller_burst_cuts_the_debt(void **unused)
{
	struct running running = running_new("[{name: x, rate: 1/hour, burst: 1000}]");

	(void)unused;
	assert_int_equal(running_flood(&running, T0, 5000, 1), 1000);
	running_apply(&running, "[{name: x, rate: 1/s, burst: 5}]", T0, false);
	assert_int_equal(running_flood(&running, T0, 100, 1), 0);
	assert_int_equal(running_flood(&running, T0 + SEC - 1, 100, 1), 0);
	assert_int_equal(running_flood(&running, T0 + SEC, 100, 1), 1);
	running_free(&running);
}

static void t30_a_ban_outlives_a_change(void **unused)
{
	struct running running = running_new("[{name: x, rate: 1/s, burst: 5, ban: 1h}]");
	const struct limit *limit = &running.image->policies[0].policy.limits[0];

	(void)unused;
	state_ban(limit, &running.state, T0);
	running_apply(&running, "[{name: x, rate: 1000/s, burst: 5000}]", T0, false);
	assert_int_equal(running_flood(&running, T0 + HOUR - 1, 100, 1), 0);
	assert_int_equal(running_flood(&running, T0 + HOUR, 100, 1), 100);
	running_free(&running);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t01_keyed_by_source_not_by_flow),
		cmocka_unit_test(t02_no_starvation_at_low_rates),
		cmocka_unit_test(t05_rate_fidelity_in_packets),
		cmocka_unit_test(t06_rate_fidelity_in_bytes),
		cmocka_unit_test(t07_more_than_32_bits),
		cmocka_unit_test(t08_idle_longer_than_32_bits_of_ns),
		cmocka_unit_test(t10_idle_banks_no_more_than_the_burst),
		cmocka_unit_test(t11_no_double_burst_at_a_windows_edge),
		cmocka_unit_test(t13_families_do_not_collide),
		cmocka_unit_test(t14_forged_sources_meet_the_total),
		cmocka_unit_test(t17_longest_prefix_in_any_order),
		cmocka_unit_test(t22_fragments_are_charged_and_have_no_ports),
		cmocka_unit_test(t23_extension_headers_and_other_protocols),
		cmocka_unit_test(t24_all_ipv4_protocols_with_options),
		cmocka_unit_test(t25_malformed_has_one_action_and_no_state),
		cmocka_unit_test(t30_limits_change_at_once_and_states_survive),
		cmocka_unit_test(t30_a_smaller_burst_cuts_the_debt),
		cmocka_unit_test(t30_a_ban_outlives_a_change),
	};

	return cmocka_run_group_tests_name("cases", tests, NULL, NULL);
}
