/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "kernel_maps.h"

#define U32 sizeof(uint32_t)

enum map_size {
	EVENTS_BYTES = 1 << 20,
};

#define ARRAY(map, value)  map, BPF_MAP_TYPE_ARRAY, U32, value, 0, false
#define MAPPED(map, value) map, BPF_MAP_TYPE_ARRAY, U32, value, BPF_F_MMAPABLE, false
#define PERCPU(map, value) map, BPF_MAP_TYPE_PERCPU_ARRAY, U32, value, 0, false
#define OUTER(map)	   map, BPF_MAP_TYPE_ARRAY_OF_MAPS, U32, U32, 0, false
#define TABLE(type, map, value, flags) \
	map, BPF_MAP_TYPE_##type, sizeof(struct hash_key), value, flags, false
#define TRIE(map, key, value) map, BPF_MAP_TYPE_LPM_TRIE, key, value, BPF_F_NO_PREALLOC, true

static const struct map_shape shapes[MAP_COUNT] = {
	[MAP_LIVE] = { ARRAY("live", sizeof(struct live)) },
	[MAP_META] = { ARRAY("meta", sizeof(struct meta)) },
	[MAP_SECRET] = { ARRAY("secret", sizeof(struct secret)) },
	[MAP_COUNTERS] = { PERCPU("counters", sizeof(struct counter)) },
	[MAP_SETS] = { ARRAY("sets", SET_BYTES) },
	[MAP_LOGS] = { ARRAY("logs", sizeof(struct log_set)) },
	[MAP_HASH] = { TABLE(HASH, "hash", HASH_CELL_BYTES, 0) },
	[MAP_HASH_LOGS] = { TABLE(HASH, "hash_logs", sizeof(struct log_ring), BPF_F_NO_PREALLOC) },
	[MAP_PERCPU] = { TABLE(LRU_PERCPU_HASH, "percpu", sizeof(struct hash_state), 0) },
	[MAP_PERCPU_LOGS] = { TABLE(LRU_PERCPU_HASH, "percpu_logs", sizeof(struct log_ring), 0) },
	[MAP_TALLY] = { PERCPU("tally", sizeof(struct tallies)) },
	[MAP_CREDITS] = { PERCPU("credits", sizeof(struct credit)) },
	[MAP_POLICIES] = { ARRAY("policies", sizeof(struct policy)) },
	[MAP_SERVICES] = { MAPPED("services", U32) },
	[MAP_FILTER] = { MAPPED("filter", sizeof(uint64_t)) },
	[MAP_ROOTS] = { MAPPED("roots", sizeof(struct directory_cell)) },
	[MAP_PREFIXES4] = { OUTER("prefixes4") },
	[MAP_PREFIXES6] = { OUTER("prefixes6") },
	[MAP_DESTINATIONS4] = { OUTER("destinations4") },
	[MAP_DESTINATIONS6] = { OUTER("destinations6") },
	[MAP_ENTRIES4] = { OUTER("entries4") },
	[MAP_ENTRIES6] = { OUTER("entries6") },
	[MAP_EVENTS] = { "events", BPF_MAP_TYPE_RINGBUF, 0, 0, 0, false },
	[MAP_ENTRY_WORDS] = { "entry_words", BPF_MAP_TYPE_ARRAY, U32, sizeof(struct entry_words), 0,
			      true },
	[MAP_ENTRY_TRIE4] = { TRIE("entry_trie4", sizeof(struct prefix4_key),
				   sizeof(struct entry)) },
	[MAP_ENTRY_TRIE6] = { TRIE("entry_trie6", sizeof(struct prefix6_key),
				   sizeof(struct entry)) },
	[MAP_INTERFACES] = { "interfaces", BPF_MAP_TYPE_HASH, U32,
			     sizeof(((struct attachment *)0)->interface), 0, true },
};

const struct map_shape *map_shape(enum map_index index)
{
	return &shapes[index];
}

static uint32_t at_least_one(uint64_t elements)
{
	return elements ? elements : 1;
}

/* The maps of the tables that an instance does not use are made as small as they can be. */
static uint32_t table_elements(enum map_index index, const struct meta *meta)
{
	switch (index) {
	case MAP_SETS:
		return meta->table == TABLE_SETS ? at_least_one(meta->sets) : 1;
	case MAP_LOGS:
		return meta->table == TABLE_SETS ? at_least_one(meta->log_sets) : 1;
	case MAP_HASH:
		return meta->table == TABLE_HASH ? at_least_one(meta->states) : 1;
	case MAP_HASH_LOGS:
		return meta->table == TABLE_HASH ? at_least_one(meta->log_sets) : 1;
	case MAP_PERCPU:
		return meta->table == TABLE_PERCPU ? at_least_one(meta->states) : 1;
	default: /* MAP_PERCPU_LOGS */
		return meta->table == TABLE_PERCPU ? at_least_one(meta->log_sets) : 1;
	}
}

uint32_t map_elements(enum map_index index, const struct meta *meta)
{
	switch (index) {
	case MAP_SETS:
	case MAP_LOGS:
	case MAP_HASH:
	case MAP_HASH_LOGS:
	case MAP_PERCPU:
	case MAP_PERCPU_LOGS:
		return table_elements(index, meta);
	case MAP_COUNTERS:
		return meta->cells;
	case MAP_CREDITS:
		return at_least_one(meta->credits);
	case MAP_POLICIES:
		return at_least_one(2 * (uint64_t)meta->policies + meta->entry_policies);
	case MAP_SERVICES:
		return 2 * SERVICE_ROWS;
	case MAP_FILTER:
		return FILTER_ALL;
	case MAP_ROOTS:
		return 4 * DIRECTORY_ROOT_CELLS;
	case MAP_PREFIXES4:
	case MAP_PREFIXES6:
	case MAP_DESTINATIONS4:
	case MAP_DESTINATIONS6:
		return 2;
	case MAP_EVENTS:
		return EVENTS_BYTES;
	case MAP_ENTRY_WORDS:
		return at_least_one(meta->entry_policies);
	case MAP_ENTRY_TRIE4:
	case MAP_ENTRY_TRIE6:
		return MAPS_ENTRIES;
	case MAP_INTERFACES:
		return MAPS_INTERFACES;
	default:
		return 1;
	}
}

/* An element of a kernel hash: its header, key and value, and its bucket. */
static uint64_t hash_bytes(uint64_t elements, uint64_t value_bytes)
{
	return elements * (48 + sizeof(struct hash_key) + value_bytes + 16);
}

static uint64_t bytes_of(enum map_index index, const struct meta *meta, uint64_t each)
{
	return map_elements(index, meta) * each;
}

uint64_t maps_table_bytes(const struct meta *meta, unsigned int cpus)
{
	const uint64_t state = 8 + sizeof(struct hash_state) * cpus;
	const uint64_t ring = 8 + sizeof(struct log_ring) * cpus;

	switch (meta->table) {
	case TABLE_HASH:
		return hash_bytes(map_elements(MAP_HASH, meta), HASH_CELL_BYTES) +
		       hash_bytes(map_elements(MAP_HASH_LOGS, meta), sizeof(struct log_ring));
	case TABLE_PERCPU:
		return hash_bytes(map_elements(MAP_PERCPU, meta), state) +
		       hash_bytes(map_elements(MAP_PERCPU_LOGS, meta), ring);
	default:
		return bytes_of(MAP_SETS, meta, SET_BYTES) +
		       bytes_of(MAP_LOGS, meta, sizeof(struct log_set));
	}
}

uint64_t maps_bytes(const struct meta *meta, unsigned int cpus)
{
	return maps_table_bytes(meta, cpus) + bytes_of(MAP_POLICIES, meta, sizeof(struct policy)) +
	       bytes_of(MAP_COUNTERS, meta, sizeof(struct counter) * cpus) +
	       bytes_of(MAP_FILTER, meta, sizeof(uint64_t)) +
	       bytes_of(MAP_ROOTS, meta, sizeof(struct directory_cell));
}

int map_make(enum map_index index, const struct meta *meta)
{
	const struct map_shape *shape = &shapes[index];
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = shape->flags);
	int fd = bpf_map_create(shape->type, shape->name, shape->key_size, shape->value_size,
				map_elements(index, meta), &options);

	return fd < 0 ? -errno : fd;
}

static int make_directory(enum map_index outer, uint32_t cells)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_INNER_MAP);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, shapes[outer].name, U32,
				sizeof(struct directory_cell), at_least_one(cells), &options);

	return fd < 0 ? -errno : fd;
}

int map_make_inner(enum map_index outer, uint32_t elements)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
	bool wide = outer == MAP_DESTINATIONS6 || outer == MAP_ENTRIES6;
	uint32_t key_size = wide ? sizeof(struct prefix6_key) : sizeof(struct prefix4_key);
	bool entries = outer == MAP_ENTRIES4 || outer == MAP_ENTRIES6;
	int fd;

	if (outer == MAP_PREFIXES4 || outer == MAP_PREFIXES6)
		return make_directory(outer, elements);
	fd = bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, shapes[outer].name, key_size,
			    entries ? sizeof(struct entry) : U32, at_least_one(elements), &options);
	return fd < 0 ? -errno : fd;
}

int map_check(enum map_index index, int fd, const struct meta *meta, struct message *message)
{
	const struct map_shape *shape = &shapes[index];
	struct bpf_map_info info = {};
	__u32 size = sizeof(info);
	uint32_t elements;

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return message_set(message, -errno, "cannot ask about the map %s: %s", shape->name,
				   strerror(errno));
	elements = map_elements(index, meta);
	if (info.type == shape->type && info.key_size == shape->key_size &&
	    info.value_size == shape->value_size && info.max_entries == elements)
		return 0;
	return message_set(message, -EPROTO,
			   "the pinned map %s is not of this layout: type %u, key %u, value %u, "
			   "%u elements; expected type %u, key %u, value %u, %u elements",
			   shape->name, info.type, info.key_size, info.value_size, info.max_entries,
			   (unsigned int)shape->type, shape->key_size, shape->value_size, elements);
}

static int fill_singly(int fd, const char *keys, size_t key_size, const char *values,
		       size_t value_size, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bpf_map_update_elem(fd, keys + i * key_size, values + i * value_size, BPF_ANY))
			return -errno;
	return 0;
}

enum batch_size {
	FILL_BATCH = 65536,
};

/* Which elements of a failed batch were done is known, but to do them again costs nothing. */
int map_fill(int fd, const void *keys, size_t key_size, const void *values, size_t value_size,
	     size_t count)
{
	LIBBPF_OPTS(bpf_map_batch_opts, options);
	const char *key = keys, *value = values;
	__u32 batch;
	int err;

	for (size_t done = 0; done < count; done += batch) {
		batch = count - done < FILL_BATCH ? count - done : FILL_BATCH;
		if (!bpf_map_update_batch(fd, key + done * key_size, value + done * value_size,
					  &batch, &options))
			continue;
		batch = count - done < FILL_BATCH ? count - done : FILL_BATCH;
		err = fill_singly(fd, key + done * key_size, key_size, value + done * value_size,
				  value_size, batch);
		if (err)
			return err;
	}
	return 0;
}

static int walk_singly(const struct map_walk *walk, char *keys, char *values,
		       int (*visit)(const void *, const void *, uint32_t, void *), void *context)
{
	char *next = keys + walk->key_size;
	const void *previous = NULL;
	int err = 0;

	while (!err) {
		if (bpf_map_get_next_key(walk->fd, previous, next))
			return errno == ENOENT ? 0 : -errno;
		memcpy(keys, next, walk->key_size);
		previous = keys;
		if (!bpf_map_lookup_elem(walk->fd, keys, values))
			err = visit(keys, values, 1, context);
		else if (errno != ENOENT)
			err = -errno;
	}
	return err;
}

struct buffers {
	char *keys;
	char *values;
};

/* One key more than a batch: the single walk keeps the last one and the next. */
static int buffers_new(const struct map_walk *walk, struct buffers *buffers)
{
	buffers->keys = malloc((walk->batch + 1UL) * walk->key_size);
	buffers->values = malloc((size_t)walk->batch * walk->value_size);
	return buffers->keys && buffers->values ? 0 : -ENOMEM;
}

static void buffers_free(struct buffers *buffers)
{
	free(buffers->keys);
	free(buffers->values);
}

/* The cursor of a hash is 4 bytes, that of an array or trie a key. */
static int walk_batches(const struct map_walk *walk, const struct buffers *buffers,
			int (*visit)(const void *, const void *, uint32_t, void *), void *context)
{
	LIBBPF_OPTS(bpf_map_batch_opts, options);
	char cursor[32] = {};
	bool started = false, ended = false;
	int err = 0;

	while (!err && !ended) {
		__u32 count = walk->batch;

		if (bpf_map_lookup_batch(walk->fd, started ? cursor : NULL, cursor, buffers->keys,
					 buffers->values, &count, &options)) {
			if (errno != ENOENT)
				return started ? -errno : -EOPNOTSUPP;
			ended = true;
		}
		started = true;
		if (count)
			err = visit(buffers->keys, buffers->values, count, context);
	}
	return err;
}

int map_walk(const struct map_walk *walk,
	     int (*visit)(const void *keys, const void *values, uint32_t count, void *context),
	     void *context)
{
	struct buffers buffers;
	int err = buffers_new(walk, &buffers);

	if (!err) {
		err = walk_batches(walk, &buffers, visit, context);
		if (err == -EOPNOTSUPP)
			err = walk_singly(walk, buffers.keys, buffers.values, visit, context);
	}
	buffers_free(&buffers);
	return err;
}

/* A batch goes on behind the key it is given: for the first element that is none. */
static int read_range(const struct map_walk *walk, const struct buffers *buffers, uint32_t first,
		      uint32_t count)
{
	LIBBPF_OPTS(bpf_map_batch_opts, options, .elem_flags = walk->flags);
	uint32_t before = first - 1, cursor;
	uint32_t *keys = (uint32_t *)buffers->keys;
	__u32 read = count;

	if (!bpf_map_lookup_batch(walk->fd, first ? &before : NULL, &cursor, keys, buffers->values,
				  &read, &options) ||
	    errno == ENOENT)
		if (read == count)
			return 0;
	for (uint32_t i = 0; i < count; i++) {
		keys[i] = first + i;
		if (bpf_map_lookup_elem_flags(walk->fd, &keys[i],
					      buffers->values + i * walk->value_size, walk->flags))
			return -errno;
	}
	return 0;
}

int map_walk_range(const struct map_walk *walk, uint32_t first, uint64_t count,
		   int (*visit)(const void *keys, const void *values, uint32_t count,
				void *context),
		   void *context)
{
	struct buffers buffers;
	int err = buffers_new(walk, &buffers);

	for (uint64_t done = 0; !err && done < count;) {
		uint32_t some = count - done < walk->batch ? count - done : walk->batch;

		err = read_range(walk, &buffers, first + done, some);
		if (!err)
			err = visit(buffers.keys, buffers.values, some, context);
		done += some;
	}
	buffers_free(&buffers);
	return err;
}
