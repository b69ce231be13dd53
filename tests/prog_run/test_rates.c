/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * T05 and T06: what passes under a steady overload is the burst and the rate,
 * neither less by lost fractions nor more.
 */
#include <inttypes.h>
#include <stdio.h>

#include "counts.h"
#include "row.h"
#include "tap.h"

struct load {
	const char *name;
	const char *limit;
	const char *frame;
	uint64_t step_ns; /* from packet to packet */
	uint32_t packets;
	uint64_t burst; /* in tokens: packets, or bytes */
	double per_ns;
	uint64_t slack; /* tokens by which the result may be off */
};

static const struct load loads[] = {
	{ "T05: 1 M packets/s under 10 M", "{rate: 1000000/s, burst: 500000}", "10.0.0.1 udp", 100,
	  1000000, 500000, 1e-3, 1 },
	{ "T05: 3 packets/s under 1 M", "{rate: 3/s, burst: 3}", "10.0.0.1 udp", 1000, 1000000, 3,
	  3e-9, 1 },
	{ "T05: 7 M packets/s under 10 M, a token's time ends in no ns",
	  "{rate: 7000000/s, burst: 70000}", "10.0.0.1 udp", 100, 1000000, 70000, 7e-3, 1 },
	{ "T06: 700 MB/s under 10 GB/s", "{rate: 700MB/s, burst: 350MB}", "10.0.0.1 udp len=1514",
	  151, 1000000, 350000000, 0.7, 1514 },
	{ "T06: 100 Gbit/s under 30 GB/s", "{rate: 100gbit, burst: 12500000B}",
	  "10.0.0.1 udp len=1514", 50, 1000000, 12500000, 12.5, 1514 },
	{ "T06: 8 kbit/s under 1 GB/s", "{rate: 8kbit/s, burst: 3000B}", "10.0.0.1 udp len=100",
	  100, 1000000, 3000, 1e-6, 100 },
};

static struct counter granted(const struct rig *rig)
{
	return cell_read(rig, rig->image->policies[0].cells + CELL_POLICY_VERDICT);
}

static void run_load(const struct load *load, const char *kind)
{
	static struct frame_bytes frame;
	struct message message = { 0 };
	struct rig rig;
	char policy[512];
	uint32_t verdict;
	double expected;
	uint64_t passed;

	snprintf(policy, sizeof(policy), ALL("%s") "table: {kind: %s, sources: 1024}\n",
		 load->limit, kind);
	if (rig_open(&rig, policy, &message) || frame_build(load->frame, 0, &frame))
		tap_bail("%s: %s", load->name, message.text);
	rig.time->step_ns = load->step_ns;
	if (rig_run(&rig, RIG_PACED, &frame, load->packets, &verdict))
		tap_bail("%s: %m", load->name);
	/* The bucket was full when the first packet came. */
	expected = load->burst + load->per_ns * load->step_ns * (load->packets - 1);
	passed = load->slack == 1 ? granted(&rig).packets : granted(&rig).bytes;
	tap_note("%" PRIu64 " tokens passed, %.0f granted by the rate", passed, expected);
	tap_ok(passed <= expected + 1 && passed + load->slack >= expected, "%s, %s", load->name,
	       kind);
	rig_close(&rig);
}

int main(void)
{
	static const char *const kinds[] = { "sets", "hash", "percpu" };

	rig_prepare();
	for (size_t i = 0; i < sizeof(loads) / sizeof(*loads); i++)
		for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
			run_load(&loads[i], kinds[k]);
	return tap_done();
}
