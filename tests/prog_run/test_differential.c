/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random packets through the program with each kind of table and through the user-space limiter:
 * every verdict and every reason equal, for each algorithm.
 *
 *   test_differential [PACKETS for each algorithm [SEED]]
 */
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "counts.h"
#include "model.h"
#include "tap.h"
#include "traffic.h"

enum differential_size {
	PACKETS_DEFAULT = 300000,
	TOLD = 5, /* differences described */
};

/* Sets are to be so many that no five live sources meet in one: the model displaces nobody. */
static const struct {
	const char *name;
	const char *sources;
	const char *wide;
} kinds[] = {
	{ "sets", "512k", ", sources: 128k" },
	{ "hash", "64k", "" },
	{ "percpu", "64k", "" },
};

enum differential_kinds {
	KINDS = sizeof(kinds) / sizeof(*kinds),
};

/* %1$s: the algorithm, %2$s: what only some algorithms take, %3$s and %4$s: the table,
 * %5$s: what wide keys, two to a set, take of it. */
#define POLICY                                                                            \
	"services:\n"                                                                     \
	"  dns: [udp/53, tcp/53]\n"                                                       \
	"  resolver: {match: [udp/53], to: [192.0.2.53/32, '2001:db8:53::/48']}\n"        \
	"  handshakes: [tcp/syn]\n"                                                       \
	"  ping: [icmp/echo-request, icmpv6/echo-request]\n"                              \
	"policies:\n"                                                                     \
	"- name: everyone\n"                                                              \
	"  sources: [0.0.0.0/0, '::/0']\n"                                                \
	"  limits:\n"                                                                     \
	"  - {name: all, algorithm: %1$s, rate: 40/s}\n"                                  \
	"  - {name: net, algorithm: %1$s, per: {ipv4: 24, ipv6: 48}, rate: 60/s}\n"       \
	"  - {name: host, algorithm: %1$s, per: {ipv4: 32, ipv6: 128}, rate: 35/s%5$s}\n" \
	"  - {service: dns, algorithm: %1$s, rate: 13/s}\n"                               \
	"  - {service: resolver, algorithm: %1$s, rate: 3/s}\n"                           \
	"  - {service: handshakes, algorithm: %1$s, rate: 3/s, ban: 5s}\n"                \
	"  - {service: ping, algorithm: %1$s, rate: 20/min, ban: 2min}\n"                 \
	"%2$s"                                                                            \
	"- {name: staged, sources: [10.0.1.0/24, '2001:db8:1::/48'], mode: 25%%,\n"       \
	"   limits: [{algorithm: %1$s, rate: 7/s}]}\n"                                    \
	"- {name: watched, sources: [10.0.2.0/24], mode: observe,\n"                      \
	"   limits: [{algorithm: %1$s, rate: 7/s, ban: 2s}]}\n"                           \
	"- {name: partners, sources: [10.0.3.0/24, '2001:db8:3::/48'], action: pass}\n"   \
	"- {name: bad, sources: [10.0.4.0/24, '2001:db8:4::/48'], action: drop}\n"        \
	"- {name: suspect, sources: [10.0.5.0/24], action: drop, mode: observe}\n"        \
	"entries:\n"                                                                      \
	"- {block: 10.0.6.0/24, for: 20s}\n"                                              \
	"- {allow: 10.0.7.0/24, for: 40s}\n"                                              \
	"- {block: 10.0.7.0/28, for: 30s}\n"                                              \
	"- {block: '2001:db8:6::/48', for: 60s}\n"                                        \
	"table: {kind: %3$s, sources: %4$s}\n"

#define BYTES "  - {name: bytes, algorithm: %s, rate: 30kB/s}\n"

static const struct algorithm_case {
	const char *name;
	bool bytes; /* counts bytes, too */
} algorithms[] = {
	{ "token-bucket", true },
	{ "fixed-window", true },
	{ "sliding-window", true },
	{ "sliding-log", false },
};

struct trial {
	struct rig rigs[KINDS];
	struct limiter *limiter;
	struct traffic *traffic;
	uint64_t packets;
	uint64_t differences;
	uint64_t reasons[REASON_COUNT];
	double limiter_s;
	double program_s[KINDS];
	bool passes[RECORDS];
	enum reason expected[RECORDS];
};

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

static void write_policy(char *to, size_t size, const struct algorithm_case *algorithm, int kind)
{
	char bytes[128] = "";

	if (algorithm->bytes)
		snprintf(bytes, sizeof(bytes), BYTES, algorithm->name);
	snprintf(to, size, POLICY, algorithm->name, bytes, kinds[kind].name, kinds[kind].sources,
		 kinds[kind].wide);
}

/* The limiter takes the entries out of the ruleset, the program by hand: both from now on. */
static void set_entries(struct rig *rig)
{
	const struct ruleset *ruleset = rig->ruleset;
	struct message message = { 0 };

	for (size_t i = 0; i < ruleset->entry_count; i++) {
		const struct entry_spec *entry = &ruleset->entries[i];

		if (entry_set(&rig->instance, rig->image, &entry->prefix, entry->kind,
			      rig->epoch_ns + entry->for_ns, NULL, "", &message))
			tap_bail("%s", message.text);
	}
}

static void trial_open(struct trial *trial, const struct algorithm_case *algorithm, uint64_t seed)
{
	struct message message = { 0 };
	char policy[4096];

	for (int k = 0; k < KINDS; k++) {
		write_policy(policy, sizeof(policy), algorithm, k);
		if (rig_open(&trial->rigs[k], policy, &message))
			tap_bail("%s, %s: %s", algorithm->name, kinds[k].name, message.text);
		set_entries(&trial->rigs[k]);
	}
	if (limiter_new(trial->rigs[0].ruleset, rig_secret, &trial->limiter, &message))
		tap_bail("%s: %s", algorithm->name, message.text);
	trial->traffic = traffic_new(seed, trial->rigs[0].epoch_ns);
}

static void trial_close(struct trial *trial)
{
	for (int k = 0; k < KINDS; k++)
		rig_close(&trial->rigs[k]);
	limiter_free(trial->limiter);
	traffic_free(trial->traffic);
}

/* What the limiter decides, and the frames as records for the first rig. */
static void fill_records(struct trial *trial, uint32_t count)
{
	double start = cpu_seconds();

	for (uint32_t i = 0; i < count; i++) {
		struct decision decision;
		uint64_t now_ns;
		const struct frame_bytes *frame = traffic_next(trial->traffic, &now_ns);

		if (limiter_allow_frame(trial->limiter, frame->data, frame->length, frame->length,
					now_ns, &decision))
			tap_bail("the limiter refused to judge");
		rig_record(&trial->rigs[0], i, frame, now_ns,
			   model_cell(trial->rigs[0].image, &decision));
		trial->passes[i] = decision.granted;
		trial->expected[i] = decision.reason;
		trial->reasons[decision.reason]++;
	}
	trial->limiter_s += cpu_seconds() - start;
}

static void tell(const struct trial *trial, int kind, uint32_t i)
{
	const struct record *record = &trial->rigs[kind].records[i];

	tap_note("%s, packet %" PRIu64 " at %llu ns, %u bytes: verdict %u, %u counted; expected %s",
		 kinds[kind].name, trial->packets + i, record->now_ns, record->length,
		 record->verdict, record->counted, reason_name(trial->expected[i]));
}

static void compare(struct trial *trial, int kind, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct record *record = &trial->rigs[kind].records[i];
		uint32_t verdict = trial->passes[i] ? XDP_PASS : XDP_DROP;

		if (record->verdict == verdict && record->counted == 1)
			continue;
		if (trial->differences++ < TOLD)
			tell(trial, kind, i);
	}
}

static void run_batch(struct trial *trial, uint32_t count)
{
	fill_records(trial, count);
	for (int k = 1; k < KINDS; k++)
		memcpy(trial->rigs[k].records, trial->rigs[0].records,
		       count * sizeof(struct record));
	for (int k = 0; k < KINDS; k++) {
		double start = cpu_seconds();

		if (rig_replay(&trial->rigs[k], count))
			tap_bail("running: %m");
		trial->program_s[k] += cpu_seconds() - start;
		compare(trial, k, count);
	}
	trial->packets += count;
}

/* No cell but the expected ones counted anything. */
static bool nothing_else(const struct trial *trial, int kind)
{
	struct counts counts;

	counts_start(&trial->rigs[kind], &counts);
	return counts_total(&trial->rigs[kind], &counts).packets == trial->packets;
}

static void tell_figures(const struct trial *trial)
{
	for (int reason = 0; reason < REASON_COUNT; reason++)
		if (trial->reasons[reason])
			tap_note("%12" PRIu64 " %s", trial->reasons[reason], reason_name(reason));
	tap_note("ns a packet: %.0f limiter and traffic, %.0f sets, %.0f hash, %.0f percpu",
		 trial->limiter_s * 1e9 / trial->packets,
		 trial->program_s[0] * 1e9 / trial->packets,
		 trial->program_s[1] * 1e9 / trial->packets,
		 trial->program_s[2] * 1e9 / trial->packets);
}

static void run_algorithm(const struct algorithm_case *algorithm, uint64_t packets, uint64_t seed)
{
	static struct trial trial;
	bool sums = true;

	memset(&trial, 0, sizeof(trial));
	trial_open(&trial, algorithm, seed);
	while (trial.packets < packets) {
		uint64_t left = packets - trial.packets;

		run_batch(&trial, left < RECORDS ? left : RECORDS);
	}
	for (int k = 0; k < KINDS; k++)
		sums = nothing_else(&trial, k) && sums;
	tell_figures(&trial);
	tap_ok(!trial.differences && sums,
	       "%s: %" PRIu64 " packets, %" PRIu64 " differences (seed %" PRIu64 ")",
	       algorithm->name, trial.packets, trial.differences, seed);
	trial_close(&trial);
}

int main(int argc, char **argv)
{
	uint64_t packets = argc > 1 ? strtoull(argv[1], NULL, 10) : PACKETS_DEFAULT;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

	rig_prepare();
	for (size_t i = 0; i < sizeof(algorithms) / sizeof(*algorithms); i++)
		run_algorithm(&algorithms[i], packets, seed);
	return tap_done();
}
