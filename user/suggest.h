/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits for the traffic of a capture. The frames are handed in several times:
 * to find the services, the rates, then the bursts at these rates. The limits
 * are those of the source at the 99.9th percentile, with headroom. Must not
 * know files.
 */
#ifndef WEIR_SUGGEST_H
#define WEIR_SUGGEST_H

#include "limiter.h"
#include "source_map.h"
#include "trace.h"

enum suggest_size {
	SUGGEST_SERVICES = 6, /* beside packets and bytes: LIMITS_MAX in all */
	SUGGEST_SERIES = SUGGEST_SERVICES + 2,
	SUGGEST_WINDOW_S = 10, /* over which a source's rate is taken */
	SUGGEST_HEADROOM_TENTHS = 15,
};

enum suggest_pass {
	SUGGEST_FIND, /* services and their traffic */
	SUGGEST_RATES,
	SUGGEST_BURSTS,
	SUGGEST_DONE,
};

/* What is limited: all packets, all bytes, or a service's packets. */
struct suggest_series {
	int service; /* of the ruleset; -1: all */
	bool bytes;
	uint64_t sources;
	double measured_rate; /* a second, of the source at the percentile */
	double measured_burst;
	uint64_t rate; /* as suggested */
	uint64_t burst;
};

struct suggest {
	enum suggest_pass pass;
	struct ruleset *ruleset; /* services, and a policy that gets its limits at the end */
	struct image *image;	 /* of it, to be asked for services */
	uint64_t *ports;	 /* packets by port, TCP then UDP, where services are to be found */
	uint64_t pings, syns, packets;
	uint64_t by_service[SERVICES_MAX];
	uint64_t first_ns, last_ns;
	struct suggest_series series[SUGGEST_SERIES];
	size_t series_count;
	struct source_map demands; /* by source and series */
};

/* given: its services and key lengths are used; NULL: services are found. 0 or -errno. */
int suggest_init(struct suggest *suggest, const struct ruleset *given, struct message *message);
void suggest_free(struct suggest *suggest);

/* A frame of the pass. 0 or -errno. */
int suggest_frame(struct suggest *suggest, const struct trace_frame *frame);

/*
 * The pass is over: the next one, until SUGGEST_DONE. Then suggest->ruleset is complete. 0 or
 * -errno with *message: -ENODATA where there were no IP packets.
 */
int suggest_end_pass(struct suggest *suggest, struct message *message);

#endif
