/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "cells.h"
#include "kernel_maps.h"

int cell_reason_policy(uint32_t action, unsigned int cell)
{
	if (cell == CELL_POLICY_OBSERVED)
		return REASON_OBSERVED;
	switch (action) {
	case ACTION_PASS:
		return REASON_ALLOWED;
	case ACTION_DROP:
		return REASON_BLOCKED;
	default:
		return REASON_GRANTED;
	}
}

int cell_reason_limit(unsigned int cell)
{
	switch (cell) {
	case CELL_LIMIT_REFUSED:
		return REASON_LIMIT;
	case CELL_LIMIT_BANNED:
		return REASON_BAN;
	case CELL_LIMIT_TABLE_FULL:
		return REASON_TABLE_FULL;
	case CELL_LIMIT_OBSERVED:
		return REASON_OBSERVED;
	default:
		return -1;
	}
}

int cell_reason_global(unsigned int cell)
{
	switch (cell) {
	case CELL_NOT_IP:
		return REASON_NOT_IP;
	case CELL_NEIGHBOUR_DISCOVERY:
		return REASON_NEIGHBOUR_DISCOVERY;
	case CELL_MALFORMED:
		return REASON_MALFORMED;
	case CELL_UNMATCHED:
		return REASON_UNMATCHED;
	case CELL_ENTRY_BLOCKED:
		return REASON_BLOCKED;
	case CELL_ENTRY_ALLOWED:
		return REASON_ALLOWED;
	}
	if (cell >= CELL_RETIRED && cell < CELL_RETIRED + REASON_COUNT)
		return cell - CELL_RETIRED;
	return -1;
}

static struct counter sum(const struct counter *values, unsigned int cpus)
{
	struct counter total = {};

	for (unsigned int i = 0; i < cpus; i++) {
		total.packets += values[i].packets;
		total.bytes += values[i].bytes;
	}
	return total;
}

struct reading {
	struct counter *cells;
	uint32_t count;
	unsigned int cpus;
};

static int visit_cells(const void *keys, const void *values, uint32_t count, void *context)
{
	const struct counter *value = values;
	struct reading *reading = context;
	const uint32_t *key = keys;

	for (uint32_t i = 0; i < count; i++)
		if (key[i] < reading->count)
			reading->cells[key[i]] =
				sum(value + (size_t)i * reading->cpus, reading->cpus);
	return 0;
}

int cells_read(const struct instance *instance, struct counter **cells)
{
	struct reading reading = { .count = instance->meta.cells, .cpus = kernel_cpus() };
	struct map_walk walk = {
		.fd = instance->maps[MAP_COUNTERS],
		.key_size = sizeof(uint32_t),
		.value_size = sizeof(struct counter) * reading.cpus,
		.batch = 4096,
	};
	int err;

	reading.cells = calloc(reading.count, sizeof(*reading.cells));
	if (!reading.cells)
		return -ENOMEM;
	err = map_walk(&walk, visit_cells, &reading);
	if (err)
		free(reading.cells);
	else
		*cells = reading.cells;
	return err;
}

/* Retired cells are written by user space alone, under the instance's lock: on one CPU's part. */
static int retire(const struct instance *instance, uint32_t from, uint32_t to)
{
	unsigned int cpus = kernel_cpus();
	struct counter *values = calloc(cpus, sizeof(*values));
	struct counter *kept = calloc(cpus, sizeof(*kept));
	int fd = instance->maps[MAP_COUNTERS];
	struct counter gone;
	int err = -ENOMEM;

	if (values && kept)
		err = bpf_map_lookup_elem(fd, &from, values) || bpf_map_lookup_elem(fd, &to, kept)
			      ? -errno
			      : 0;
	if (!err) {
		gone = sum(values, cpus);
		kept[0].packets += gone.packets;
		kept[0].bytes += gone.bytes;
		memset(values, 0, cpus * sizeof(*values));
		if (bpf_map_update_elem(fd, &to, kept, BPF_ANY) ||
		    bpf_map_update_elem(fd, &from, values, BPF_ANY))
			err = -errno;
	}
	free(values);
	free(kept);
	return err;
}

int cells_retire_policy(const struct instance *instance, uint32_t action, uint32_t first)
{
	int err = 0;

	for (unsigned int i = 0; i < CELL_POLICY_COUNT && !err; i++)
		err = retire(instance, first + i, CELL_RETIRED + cell_reason_policy(action, i));
	return err;
}

int cells_retire_limit(const struct instance *instance, uint32_t first)
{
	int err = 0;

	for (unsigned int i = 0; i < CELL_LIMIT_COUNT && !err; i++) {
		int reason = cell_reason_limit(i);

		err = retire(instance, first + i,
			     reason < 0 ? (uint32_t)CELL_RETIRED_DISPLACED
					: (uint32_t)(CELL_RETIRED + reason));
	}
	return err;
}
