/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "apply_states.h"
#include "kernel_maps.h"

static int sweep(const struct instance *instance, uint32_t op, uint32_t policy, uint32_t index,
		 const struct limit *limit)
{
	struct maintain command = { .op = op, .policy = policy, .limit = index };
	uint64_t sets = (uint64_t)limit->slice_mask + 1;
	int err = 0;

	if (instance->meta.table != TABLE_SETS)
		return instance_maintain(instance, &command);
	for (uint64_t done = 0; done < sets && !err; done += command.count) {
		command.first = limit->slice_base + done;
		command.count = sets - done < MAINTAIN_MOST ? sets - done : MAINTAIN_MOST;
		err = instance_maintain(instance, &command);
	}
	return err;
}

int states_clear(const struct instance *instance, uint32_t policy, uint32_t index,
		 const struct limit *limit)
{
	return sweep(instance, MAINTAIN_CLEAR, policy, index, limit);
}

int states_clamp(const struct instance *instance, uint32_t policy, uint32_t index,
		 const struct limit *limit)
{
	return sweep(instance, MAINTAIN_CLAMP, policy, index, limit);
}

static int zero_all(int fd, uint32_t elements, size_t value_size)
{
	void *zero = calloc(kernel_cpus(), value_size);
	int err = zero ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < elements && !err; i++)
		err = bpf_map_update_elem(fd, &i, zero, BPF_ANY) ? -errno : 0;
	free(zero);
	return err;
}

int states_clear_private(const struct instance *instance)
{
	int err = zero_all(instance->maps[MAP_TALLY], 1, sizeof(struct tallies));

	return err ? err
		   : zero_all(instance->maps[MAP_CREDITS],
			      map_elements(MAP_CREDITS, &instance->meta), sizeof(struct credit));
}

struct pruning {
	bool (*live)(uint32_t id, void *context);
	void *context;
	struct hash_key *list;
	size_t count;
};

static int visit_prune(const void *keys, const void *values, uint32_t count, void *context)
{
	struct pruning *pruning = context;
	const struct hash_key *key = keys;
	struct hash_key *list =
		realloc(pruning->list, (pruning->count + count) * sizeof(*pruning->list));

	(void)values;
	if (!list)
		return -ENOMEM;
	pruning->list = list;
	for (uint32_t i = 0; i < count; i++)
		if (!pruning->live(key[i].limit, pruning->context))
			list[pruning->count++] = key[i];
	return 0;
}

int states_prune(const struct instance *instance, bool (*live)(uint32_t id, void *context),
		 void *context)
{
	bool hash = instance->meta.table == TABLE_HASH;
	int fd = instance->maps[hash ? MAP_HASH : MAP_PERCPU];
	int logs = instance->maps[hash ? MAP_HASH_LOGS : MAP_PERCPU_LOGS];
	struct pruning pruning = { .live = live, .context = context };
	struct map_walk walk = {
		.fd = fd,
		.key_size = sizeof(struct hash_key),
		.value_size = hash ? HASH_CELL_BYTES : sizeof(struct hash_state) * kernel_cpus(),
		.batch = 4096,
	};
	int err;

	if (instance->meta.table == TABLE_SETS)
		return 0;
	err = map_walk(&walk, visit_prune, &pruning);
	for (size_t i = 0; i < pruning.count && !err; i++) {
		bpf_map_delete_elem(logs, &pruning.list[i]);
		bpf_map_delete_elem(fd, &pruning.list[i]);
	}
	free(pruning.list);
	return err;
}
