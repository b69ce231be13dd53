/* SPDX-License-Identifier: GPL-2.0-only */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>

#include "empty.h"
#include "tap.h"

static void zero_elements(int map, const struct bpf_map_info *info, size_t copies)
{
	size_t stride = (info->value_size + 7) / 8 * 8;
	void *zero = calloc(copies, stride);

	for (__u32 i = 0; zero && i < info->max_entries; i++)
		if (bpf_map_update_elem(map, &i, zero, BPF_ANY))
			tap_bail("emptying %s: %m", info->name);
	free(zero);
}

static void delete_elements(int map, const struct bpf_map_info *info)
{
	char key[64];

	while (!bpf_map_get_next_key(map, NULL, key))
		if (bpf_map_delete_elem(map, key))
			tap_bail("emptying %s: %m", info->name);
}

void empty_map(int map)
{
	struct bpf_map_info info = { 0 };
	__u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(map, &info, &size))
		tap_bail("map %d: %m", map);
	switch (info.type) {
	case BPF_MAP_TYPE_ARRAY:
		zero_elements(map, &info, 1);
		break;
	case BPF_MAP_TYPE_PERCPU_ARRAY:
		zero_elements(map, &info, libbpf_num_possible_cpus());
		break;
	default:
		delete_elements(map, &info);
	}
}
