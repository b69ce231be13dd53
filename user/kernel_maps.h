/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What each map of an instance must look like, by the sizes in meta. Made and
 * opened maps are held to it in one place. Must not know pins or the program.
 */
#ifndef WEIR_KERNEL_MAPS_H
#define WEIR_KERNEL_MAPS_H

#include <linux/bpf.h>

#include "kernel.h"

#define MAPS_INTERFACES 256	   /* names remembered */
#define MAPS_ENTRIES	(1U << 24) /* entries set by hand, per family */

enum maps_size {
	HASH_CELL_BYTES = sizeof(struct hash_state) + 8, /* with the lock behind */
};

struct map_shape {
	const char *name; /* of the pin, and in the program */
	enum bpf_map_type type;
	uint32_t key_size;
	uint32_t value_size;
	uint32_t flags;
	bool user; /* user space only: not in the program */
};

const struct map_shape *map_shape(enum map_index index);

/* Elements of a map. */
uint32_t map_elements(enum map_index index, const struct meta *meta);

/* What the maps made for `meta` take, bytes, about; of the states alone, and of all. */
uint64_t maps_table_bytes(const struct meta *meta, unsigned int cpus);
uint64_t maps_bytes(const struct meta *meta, unsigned int cpus);

/* Make a map that is user space's own. Returns its fd or -errno. */
int map_make(enum map_index index, const struct meta *meta);

/* Make an inner map for `outer` (prefixes, destinations, entries) of so many elements. */
int map_make_inner(enum map_index outer, uint32_t elements);

/* -EPROTO with the difference in *message where the map is not of its shape. */
int map_check(enum map_index index, int fd, const struct meta *meta, struct message *message);

/*
 * Update many elements: `keys` and `values` are arrays of the map's key and value size. Single
 * updates where the kernel has no batches for the type. Returns 0 or -errno.
 */
int map_fill(int fd, const void *keys, size_t key_size, const void *values, size_t value_size,
	     size_t count);

/*
 * Read a map in batches of `batch` elements: visit(keys, values, count, context) for each. The
 * buffers are the walk's own. per_cpu: value_size is that of one CPU's value, of which there are
 * kernel_cpus(). A nonzero return of visit ends the walk and is returned.
 */
struct map_walk {
	int fd;
	size_t key_size;
	size_t value_size; /* of an element, over all CPUs */
	uint32_t batch;
	uint64_t flags; /* map_walk_range: BPF_F_LOCK reads each element under its spin lock */
};
int map_walk(const struct map_walk *walk,
	     int (*visit)(const void *keys, const void *values, uint32_t count, void *context),
	     void *context);

/* The same for the elements [first, first + count) of an array. */
int map_walk_range(const struct map_walk *walk, uint32_t first, uint64_t count,
		   int (*visit)(const void *keys, const void *values, uint32_t count,
				void *context),
		   void *context);

#endif
