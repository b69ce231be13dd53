/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "../bpf/algo.h"
#include "kernel_maps.h"

/* The packet is the command; the program writes its answer into it. */
static int run_program(const struct instance *instance, struct maintain *command)
{
	struct maintain result = *command;
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = command, .data_out = &result,
		    .data_size_in = sizeof(*command), .data_size_out = sizeof(result));

	if (bpf_prog_test_run_opts(instance->maintain, &options))
		return -errno;
	if (options.retval != XDP_PASS || options.data_size_out != sizeof(result))
		return -EIO;
	*command = result;
	return 0;
}

/* ---- the kernel's hash tables: no program is needed, each element has a lock or a CPU ---- */

struct hash_table {
	int fd, logs;
	size_t value_size; /* of an element, on all CPUs */
	uint64_t flags;	   /* take the element's lock */
	unsigned int copies;
};

static struct hash_table hash_table(const struct instance *instance)
{
	const int *maps = instance->maps;
	unsigned int cpus = kernel_cpus();

	if (instance->meta.table == TABLE_HASH)
		return (struct hash_table){ maps[MAP_HASH], maps[MAP_HASH_LOGS], HASH_CELL_BYTES,
					    BPF_F_LOCK, 1 };
	return (struct hash_table){ maps[MAP_PERCPU], maps[MAP_PERCPU_LOGS],
				    sizeof(struct hash_state) * cpus, 0, cpus };
}

struct keys {
	struct hash_key *list;
	size_t count, room;
	uint32_t limit;
};

static int visit_keys(const void *keys, const void *values, uint32_t count, void *context)
{
	const struct hash_key *key = keys;
	struct keys *found = context;

	(void)values;
	if (found->count + count > found->room) {
		size_t room = 2 * (found->count + count);
		struct hash_key *list = realloc(found->list, room * sizeof(*list));

		if (!list)
			return -ENOMEM;
		found->list = list;
		found->room = room;
	}
	for (uint32_t i = 0; i < count; i++)
		if (key[i].limit == found->limit)
			found->list[found->count++] = key[i];
	return 0;
}

static uint32_t forget_key(const struct hash_table *table, const struct hash_key *key)
{
	bpf_map_delete_elem(table->logs, key);
	return !bpf_map_delete_elem(table->fd, key);
}

static bool clamp(struct hash_state *state, const struct limit *limit, uint64_t now)
{
	uint64_t latest = now + limit->burst_ns;

	if ((state->word & STATE_BANNED) || state->word <= latest)
		return false;
	state->word = latest;
	state->extra = limit->burst_frac;
	return true;
}

/*
 * Read and written back, each under the lock: a packet granted between the two is forgotten,
 * which a state that owed more than its burst can bear.
 */
static uint32_t clamp_key(const struct hash_table *table, const struct hash_key *key,
			  const struct limit *limit, char *value)
{
	uint64_t now = kernel_now_ns();
	bool changed = false;

	if (bpf_map_lookup_elem_flags(table->fd, key, value, table->flags))
		return 0;
	for (unsigned int i = 0; i < table->copies; i++)
		changed |= clamp((struct hash_state *)(value + i * sizeof(struct hash_state)),
				 limit, now);
	return changed && !bpf_map_update_elem(table->fd, key, value, BPF_EXIST | table->flags);
}

static int change_all(const struct hash_table *table, const struct limit *limit, uint32_t op,
		      uint32_t *done)
{
	struct map_walk walk = { table->fd, sizeof(struct hash_key), table->value_size, 4096, 0 };
	struct keys found = { .limit = limit->id };
	char *value = malloc(table->value_size);
	int err = value ? map_walk(&walk, visit_keys, &found) : -ENOMEM;

	*done = 0;
	for (size_t i = 0; !err && i < found.count; i++)
		*done += op == MAINTAIN_CLAMP ? clamp_key(table, &found.list[i], limit, value)
					      : forget_key(table, &found.list[i]);
	free(found.list);
	free(value);
	return err;
}

static int change_hash(const struct instance *instance, struct maintain *command)
{
	struct hash_table table = hash_table(instance);
	struct policy policy;
	const struct limit *limit;

	if (command->limit >= LIMITS_MAX)
		return -EINVAL;
	if (bpf_map_lookup_elem(instance->maps[MAP_POLICIES], &command->policy, &policy))
		return -errno;
	limit = &policy.limits[command->limit];
	if (command->op == MAINTAIN_FORGET) {
		struct hash_key key = { command->key.hi, command->key.lo, command->key.family,
					limit->id };

		command->done = forget_key(&table, &key);
		return 0;
	}
	return change_all(&table, limit, command->op, &command->done);
}

int instance_maintain(const struct instance *instance, struct maintain *command)
{
	if (instance->meta.table == TABLE_SETS)
		return run_program(instance, command);
	if (command->op == MAINTAIN_CHARGE)
		return -EOPNOTSUPP;
	return change_hash(instance, command);
}
