/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a ruleset to the image: the values of the maps, and who owns which
 * slice of the table and which counter cells. Pure: the image of a new ruleset
 * is made beside that of the one in force, so that what keeps its name keeps
 * its states and counters. Must not know libbpf.
 */
#ifndef WEIR_COMPILE_H
#define WEIR_COMPILE_H

#include "policy.h"

/* The room an instance's maps have; fixed when they are made. */
struct capacity {
	enum table_kind table;
	uint32_t sets;	   /* table `sets` */
	uint32_t log_sets; /* of `hash` and `percpu`: rings */
	uint64_t states;   /* table `hash` and `percpu`: entries of the map */
	uint32_t cells;
	uint32_t policies; /* of one generation */
	uint32_t entry_policies;
	uint32_t credits;
};

/*
 * What a limit of the image owns. The instance's limits appear in every limiting policy with the
 * same id, slice and credit, but with cells of their own, so that each policy's counts add up.
 */
struct allocation {
	uint32_t id;
	uint32_t slice_base, slice_sets; /* slice_sets: power of two; 0: none */
	uint32_t log_base;		 /* as many log_sets as slice_sets, for sliding-log */
	uint32_t cells;
	uint32_t credit; /* ~0: none */
	bool wide;	 /* keys over 64 bits: SET_WAYS_WIDE states in a set */
	bool restart;	 /* states of before say nothing to it: clear the slice after the swap */
	bool clamp;	 /* burst grew smaller: clamp the slice after the swap */
};

struct image_policy {
	const char *name; /* of the ruleset */
	uint32_t cells;
	struct allocation limits[LIMITS_MAX];
	const struct limit_spec *specs[LIMITS_MAX];
	struct policy policy; /* as the program reads it, but for services_base and generation */
};

struct image_prefix {
	struct prefix prefix; /* first: prefix_compare sorts these */
	uint32_t policy;      /* index into image.policies */
	int32_t parent;	      /* index of the longest other prefix that covers this one, or -1 */
};

struct image_destination {
	struct prefix prefix;
	uint32_t services; /* mask, that of shorter prefixes that cover this one included */
	int32_t parent;
};

struct image {
	const struct ruleset *ruleset; /* borrowed */
	struct image_policy *policies;
	size_t policy_count;
	struct image_prefix *prefixes; /* sorted, IPv4 first */
	size_t prefix_count;
	uint32_t *services;    /* SERVICE_ROWS masks; NULL: no service */
	uint32_t services_any; /* mask of services without destination prefixes */
	struct image_destination *destinations;
	size_t destination_count;
	uint32_t next_id;     /* first id never used */
	struct capacity need; /* the least room it takes; for an instance made for it, see below */
};

/*
 * First image of an instance: slices are laid out to the ruleset's wishes, and `room` receives
 * the sizes to make the maps with (with reserve for later applies). 0 or -errno.
 */
int image_first(const struct ruleset *ruleset, unsigned int cpus, struct capacity *room,
		struct image **image, struct message *message);

/*
 * Image for an instance that has `room` and runs `old`. `flush`: share the table out anew, no
 * slice is kept. -ENOSPC with the remedy when it does not fit.
 */
int image_next(const struct ruleset *ruleset, unsigned int cpus, const struct capacity *room,
	       const struct image *old, bool flush, struct image **image, struct message *message);

void image_free(struct image *image);

/* Fill a program's limit from its spec and what it owns. wide: keys over 64 bits occur. */
void limit_compile(const struct limit_spec *spec, const struct allocation *own, bool lenient,
		   bool wide, unsigned int cpus, struct limit *limit);

/*
 * Fill what a policy says of its limits together: services, services_anywhere, flags. `anywhere`:
 * the mask of services without destination prefixes.
 */
void policy_sum_limits(struct policy *policy, uint32_t anywhere);

/* The policy a source address falls under by the file alone: index, or -1. `len` may be NULL. */
int image_match(const struct image *image, const struct prefix *address, uint8_t *len);

/*
 * In a sorted list of elements of `size` bytes that each begin with a struct prefix: the index of
 * the last one not behind `prefix`, or -1. It is in the chain of parents of all that cover
 * `prefix`.
 */
int32_t prefix_last(const void *list, size_t count, size_t size, const struct prefix *prefix);

/* Service mask of a packet by the image's tables. has_ports, has_type as in struct packet. */
struct packet;
uint32_t image_services(const struct image *image, const struct packet *packet);

/*
 * Save and restore who owns what, as text lines for the kernel's `rules` map; the ruleset
 * travels beside it as YAML. image_restore: -EINVAL when the two do not belong together.
 */
int image_save(const struct image *image, char **text, size_t *length);
int image_restore(const struct ruleset *ruleset, const char *text, size_t length,
		  const struct capacity *room, unsigned int cpus, struct image **image);

/* Power-of-two slices of [0, size), aligned to themselves; for compile and the entries' slices. */
struct slice {
	uint32_t base;
	uint32_t size;
};
/*
 * Place all `wanted` (size in, base out) among `used`, which do not overlap: largest first, each
 * as low as it fits. Sizes of 0 are skipped. 0, -ENOSPC or -ENOMEM; all or none.
 */
int slices_place(const struct slice *used, size_t used_count, uint32_t total, struct slice *wanted,
		 size_t count);
/* First free aligned slice of `size` among `used` (any order); 0 and *base, or -ENOSPC. */
int slice_find(const struct slice *used, size_t count, uint32_t total, uint32_t size,
	       uint32_t *base);

#endif
