/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A capture that `weir replay` judges, and the same packets through the program with the clock
 * set to their times: every verdict and every reason equal.
 */
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../user/pcapng.h"
#include "../../user/replay.h"
#include "model.h"
#include "rig.h"
#include "tap.h"
#include "traffic.h"

enum replay_size {
	BATCHES = 8,
	TOLD = 5, /* differences described */
};

/* The share of a policy hangs on the instance's secret, which a capture knows nothing of. */
static const char policy[] =
	"services:\n"
	"  dns: [udp/53, tcp/53]\n"
	"  handshakes: [tcp/syn]\n"
	"  ping: [icmp/echo-request, icmpv6/echo-request]\n"
	"policies:\n"
	"- name: everyone\n"
	"  sources: [0.0.0.0/0, '::/0']\n"
	"  limits:\n"
	"  - {name: all, rate: 40/s}\n"
	"  - {name: bytes, rate: 30kB/s}\n"
	"  - {name: net, per: {ipv4: 24, ipv6: 48}, rate: 60/s}\n"
	"  - {service: dns, algorithm: sliding-window, rate: 13/s}\n"
	"  - {service: handshakes, rate: 3/s, ban: 5s}\n"
	"  - {service: ping, algorithm: sliding-log, rate: 20/min}\n"
	"- {name: fixed, sources: [10.0.1.0/24], limits: [{algorithm: fixed-window, rate: 7/s}]}\n"
	"- {name: watched, sources: [10.0.2.0/24], mode: observe, limits: [{rate: 20/min}]}\n"
	"- {name: partners, sources: [10.0.3.0/24, '2001:db8:3::/48'], action: pass}\n"
	"- {name: bad, sources: [10.0.4.0/24, '2001:db8:4::/48'], action: drop}\n"
	"table: {sources: 256k}\n";

static char path[] = "/tmp/weir-replay-XXXXXX";

static void write_capture(uint64_t epoch_ns)
{
	struct traffic *traffic = traffic_new(1, epoch_ns);
	FILE *out = fdopen(mkstemp(path), "w");
	struct pcapng file;
	uint32_t number;

	if (!out || pcapng_begin(&file, out, "test") ||
	    pcapng_interface(&file, "wan0", FRAME_MOST, &number))
		tap_bail("the capture: %m");
	for (uint32_t i = 0; i < BATCHES * RECORDS; i++) {
		struct pcapng_packet packet = { .interface = number };
		const struct frame_bytes *frame = traffic_next(traffic, &packet.time_ns);

		packet.bytes = frame->data;
		packet.length = packet.captured = frame->length;
		if (pcapng_packet_write(&file, &packet))
			tap_bail("the capture: %m");
	}
	fclose(out);
	traffic_free(traffic);
}

struct trial {
	struct rig rig;
	struct replay replay;
	struct trace *trace;
	struct decision decisions[RECORDS];
	uint64_t reasons[REASON_COUNT];
	uint64_t packets, differences;
};

/* The next frames of the capture, judged by replay, as records for the program. */
static uint32_t judge_batch(struct trial *trial)
{
	static struct frame_bytes bytes;
	struct trace_frame frame;
	struct message message;
	uint32_t count = 0;

	while (count < RECORDS && trace_next(trial->trace, &frame, &message) == 1) {
		struct decision *decision = &trial->decisions[count];

		if (replay_frame(&trial->replay, &frame, decision, &message))
			tap_bail("%s", message.text);
		memcpy(bytes.data, frame.bytes, frame.captured);
		bytes.length = frame.length;
		rig_record(&trial->rig, count++, &bytes, frame.time_ns,
			   model_cell(trial->rig.image, decision));
		trial->reasons[decision->reason]++;
	}
	return count;
}

static void compare_batch(struct trial *trial, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct record *record = &trial->rig.records[i];
		uint32_t verdict = trial->decisions[i].granted ? XDP_PASS : XDP_DROP;

		if (record->verdict == verdict && record->counted == 1)
			continue;
		if (trial->differences++ < TOLD)
			tap_note("packet %" PRIu64 ": verdict %u, %u counted; replay says %s",
				 trial->packets + i + 1, record->verdict, record->counted,
				 reason_name(trial->decisions[i].reason));
	}
}

int main(void)
{
	static struct trial trial;
	struct message message;
	uint32_t count;

	rig_prepare();
	if (rig_open(&trial.rig, policy, &message) ||
	    replay_init(&trial.replay, trial.rig.ruleset, &message))
		tap_bail("%s", message.text);
	write_capture(trial.rig.epoch_ns);
	if (trace_open(path, NULL, &trial.trace, &message))
		tap_bail("%s", message.text);
	while ((count = judge_batch(&trial))) {
		if (rig_replay(&trial.rig, count))
			tap_bail("running: %m");
		compare_batch(&trial, count);
		trial.packets += count;
	}
	for (int i = 0; i < REASON_COUNT; i++)
		if (trial.reasons[i])
			tap_note("%8" PRIu64 " %s", trial.reasons[i], reason_name(i));
	tap_ok(trial.packets == BATCHES * RECORDS, "the whole capture was read");
	tap_ok(trial.reasons[REASON_LIMIT] && trial.reasons[REASON_BAN] &&
		       trial.reasons[REASON_BLOCKED] && trial.reasons[REASON_OBSERVED],
	       "every kind of refusal occurs in it");
	tap_ok(!trial.differences, "replay and the program agree on every packet");
	unlink(path);
	trace_close(trial.trace);
	replay_free(&trial.replay);
	rig_close(&trial.rig);
	return tap_done();
}
