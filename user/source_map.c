/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <string.h>

#include "../bpf/key.h"
#include "../bpf/packet.h"
#include "source_map.h"

enum {
	FIRST_SIZE = 1024,
};

struct slot {
	struct prefix source;
	bool used;
	uint32_t tag;
	/* the value follows, aligned to 8 bytes */
};

static size_t slot_size(const struct source_map *map)
{
	return (sizeof(struct slot) + 7) / 8 * 8 + (map->value_size + 7) / 8 * 8;
}

static struct slot *slot_at(const struct source_map *map, size_t index)
{
	return (struct slot *)(void *)(map->slots + index * slot_size(map));
}

static void *value_of(struct slot *slot)
{
	return (uint8_t *)slot + (sizeof(struct slot) + 7) / 8 * 8;
}

struct prefix source_of(const struct packet *packet, uint8_t ipv4_len, uint8_t ipv6_len)
{
	struct prefix prefix = { .family = packet->family,
				 .len = packet->family == 4 ? ipv4_len : ipv6_len };

	for (unsigned int bit = 0; bit < prefix.len; bit++)
		prefix.addr[bit / 8] |= packet->source[bit / 8] & 0x80 >> bit % 8;
	return prefix;
}

void source_map_init(struct source_map *map, size_t value_size)
{
	*map = (struct source_map){ .value_size = value_size };
}

void source_map_free(struct source_map *map)
{
	free(map->slots);
	map->slots = NULL;
	map->count = map->size = 0;
}

static size_t hash(const struct prefix *source, uint32_t tag)
{
	struct key key =
		source->family == 4 ? key_ipv4(source->addr, 32) : key_ipv6(source->addr, 128);

	return key_hash(&key, tag, source->len);
}

static struct slot *find(const struct source_map *map, const struct prefix *source, uint32_t tag)
{
	size_t index = hash(source, tag) & (map->size - 1);

	for (;;) {
		struct slot *slot = slot_at(map, index);

		if (!slot->used || (slot->tag == tag && !prefix_compare(&slot->source, source)))
			return slot;
		index = (index + 1) & (map->size - 1);
	}
}

static int grow(struct source_map *map)
{
	struct source_map bigger = *map;

	bigger.size = map->size ? 2 * map->size : FIRST_SIZE;
	bigger.slots = calloc(bigger.size, slot_size(map));
	if (!bigger.slots)
		return -1;
	for (size_t i = 0; i < map->size; i++) {
		struct slot *slot = slot_at(map, i);

		if (slot->used)
			memcpy(find(&bigger, &slot->source, slot->tag), slot, slot_size(map));
	}
	free(map->slots);
	*map = bigger;
	return 0;
}

void *source_map_get(struct source_map *map, const struct prefix *source, uint32_t tag)
{
	struct slot *slot;

	if ((map->count + 1) * 4 > map->size * 3 && grow(map))
		return NULL;
	slot = find(map, source, tag);
	if (!slot->used) {
		slot->source = *source;
		slot->tag = tag;
		slot->used = true;
		map->count++;
	}
	return value_of(slot);
}

void *source_map_next(const struct source_map *map, size_t *at, struct prefix *source,
		      uint32_t *tag)
{
	while (*at < map->size) {
		struct slot *slot = slot_at(map, (*at)++);

		if (!slot->used)
			continue;
		if (source)
			*source = slot->source;
		if (tag)
			*tag = slot->tag;
		return value_of(slot);
	}
	return NULL;
}
