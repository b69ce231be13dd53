/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A flood of forged sources, fifty for each state of the table and one to four packets of each,
 * gives an offender that has used up its limit not one packet more.
 */
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "counts.h"
#include "random.h"
#include "row.h"
#include "tap.h"

enum flood_size {
	STATES = 4096,
	BURST = 20,
	FORGED = 50 * STATES,
	FORGED_PACKETS = 4, /* of a source, at most */
	OFFENDER_EVERY = 16,
};

struct flood {
	struct rig rig;
	struct random random;
	struct frame_bytes offender;
	struct frame_bytes forged;
	uint64_t gap_ns; /* from packet to packet */
	uint64_t now_ns;
	uint64_t sent;
	uint64_t offender_passed;
	uint32_t filled; /* records */
	bool is_offender[RECORDS];
};

static uint32_t granted_cell(const struct rig *rig)
{
	return rig->image->policies[0].cells + CELL_POLICY_VERDICT;
}

static void run_records(struct flood *flood)
{
	if (rig_replay(&flood->rig, flood->filled))
		tap_bail("running: %m");
	for (uint32_t i = 0; i < flood->filled; i++)
		if (flood->is_offender[i] && flood->rig.records[i].verdict == XDP_PASS)
			flood->offender_passed++;
	flood->filled = 0;
}

static void send(struct flood *flood, const struct frame_bytes *frame)
{
	flood->is_offender[flood->filled] = frame == &flood->offender;
	rig_record(&flood->rig, flood->filled++, frame, flood->now_ns, granted_cell(&flood->rig));
	flood->now_ns += flood->gap_ns;
	flood->sent++;
	if (flood->filled == RECORDS)
		run_records(flood);
}

/* All of a source's packets in a row, the most a forger can do to be remembered. */
static void send_forged(struct flood *flood)
{
	uint32_t source = random_next(&flood->random) >> 32;
	uint64_t packets = 1 + random_below(&flood->random, FORGED_PACKETS);

	memcpy(flood->forged.data + 14 + 12, &source, sizeof(source));
	for (uint64_t i = 0; i < packets; i++)
		send(flood, &flood->forged);
	if (random_below(&flood->random, OFFENDER_EVERY) < packets)
		send(flood, &flood->offender);
}

static void open_flood(struct flood *flood, const char *rate, const char *on_full, uint64_t gap_ns)
{
	struct message message = { 0 };
	char policy[512];

	snprintf(policy, sizeof(policy),
		 ALL("{rate: %s, burst: %d}") "table: {kind: sets, sources: %d, on_full: %s}\n",
		 rate, BURST, STATES, on_full);
	if (rig_open(&flood->rig, policy, &message) ||
	    frame_build("192.0.2.66 udp", 0, &flood->offender) ||
	    frame_build("10.0.0.1 udp", 0, &flood->forged))
		tap_bail("%s", message.text);
	flood->random.state = 88172645463325252ULL;
	flood->gap_ns = gap_ns;
	flood->now_ns = flood->rig.epoch_ns;
}

/* All that strict lets pass, whatever is sent: the slice's states x (burst + rate x time). */
static uint64_t most_of_all(const struct flood *flood, uint64_t per_s)
{
	const struct limit *limit = &flood->rig.image->policies[0].policy.limits[0];
	uint64_t states = (limit->slice_mask + 1ULL) * SET_WAYS;
	uint64_t time_ns = flood->now_ns - flood->rig.epoch_ns;

	return states * (BURST + per_s * time_ns / NS_PER_SEC + 1);
}

static void run_flood(const char *rate, uint64_t per_s, const char *on_full, uint64_t gap_ns)
{
	static struct flood flood;
	uint64_t passed, offender_most;

	memset(&flood, 0, sizeof(flood));
	open_flood(&flood, rate, on_full, gap_ns);
	for (int i = 0; i < 2 * BURST; i++)
		send(&flood, &flood.offender);
	for (int i = 0; i < FORGED; i++)
		send_forged(&flood);
	run_records(&flood);
	passed = cell_read(&flood.rig, granted_cell(&flood.rig)).packets;
	offender_most = BURST + per_s * (flood.now_ns - flood.rig.epoch_ns) / NS_PER_SEC;
	tap_note("%" PRIu64 " packets, %" PRIu64 " passed, %" PRIu64
		 " of the offender, who may %" PRIu64,
		 flood.sent, passed, flood.offender_passed, offender_most);
	tap_ok(flood.offender_passed >= BURST && flood.offender_passed <= offender_most,
	       "%s: an offender at %s passes no more for a forged flood", on_full, rate);
	if (!strcmp(on_full, "strict"))
		tap_ok(passed <= most_of_all(&flood, per_s),
		       "%s: nor do all sources together at %s, beyond states x limit", on_full,
		       rate);
	rig_close(&flood.rig);
}

int main(void)
{
	rig_prepare();
	run_flood("1/hour", 0, "strict", 1000);
	run_flood("1/hour", 0, "lenient", 1000);
	run_flood("10/s", 10, "strict", 20000);
	run_flood("10/s", 10, "lenient", 20000);
	return tap_done();
}
