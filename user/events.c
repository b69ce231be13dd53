/* SPDX-License-Identifier: GPL-2.0-only */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "entries.h"
#include "events.h"
#include "pins.h"

#define LEASE_NS (4 * NS_PER_SEC)
#define RENEW_NS (2 * NS_PER_SEC) /* what is left of a lease when it is renewed */

enum {
	BURST_FRACTION = 4, /* of a second's events, at once */
};

struct events {
	const struct instance *instance;
	uint32_t interval_ns;
	uint32_t burst;
	int live; /* for writing */
	int map;
	struct ring_buffer *ring;
	event_visit visit;
	void *context;
	uint64_t opened_ns;
	uint64_t until_ns; /* of the lease */
	uint64_t lost_before;
};

static int open_pin(const struct events *events, const char *pin, struct message *message)
{
	char path[PINS_PATH];
	int fd;

	pins_path(events->instance->path, pin, path);
	fd = bpf_obj_get(path);
	if (fd >= 0)
		return fd;
	fd = -errno;
	message_set(message, fd, "cannot open %s for writing: %s", path, strerror(-fd));
	if (fd == -EPERM || fd == -EACCES)
		message_hint(message, fd,
			     "watching drops changes the program's state: run as root");
	return fd;
}

static uint64_t lost_in_all(const struct instance *instance)
{
	unsigned int cpus = kernel_cpus();
	struct counter *values = calloc(cpus, sizeof(*values));
	uint32_t cell = CELL_EVENTS_LOST;
	uint64_t sum = 0;

	if (values && !bpf_map_lookup_elem(instance->maps[MAP_COUNTERS], &cell, values))
		for (unsigned int i = 0; i < cpus; i++)
			sum += values[i].packets;
	free(values);
	return sum;
}

static int lease_write(struct events *events, uint64_t until, bool first, struct message *message)
{
	uint32_t zero = 0;
	struct live live;
	int err = live_read(events->instance, &live);

	if (err)
		return message_set(message, err, "cannot read the map `live`: %s", strerror(-err));
	if (first && live.watch_until_ns > kernel_now_ns()) {
		message_set(message, -EBUSY, "another monitor or capture watches instance %s",
			    events->instance->name);
		return message_hint(message, -EBUSY,
				    "end it; if it died, its lease ends within %u seconds",
				    (unsigned int)(LEASE_NS / NS_PER_SEC));
	}
	live.watch_until_ns = until;
	live.watch_interval_ns = events->interval_ns;
	live.watch_burst = events->burst;
	if (bpf_map_update_elem(events->live, &zero, &live, BPF_EXIST))
		return message_set(message, -errno, "cannot write the map `live`: %s",
				   strerror(errno));
	events->until_ns = until;
	return 0;
}

/*
 * `live` is one value that apply writes too: it is read, changed and written under the lock of
 * the instance, lest the other's change be lost. until 0 ends the lease.
 */
static int lease_change(struct events *events, uint64_t until, bool first, struct message *message)
{
	int lock = pins_lock(events->instance->path, message);
	int err;

	if (lock < 0)
		return lock;
	err = lease_write(events, until, first, message);
	close(lock);
	return err;
}

/* While an apply has the lock, events are still to be read: the next poll tries again. */
static int lease_renew(struct events *events, uint64_t now, struct message *message)
{
	int lock = open(events->instance->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = 0;

	if (lock < 0 || !pins_exists(events->instance->path, "live"))
		err = message_set(message, -ENOENT, "instance %s was removed",
				  events->instance->name);
	else if (!flock(lock, LOCK_EX | LOCK_NB))
		err = lease_write(events, now + LEASE_NS, false, message);
	if (lock >= 0)
		close(lock);
	return err;
}

/*
 * What lies in the ring from a reader that died is older than this one. libbpf stops only where
 * the answer is negative.
 */
static int on_event(void *context, void *data, size_t size)
{
	struct events *events = context;
	const struct event *event = data;

	if (size < sizeof(*event) || event->time_ns < events->opened_ns)
		return 0;
	return events->visit(event, events->context) ? -ECANCELED : 0;
}

static int events_start(struct events *events, struct message *message)
{
	events->live = open_pin(events, "live", message);
	if (events->live < 0)
		return events->live;
	events->map = open_pin(events, "events", message);
	if (events->map < 0)
		return events->map;
	events->ring = ring_buffer__new(events->map, on_event, events, NULL);
	if (!events->ring)
		return message_set(message, -errno, "cannot map the ring of events: %s",
				   strerror(errno));
	events->opened_ns = kernel_now_ns();
	return lease_change(events, events->opened_ns + LEASE_NS, true, message);
}

int events_open(const struct instance *instance, uint32_t per_second, event_visit visit,
		void *context, struct events **events, struct message *message)
{
	struct events *made = calloc(1, sizeof(*made));
	int err;

	if (!made)
		return message_set(message, -ENOMEM, "no memory to watch drops");
	*made = (struct events){ .instance = instance,
				 .interval_ns = (uint32_t)(NS_PER_SEC / per_second),
				 .burst = per_second / BURST_FRACTION + 1,
				 .live = -1,
				 .map = -1,
				 .visit = visit,
				 .context = context,
				 .lost_before = lost_in_all(instance) };
	err = events_start(made, message);
	if (err) {
		events_close(made);
		return err;
	}
	*events = made;
	return 0;
}

int events_poll(struct events *events, int timeout_ms, struct message *message)
{
	uint64_t now = kernel_now_ns();
	int count, err;

	if (now + RENEW_NS > events->until_ns) {
		err = lease_renew(events, now, message);
		if (err)
			return err;
	}
	count = ring_buffer__poll(events->ring, timeout_ms);
	if (count == -ECANCELED)
		return 1;
	if (count < 0 && count != -EINTR)
		return message_set(message, count, "cannot read events: %s", strerror(-count));
	return count < 0 ? count : 0;
}

uint64_t events_lost(const struct events *events)
{
	uint64_t lost = lost_in_all(events->instance);

	return lost > events->lost_before ? lost - events->lost_before : 0;
}

void events_close(struct events *events)
{
	if (!events)
		return;
	if (events->until_ns)
		lease_change(events, 0, false, NULL);
	ring_buffer__free(events->ring);
	if (events->map >= 0)
		close(events->map);
	if (events->live >= 0)
		close(events->live);
	free(events);
}
