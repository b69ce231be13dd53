/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A growing table from (source, tag) to a value of a fixed size. For work
 * after the fact, where memory may grow with the number of sources. Must not
 * know what the values are.
 */
#ifndef WEIR_SOURCE_MAP_H
#define WEIR_SOURCE_MAP_H

#include "units.h"

struct source_map {
	size_t value_size;
	size_t count;
	size_t size; /* slots, a power of two */
	uint8_t *slots;
};

struct packet;

/* The source of a packet, cut to the key length of its family. */
struct prefix source_of(const struct packet *packet, uint8_t ipv4_len, uint8_t ipv6_len);

void source_map_init(struct source_map *map, size_t value_size);
void source_map_free(struct source_map *map);

/* The value, zeroed when it is new; until the next call. NULL: no memory. */
void *source_map_get(struct source_map *map, const struct prefix *source, uint32_t tag);

/* Walk in no order: *at starts at 0; NULL at the end. */
void *source_map_next(const struct source_map *map, size_t *at, struct prefix *source,
		      uint32_t *tag);

#endif
