/* SPDX-License-Identifier: GPL-2.0-only */
/* Two CPUs at once: one budget for both, and refunds that lose nothing. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../bpf/key.h"
#include "counts.h"
#include "row.h"
#include "tap.h"

enum race_size {
	RACERS = 2,
	ROUNDS = 50,
};

struct racer {
	const struct rig *rig;
	enum rig_program program;
	const struct frame_bytes *frame;
	unsigned int cpu;
	uint32_t packets;
	pthread_barrier_t *start;
	bool failed;
};

static void *race(void *argument)
{
	struct racer *racer = argument;
	uint32_t verdict;

	rig_pin_cpu(racer->cpu);
	pthread_barrier_wait(racer->start);
	racer->failed = rig_run(racer->rig, racer->program, racer->frame, racer->packets, &verdict);
	return NULL;
}

/* On two CPUs at once. */
static void run_racers(struct racer *racers)
{
	pthread_barrier_t start;
	pthread_t threads[RACERS];

	pthread_barrier_init(&start, NULL, RACERS);
	for (unsigned int i = 0; i < RACERS; i++) {
		racers[i].cpu = i;
		racers[i].start = &start;
		if (pthread_create(&threads[i], NULL, race, &racers[i]))
			tap_bail("a thread: %m");
	}
	for (unsigned int i = 0; i < RACERS; i++) {
		pthread_join(threads[i], NULL);
		if (racers[i].failed)
			tap_bail("running on CPU %u", i);
	}
	pthread_barrier_destroy(&start);
}

static void run_race(const struct rig *rig, const struct frame_bytes *frame, uint32_t packets)
{
	struct racer same = { .rig = rig, .frame = frame, .packets = packets };
	struct racer racers[RACERS] = { same, same };

	run_racers(racers);
}

static uint64_t granted(const struct rig *rig)
{
	return cell_read(rig, rig->image->policies[0].cells + CELL_POLICY_VERDICT).packets;
}

static void open_rig(struct rig *rig, const char *limits, const char *kind)
{
	struct message message = { 0 };
	char policy[1024];

	snprintf(policy, sizeof(policy),
		 "services: {dns: [udp/53]}\n" ALL("%s") "table: {kind: %s, sources: 16k}\n",
		 limits, kind);
	if (rig_open(rig, policy, &message))
		tap_bail("%s: %s", limits, message.text);
}

static void one_source(const char *limits, const char *kind, uint64_t least, uint64_t most)
{
	static struct frame_bytes frame;
	struct rig rig;
	uint64_t passed;

	open_rig(&rig, limits, kind);
	if (frame_build("10.0.0.1 udp/53", 0, &frame))
		tap_bail("frame");
	run_race(&rig, &frame, 200000);
	passed = granted(&rig);
	tap_note("%llu of 400000 passed", (unsigned long long)passed);
	tap_ok(passed >= least && passed <= most, "two CPUs on one source, %s: %s", kind, limits);
	rig_close(&rig);
}

/*
 * What both CPUs send is refused by the second limit when the first has been charged, now and
 * then: the first must have lost exactly what passed.
 */
static bool refund_round(struct rig *rig, unsigned int source, unsigned int any, unsigned int dns)
{
	static struct frame_bytes query, other;
	uint64_t before = granted(rig), queries, others;
	uint32_t verdict;

	if (frame_build("10.0.0.0+ udp/53", source, &query) ||
	    frame_build("10.0.0.0+ udp/80", source, &other))
		tap_bail("frame");
	run_race(rig, &query, 500);
	queries = granted(rig) - before;
	if (rig_run(rig, RIG_WEIR, &other, 2 * any, &verdict))
		tap_bail("running: %m");
	others = granted(rig) - before - queries;
	if (queries == dns && others == any - dns)
		return true;
	tap_note("source %u: %llu queries and %llu others passed, not %u and %u", source,
		 (unsigned long long)queries, (unsigned long long)others, dns, any - dns);
	return false;
}

static void refund(const char *limits, const char *kind)
{
	struct rig rig;
	unsigned int good = 0;

	open_rig(&rig, limits, kind);
	for (unsigned int i = 0; i < ROUNDS; i++)
		good += refund_round(&rig, i, 60, 40);
	tap_ok(good == ROUNDS, "refund under two CPUs, %s: %s", kind, limits);
	rig_close(&rig);
}

static void refunds(const char *kind)
{
	refund("{rate: 1/hour, burst: 60}, {service: dns, rate: 1/hour, burst: 40}", kind);
	refund("{service: dns, rate: 1/hour, burst: 40}, {rate: 1/hour, burst: 60}", kind);
	refund("{algorithm: fixed-window, rate: 60/day}, "
	       "{algorithm: fixed-window, service: dns, rate: 40/day}",
	       kind);
	refund("{algorithm: sliding-window, rate: 60/day}, "
	       "{algorithm: sliding-window, service: dns, rate: 40/day}",
	       kind);
	refund("{algorithm: sliding-log, rate: 60/day}, "
	       "{algorithm: sliding-log, service: dns, rate: 40/day}",
	       kind);
}

/* Packets charged without the lock, while under it the same state is charged by maintenance. */
static void charged_beside(const char *limits)
{
	static struct frame_bytes frame, command;
	struct maintain charge = { .op = MAINTAIN_CHARGE,
				   .key = { .hi = KEY_IPV4 | 0x0a000001, .family = 4 },
				   .cost = 1 };
	struct rig rig;
	uint64_t passed;

	open_rig(&rig, limits, "sets");
	charge.policy = rig_policy_index(&rig, 0);
	command.length = sizeof(charge);
	memcpy(command.data, &charge, sizeof(charge));
	if (frame_build("10.0.0.1 udp/53", 0, &frame))
		tap_bail("frame");
	run_racers((struct racer[RACERS]){
		{ .rig = &rig, .program = RIG_WEIR, .frame = &frame, .packets = 300000 },
		{ .rig = &rig, .program = RIG_MAINTAIN, .frame = &command, .packets = 100000 },
	});
	run_race(&rig, &frame, 300000); /* what is left */
	passed = granted(&rig);
	tap_note("%llu passed of 500000, less 100000", (unsigned long long)passed);
	tap_ok(passed == 400000, "charged under the lock and without: %s", limits);
	rig_close(&rig);
}

/*
 * A byte takes two and a half ns: frames of even length are charged without the lock, of odd length
 * under it. There are tokens for all of them, and for no frame that is charged twice.
 */
static void mixed_lengths(void)
{
	static struct frame_bytes even, odd;
	struct rig rig;
	uint64_t passed;

	open_rig(&rig, "{rate: 400MB/s, burst: 24200000B}", "sets");
	if (frame_build("10.0.0.1 udp/53 len=60", 0, &even) ||
	    frame_build("10.0.0.1 udp/53 len=61", 0, &odd))
		tap_bail("frame");
	run_racers((struct racer[RACERS]){
		{ .rig = &rig, .program = RIG_WEIR, .frame = &even, .packets = 200000 },
		{ .rig = &rig, .program = RIG_WEIR, .frame = &odd, .packets = 200000 },
	});
	passed = granted(&rig);
	tap_note("%llu of 400000 passed", (unsigned long long)passed);
	tap_ok(passed == 400000, "fractions charged under the lock, whole ns without");
	rig_close(&rig);
}

static void one_budget(const char *kind)
{
	one_source("{rate: 1/hour, burst: 10000}", kind, 10000, 10000);
	one_source("{rate: 1/hour, burst: 300000}", kind, 300000, 300000);
	one_source("{rate: 7/hour, burst: 300000}", kind, 300000, 300000);
	one_source("{rate: 1kB/s, burst: 420000B}", kind, 10000, 10000);
	one_source("{algorithm: fixed-window, rate: 10000/day}", kind, 10000, 10000);
	one_source("{algorithm: sliding-window, rate: 10000/day}", kind, 10000, 10000);
	one_source("{algorithm: sliding-log, rate: 64/day}", kind, 64, 64);
	one_source("{rate: 1/s, burst: 1000, ban: 1h}", kind, 1000, 1000);
}

int main(void)
{
	rig_prepare();
	if (sysconf(_SC_NPROCESSORS_ONLN) < RACERS) {
		tap_skip("there is one CPU", "two CPUs at once");
		return tap_done();
	}
	one_budget("sets");
	one_budget("hash");
	one_source("{rate: 1/hour, burst: 10000}", "percpu", 20000, 20000);
	/* Two CPUs may hold tokens they have drawn and not spent. */
	one_source("{per: policy, rate: 1M/s, burst: 100k}", "sets", 90000, 100000);
	one_source("{per: policy, rate: 1/hour, burst: 100}", "sets", 100, 100);
	refunds("sets");
	refunds("hash");
	charged_beside("{rate: 1/hour, burst: 500000}");
	charged_beside("{rate: 7/hour, burst: 500000}");
	charged_beside("{algorithm: fixed-window, rate: 500000/day}");
	mixed_lengths();
	return tap_done();
}
