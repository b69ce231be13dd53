/* SPDX-License-Identifier: GPL-2.0-only */
#include <bpf/bpf.h>
#include <string.h>

#include "../../bpf/key.h"
#include "states.h"
#include "tap.h"

static uint32_t count_sets(const struct rig *rig)
{
	struct {
		struct set_hot hot;
		struct set_cold cold;
		uint32_t lock;
	} set;
	uint32_t count = 0;

	for (uint32_t index = 0; index < rig->room.sets; index++) {
		if (bpf_map_lookup_elem(rig_map(rig, MAP_SETS), &index, &set))
			tap_bail("set %u: %m", index);
		for (int way = 0; way < SET_WAYS; way++)
			count += family_of_way(set.cold.families, way) != 0;
	}
	return count;
}

static uint32_t count_keys(int map)
{
	struct hash_key key, next;
	uint32_t count = 0;
	int error = bpf_map_get_next_key(map, NULL, &next);

	while (!error) {
		count++;
		key = next;
		error = bpf_map_get_next_key(map, &key, &next);
	}
	return count;
}

uint32_t states_count(const struct rig *rig)
{
	switch (rig->room.table) {
	case TABLE_HASH:
		return count_keys(rig_map(rig, MAP_HASH));
	case TABLE_PERCPU:
		return count_keys(rig_map(rig, MAP_PERCPU));
	default:
		return count_sets(rig);
	}
}
