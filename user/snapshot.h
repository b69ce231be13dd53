/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel maps -> plain structs that renderers read: counters, table use,
 * states of sources. Reads only. Must not know how anything is shown.
 */
#ifndef WEIR_SNAPSHOT_H
#define WEIR_SNAPSHOT_H

#include "kernel.h"

struct snapshot_limit {
	char *name;
	struct counter refused; /* limit + ban + table-full */
	struct counter cells[CELL_LIMIT_COUNT];
};

struct snapshot_policy {
	char *name;
	struct counter passed; /* granted or allowed, and observed */
	struct counter dropped;
	struct counter observed;
	struct counter reasons[REASON_COUNT];
	struct snapshot_limit *limits;
	size_t limit_count;
};

struct snapshot_table {
	enum table_kind kind;
	uint64_t capacity; /* states */
	uint64_t live;	   /* states that say something now */
	uint64_t displaced;
	uint64_t refused_full;
	uint64_t bytes;	    /* memory of the table's maps */
	double forged_rate; /* strict sets: states x rate of the per-source packet limits: all that
			     * forged sources can get through, packets/s; 0: no bound */
	bool lenient;
};

struct snapshot {
	uint64_t time_ns; /* monotonic */
	char instance[INSTANCE_NAME];
	uint32_t generation;
	uint32_t layout;
	struct attachment *interfaces;
	size_t interface_count;
	struct counter passed, dropped; /* every frame seen */
	struct counter reasons[REASON_COUNT];
	struct snapshot_policy *policies;
	size_t policy_count;
	struct snapshot_table table;
	uint64_t entry_count;
	uint64_t events_lost;
	bool malformed_pass;
	char **warnings;
	size_t warning_count;
	bool protecting;
};

/* Is a frame dropped for this reason? Malformed ones go by the configuration. */
static inline bool snapshot_drops(const struct snapshot *snapshot, enum reason reason)
{
	return reason >= REASON_LIMIT && !(reason == REASON_MALFORMED && snapshot->malformed_pass);
}

/*
 * Read all. `image` gives the names. *snapshot is zeroed first and freed by snapshot_free.
 * live_states: count them (reads the whole table), else table.live is 0.
 */
int snapshot_read(const struct instance *instance, const struct image *image, bool live_states,
		  struct snapshot *snapshot, struct message *message);
void snapshot_free(struct snapshot *snapshot);

/* What the table remembers of one source under one limit. */
struct source_state {
	struct prefix source;		   /* the key: address cut to the key length */
	const struct image_policy *policy; /* NULL: an entry's limit */
	unsigned int limit;		   /* index within the policy */
	struct prefix entry;		   /* policy NULL: the entry's prefix */
	struct limit rule;
	struct state state;
	struct log_ring ring; /* sliding-log only */
	uint64_t passed, dropped;
};

enum source_order {
	ORDER_DROPPED,
	ORDER_PASSED,
	ORDER_DEBT,
};

/* The `top` states by the order, over all limits; *list malloc'ed. Shared limits are left out. */
int sources_top(const struct instance *instance, const struct image *image, enum source_order order,
		size_t top, struct source_state **list, size_t *count);

/*
 * Every state that says something, in no order; shared limits are left out. A nonzero return of
 * visit ends the walk and is returned.
 */
int sources_walk(const struct instance *instance, const struct image *image,
		 int (*visit)(const struct source_state *state, void *context), void *context);

/* The states of one address under every limit that has one for it. */
int sources_of(const struct instance *instance, const struct image *image,
	       const struct prefix *address, struct source_state **list, size_t *count);

/* The secret of the keyed hash; false for who may not read it. */
bool secret_read(const struct instance *instance, struct secret *secret);

#endif
