/* SPDX-License-Identifier: GPL-2.0-only */
/* The limiter in user space: whole judgements under a manual clock. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "judge.h"
#include "random.h"

/* ---- what is refused ---- */

static void rules_without_sense_are_refused(void **unused)
{
	static const uint64_t secret[2] = { 1, 2 };
	struct ruleset *empty = ruleset_new(), *rules = rules_everyone("[{name: x, rate: 1/s}]");
	struct limiter *limiter = NULL;
	struct message message = { 0 };

	(void)unused;
	assert_int_equal(limiter_new(empty, secret, &limiter, &message), -EINVAL);
	assert_non_null(strstr(message.text, "no policy"));
	rules->policies[0].limits[0].rate.window_ns = 0;
	assert_int_equal(limiter_new(rules, secret, &limiter, &message), -EINVAL);
	assert_non_null(strstr(message.text, "'x'"));
	rules->policies[0].limits[0].rate.window_ns = SEC;
	rules->policies[0].limits[0].rate.amount = 0;
	assert_int_equal(limiter_new(rules, secret, &limiter, NULL), -EINVAL);
	rules->policies[0].limits[0].rate.amount = 1;
	rules->policies[0].limits[0].burst = 0;
	assert_int_equal(limiter_new(rules, secret, &limiter, NULL), -EINVAL);
	assert_null(limiter);
	ruleset_free(empty);
	ruleset_free(rules);
}

static void impossible_times_are_refused(void **unused)
{
	struct judge judge = judge_everyone("[{rate: 1/hour, burst: 3}]");
	struct judge windows = judge_everyone("[{algorithm: fixed-window, rate: 3/s}]");
	struct decision decision = { .limit = 77 };
	struct built frame;

	(void)unused;
	frame_u4(&frame, "10.0.0.1");
	assert_int_equal(limiter_allow_frame(judge.limiter, frame.bytes, 42, 42, 0, &decision),
			 -EINVAL);
	assert_int_equal(
		limiter_allow_frame(judge.limiter, frame.bytes, 42, 42, 1ULL << 62, &decision),
		-EINVAL);
	/* a window's number has 31 bits: 68 years of seconds */
	assert_int_equal(
		limiter_allow_frame(windows.limiter, frame.bytes, 42, 42, SEC << 31, &decision),
		-EINVAL);
	assert_int_equal(decision.limit, 77);
	judge.now = (1ULL << 62) - 1;
	assert_int_equal(judge_flood(&judge, &frame, 9), 3);
	windows.now = (SEC << 31) - 1;
	assert_int_equal(judge_flood(&windows, &frame, 9), 3);
	judge_free(&judge);
	judge_free(&windows);
}

static void a_packet_without_family_is_refused(void **unused)
{
	struct judge judge = judge_everyone("[{rate: 1/s}]");
	struct packet packet = { .family = 5 };

	(void)unused;
	assert_int_equal(limiter_allow(judge.limiter, &packet, T0, &judge.last), -EINVAL);
	judge_free(&judge);
}

/* ---- sources, policies, limits ---- */

static void sources_and_policies_are_apart(void **unused)
{
	struct judge judge = judge_new("policies:\n"
				       "  - {name: a, sources: [10.0.0.0/8], limits: [{name: x, "
				       "rate: 1/hour, burst: 5}]}\n"
				       "  - {name: b, sources: [10.1.0.0/16], limits: [{name: x, "
				       "rate: 1/hour, burst: 3}]}\n");

	(void)unused;
	assert_int_equal(judge_source(&judge, "10.0.0.1", 100), 5);
	assert_int_equal(judge_source(&judge, "10.0.0.2", 100), 5);
	assert_int_equal(judge_source(&judge, "10.1.0.1", 100), 3);
	assert_int_equal(judge.last.policy, 1);
	assert_int_equal(judge.last.limit, 0);
	assert_int_equal(judge.last.reason, REASON_LIMIT);
	assert_int_equal(judge_source(&judge, "11.0.0.1", 100), 100);
	assert_int_equal(judge.last.reason, REASON_UNMATCHED);
	assert_int_equal(judge.last.policy, -1);
	judge_free(&judge);
}

static void a_decision_tells_what_is_left_and_how_long(void **unused)
{
	struct judge judge = judge_everyone("[{rate: 10/s, burst: 5}, {rate: 4/min, burst: 4}]");

	(void)unused;
	assert_int_equal(judge_source(&judge, "10.0.0.1", 1), 1);
	assert_int_equal(judge.last.remaining, 3);
	assert_int_equal(judge.last.retry_after_ns, 0);
	assert_int_equal(judge.last.limit, -1);
	assert_int_equal(judge.last.reason, REASON_GRANTED);
	assert_int_equal(judge_source(&judge, "10.0.0.1", 4), 3);
	assert_int_equal(judge.last.remaining, 0);
	assert_int_equal(judge.last.limit, 1);
	assert_int_equal(judge.last.retry_after_ns, 15 * SEC);
	judge.now += 15 * SEC - 1;
	assert_int_equal(judge_source(&judge, "10.0.0.1", 1), 0);
	judge.now += 1;
	assert_int_equal(judge_source(&judge, "10.0.0.1", 1), 1);
	judge_free(&judge);
}

/* Refused by the last of three: the others are as before, whether seen at the look or the take. */
static void a_refused_packet_consumes_nothing(void **unused)
{
	static const char *const last[] = {
		"rate: 1/hour, burst: 2",
		"algorithm: fixed-window, rate: 2/hour",
		"algorithm: sliding-window, rate: 2/hour",
		"algorithm: sliding-log, rate: 2/hour",
		"rate: 1/hour, burst: 2, ban: 3h",
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++) {
		struct judge judge;
		struct built syn, other;
		char text[256];

		snprintf(text, sizeof(text),
			 "services: {h: [tcp/syn]}\n"
			 "policies: [{name: a, sources: [0.0.0.0/0], limits: [\n"
			 "  {name: all, rate: 1/hour, burst: 10}, {name: win, algorithm: "
			 "fixed-window,"
			 " rate: 10/hour}, {name: h, service: h, %s}]}]\n",
			 last[i]);
		judge = judge_new(text);
		frame_begin(&syn);
		frame_ipv4(&syn, "10.0.0.1", 6);
		frame_tcp(&syn, 80, 2);
		frame_end(&syn);
		frame_u4(&other, "10.0.0.1");
		judge.now = T0 / HOUR * HOUR;
		assert_int_equal(judge_flood(&judge, &syn, 50), 2);
		assert_int_equal(judge.last.limit, 2);
		assert_int_equal(judge_flood(&judge, &other, 50), 8);
		judge_free(&judge);
	}
}

static void bytes_are_whole_frames(void **unused)
{
	struct judge judge = judge_everyone("[{rate: 1kB/hour, burst: 3000B}]");
	struct built frame;

	(void)unused;
	frame_begin(&frame);
	frame_tag(&frame, 0x8100);
	frame_ipv4(&frame, "10.0.0.1", 17);
	frame_udp(&frame, 9);
	frame_fill(&frame, 0, 954);
	frame_end(&frame);
	assert_int_equal(frame.count, 1000);
	assert_int_equal(judge_flood(&judge, &frame, 10), 3);
	assert_int_equal(judge.last.remaining, UINT64_MAX); /* no limit in packets */
	assert_int_equal(judge.last.retry_after_ns, HOUR);
	judge_free(&judge);
}

static void a_frame_over_the_burst_never_passes(void **unused)
{
	struct judge judge = judge_everyone("[{rate: 10kB/s, burst: 1514B, ban: 1h}]");
	struct built frame;

	(void)unused;
	frame_u4(&frame, "10.0.0.1");
	assert_int_equal(limiter_allow_frame(judge.limiter, frame.bytes, 42, 42, T0, &judge.last),
			 0);
	frame.bytes[frame.ip + 2] = 2000 >> 8;
	frame.bytes[frame.ip + 3] = 2000 & 0xff;
	assert_int_equal(limiter_allow_frame(judge.limiter, frame.bytes, 42, 2014, T0, &judge.last),
			 0);
	assert_false(judge.last.granted);
	assert_int_equal(judge.last.reason, REASON_LIMIT);
	assert_int_equal(judge.last.retry_after_ns, UINT64_MAX);
	/* and it begins no ban */
	judge.now = T0 + SEC;
	assert_int_equal(judge_source(&judge, "10.0.0.1", 1), 1);
	judge_free(&judge);
}

static void keys_are_cut_to_their_length(void **unused)
{
	struct judge judge =
		judge_everyone("[{per: {ipv4: 24, ipv6: 48}, rate: 1/hour, burst: 5}]");

	(void)unused;
	assert_int_equal(judge_source(&judge, "10.0.0.1", 3), 3);
	assert_int_equal(judge_source(&judge, "10.0.0.200", 3), 2);
	assert_int_equal(judge_source(&judge, "10.0.1.1", 9), 5);
	assert_int_equal(judge_source(&judge, "2001:db8:1:1::1", 3), 3);
	assert_int_equal(judge_source(&judge, "2001:db8:1:2::1", 3), 2);
	assert_int_equal(judge_source(&judge, "2001:db8:2::1", 9), 5);
	judge_free(&judge);
}

static void shared_limits_are_one_state(void **unused)
{
	struct judge judge =
		judge_new("limits: [{name: total, per: instance, rate: 1/hour, burst: 12}]\n"
			  "policies:\n"
			  "  - {name: a, sources: [10.0.0.0/8], limits: [{per: policy, rate: "
			  "1/hour, burst: 8}]}\n"
			  "  - {name: b, sources: [11.0.0.0/8], limits: [{per: policy, rate: "
			  "1/hour, burst: 8}]}\n");

	(void)unused;
	assert_int_equal(judge_source(&judge, "10.0.0.1", 5), 5);
	assert_int_equal(judge_source(&judge, "10.9.0.2", 5), 3);
	assert_int_equal(judge_source(&judge, "11.0.0.1", 50), 4);
	assert_int_equal(judge.last.limit, 1);
	judge_free(&judge);
}

static void services_pick_their_limit(void **unused)
{
	struct judge judge = judge_new("services:\n"
				       "  dns: [udp/53]\n"
				       "  mine: {match: [udp/53], to: [192.0.2.53/32]}\n"
				       "  yours: {match: [udp/53], to: [192.0.2.54/32]}\n"
				       "policies:\n"
				       "  - {name: a, sources: [0.0.0.0/0], limits: [{service: "
				       "dns, rate: 1/hour, burst: 5},"
				       " {service: mine, rate: 1/hour, burst: 3}, {service: yours, "
				       "rate: 1/hour, burst: 1}]}\n");
	struct built frame;

	(void)unused;
	frame_begin(&frame);
	frame_ipv4(&frame, "10.0.0.1", 17); /* to 192.0.2.53 */
	frame_udp(&frame, 53);
	frame_end(&frame);
	assert_int_equal(judge_flood(&judge, &frame, 9), 3);
	frame.bytes[frame.ip + 19] = 55;
	assert_int_equal(judge_flood(&judge, &frame, 9), 2);
	frame.bytes[frame.count - 5] = 54; /* another port: no limit at all */
	assert_int_equal(judge_flood(&judge, &frame, 9), 9);
	assert_int_equal(judge.last.remaining, UINT64_MAX);
	judge_free(&judge);
}

/* ---- actions, observe, shares ---- */

static void actions_and_what_is_no_packet(void **unused)
{
	struct judge judge =
		judge_new("malformed: pass\n"
			  "policies:\n"
			  "  - {name: good, sources: [10.0.0.0/8], action: pass}\n"
			  "  - {name: bad, sources: [11.0.0.0/8], action: drop}\n"
			  "  - {name: seen, sources: [12.0.0.0/8], action: drop, mode: observe}\n");
	struct built frame;

	(void)unused;
	assert_int_equal(judge_source(&judge, "10.0.0.1", 9), 9);
	assert_int_equal(judge.last.reason, REASON_ALLOWED);
	assert_int_equal(judge_source(&judge, "11.0.0.1", 9), 0);
	assert_int_equal(judge.last.reason, REASON_BLOCKED);
	assert_int_equal(judge.last.policy, 1);
	assert_int_equal(judge_source(&judge, "12.0.0.1", 9), 9);
	assert_int_equal(judge.last.reason, REASON_OBSERVED);
	frame_begin(&frame);
	frame_add16(&frame, 0x0806);
	assert_true(judge_frame(&judge, &frame));
	assert_int_equal(judge.last.reason, REASON_NOT_IP);
	frame_begin(&frame);
	frame_add16(&frame, 0x0800);
	assert_true(judge_frame(&judge, &frame));
	assert_int_equal(judge.last.reason, REASON_MALFORMED);
	judge.ruleset->malformed_pass = false;
	assert_false(judge_frame(&judge, &frame));
	frame_begin(&frame);
	frame_ipv6(&frame, "fe80::1", 58);
	frame.bytes[frame.ip + 7] = 255;
	frame_icmp(&frame, 135);
	frame_end(&frame);
	assert_true(judge_frame(&judge, &frame));
	assert_int_equal(judge.last.reason, REASON_NEIGHBOUR_DISCOVERY);
	judge_free(&judge);
}

static void observed_limits_count_as_if_enforced(void **unused)
{
	struct judge judge = judge_new("policies:\n"
				       "  - {name: a, sources: [0.0.0.0/0], mode: observe, limits: "
				       "[{rate: 1/hour, burst: 5}]}\n");
	unsigned int observed = 0;

	(void)unused;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(judge_source(&judge, "10.0.0.1", 1), 1);
		observed += judge.last.reason == REASON_OBSERVED;
	}
	assert_int_equal(observed, 15);
	assert_int_equal(judge.last.limit, 0);
	assert_int_equal(judge.last.retry_after_ns, 0);
	judge_free(&judge);
}

/* A quarter of the sources, the same ones each time; all of a /64 or none. */
static void a_share_is_stable_by_source(void **unused)
{
	struct judge judge = judge_new("policies:\n"
				       "  - {name: a, sources: [0.0.0.0/0, '::/0'], mode: 25%,"
				       " action: drop}\n");
	unsigned int dropped = 0;
	char source[64];

	(void)unused;
	for (int i = 0; i < 8000; i++) {
		unsigned int passed;

		snprintf(source, sizeof(source), "10.1.%d.%d", i >> 8, i & 0xff);
		passed = judge_source(&judge, source, 4);
		assert_true(passed == 0 || passed == 4);
		dropped += passed == 0;
	}
	assert_in_range(dropped, 2000 - 160, 2000 + 160); /* 4 standard deviations */
	for (int i = 0; i < 50; i++) {
		snprintf(source, sizeof(source), "2001:db8:0:%x::1", i);
		dropped = judge_source(&judge, source, 1);
		snprintf(source, sizeof(source), "2001:db8:0:%x:ffff::2", i);
		assert_int_equal(judge_source(&judge, source, 1), dropped);
	}
	judge_free(&judge);
}

/* ---- bans ---- */

static void a_refusal_begins_a_ban(void **unused)
{
	struct judge judge = judge_everyone("[{rate: 1/s, burst: 3, ban: 60s}]");

	(void)unused;
	assert_int_equal(judge_source(&judge, "10.0.0.1", 4), 3);
	assert_int_equal(judge.last.reason, REASON_LIMIT);
	assert_int_equal(judge.last.retry_after_ns, 60 * SEC);
	judge.now += 30 * SEC;
	assert_int_equal(judge_source(&judge, "10.0.0.1", 1), 0);
	assert_int_equal(judge.last.reason, REASON_BAN);
	assert_int_equal(judge.last.retry_after_ns, 30 * SEC); /* and is not made longer */
	assert_int_equal(judge_source(&judge, "10.0.0.2", 1), 1);
	judge.now += 30 * SEC - 1;
	assert_int_equal(judge_source(&judge, "10.0.0.1", 1), 0);
	judge.now += 1;
	assert_int_equal(judge_source(&judge, "10.0.0.1", 4), 3);
	judge_free(&judge);
}

/* A ban is of one limit: what that limit is not for passes. */
static void a_ban_is_of_its_service(void **unused)
{
	struct judge judge = judge_new(
		"services: {dns: [udp/53]}\n"
		"policies:\n"
		"  - {name: a, sources: [0.0.0.0/0], limits: [{service: dns, rate: 1/s, burst: 1,"
		" ban: 60s}]}\n");
	struct built frame;

	(void)unused;
	frame_begin(&frame);
	frame_ipv4(&frame, "10.0.0.1", 17);
	frame_udp(&frame, 53);
	frame_end(&frame);
	assert_int_equal(judge_flood(&judge, &frame, 9), 1);
	assert_int_equal(judge_source(&judge, "10.0.0.1", 9), 9);
	judge_free(&judge);
}

/* ---- time ---- */

static void backwards_time_is_no_time(void **unused)
{
	static const char *const kinds[] = { "[{rate: 10/s, burst: 5}]",
					     "[{algorithm: fixed-window, rate: 5/s}]",
					     "[{algorithm: sliding-window, rate: 5/s}]",
					     "[{algorithm: sliding-log, rate: 5/s}]" };

	(void)unused;
	for (size_t i = 0; i < 4; i++) {
		struct judge judge = judge_everyone(kinds[i]);

		assert_int_equal(judge_source(&judge, "10.0.0.1", 3), 3);
		judge.now = 1; /* as at T0: not a token less */
		assert_int_equal(judge_source(&judge, "10.0.0.1", 9), 2);
		judge.now = T0 + 10 * SEC;
		assert_int_equal(judge_source(&judge, "10.0.0.1", 9), 5);
		judge_free(&judge);
	}
}

/* ---- entries ---- */

static void entries_outrank_policies_of_no_longer_prefix(void **unused)
{
	struct judge judge = judge_new("policies:\n"
				       "  - {name: a, sources: [10.0.0.0/8, 10.1.2.3/32], limits: "
				       "[{rate: 1/hour, burst: 5}]}\n"
				       "entries:\n"
				       "  - {block: 10.1.0.0/16, for: 10s}\n"
				       "  - {allow: 10.1.5.0/24}\n"
				       "  - {limit: 10.2.0.0/16, rate: 1/hour, burst: 2}\n"
				       "  - {block: 10.2.9.0/24, for: 5s}\n");

	(void)unused;
	assert_int_equal(judge_source(&judge, "10.1.0.1", 9), 0);
	assert_int_equal(judge.last.reason, REASON_BLOCKED);
	assert_int_equal(judge.last.retry_after_ns, 10 * SEC);
	assert_int_equal(judge_source(&judge, "10.1.2.3", 9), 5); /* the policy's is longer */
	assert_int_equal(judge_source(&judge, "10.1.5.1", 9), 9);
	assert_int_equal(judge.last.reason, REASON_ALLOWED);
	assert_int_equal(judge_source(&judge, "10.2.0.1", 9), 2);
	assert_int_equal(judge.last.policy, -1);
	assert_int_equal(judge_source(&judge, "10.2.9.1", 9), 0);
	judge.now = T0 + 5 * SEC; /* gone: the shorter entry is next */
	assert_int_equal(judge_source(&judge, "10.2.9.1", 9), 2);
	judge.now = T0 + 10 * SEC - 1;
	assert_int_equal(judge_source(&judge, "10.1.0.1", 9), 0);
	judge.now = T0 + 10 * SEC;
	assert_int_equal(judge_source(&judge, "10.1.0.1", 9), 5);
	judge_free(&judge);
}

/* ---- the table ---- */

static void every_source_is_remembered(void **unused)
{
	enum { SOURCES = 200000 };
	struct judge judge = judge_everyone("[{rate: 1/hour, burst: 1}]");
	struct packet packet = { .family = 4, .length = 42, .proto = 17 };

	(void)unused;
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < SOURCES; i++) {
			memcpy(packet.source, &i, sizeof(i));
			assert_int_equal(limiter_allow(judge.limiter, &packet, T0, &judge.last), 0);
			assert_int_equal(judge.last.granted, round == 0);
		}
	judge_free(&judge);
}

/* ---- state_remaining and state_retry_ns: exact, in any state ---- */

struct memory {
	struct state state;
	struct log_ring ring;
};

static bool would_take(const struct limit *limit, const struct memory *memory, uint64_t now,
		       uint64_t cost)
{
	struct memory copy = *memory;

	return state_take(limit, &copy.state, &copy.ring, now, cost);
}

static void check_outlook(const struct limit *limit, const struct memory *memory, uint64_t now,
			  uint64_t cost)
{
	uint64_t wait = state_retry_ns(limit, &memory->state, &memory->ring, now, cost);
	uint64_t left = state_remaining(limit, &memory->state, &memory->ring, now);
	struct memory copy = *memory;

	assert_int_equal(wait == UINT64_MAX, cost > limit->burst);
	if (wait != UINT64_MAX) {
		assert_true(would_take(limit, memory, now + wait, cost));
		if (wait)
			assert_false(would_take(limit, memory, now + wait - 1, cost));
	}
	assert_true(left <= limit->burst);
	if (limit->algorithm != ALGO_SLIDING_LOG) { /* one of its tokens at a time */
		assert_int_equal(left == 0, !would_take(limit, memory, now, 1));
		if (left)
			assert_true(would_take(limit, memory, now, left));
		assert_false(would_take(limit, memory, now, left + 1));
		return;
	}
	for (uint64_t i = 0; i < left; i++)
		assert_true(state_take(limit, &copy.state, &copy.ring, now, 1));
	assert_false(state_take(limit, &copy.state, &copy.ring, now, 1));
}

static struct limit limit_from(const char *limits)
{
	struct judge judge = judge_everyone(limits);
	struct limit limit = limiter_image(judge.limiter)->policies[0].policy.limits[0];

	judge_free(&judge);
	return limit;
}

static void outlook_is_exact(void **unused)
{
	static const char *const kinds[] = {
		"[{rate: 3/s, burst: 7}]",
		"[{rate: 100Gbit/s, burst: 40kB}]",
		"[{rate: 7/day, burst: 50}]",
		"[{algorithm: fixed-window, rate: 50/s}]",
		"[{algorithm: sliding-window, rate: 50/s}]",
		"[{algorithm: sliding-window, rate: 10Gbit/s}]",
		"[{algorithm: sliding-window, rate: 3/min}]",
		"[{algorithm: sliding-log, rate: 1/s}]",
		"[{algorithm: sliding-log, rate: 30/s}]",
		"[{algorithm: sliding-log, rate: 64/min}]",
	};
	struct random random = { 12 };

	(void)unused;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct limit limit = limit_from(kinds[k]);
		uint64_t most = limit.algorithm == ALGO_SLIDING_LOG ? 1 : limit.burst;
		uint64_t period =
			limit.algorithm == ALGO_TOKEN_BUCKET ? limit.burst_ns : limit.interval_ns;
		struct memory memory = { 0 };
		uint64_t now = T0;

		for (int i = 0; i < 5000; i++) {
			uint64_t cost =
				1 +
				random_below(&random, most / (1 + random_below(&random, 20)) + 1);

			cost = cost > most ? most : cost;
			now += random_below(&random, 1 + period / (1 + random_below(&random, 30)));
			check_outlook(&limit, &memory, now, cost);
			/* as seen by a CPU whose clock is behind */
			check_outlook(&limit, &memory, now - random_below(&random, period), cost);
			check_outlook(&limit, &memory, now, limit.burst + 1);
			state_take(&limit, &memory.state, &memory.ring, now, cost);
			if (random_below(&random, 200) == 0) {
				limit.ban_ns = 3 * period;
				state_ban(&limit, &memory.state, now);
				check_outlook(&limit, &memory, now, cost);
				check_outlook(&limit, &memory, now + 3 * period, cost);
				limit.ban_ns = 0;
			}
		}
	}
}

static void keys_of_a_limit(void **unused)
{
	struct limit limit = limit_from("[{per: {ipv4: 24, ipv6: 56}, rate: 1/s}]");
	struct prefix four = rules_prefix("192.0.2.77"), six = rules_prefix("2001:db8::1:2:3");
	struct key key = limit_key(&limit, &four);

	(void)unused;
	assert_int_equal(key.family, 4);
	assert_int_equal((uint32_t)key.hi, 0xc0000200);
	key = limit_key(&limit, &six);
	assert_int_equal(key.family, 6);
	assert_int_equal(key.hi, 0x20010db800000000);
	assert_int_equal(key.lo, 0);
	limit.flags |= LIMIT_SHARED;
	key = limit_key(&limit, &six);
	assert_int_equal(key.family, 1);
	assert_int_equal(key.hi | key.lo, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_without_sense_are_refused),
		cmocka_unit_test(impossible_times_are_refused),
		cmocka_unit_test(a_packet_without_family_is_refused),
		cmocka_unit_test(sources_and_policies_are_apart),
		cmocka_unit_test(a_decision_tells_what_is_left_and_how_long),
		cmocka_unit_test(a_refused_packet_consumes_nothing),
		cmocka_unit_test(bytes_are_whole_frames),
		cmocka_unit_test(a_frame_over_the_burst_never_passes),
		cmocka_unit_test(keys_are_cut_to_their_length),
		cmocka_unit_test(shared_limits_are_one_state),
		cmocka_unit_test(services_pick_their_limit),
		cmocka_unit_test(actions_and_what_is_no_packet),
		cmocka_unit_test(observed_limits_count_as_if_enforced),
		cmocka_unit_test(a_share_is_stable_by_source),
		cmocka_unit_test(a_refusal_begins_a_ban),
		cmocka_unit_test(a_ban_is_of_its_service),
		cmocka_unit_test(backwards_time_is_no_time),
		cmocka_unit_test(entries_outrank_policies_of_no_longer_prefix),
		cmocka_unit_test(every_source_is_remembered),
		cmocka_unit_test(outlook_is_exact),
		cmocka_unit_test(keys_of_a_limit),
	};

	return cmocka_run_group_tests_name("limiter", tests, NULL, NULL);
}
