/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "apply_filter.h"
#include "apply_room.h"
#include "apply_states.h"
#include "cells.h"
#include "directory.h"
#include "entries.h"
#include "kernel_maps.h"

union prefix_key prefix_key(const struct prefix *prefix)
{
	union prefix_key key = {};

	if (prefix->family == 4) {
		key.v4.len = prefix->len;
		memcpy(key.v4.addr, prefix->addr, sizeof(key.v4.addr));
	} else {
		key.v6.len = prefix->len;
		memcpy(key.v6.addr, prefix->addr, sizeof(key.v6.addr));
	}
	return key;
}

size_t prefix_key_size(unsigned int family)
{
	return family == 4 ? sizeof(struct prefix4_key) : sizeof(struct prefix6_key);
}

int trie_swap(int outer_fd, uint32_t slot, int trie_fd)
{
	return bpf_map_update_elem(outer_fd, &slot, &trie_fd, BPF_ANY) ? -errno : 0;
}

int live_read(const struct instance *instance, struct live *live)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(instance->maps[MAP_LIVE], &zero, live) ? -errno : 0;
}

int live_write(const struct instance *instance, const struct live *live)
{
	uint32_t zero = 0;

	return bpf_map_update_elem(instance->maps[MAP_LIVE], &zero, live, BPF_ANY) ? -errno : 0;
}

int rulings_open(const struct instance *instance)
{
	struct live live;
	int err = live_read(instance, &live);

	live.epoch |= 1;
	return err ? err : live_write(instance, &live);
}

int rulings_close(const struct instance *instance, struct live *live)
{
	int err;

	live->epoch |= 1;
	err = live_write(instance, live);
	live->epoch++;
	return err ? err : live_write(instance, live);
}

/* The kernel waits where an outer map is given another trie, or the same one again. */
int packets_wait(const struct instance *instance)
{
	return trie_swap(instance->maps[MAP_ENTRIES4], 0, instance->maps[MAP_ENTRY_TRIE4]);
}

/* A change from one image to another, and what is made for it before the swap. */
struct change {
	struct instance *instance;
	const struct image *old, *image;
	struct live live; /* as it will be */
	uint32_t slot;	  /* the idle half: of policies, services, roots ... */
	uint32_t base;	  /* its first policy */
	struct filter filter;
	uint64_t *filter_words; /* the instance's own */
	struct room room;
};

static int begin(struct change *change)
{
	struct instance *instance = change->instance;
	int err = live_read(instance, &change->live);

	if (err)
		return err;
	change->live.generation++;
	change->live.malformed_pass = change->image->ruleset->malformed_pass;
	change->slot = change->live.generation & 1;
	change->base = change->slot * instance->meta.policies;
	err = filter_new(&change->filter);
	if (!err)
		err = filter_map(instance, &change->filter_words);
	return err ? err : room_open(instance, change->old, change->image, &change->room);
}

static void end(struct change *change)
{
	filter_free(&change->filter);
	filter_unmap(change->filter_words);
	room_close(&change->room);
}

static int check_room(const struct change *change, struct message *message)
{
	const struct meta *meta = &change->instance->meta;

	if (change->image->ruleset->table != meta->table)
		return message_set(message, -EINVAL, "the instance has another kind of table");
	if (change->image->policy_count > meta->policies) {
		message_set(message, -ENOSPC, "%zu policies: the instance has room for %u",
			    change->image->policy_count, meta->policies);
		return message_hint(message, -ENOSPC, "weir detach --all and attach again");
	}
	return 0;
}

static int write_policies(const struct change *change)
{
	size_t count = change->image->policy_count;
	struct policy *values = calloc(count + 1, sizeof(*values));
	uint32_t *keys = calloc(count + 1, sizeof(*keys));
	int err = values && keys ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !err; i++) {
		keys[i] = change->base + i;
		values[i] = change->image->policies[i].policy;
		values[i].services_base = change->slot * SERVICE_ROWS;
		values[i].generation = change->slot;
	}
	if (!err)
		err = map_fill(change->instance->maps[MAP_POLICIES], keys, sizeof(*keys), values,
			       sizeof(*values), count);
	free(values);
	free(keys);
	return err;
}

/* The kernel keeps an array's values 8 bytes apart, and shows them so where the map is mapped. */
static int write_services(const struct change *change)
{
	const uint32_t *services = change->image->services;
	size_t size = 2 * SERVICE_ROWS * sizeof(uint64_t);
	uint64_t *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
				change->instance->maps[MAP_SERVICES], 0);

	if (memory == MAP_FAILED)
		return -errno;
	for (size_t i = 0; i < SERVICE_ROWS; i++) {
		uint32_t mask = services ? services[i] : 0;

		memcpy(&memory[change->slot * SERVICE_ROWS + i], &mask, sizeof(mask));
	}
	munmap(memory, size);
	return 0;
}

/* ---- tries ---- */

/* Elements for a trie of one family; `value_size` bytes of value each. */
struct filling {
	char *keys, *values;
	size_t count, key_size, value_size;
};

static int filling_new(struct filling *filling, unsigned int family, size_t most, size_t value_size)
{
	*filling =
		(struct filling){ .key_size = prefix_key_size(family), .value_size = value_size };
	filling->keys = malloc((most + 1) * filling->key_size);
	filling->values = malloc((most + 1) * value_size);
	return filling->keys && filling->values ? 0 : -ENOMEM;
}

static void filling_add(struct filling *filling, const struct prefix *prefix, const void *value)
{
	union prefix_key key = prefix_key(prefix);

	memcpy(filling->keys + filling->count * filling->key_size, &key, filling->key_size);
	memcpy(filling->values + filling->count * filling->value_size, value, filling->value_size);
	filling->count++;
}

/* Make the trie of a filling, which is freed. Returns its fd or -errno. */
static int filling_trie(struct filling *filling, enum map_index outer, int err)
{
	int trie = err ? err : map_make_inner(outer, filling->count);

	if (trie >= 0) {
		err = map_fill(trie, filling->keys, filling->key_size, filling->values,
			       filling->value_size, filling->count);
		if (err) {
			close(trie);
			trie = err;
		}
	}
	free(filling->keys);
	free(filling->values);
	return trie;
}

static int fill_cells(int fd, const struct directory *directory)
{
	uint32_t *keys = malloc((directory->count + 1) * sizeof(*keys));
	int err;

	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; i < directory->count; i++)
		keys[i] = i;
	err = map_fill(fd, keys, sizeof(*keys), directory->cells, sizeof(*directory->cells),
		       directory->count);
	free(keys);
	return err;
}

static enum map_index cells_map(unsigned int family)
{
	return family == 4 ? MAP_PREFIXES4 : MAP_PREFIXES6;
}

static int write_cells(const struct change *change, unsigned int family,
		       const struct directory *directory)
{
	int fd = map_make_inner(cells_map(family), directory->count);
	int err = fd < 0 ? fd : fill_cells(fd, directory);

	if (!err)
		err = trie_swap(change->instance->maps[cells_map(family)], change->slot, fd);
	if (fd >= 0)
		close(fd);
	return err;
}

static int write_root(const struct change *change, unsigned int family,
		      const struct directory *directory)
{
	size_t each = DIRECTORY_ROOT_CELLS * sizeof(struct directory_cell);
	char *memory = mmap(NULL, 4 * each, PROT_READ | PROT_WRITE, MAP_SHARED,
			    change->instance->maps[MAP_ROOTS], 0);

	if (memory == MAP_FAILED)
		return -errno;
	memcpy(memory + (2 * change->slot + (family == 6)) * each, directory->root, each);
	munmap(memory, 4 * each);
	return 0;
}

/* Before the swap: the filter lets through to the old prefixes and the new ones. */
static void write_filter(struct change *change, unsigned int family)
{
	const struct image *image = change->image;

	for (size_t i = 0; i < image->prefix_count; i++)
		if (image->prefixes[i].prefix.family == family)
			filter_add_policy(&change->filter, &image->prefixes[i].prefix);
	filter_join(change->filter_words, change->filter.words, FILTER_POLICIES, FILTER_ALL);
}

/* What finds a family's policies. Nobody reads the idle half: it may be filled in place. */
static int write_directory(struct change *change, unsigned int family)
{
	const struct image *image = change->image;
	struct directory directory;
	int err;

	err = directory_build(image->prefixes, image->prefix_count, family, change->base,
			      &directory);
	if (err)
		return err;
	if (directory.filtered)
		write_filter(change, family);
	err = write_root(change, family, &directory);
	if (!err)
		err = write_cells(change, family, &directory);
	directory_free(&directory);
	return err;
}

static int destination_trie(const struct change *change, unsigned int family)
{
	const struct image *image = change->image;
	struct filling filling;
	int err = filling_new(&filling, family, image->destination_count, sizeof(uint32_t));

	for (size_t i = 0; i < image->destination_count && !err; i++)
		if (image->destinations[i].prefix.family == family)
			filling_add(&filling, &image->destinations[i].prefix,
				    &image->destinations[i].services);
	return filling_trie(&filling, family == 4 ? MAP_DESTINATIONS4 : MAP_DESTINATIONS6, err);
}

/* Nobody reads the idle slot: it may be filled in place. */
static int write_destinations(const struct change *change)
{
	int err = 0;

	for (unsigned int family = 4; family <= 6 && !err; family += 2) {
		int trie = destination_trie(change, family);

		if (trie < 0)
			return trie;
		err = trie_swap(
			change->instance->maps[family == 4 ? MAP_DESTINATIONS4 : MAP_DESTINATIONS6],
			change->slot, trie);
		close(trie);
	}
	return err;
}

/* ---- states ---- */

/* Did the old image, which packets are judged by until the swap, own any of these sets? */
static bool old_owns(const struct change *change, const struct allocation *own)
{
	for (size_t i = 0; change->old && i < change->old->policy_count; i++) {
		const struct image_policy *policy = &change->old->policies[i];

		for (uint32_t j = 0; j < policy->policy.count; j++) {
			const struct allocation *other = &policy->limits[j];

			if (own->slice_base < other->slice_base + other->slice_sets &&
			    other->slice_base < own->slice_base + own->slice_sets)
				return true;
		}
	}
	return false;
}

/* Clear what is to start anew: before the swap the slices that nobody used, after it the rest. */
static int restart_states(const struct change *change, bool before)
{
	int err = 0;

	for (size_t i = 0; i < change->image->policy_count && !err; i++) {
		const struct image_policy *policy = &change->image->policies[i];

		for (uint32_t j = 0; j < policy->policy.count && !err; j++)
			if (policy->limits[j].restart &&
			    before == !old_owns(change, &policy->limits[j]))
				err = states_clear(change->instance, change->base + i, j,
						   &policy->policy.limits[j]);
	}
	return err;
}

static int clamp_states(const struct change *change)
{
	int err = 0;

	for (size_t i = 0; i < change->image->policy_count && !err; i++) {
		const struct image_policy *policy = &change->image->policies[i];

		for (uint32_t j = 0; j < policy->policy.count && !err; j++)
			if (policy->limits[j].clamp)
				err = states_clamp(change->instance, change->base + i, j,
						   &policy->policy.limits[j]);
	}
	return err;
}

static int flush_states(const struct change *change)
{
	int err = 0;

	for (size_t i = 0; i < change->image->policy_count && !err; i++) {
		const struct policy *policy = &change->image->policies[i].policy;

		for (uint32_t j = 0; j < policy->count && !err; j++)
			err = states_clear(change->instance, change->base + i, j,
					   &policy->limits[j]);
	}
	for (uint32_t i = 0; i < change->room.size && !err; i++)
		if (change->room.taken[i])
			err = states_clear(change->instance, room_index(&change->room, i), 0,
					   &change->room.held[i].limits[0]);
	return err ? err : states_clear_private(change->instance);
}

static bool id_is_live(uint32_t id, void *context)
{
	const struct change *change = context;

	if (id >> 31) /* an entry's: forgotten when the entry is replaced or removed */
		return true;
	for (size_t i = 0; i < change->image->policy_count; i++) {
		const struct image_policy *policy = &change->image->policies[i];

		for (uint32_t j = 0; j < policy->policy.count; j++)
			if (policy->limits[j].id == id)
				return true;
	}
	return false;
}

/* ---- counters ---- */

static const struct image_policy *with_cells(const struct image *image, uint32_t cells)
{
	for (size_t i = 0; i < image->policy_count; i++)
		if (image->policies[i].cells == cells)
			return &image->policies[i];
	return NULL;
}

static bool limit_cells_kept(const struct image_policy *policy, uint32_t cells)
{
	for (uint32_t i = 0; policy && i < policy->policy.count; i++)
		if (policy->limits[i].cells == cells)
			return true;
	return false;
}

/* What a policy counted under one action says something else under another. */
static int retire_counters(const struct change *change)
{
	int err = 0;

	for (size_t i = 0; change->old && i < change->old->policy_count && !err; i++) {
		const struct image_policy *old = &change->old->policies[i];
		const struct image_policy *new = with_cells(change->image, old->cells);

		if (!new || new->policy.action != old->policy.action)
			err = cells_retire_policy(change->instance, old->policy.action, old->cells);
		for (uint32_t j = 0; j < old->policy.count && !err; j++)
			if (!limit_cells_kept(new, old->limits[j].cells))
				err = cells_retire_limit(change->instance, old->limits[j].cells);
	}
	return err;
}

/* ---- the whole ---- */

static int prepare(struct change *change, struct message *message)
{
	int err = room_carry_plan(&change->room, change->slot, message);

	if (err)
		return err;
	err = write_policies(change);
	if (!err)
		err = write_services(change);
	if (!err)
		err = write_destinations(change);
	if (!err)
		err = write_directory(change, 4);
	if (!err)
		err = write_directory(change, 6);
	if (!err)
		err = restart_states(change, true);
	if (err)
		return message_set(message, err, "cannot fill the maps: %s", strerror(-err));
	return 0;
}

/*
 * One word of struct live, the generation, switches all that the image brings. Nothing here needs
 * memory of the kernel, so that nothing can fail half-way.
 */
static int swap(struct change *change, struct message *message)
{
	int err = rulings_open(change->instance);

	if (!err)
		err = room_carry(&change->room);
	if (!err)
		err = rulings_close(change->instance, &change->live);
	if (err)
		return message_set(message, err, "cannot put the policy in force: %s",
				   strerror(-err));
	return 0;
}

/* The cells of the generation before, when no packet goes by it any more. */
static int release_old(const struct change *change)
{
	static const enum map_index outer[] = { MAP_PREFIXES4, MAP_PREFIXES6 };
	uint32_t slot = !change->slot;
	int err = packets_wait(change->instance);

	if (err)
		return err;
	for (int i = 0; i < 2; i++)
		if (bpf_map_delete_elem(change->instance->maps[outer[i]], &slot) && errno != ENOENT)
			return -errno;
	filter_settle(change->filter_words, change->filter.words, FILTER_POLICIES, FILTER_ALL);
	return 0;
}

static int settle(struct change *change, bool flush, struct message *message)
{
	int err = release_old(change);

	if (!err)
		err = flush ? flush_states(change) : restart_states(change, false);
	if (!err)
		err = clamp_states(change);
	if (!err)
		err = retire_counters(change);
	if (!err)
		err = states_prune(change->instance, id_is_live, change);
	if (err)
		return message_set(message, err,
				   "the policy is in force, but old states or "
				   "counters could not be cleared: %s",
				   strerror(-err));
	return 0;
}

int apply_image(struct instance *instance, const struct image *old, const struct image *image,
		bool flush, struct message *message)
{
	struct change change = { .instance = instance, .old = old, .image = image };
	int err = check_room(&change, message);

	if (err)
		return err;
	err = begin(&change);
	if (err)
		message_set(message, err, "cannot read the maps: %s", strerror(-err));
	if (!err)
		err = prepare(&change, message);
	if (!err)
		err = swap(&change, message);
	if (!err)
		err = settle(&change, flush, message);
	end(&change);
	return err;
}
