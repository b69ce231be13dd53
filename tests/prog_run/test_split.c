/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames of several buffers: headers behind the linear part are found, and
 * lengths are those of the whole frame.
 */
#include <linux/bpf.h>
#include <string.h>

#include "counts.h"
#include "row.h"
#include "tap.h"

#define SPLIT_POLICY                                                                               \
	"services: {dns: [udp/53], syn: [tcp/syn]}\n" ALL(                                         \
		"{service: dns, rate: 1/hour, burst: 1}, {service: syn, rate: 1/hour, burst: 1}, " \
		"{rate: 1/hour, burst: 2}") "table: {sources: 1024}\n"

/* Each asks for a service, so the second of a kind is refused only if its ports were found. */
static const char *const frames[] = {
	"10.0.0.1 udp/53 len=5000",
	"8100 88a8 10.0.0.1 options=40 udp/53 len=5000",
	"10.0.0.1 syn/80 len=5000",
	"2001:db8::1 udp/53 len=5000",
	"2001:db8::1 hbh dstopt=20 routing udp/53 len=5000",
	"2001:db8::1 dstopt=255 dstopt=255 dstopt=255 syn/80",
};

/* Bytes that are linear; what a driver pulls at least is an Ethernet header. */
static const uint32_t splits[] = { 14, 16, 18, 20, 33, 34, 38, 41, 42, 54, 62, 100 };

static const struct cell *changed(const struct counts *before, const struct counts *now)
{
	for (size_t i = 0; i < now->count; i++)
		if (now->cells[i].value.packets != before->cells[i].value.packets)
			return &now->cells[i];
	return NULL;
}

static bool judged_alike(struct rig *rig, const struct frame_bytes *frame, uint32_t linear,
			 const char *expected)
{
	struct counts before, now;
	const struct cell *cell;
	uint32_t verdict;

	counts_start(rig, &before);
	now = before;
	if (rig_run_split(rig, frame, linear, &verdict))
		return false;
	counts_read(rig, &now);
	cell = changed(&before, &now);
	if (cell && !strcmp(cell->name, expected) && cell->passes == (verdict == XDP_PASS) &&
	    now.cells[cell - now.cells].value.bytes - before.cells[cell - now.cells].value.bytes ==
		    frame->length)
		return true;
	tap_note("%u linear bytes: %s, not %s", linear, cell ? cell->name : "not counted",
		 expected);
	return false;
}

static void run_split(struct rig *rig, const char *words, uint32_t linear)
{
	static struct frame_bytes frame;
	struct message message = { 0 };
	const char *refused = strstr(words, "syn") ? "limit:all/syn" : "limit:all/dns";
	bool good;

	if (rig_renew(rig, SPLIT_POLICY, &message) || frame_build(words, 0, &frame))
		tap_bail("%s: %s", words, message.text);
	good = judged_alike(rig, &frame, linear, "granted:all");
	good = good && judged_alike(rig, &frame, linear, refused);
	tap_ok(good, "%s with %u linear bytes", words, linear);
}

/* Before 6.18 the kernel has no say in how much is linear. */
static bool can_split(const struct rig *rig)
{
	static struct frame_bytes frame;
	uint32_t verdict;

	if (frame_build(frames[0], 0, &frame))
		tap_bail("%s", frames[0]);
	return !rig_run_split(rig, &frame, FRAME_SHORTEST, &verdict);
}

int main(void)
{
	struct message message = { 0 };
	struct rig rig;

	rig_prepare();
	if (rig_open(&rig, SPLIT_POLICY, &message))
		tap_bail("%s", message.text);
	if (!can_split(&rig)) {
		tap_skip("this kernel's BPF_PROG_TEST_RUN can't split a frame", "split frames");
		return tap_done();
	}
	for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++)
		for (size_t s = 0; s < sizeof(splits) / sizeof(*splits); s++)
			run_split(&rig, frames[i], splits[s]);
	rig_close(&rig);
	return tap_done();
}
