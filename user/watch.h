/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What monitor and capture share: drops of a running instance, each with its
 * names, until there are enough, time is up, or a signal comes.
 */
#ifndef WEIR_WATCH_USER_H
#define WEIR_WATCH_USER_H

#include "sample.h"

/* 0 or -errno, which ends the watch. */
typedef int (*watch_visit)(const struct event *event, const struct sample *sample,
			   const struct sample_place *place, void *context);

struct watch_plan {
	const char *instance;
	uint32_t per_second; /* events, on each CPU */
	uint64_t most;	     /* events; 0: no end */
	uint64_t for_ns;     /* 0: no end */
	watch_visit visit;
	void *context;
};

/* Counts, also where it failed. */
struct watch_result {
	uint64_t seen;
	uint64_t lost;
};

int watch_run(const struct watch_plan *plan, struct watch_result *result, struct message *message);

#endif
