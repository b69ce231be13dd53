/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <time.h>

#include "events.h"
#include "reader.h"
#include "stop.h"
#include "watch.h"

enum {
	WAIT_MS = 200,
};

struct watch {
	const struct watch_plan *plan;
	struct reader reader;
	uint64_t realtime_ns; /* what monotonic time lacks to time since 1970 */
	uint64_t seen;
	int err; /* of the visit */
};

static uint64_t realtime_offset(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec - kernel_now_ns();
}

static int on_event(const struct event *event, void *context)
{
	struct watch *watch = context;
	const struct running *running = &watch->reader.running;
	char name[IF_NAMESIZE + 16];
	struct sample_place place = { name, event->time_ns + watch->realtime_ns };
	struct sample sample;

	if (!if_indextoname(event->ifindex, name))
		snprintf(name, sizeof(name), "ifindex-%u", event->ifindex);
	sample_read(event, running->image, running->instance.meta.policies, &sample);
	watch->err = watch->plan->visit(event, &sample, &place, watch->plan->context);
	watch->seen++;
	return watch->err || watch->seen == watch->plan->most;
}

/* Names follow an apply; an instance made anew has another ring. */
static int follow(struct watch *watch, struct message *message)
{
	ino_t pins = watch->reader.pins;
	int err = reader_refresh(&watch->reader, message);

	if (!err && watch->reader.pins != pins)
		err = message_set(message, -ENOENT, "instance %s was removed and made anew",
				  watch->plan->instance);
	return err;
}

static int watch_loop(struct watch *watch, struct events *events, struct message *message)
{
	uint64_t end = watch->plan->for_ns ? kernel_now_ns() + watch->plan->for_ns : UINT64_MAX;
	int err = 0;

	while (!err && !stop_asked && kernel_now_ns() < end) {
		err = follow(watch, message);
		if (!err)
			err = events_poll(events, WAIT_MS, message);
		if (err == -EINTR)
			err = 0;
	}
	return err < 0 ? err : watch->err;
}

int watch_run(const struct watch_plan *plan, struct watch_result *result, struct message *message)
{
	struct watch watch = { .plan = plan,
			       .reader = { .name = plan->instance },
			       .realtime_ns = realtime_offset() };
	struct events *events;
	int err;

	stop_on_signals();
	err = reader_refresh(&watch.reader, message);
	if (!err)
		err = events_open(&watch.reader.running.instance, plan->per_second, on_event,
				  &watch, &events, message);
	if (err) {
		reader_close(&watch.reader);
		return err;
	}
	err = watch_loop(&watch, events, message);
	result->seen = watch.seen;
	result->lost = watch.reader.open ? events_lost(events) : 0;
	events_close(events);
	reader_close(&watch.reader);
	return err;
}
