/* SPDX-License-Identifier: GPL-2.0-only */
/* Staged enforcement: a share of the sources, chosen by keyed hash, the same ones each time. */
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "../../bpf/key.h"
#include "counts.h"
#include "tap.h"

enum share_size {
	SOURCES = 3000,
};

#define STAGED(mode, table)                                                \
	"policies: [{name: all, sources: [0.0.0.0/0, '::/0'], mode: " mode \
	", limits: [{rate: 1/hour, burst: 1}]}]\n"                         \
	"table: {kind: " table ", sources: 256k}\n"

/* What the design says, computed beside the program. */
static bool is_enforced(const char *words, const struct frame_bytes *frame, uint32_t of_65536)
{
	struct key key = strchr(words, ':') ? key_ipv6(frame->data + 14 + 8, 64)
					    : key_ipv4(frame->data + 14 + 12, 32);

	return key_hash(&key, rig_secret[0], rig_secret[1]) >> 48 < of_65536;
}

static uint32_t judge(struct rig *rig, const struct frame_bytes *frame)
{
	uint32_t verdict;

	if (rig_run(rig, RIG_WEIR, frame, 1, &verdict))
		tap_bail("running: %m");
	return verdict;
}

/* Each source sends twice: the second packet is refused, which shows who is enforced. */
static void run_share(const char *policy, const char *words, uint32_t of_65536, const char *name)
{
	static struct frame_bytes frame;
	struct message message = { 0 };
	unsigned int enforced = 0, unlike = 0;
	struct rig rig;

	if (rig_open(&rig, policy, &message))
		tap_bail("%s", message.text);
	for (unsigned int i = 0; i < SOURCES; i++) {
		bool dropped;

		if (frame_build(words, i, &frame))
			tap_bail("%s", words);
		unlike += judge(&rig, &frame) != XDP_PASS;
		dropped = judge(&rig, &frame) == XDP_DROP;
		unlike += dropped != (judge(&rig, &frame) == XDP_DROP);
		unlike += dropped != is_enforced(words, &frame, of_65536);
		enforced += dropped;
	}
	tap_note("%u of %u sources enforced", enforced, SOURCES);
	tap_ok(!unlike, "%s: the sources that the keyed hash chooses, each time", name);
	tap_ok(enforced * 65536.0 / SOURCES > of_65536 * 0.85 &&
		       enforced * 65536.0 / SOURCES < of_65536 * 1.15,
	       "%s: about that share", name);
	rig_close(&rig);
}

/* A source of the /64 shares its fate with the whole /64. */
static void run_neighbours(void)
{
	static struct frame_bytes frame;
	struct message message = { 0 };
	unsigned int dropped = 0;
	struct rig rig;

	if (rig_open(&rig, STAGED("50%", "sets"), &message))
		tap_bail("%s", message.text);
	frame_build("2001:db8::1 udp", 0, &frame);
	judge(&rig, &frame);
	for (unsigned int i = 0; i < 64; i++) {
		frame_build("2001:db8::1+ udp", i, &frame);
		dropped += judge(&rig, &frame) == XDP_DROP;
	}
	tap_ok(dropped == 0 || dropped == 64, "the hosts of a /64 are enforced together or not");
	rig_close(&rig);
}

int main(void)
{
	rig_prepare();
	run_share(STAGED("25%", "sets"), "10.0.0.0+ udp", 16384, "25% of IPv4, sets");
	run_share(STAGED("25%", "hash"), "10.0.0.0+ udp", 16384, "25% of IPv4, hash");
	run_share(STAGED("50%", "sets"), "10.0.0.0+ udp", 32768, "50% of IPv4, sets");
	run_share(STAGED("90%", "sets"), "2001:db8::1+64 udp", 58982, "90% of IPv6, sets");
	run_neighbours();
	return tap_done();
}
