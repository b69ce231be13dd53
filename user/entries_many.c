/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apply_filter.h"
#include "apply_room.h"
#include "entries.h"
#include "kernel_maps.h"
#include "pins.h"

enum many_size {
	FILL_CHUNK = 65536,
};

/* Those there and the new ones, sorted; where both have a prefix, the new one. */
struct merge {
	struct entry_item *list;
	size_t count;
	struct entry_item *gone; /* what is left out: expired or replaced */
	size_t gone_count;
};

static void merge_take(struct merge *merge, const struct entry_item *state)
{
	merge->list[merge->count++] = *state;
}

static void merge_old(struct merge *merge, const struct entry_item *state, bool replaced,
		      uint64_t now)
{
	if (replaced || entry_expired(&state->entry, now))
		merge->gone[merge->gone_count++] = *state;
	else
		merge_take(merge, state);
}

static void merge_all(struct merge *merge, const struct entry_item *old, size_t old_count,
		      const struct prefix *sorted, size_t count, uint64_t expires_ns, uint64_t now)
{
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		struct entry_item new = { .prefix = sorted[i],
					  .entry = { .expires_ns = expires_ns,
						     .kind = ENTRY_BLOCK,
						     .len = sorted[i].len } };

		if (i && !prefix_compare(&sorted[i - 1], &sorted[i]))
			continue;
		while (at < old_count && prefix_compare(&old[at].prefix, &sorted[i]) < 0)
			merge_old(merge, &old[at++], false, now);
		if (at < old_count && !prefix_compare(&old[at].prefix, &sorted[i]))
			merge_old(merge, &old[at++], true, now);
		merge_take(merge, &new);
	}
	while (at < old_count)
		merge_old(merge, &old[at++], false, now);
}

static int merge_new(struct merge *merge, const struct entry_item *old, size_t old_count,
		     const struct prefix *prefixes, size_t count, uint64_t expires_ns, uint64_t now)
{
	struct prefix *sorted = malloc((count + 1) * sizeof(*sorted));

	*merge = (struct merge){ .list = malloc((old_count + count + 1) * sizeof(*merge->list)),
				 .gone = malloc((old_count + 1) * sizeof(*merge->gone)) };
	if (!sorted || !merge->list || !merge->gone) {
		free(sorted);
		return -ENOMEM;
	}
	if (count)
		memcpy(sorted, prefixes, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), prefix_compare);
	merge_all(merge, old, old_count, sorted, count, expires_ns, now);
	free(sorted);
	return 0;
}

static void merge_free(struct merge *merge)
{
	free(merge->list);
	free(merge->gone);
}

struct progress {
	void (*report)(size_t done, size_t of);
	size_t done, of;
};

/* Those of one family. */
static int fill_chunk(int trie, unsigned int family, const struct entry_item *list, size_t count)
{
	char *keys = malloc(count * prefix_key_size(family));
	struct entry *values = malloc(count * sizeof(*values));
	size_t taken = 0;
	int err = keys && values ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !err; i++) {
		union prefix_key key = prefix_key(&list[i].prefix);

		if (list[i].prefix.family != family)
			continue;
		memcpy(keys + taken * prefix_key_size(family), &key, prefix_key_size(family));
		values[taken++] = list[i].entry;
	}
	if (!err)
		err = map_fill(trie, keys, prefix_key_size(family), values, sizeof(*values), taken);
	free(keys);
	free(values);
	return err;
}

static int fill_trie(int trie, unsigned int family, const struct merge *merge,
		     struct progress *progress)
{
	int err = 0;

	for (size_t at = 0; at < merge->count && !err; at += FILL_CHUNK) {
		size_t count = merge->count - at < FILL_CHUNK ? merge->count - at : FILL_CHUNK;

		err = fill_chunk(trie, family, merge->list + at, count);
		progress->done += count;
		if (!err && progress->report)
			progress->report(progress->done, progress->of);
	}
	return err;
}

/* The pin first: whoever opens the instance next finishes a swap that was cut short. */
static int replace_trie(struct instance *instance, unsigned int family, int trie,
			struct message *message)
{
	enum map_index index = family == 4 ? MAP_ENTRY_TRIE4 : MAP_ENTRY_TRIE6;
	int err = pins_put(trie, instance->path, map_shape(index)->name, PINS_GROUP, message);

	if (err)
		return err;
	err = trie_swap(instance->maps[family == 4 ? MAP_ENTRIES4 : MAP_ENTRIES6], 0, trie);
	if (err) {
		pins_put(instance->maps[index], instance->path, map_shape(index)->name, PINS_GROUP,
			 NULL);
		return entries_failed(err, "swap", message);
	}
	close(instance->maps[index]);
	instance->maps[index] = trie;
	return 0;
}

/* Both tries are ready before the first is swapped in. */
static int swap_tries(struct instance *instance, const struct merge *merge,
		      struct progress *progress, struct message *message)
{
	int tries[2] = { map_make(MAP_ENTRY_TRIE4, &instance->meta),
			 map_make(MAP_ENTRY_TRIE6, &instance->meta) };
	int err = 0;

	for (int i = 0; i < 2 && !err; i++) {
		err = tries[i] < 0 ? tries[i] : fill_trie(tries[i], i ? 6 : 4, merge, progress);
		if (err)
			entries_failed(err, "fill", message);
	}
	if (!err) {
		err = rulings_open(instance);
		if (!err)
			err = entries_count_some(instance, merge->count);
		if (err)
			entries_failed(err, "count", message);
	}
	for (int i = 0; i < 2 && !err; i++) {
		err = replace_trie(instance, i ? 6 : 4, tries[i], message);
		if (!err)
			tries[i] = -1;
	}
	for (int i = 0; i < 2; i++)
		if (tries[i] >= 0)
			close(tries[i]);
	return err;
}

/* After the swap: the count, and what the limits that are gone owned. */
static int settle(struct instance *instance, const struct merge *merge, uint32_t nest,
		  struct room *room)
{
	struct live live;
	int err = live_read(instance, &live);

	if (!err) {
		live.entries = merge->count;
		live.nest = nest;
		err = rulings_close(instance, &live);
	}
	for (size_t i = 0; i < merge->gone_count && !err; i++)
		if (merge->gone[i].entry.kind == ENTRY_LIMIT)
			err = room_release(room, merge->gone[i].entry.policy);
	return err;
}

/* The filter lets through to old entries and new ones until the new ones are all there are. */
static int swap_filtered(struct instance *instance, const struct merge *merge,
			 struct progress *progress, struct message *message)
{
	struct filter filter;
	uint64_t *words = NULL;
	int err = entries_filter(merge->list, merge->count, &filter);

	if (!err)
		err = filter_map(instance, &words);
	if (err) {
		filter_free(&filter);
		return entries_failed(err, "filter", message);
	}
	filter_join(words, filter.words, FILTER_ENTRIES, FILTER_POLICIES);
	err = swap_tries(instance, merge, progress, message);
	if (!err)
		filter_settle(words, filter.words, FILTER_ENTRIES, FILTER_POLICIES);
	filter_unmap(words);
	filter_free(&filter);
	return err;
}

static int block_merged(struct instance *instance, const struct merge *merge,
			void (*report)(size_t done, size_t of), struct message *message)
{
	struct progress progress = { .report = report, .of = 2 * merge->count };
	struct room room;
	uint32_t nest;
	int err;

	if (merge->count > MAPS_ENTRIES)
		return message_set(message, -E2BIG, "%zu entries are too many: at most %u",
				   merge->count, MAPS_ENTRIES);
	err = entries_nesting(merge->list, merge->count, &nest, message);
	if (err)
		return err;
	err = room_open(instance, NULL, NULL, &room);
	if (err)
		entries_failed(err, "read", message);
	if (!err)
		err = swap_filtered(instance, merge, &progress, message);
	if (!err) {
		err = settle(instance, merge, nest, &room);
		if (err)
			entries_failed(err, "count", message);
	}
	room_close(&room);
	return err;
}

int entries_block(struct instance *instance, const struct prefix *prefixes, size_t count,
		  uint64_t expires_ns, void (*progress)(size_t done, size_t of),
		  struct message *message)
{
	struct entry_item *old;
	struct merge merge = {};
	size_t old_count;
	int err = entries_all(instance, &old, &old_count);

	if (err)
		return entries_failed(err, "read", message);
	err = merge_new(&merge, old, old_count, prefixes, count, expires_ns, kernel_now_ns());
	if (err)
		entries_failed(err, "merge", message);
	else
		err = block_merged(instance, &merge, progress, message);
	merge_free(&merge);
	free(old);
	return err;
}
