/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sampled drops: what an event says of the frame, how many are sent at most, what is lost is
 * counted, and the watch ends by itself.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include "counts.h"
#include "row.h"
#include "tap.h"

enum watch_size {
	BURST = 4,
	INTERVAL_NS = 100000000,
	SEEN_MOST = 64,
};

#define WATCHED                                                                         \
	"policies:\n"                                                                   \
	"- {name: first, sources: [192.0.2.0/24], mode: observe, action: drop}\n"       \
	"- {name: second, sources: [10.0.0.0/8], limits: [{rate: 1/hour, burst: 100}, " \
	"{name: tight, rate: 1/hour, burst: 1}]}\n"                                     \
	"table: {sources: 1024}\n"

struct watching {
	struct rig rig;
	struct ring_buffer *ring;
	unsigned int count;
	struct event seen[SEEN_MOST];
};

static int on_event(void *context, void *data, size_t size)
{
	struct watching *watching = context;

	if (size == sizeof(struct event) && watching->count < SEEN_MOST)
		memcpy(&watching->seen[watching->count++], data, size);
	return 0;
}

static void watch_for(struct watching *watching, uint64_t for_ns)
{
	uint32_t zero = 0;
	struct live live;

	if (bpf_map_lookup_elem(rig_map(&watching->rig, MAP_LIVE), &zero, &live))
		tap_bail("live: %m");
	live.watch_until_ns = watching->rig.time->now_ns + for_ns;
	live.watch_interval_ns = INTERVAL_NS;
	live.watch_burst = BURST;
	if (bpf_map_update_elem(rig_map(&watching->rig, MAP_LIVE), &zero, &live, BPF_EXIST))
		tap_bail("live: %m");
}

static void start(struct watching *watching)
{
	struct message message = { 0 };

	memset(watching, 0, sizeof(*watching));
	if (rig_open(&watching->rig, WATCHED, &message))
		tap_bail("%s", message.text);
	watching->ring =
		ring_buffer__new(rig_map(&watching->rig, MAP_EVENTS), on_event, watching, NULL);
	if (!watching->ring)
		tap_bail("ring: %m");
	watch_for(watching, 10 * NS_PER_SEC);
}

static void stop(struct watching *watching)
{
	ring_buffer__free(watching->ring);
	rig_close(&watching->rig);
}

/* Judge a frame so often, and fetch what was sampled since the last time. */
static void send(struct watching *watching, const char *words, uint32_t times,
		 struct frame_bytes *frame)
{
	uint32_t verdict;

	if (frame_build(words, 0, frame) ||
	    rig_run(&watching->rig, RIG_WEIR, frame, times, &verdict))
		tap_bail("%s", words);
	watching->count = 0;
	ring_buffer__consume(watching->ring);
}

static uint64_t lost(const struct watching *watching)
{
	return cell_read(&watching->rig, CELL_EVENTS_LOST).packets;
}

static bool tells_frame(const struct event *event, const struct frame_bytes *frame)
{
	uint32_t captured = frame->length < EVENT_BYTES ? frame->length : EVENT_BYTES;

	return event->length == frame->length && event->captured == captured &&
	       !memcmp(event->bytes, frame->data, captured);
}

static void what_it_says(struct watching *watching)
{
	static struct frame_bytes frame;
	const struct event *event = watching->seen;

	send(watching, "8100 10.0.0.1 udp/53 len=1000", 1, &frame);
	tap_ok(watching->count == 0, "a packet that is granted is no event");
	send(watching, "8100 10.0.0.1 udp/53 len=1000", 1, &frame);
	tap_ok(watching->count == 1 && tells_frame(event, &frame),
	       "a dropped frame, its first bytes");
	tap_ok(event->time_ns == watching->rig.time->now_ns && event->reason == REASON_LIMIT &&
		       event->policy == rig_policy_index(&watching->rig, 1) && event->limit == 1 &&
		       !event->observed,
	       "its time, reason, policy and limit");
	send(watching, "192.0.2.7 udp", 1, &frame);
	tap_ok(watching->count == 1 && tells_frame(event, &frame) && event->observed &&
		       event->reason == REASON_BLOCKED &&
		       event->policy == rig_policy_index(&watching->rig, 0) && event->limit == 255,
	       "a short frame whose drop is only observed");
	send(watching, "10.0.0.1 udp total=2000", 1, &frame);
	tap_ok(watching->count == 1 && tells_frame(event, &frame) &&
		       event->reason == REASON_MALFORMED && event->policy == ~0U,
	       "a malformed frame, of no policy");
}

static void how_many(struct watching *watching)
{
	static struct frame_bytes frame;
	uint64_t before;

	watching->rig.time->now_ns += NS_PER_SEC;
	before = lost(watching);
	send(watching, "10.0.0.1 udp", 1000, &frame);
	tap_ok(watching->count == BURST, "no more than the burst at once");
	tap_ok(lost(watching) - before == 1000 - BURST, "the others are counted as lost");
	watching->rig.time->now_ns += INTERVAL_NS;
	send(watching, "10.0.0.1 udp", 10, &frame);
	tap_ok(watching->count == 1, "one more in an interval");
}

static void until_when(struct watching *watching)
{
	static struct frame_bytes frame;
	uint64_t before;

	watch_for(watching, NS_PER_SEC);
	watching->rig.time->now_ns += NS_PER_SEC - 1;
	send(watching, "10.0.0.1 udp", 1, &frame);
	tap_ok(watching->count == 1, "events until the end of the watch");
	before = lost(watching);
	watching->rig.time->now_ns += 1;
	send(watching, "10.0.0.1 udp", 10, &frame);
	tap_ok(watching->count == 0 && lost(watching) == before, "and none after, nor lost ones");
}

/* The reader sleeps: a full ring drops events, never the packets' verdict. */
static void full_ring(struct watching *watching)
{
	static struct frame_bytes frame;
	uint64_t before = lost(watching);
	unsigned int sent = 0;
	uint32_t verdict = 0;

	watch_for(watching, 100000 * NS_PER_SEC);
	if (frame_build("10.0.0.1 udp", 0, &frame))
		tap_bail("frame");
	for (; sent < 20000; sent++) {
		watching->rig.time->now_ns += NS_PER_SEC;
		if (rig_run(&watching->rig, RIG_WEIR, &frame, 1, &verdict))
			tap_bail("running: %m");
	}
	watching->count = 0;
	tap_ok(lost(watching) > before, "what finds no room in the ring is counted as lost");
	tap_ok(ring_buffer__consume(watching->ring) + (lost(watching) - before) ==
		       sent - 20000 / 3600,
	       "each drop was sampled or lost");
}

int main(void)
{
	static struct watching watching;

	rig_prepare();
	start(&watching);
	what_it_says(&watching);
	how_many(&watching);
	until_when(&watching);
	full_ring(&watching);
	stop(&watching);
	return tap_done();
}
