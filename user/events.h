/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sampled drops out of the kernel, for one reader at a time. The program
 * samples while a lease runs, which the reader renews: when it dies, sampling
 * ends by itself. Must not know what is done with an event.
 */
#ifndef WEIR_EVENTS_H
#define WEIR_EVENTS_H

#include "kernel.h"

struct events;

/* Nonzero: enough, events_poll returns. */
typedef int (*event_visit)(const struct event *event, void *context);

/*
 * Start sampling, at most `per_second` events on each CPU. -EBUSY: another reader's lease runs.
 * -EPERM, -EACCES: needs rights; all with *message. The instance must stay open.
 */
int events_open(const struct instance *instance, uint32_t per_second, event_visit visit,
		void *context, struct events **events, struct message *message);

/*
 * Wait at most timeout_ms for events, visit them, and renew the lease where it is due. Returns 1
 * if a visit said enough, 0, or -errno: -ENOENT if the instance is gone, -EINTR on a signal.
 */
int events_poll(struct events *events, int timeout_ms, struct message *message);

/* Drops since the start that were not sampled, or found no room. */
uint64_t events_lost(const struct events *events);

/* End the lease. */
void events_close(struct events *events);

#endif
