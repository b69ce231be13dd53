/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "apply_room.h"
#include "apply_states.h"
#include "cells.h"
#include "entries.h"
#include "kernel_maps.h"

enum room_size {
	ROOM_SETS_MOST = 1024, /* of a slice that nobody asked a size for */
	ROOM_SPARE = 4,	       /* ways for each source, so that hashing seldom overfills a set */
	ROOM_CELLS = CELL_POLICY_COUNT + CELL_LIMIT_COUNT,
};

#define ROOM_FIRST_ID (1U << 31) /* below are those of images */

static uint32_t first_index(const struct instance *instance)
{
	return 2 * instance->meta.policies;
}

/* Elements [first, first + count) of an array map, `size` bytes each. */
static void *read_elements(int fd, uint32_t first, uint32_t count, size_t size)
{
	char *list = calloc(count + 1UL, size);

	for (uint32_t i = 0; list && i < count; i++) {
		uint32_t index = first + i;

		if (bpf_map_lookup_elem(fd, &index, list + i * size)) {
			free(list);
			return NULL;
		}
	}
	return list;
}

int entry_policies_read(const struct instance *instance, struct policy **list, uint32_t *count)
{
	struct policy *policies = read_elements(instance->maps[MAP_POLICIES], first_index(instance),
						instance->meta.entry_policies, sizeof(*policies));

	if (!policies)
		return -errno;
	*list = policies;
	*count = instance->meta.entry_policies;
	return 0;
}

/* A writer killed half-way leaves a policy that no entry names: it is free. */
static bool is_taken(const struct room *room, uint32_t at)
{
	struct entry entry;

	return room->held[at].count && entry_at(room->instance, &room->words[at].prefix, &entry) &&
	       entry.kind == ENTRY_LIMIT && entry.policy == room_index(room, at);
}

int room_open(const struct instance *instance, const struct image *old, const struct image *image,
	      struct room *room)
{
	int err;

	*room = (struct room){ .instance = instance, .images = { old, image } };
	err = entry_policies_read(instance, &room->held, &room->size);
	if (err)
		return err;
	room->words =
		read_elements(instance->maps[MAP_ENTRY_WORDS], 0, room->size, sizeof(*room->words));
	room->taken = calloc(room->size + 1UL, sizeof(*room->taken));
	if (!room->words || !room->taken)
		return -ENOMEM;
	for (uint32_t i = 0; i < room->size; i++)
		room->taken[i] = is_taken(room, i);
	return 0;
}

void room_close(struct room *room)
{
	free(room->held);
	free(room->taken);
	free(room->next);
	free(room->words);
	*room = (struct room){};
}

const struct policy *room_policy(const struct room *room, uint32_t index)
{
	uint32_t at = index - first_index(room->instance);

	return at < room->size ? &room->held[at] : NULL;
}

uint32_t room_index(const struct room *room, uint32_t at)
{
	return first_index(room->instance) + at;
}

/* ---- what is in use ---- */

struct slices {
	struct slice *list;
	size_t count;
};

static void add_image(struct slices *used, const struct image *image, bool logs)
{
	for (size_t i = 0; image && i < image->policy_count; i++) {
		const struct image_policy *policy = &image->policies[i];

		for (uint32_t j = 0; j < policy->policy.count; j++) {
			const struct allocation *own = &policy->limits[j];

			if (!logs)
				used->list[used->count++] =
					(struct slice){ own->slice_base, own->slice_sets };
			else if (policy->specs[j]->algorithm == ALGO_SLIDING_LOG)
				used->list[used->count++] =
					(struct slice){ own->log_base, own->slice_sets };
		}
	}
}

static void add_held(struct slices *used, const struct room *room, const struct policy *policies,
		     bool logs)
{
	for (uint32_t i = 0; i < room->size; i++) {
		const struct limit *limit = &policies[i].limits[0];

		if (!room->taken[i] || !policies[i].count)
			continue;
		if (!logs)
			used->list[used->count++] =
				(struct slice){ limit->slice_base, limit->slice_mask + 1 };
		else if (limit->algorithm == ALGO_SLIDING_LOG)
			used->list[used->count++] =
				(struct slice){ limit->log_base, limit->slice_mask + 1 };
	}
}

static int slices_in_use(const struct room *room, bool held, bool logs, struct slices *used)
{
	size_t most = 1 + 2 * (size_t)room->size;

	for (int i = 0; i < 2; i++)
		most += room->images[i] ? room->images[i]->policy_count * LIMITS_MAX : 0;
	*used = (struct slices){ .list = calloc(most, sizeof(*used->list)) };
	if (!used->list)
		return -ENOMEM;
	for (int i = 0; i < 2; i++)
		add_image(used, room->images[i], logs);
	if (held)
		add_held(used, room, room->held, logs);
	if (held && room->next)
		add_held(used, room, room->next, logs);
	return 0;
}

static bool overlap(uint32_t a, uint32_t a_size, uint32_t b, uint32_t b_size)
{
	return (uint64_t)a < (uint64_t)b + b_size && (uint64_t)b < (uint64_t)a + a_size;
}

static const struct slice *overlapping(const struct slices *used, uint32_t base, uint32_t size)
{
	for (size_t i = 0; i < used->count; i++)
		if (used->list[i].size &&
		    overlap(used->list[i].base, used->list[i].size, base, size))
			return &used->list[i];
	return NULL;
}

/* Images fill the table from its start: entries take the last slice that is free. */
static int last_free(const struct slices *used, uint32_t total, uint32_t size, uint32_t *base)
{
	const struct slice *other;
	int64_t at;

	if (total < size)
		return -ENOSPC;
	for (at = (total - size) / size * (int64_t)size; at >= 0;) {
		other = overlapping(used, at, size);
		if (!other) {
			*base = at;
			return 0;
		}
		at = ((int64_t)other->base - size) < 0
			     ? -1
			     : ((int64_t)other->base - size) / size * (int64_t)size;
	}
	return -ENOSPC;
}

static void mark(bool *cells, uint32_t total, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count && i < total; i++)
		cells[i] = true;
}

static void mark_image(bool *cells, uint32_t total, const struct image *image)
{
	for (size_t i = 0; image && i < image->policy_count; i++) {
		const struct image_policy *policy = &image->policies[i];

		mark(cells, total, policy->cells, CELL_POLICY_COUNT);
		for (uint32_t j = 0; j < policy->policy.count; j++)
			mark(cells, total, policy->limits[j].cells, CELL_LIMIT_COUNT);
	}
}

static bool *cells_in_use(const struct room *room, bool held)
{
	uint32_t total = room->instance->meta.cells;
	bool *cells = calloc(total, sizeof(*cells));

	if (!cells)
		return NULL;
	mark(cells, total, 0, CELL_GLOBALS);
	for (int i = 0; i < 2; i++)
		mark_image(cells, total, room->images[i]);
	for (uint32_t i = 0; held && i < room->size; i++) {
		if (room->taken[i])
			mark(cells, total, room->held[i].cells, ROOM_CELLS);
		if (room->next && room->next[i].count)
			mark(cells, total, room->next[i].cells, ROOM_CELLS);
	}
	return cells;
}

static bool all_free(const bool *cells, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++)
		if (cells[i])
			return false;
	return true;
}

/* ---- placing ---- */

static int place_cells(const struct room *room, struct policy *policy)
{
	uint32_t total = room->instance->meta.cells;
	bool *cells = cells_in_use(room, true);
	int err = cells ? -ENOSPC : -ENOMEM;

	for (uint32_t at = total - ROOM_CELLS; err == -ENOSPC && at >= CELL_GLOBALS; at--) {
		if (!all_free(cells, at, ROOM_CELLS))
			continue;
		policy->cells = at;
		policy->limits[0].cells = at + CELL_POLICY_COUNT;
		err = 0;
	}
	free(cells);
	return err;
}

/* Sets that all sources of a prefix want, a power of two. */
static uint32_t sets_wished(const struct limit *limit, const struct prefix *prefix)
{
	unsigned int key_len = prefix->family == 4 ? limit->ipv4_len : limit->ipv6_len;
	unsigned int bits = key_len > prefix->len ? key_len - prefix->len : 0;
	uint32_t ways = limit->flags & LIMIT_WIDE ? SET_WAYS_WIDE : SET_WAYS;

	if (limit->slice_mask)
		return limit->slice_mask + 1;
	if (!bits || limit->flags & LIMIT_SHARED)
		return 1;
	if (bits > 12 || (ROOM_SPARE / ways) << bits > ROOM_SETS_MOST)
		return ROOM_SETS_MOST;
	return (ROOM_SPARE << bits) / ways;
}

static int place_slice(const struct room *room, const struct slices *sets,
		       const struct slices *logs, uint32_t size, struct limit *limit)
{
	const struct meta *meta = &room->instance->meta;
	uint32_t base, log_base = 0;
	int err = last_free(sets, meta->sets, size, &base);

	if (!err && limit->algorithm == ALGO_SLIDING_LOG)
		err = last_free(logs, meta->log_sets, size, &log_base);
	if (err)
		return err;
	limit->slice_base = base;
	limit->slice_mask = size - 1;
	limit->log_base = log_base;
	return 0;
}

/* A size that nobody asked for is halved until it fits. */
static int place_slices(const struct room *room, const struct prefix *prefix, struct limit *limit)
{
	struct slices sets = {}, logs = {};
	uint32_t size = sets_wished(limit, prefix);
	bool fixed = limit->slice_mask;
	int err;

	if (room->instance->meta.table != TABLE_SETS)
		return 0;
	err = slices_in_use(room, true, false, &sets);
	if (!err)
		err = slices_in_use(room, true, true, &logs);
	if (!err) {
		do {
			err = place_slice(room, &sets, &logs, size, limit);
			size /= 2;
		} while (err == -ENOSPC && size && !fixed);
	}
	free(sets.list);
	free(logs.list);
	return err;
}

static uint32_t free_id(const struct room *room)
{
	uint32_t id = ROOM_FIRST_ID;

	for (uint32_t i = 0; i < room->size; i++)
		if (room->taken[i] && room->held[i].limits[0].id >= id)
			id = room->held[i].limits[0].id + 1;
	return id >= ROOM_FIRST_ID ? id : ROOM_FIRST_ID;
}

static int free_place(const struct room *room, uint32_t *at)
{
	for (uint32_t i = 0; i < room->size; i++)
		if (!room->taken[i]) {
			*at = i;
			return 0;
		}
	return -ENOSPC;
}

/* The change rule of images, for one limit: what may go on with the states of `before`. */
static bool goes_on(const struct limit *before, const struct limit *limit)
{
	bool same = before->algorithm == limit->algorithm && before->ipv4_len == limit->ipv4_len &&
		    before->ipv6_len == limit->ipv6_len && before->flags == limit->flags &&
		    (!limit->slice_mask || limit->slice_mask == before->slice_mask);

	return same &&
	       (limit->algorithm == ALGO_TOKEN_BUCKET || before->interval_ns == limit->interval_ns);
}

static int no_room(int err, struct message *message)
{
	if (err != -ENOSPC)
		return message_set(message, err, "%s", strerror(-err));
	message_set(message, err, "there is no room for another limit set by hand");
	return message_hint(message, err,
			    "weir remove one, or write the limit into the policy file");
}

int room_place(struct room *room, const struct prefix *prefix, const struct policy *before,
	       struct policy *policy, uint32_t *index, bool *fresh, struct message *message)
{
	struct limit *limit = &policy->limits[0];
	uint32_t at;
	int err = free_place(room, &at);

	if (err)
		return no_room(err, message);
	*fresh = !before || !goes_on(&before->limits[0], limit);
	if (!*fresh) {
		policy->cells = before->cells;
		limit->cells = before->limits[0].cells;
		limit->id = before->limits[0].id;
		limit->slice_base = before->limits[0].slice_base;
		limit->slice_mask = before->limits[0].slice_mask;
		limit->log_base = before->limits[0].log_base;
	} else {
		limit->id = free_id(room);
		err = place_slices(room, prefix, limit);
		if (!err)
			err = place_cells(room, policy);
		if (err)
			return no_room(err, message);
	}
	limit->batch = 0;
	*index = first_index(room->instance) + at;
	return 0;
}

int room_write(struct room *room, uint32_t index, const struct policy *policy,
	       const struct entry_words *words)
{
	const int *maps = room->instance->maps;
	uint32_t at = index - first_index(room->instance);

	if (words && bpf_map_update_elem(maps[MAP_ENTRY_WORDS], &at, words, BPF_ANY))
		return -errno;
	if (bpf_map_update_elem(maps[MAP_POLICIES], &index, policy, BPF_ANY))
		return -errno;
	if (words)
		room->words[at] = *words;
	room->held[at] = *policy;
	room->taken[at] = policy->count;
	return 0;
}

/* Another entry may go on with the cells and states of the one that is gone. */
static bool shared_with_another(const struct room *room, uint32_t at)
{
	for (uint32_t i = 0; i < room->size; i++)
		if (i != at && room->taken[i] && room->held[i].cells == room->held[at].cells)
			return true;
	return false;
}

int room_release(struct room *room, uint32_t index)
{
	uint32_t at = index - first_index(room->instance);
	const struct entry_words no_words = {};
	const struct policy *policy, none = {};
	int err = 0;

	if (at >= room->size || !room->held[at].count)
		return 0;
	policy = &room->held[at];
	if (!shared_with_another(room, at)) {
		err = cells_retire_policy(room->instance, policy->action, policy->cells);
		if (!err)
			err = cells_retire_limit(room->instance, policy->limits[0].cells);
		if (!err && room->instance->meta.table != TABLE_SETS)
			err = states_clear(room->instance, index, 0, &policy->limits[0]);
	}
	return err ? err : room_write(room, index, &none, &no_words);
}

/* ---- under a new image ---- */

static int service_index(const struct ruleset *ruleset, const char *name)
{
	for (size_t i = 0; i < ruleset->service_count; i++)
		if (!strcmp(ruleset->services[i].name, name))
			return i;
	return -1;
}

/* The bit of a service may be another one in the new image: the name counts. */
static int carry_services(const struct room *room, const struct prefix *at, struct policy *policy,
			  struct message *message)
{
	const struct ruleset *old = room->images[0]->ruleset, *new = room->images[1]->ruleset;
	char prefix[PREFIX_TEXT];
	uint32_t mask = 0;

	for (size_t i = 0; i < old->service_count; i++) {
		int index;

		if (!(policy->services & 1U << i))
			continue;
		index = service_index(new, old->services[i].name);
		if (index < 0) {
			message_set(message, -EINVAL,
				    "the limit set by hand on %s is for the service %s, which the "
				    "new policy does not have",
				    units_prefix_text(at, prefix, sizeof(prefix)),
				    old->services[i].name);
			return message_hint(message, -EINVAL, "weir remove %s first", prefix);
		}
		mask |= 1U << index;
	}
	policy->limits[0].services = mask;
	policy_sum_limits(policy, room->images[1]->services_any);
	return 0;
}

/* Does the new image own what the entry's limit has? */
static int collides(const struct room *room, const struct policy *policy, bool *hit)
{
	const struct limit *limit = &policy->limits[0];
	struct slices sets = {}, logs = {};
	bool *cells = cells_in_use(room, false);
	int err = cells ? slices_in_use(room, false, false, &sets) : -ENOMEM;

	if (!err)
		err = slices_in_use(room, false, true, &logs);
	if (!err && room->instance->meta.table == TABLE_SETS)
		*hit = overlapping(&sets, limit->slice_base, limit->slice_mask + 1) ||
		       (limit->algorithm == ALGO_SLIDING_LOG &&
			overlapping(&logs, limit->log_base, limit->slice_mask + 1));
	if (!err)
		*hit |= !all_free(cells, policy->cells, ROOM_CELLS);
	free(cells);
	free(sets.list);
	free(logs.list);
	return err;
}

static int move_away(struct room *room, const struct prefix *prefix, struct policy *policy)
{
	int err;

	policy->limits[0].slice_mask = 0;
	err = place_slices(room, prefix, &policy->limits[0]);
	return err ? err : place_cells(room, policy);
}

static int plan_one(struct room *room, uint32_t at, uint32_t slot, struct message *message)
{
	const struct prefix *prefix = &room->words[at].prefix;
	struct policy *policy = &room->next[at];
	bool moved = false;
	int err;

	*policy = room->held[at];
	err = carry_services(room, prefix, policy, message);
	if (err)
		return err;
	policy->services_base = slot * SERVICE_ROWS;
	policy->generation = slot;
	err = collides(room, policy, &moved);
	if (!err && moved)
		err = move_away(room, prefix, policy);
	return err ? no_room(err, message) : 0;
}

int room_carry_plan(struct room *room, uint32_t slot, struct message *message)
{
	int err = 0;

	room->next = calloc(room->size + 1UL, sizeof(*room->next));
	if (!room->next)
		return no_room(-ENOMEM, message);
	if (!room->images[0] || !room->images[1])
		return 0;
	for (uint32_t i = 0; i < room->size && !err; i++)
		if (room->taken[i])
			err = plan_one(room, i, slot, message);
	return err;
}

static int carry_one(struct room *room, uint32_t at)
{
	const struct policy before = room->held[at], *policy = &room->next[at];
	uint32_t index = room_index(room, at);
	bool moved = before.cells != policy->cells ||
		     before.limits[0].slice_base != policy->limits[0].slice_base;
	int err = room_write(room, index, policy, NULL);

	if (err || !moved)
		return err;
	err = states_clear(room->instance, index, 0, &policy->limits[0]);
	if (!err)
		err = cells_retire_policy(room->instance, before.action, before.cells);
	return err ? err : cells_retire_limit(room->instance, before.limits[0].cells);
}

int room_carry(struct room *room)
{
	int err = 0;

	for (uint32_t i = 0; i < room->size && !err; i++)
		if (room->next[i].count)
			err = carry_one(room, i);
	return err;
}
