/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a packet would be judged, without judging it: the entry or policy its
 * source falls under, the services it asks for, and what each limit has left for
 * it. Pure: what the kernel remembers is handed in. Consumes nothing.
 */
#ifndef WEIR_EXPLAIN_H
#define WEIR_EXPLAIN_H

#include "apply.h"
#include "snapshot.h"

struct packet;

/* What is known at a moment: the policy in force, an entry for the source, its states. */
struct evidence {
	const struct image *image;
	const struct entry_state *entry; /* NULL: none */
	const struct source_state *states;
	size_t state_count;
	const struct secret *secret; /* NULL: not known; the source is taken as enforced */
	uint64_t now;
};

struct explained_limit {
	const char *name;
	bool bytes;   /* tokens are bytes */
	bool applies; /* to this packet, by its services */
	bool granted;
	bool bans; /* the limit has a ban */
	uint64_t remaining;
	uint64_t retry_after_ns; /* ~0: never, the packet is larger than the burst */
	uint64_t banned_for_ns;	 /* 0: not banned */
	uint64_t passed, dropped;
};

struct explanation {
	struct prefix source;
	const char *policy; /* NULL: none, or an entry */
	bool by_entry;	    /* `entry` outranks what the file says */
	struct entry_state entry;
	uint64_t entry_for_ns;	       /* what is left of the entry; 0: for good */
	const struct ruleset *ruleset; /* names of the services */
	uint32_t services;	       /* mask of those the packet asks for */
	uint32_t enforced;	       /* of 65536 shares of the sources; the rest is observed */
	struct explained_limit limits[LIMITS_MAX];
	size_t limit_count;
	bool passes;
	enum reason reason;
};

/* 0, or -EINVAL with *message where an entry's limit can't be read. */
int explain_packet(const struct evidence *evidence, const struct packet *packet,
		   struct explanation *explanation, struct message *message);

/* A state as people ask for it: what is left and until when. */
struct source_view {
	struct prefix source;
	const char *policy; /* NULL: an entry's limit */
	struct prefix entry;
	const char *limit;
	bool bytes;
	uint64_t remaining, retry_after_ns, banned_for_ns;
	uint64_t passed, dropped;
};

void source_view_read(const struct source_state *state, uint64_t now, struct source_view *view);

#endif
