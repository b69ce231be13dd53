/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "apply_filter.h"
#include "apply_room.h"
#include "apply_states.h"
#include "entries.h"
#include "kernel_maps.h"

enum entries_size {
	SCAN_MOST = 16384, /* so many entries are looked through at each change */
	SCAN_EACH = 4096,  /* more of them: at every such number of entries */
};

/* ---- reading ---- */

struct listing {
	struct entry_item *list;
	size_t count, room;
	unsigned int family;
};

static int listing_grow(struct listing *listing, size_t by)
{
	size_t room = 2 * (listing->count + by);
	struct entry_item *list;

	if (listing->count + by <= listing->room)
		return 0;
	list = realloc(listing->list, room * sizeof(*list));
	if (!list)
		return -ENOMEM;
	listing->list = list;
	listing->room = room;
	return 0;
}

static struct prefix prefix_of_key(unsigned int family, const void *key)
{
	struct prefix prefix = { .family = family };
	union prefix_key from = {};

	memcpy(&from, key, prefix_key_size(family));
	prefix.len = from.v4.len;
	if (family == 4)
		memcpy(prefix.addr, from.v4.addr, sizeof(from.v4.addr));
	else
		memcpy(prefix.addr, from.v6.addr, sizeof(from.v6.addr));
	return prefix;
}

static int visit_entries(const void *keys, const void *values, uint32_t count, void *context)
{
	struct listing *listing = context;
	const struct entry *entry = values;
	const char *key = keys;
	int err = listing_grow(listing, count);

	for (uint32_t i = 0; i < count && !err; i++)
		listing->list[listing->count++] = (struct entry_item){
			prefix_of_key(listing->family, key + i * prefix_key_size(listing->family)),
			entry[i]
		};
	return err;
}

static int read_family(const struct instance *instance, unsigned int family,
		       struct listing *listing)
{
	enum map_index index = family == 4 ? MAP_ENTRY_TRIE4 : MAP_ENTRY_TRIE6;
	struct map_walk walk = { instance->maps[index], prefix_key_size(family),
				 sizeof(struct entry), 8192, 0 };

	listing->family = family;
	return map_walk(&walk, visit_entries, listing);
}

/* A walk without the lock may meet an entry twice, where its place in the walk was deleted. */
static size_t drop_doubles(struct entry_item *list, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (!kept || prefix_compare(&list[kept - 1].prefix, &list[i].prefix))
			list[kept++] = list[i];
	return kept;
}

int entries_all(const struct instance *instance, struct entry_item **list, size_t *count)
{
	struct listing listing = {};
	int err = read_family(instance, 4, &listing);

	if (!err)
		err = read_family(instance, 6, &listing);
	if (err) {
		free(listing.list);
		return err;
	}
	if (listing.count)
		qsort(listing.list, listing.count, sizeof(*listing.list), prefix_compare);
	*count = drop_doubles(listing.list, listing.count);
	*list = listing.list;
	return 0;
}

bool entry_expired(const struct entry *entry, uint64_t now)
{
	return entry->expires_ns && entry->expires_ns <= now;
}

static void add_words(const struct instance *instance, struct entry_state *state)
{
	uint32_t at = state->entry.policy - 2 * instance->meta.policies;
	struct entry_words words;

	if (state->entry.kind == ENTRY_LIMIT &&
	    !bpf_map_lookup_elem(instance->maps[MAP_ENTRY_WORDS], &at, &words))
		snprintf(state->text, sizeof(state->text), "%s", words.text);
}

int entries_read(const struct instance *instance, uint64_t now, struct entry_state **list,
		 size_t *count)
{
	struct entry_state *states;
	struct entry_item *items;
	size_t all, kept = 0;
	int err = entries_all(instance, &items, &all);

	if (err)
		return err;
	states = calloc(all + 1, sizeof(*states));
	for (size_t i = 0; i < all && states; i++) {
		if (entry_expired(&items[i].entry, now))
			continue;
		states[kept].prefix = items[i].prefix;
		states[kept].entry = items[i].entry;
		add_words(instance, &states[kept++]);
	}
	free(items);
	if (!states)
		return -ENOMEM;
	*list = states;
	*count = kept;
	return 0;
}

/* ---- one trie ---- */

static int trie_fd(const struct instance *instance, const struct prefix *prefix)
{
	return instance->maps[prefix->family == 4 ? MAP_ENTRY_TRIE4 : MAP_ENTRY_TRIE6];
}

/* The longest entry that covers `prefix` or is it; false: none. */
static bool covering(const struct instance *instance, const struct prefix *prefix,
		     struct entry *entry)
{
	union prefix_key key = prefix_key(prefix);

	return !bpf_map_lookup_elem(trie_fd(instance, prefix), &key, entry);
}

bool entry_at(const struct instance *instance, const struct prefix *prefix, struct entry *entry)
{
	return covering(instance, prefix, entry) && entry->len == prefix->len;
}

static struct prefix cut(struct prefix prefix, uint8_t len)
{
	prefix.len = len;
	for (unsigned int bit = len; bit < 128; bit++)
		prefix.addr[bit / 8] &= ~(0x80 >> bit % 8);
	return prefix;
}

bool entry_find(const struct instance *instance, const struct prefix *prefix, uint64_t now,
		struct entry_state *state)
{
	struct prefix wanted = *prefix;
	struct entry entry;

	while (covering(instance, &wanted, &entry)) {
		if (!entry_expired(&entry, now)) {
			*state = (struct entry_state){ cut(*prefix, entry.len), entry, "" };
			add_words(instance, state);
			return true;
		}
		if (!entry.len)
			return false;
		wanted = cut(wanted, entry.len - 1);
	}
	return false;
}

static int delete_at(const struct instance *instance, const struct prefix *prefix)
{
	union prefix_key key = prefix_key(prefix);

	return bpf_map_delete_elem(trie_fd(instance, prefix), &key) ? -errno : 0;
}

/* ---- how deep entries nest ---- */

static int too_deep(const struct prefix *const *chain, size_t count, struct message *message)
{
	char names[400] = "", text[PREFIX_TEXT];
	size_t length = 0;

	for (size_t i = 0; i < count && length < sizeof(names) - PREFIX_TEXT; i++)
		length += snprintf(names + length, sizeof(names) - length, "%s%s", i ? ", " : "",
				   units_prefix_text(chain[i], text, sizeof(text)));
	message_set(message, -E2BIG, "entries may nest %d deep, these are one within the other: %s",
		    ENTRY_NEST, names);
	return message_hint(message, -E2BIG, "weir remove one of them first");
}

/*
 * `list` is sorted: what covers an entry stands before it. *nest: how many lie one within the
 * other at most.
 */
int entries_nesting(const struct entry_item *list, size_t count, uint32_t *nest,
		    struct message *message)
{
	const struct prefix *chain[ENTRY_NEST + 1];
	size_t depth = 0;

	*nest = 0;
	for (size_t i = 0; i < count; i++) {
		while (depth && !prefix_contains(chain[depth - 1], &list[i].prefix))
			depth--;
		chain[depth++] = &list[i].prefix;
		if (depth > ENTRY_NEST)
			return too_deep(chain, depth, message);
		if (depth > *nest)
			*nest = depth;
	}
	return 0;
}

int entries_filter(const struct entry_item *list, size_t count, struct filter *filter)
{
	int err = filter_new(filter);

	for (size_t i = 0; i < count && !err; i++)
		filter_add_entry(filter, &list[i].prefix);
	return err;
}

/* ---- a change of one entry ---- */

/* What one change knows and does to the whole. */
struct edit {
	struct instance *instance;
	uint64_t now;
	struct room room;
	struct live live;
	int64_t count_change;
	uint64_t *filter;
};

int entries_failed(int err, const char *what, struct message *message)
{
	return message_set(message, err, "cannot %s the entries: %s", what, strerror(-err));
}

static int edit_begin(struct edit *edit, struct instance *instance, const struct image *image,
		      struct message *message)
{
	int err;

	*edit = (struct edit){ .instance = instance, .now = kernel_now_ns() };
	err = live_read(instance, &edit->live);
	if (!err)
		err = rulings_open(instance);
	if (!err)
		err = filter_map(instance, &edit->filter);
	if (!err)
		err = room_open(instance, NULL, image, &edit->room);
	return err ? entries_failed(err, "read", message) : 0;
}

int entries_count_some(const struct instance *instance, size_t count)
{
	struct live live;
	int err = live_read(instance, &live);

	if (err || live.entries)
		return err;
	live.entries = count;
	return live_write(instance, &live);
}

/*
 * Where the count says that none is left, look: a writer that died had put one in its trie before
 * it was counted. What is removed leaves its bits in the filter, which others may share; they go
 * with the last one.
 */
static int count_none(const struct edit *edit, struct live *live)
{
	struct entry_item *list;
	size_t count;
	int err = entries_all(edit->instance, &list, &count);

	if (err)
		return err;
	free(list);
	live->entries = count;
	if (!count)
		filter_settle(edit->filter, NULL, FILTER_ENTRIES, FILTER_POLICIES);
	return 0;
}

/* What was changed is counted, whether all went well or not. Returns the first error. */
static int edit_end(struct edit *edit, int err, struct message *message)
{
	struct live now;
	int counted = live_read(edit->instance, &now);

	if (!counted) {
		now.entries = (int64_t)now.entries + edit->count_change > 0
				      ? now.entries + edit->count_change
				      : 0;
		now.nest = edit->live.nest;
		if (!now.entries && edit->count_change < 0)
			counted = count_none(edit, &now);
	}
	if (!counted)
		counted = rulings_close(edit->instance, &now);
	filter_unmap(edit->filter);
	room_close(&edit->room);
	return err || !counted ? err : entries_failed(counted, "count", message);
}

/* An entry is gone from its trie: what its limit owned is free once no packet is under way. */
static int release(struct edit *edit, const struct entry *entry)
{
	int err;

	if (entry->kind != ENTRY_LIMIT)
		return 0;
	err = packets_wait(edit->instance);
	return err ? err : room_release(&edit->room, entry->policy);
}

static int drop_entry(struct edit *edit, const struct prefix *prefix, const struct entry *entry)
{
	int err = delete_at(edit->instance, prefix);

	if (err)
		return err == -ENOENT ? 0 : err;
	edit->count_change--;
	return release(edit, entry);
}

/* Drop what has expired of a list; *count is what is left. */
static int prune(struct edit *edit, struct entry_item *list, size_t *count)
{
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < *count && !err; i++) {
		if (entry_expired(&list[i].entry, edit->now))
			err = drop_entry(edit, &list[i].prefix, &list[i].entry);
		else
			list[kept++] = list[i];
	}
	*count = kept;
	return err;
}

/* Their places are few: those of limits that have expired are needed at once. */
static int prune_limits(struct edit *edit)
{
	int err = 0;

	for (uint32_t i = 0; i < edit->room.size && !err; i++) {
		struct prefix prefix = edit->room.words[i].prefix;
		struct entry entry;

		if (edit->room.taken[i] && entry_at(edit->instance, &prefix, &entry) &&
		    entry_expired(&entry, edit->now))
			err = drop_entry(edit, &prefix, &entry);
	}
	return err;
}

/* The list with `prefix` in its place, checked for nesting. */
static int check_with(const struct entry_item *list, size_t count, const struct prefix *prefix,
		      uint32_t *nest, struct message *message)
{
	struct entry_item *all = malloc((count + 1) * sizeof(*all));
	size_t at = 0;
	int err;

	if (!all)
		return message_set(message, -ENOMEM, "no memory for %zu entries", count);
	while (at < count && prefix_compare(&list[at].prefix, prefix) < 0)
		at++;
	if (at)
		memcpy(all, list, at * sizeof(*all));
	all[at] = (struct entry_item){ .prefix = *prefix };
	if (at < count && !prefix_compare(&list[at].prefix, prefix))
		memcpy(all + at, list + at, (count - at) * sizeof(*all));
	else if (count++ > at)
		memcpy(all + at + 1, list + at, (count - 1 - at) * sizeof(*all));
	err = entries_nesting(all, count, nest, message);
	free(all);
	return err;
}

/* All entries there are: the filter needs no other bits. */
static int clean_filter(const struct edit *edit, const struct entry_item *list, size_t count)
{
	struct filter exact;
	int err = entries_filter(list, count, &exact);

	if (err)
		return err;
	filter_settle(edit->filter, exact.words, FILTER_ENTRIES, FILTER_POLICIES);
	filter_free(&exact);
	return 0;
}

/* Prune, and refuse what would nest too deep. */
static int look_at_all(struct edit *edit, const struct prefix *prefix, struct message *message)
{
	struct entry_item *list = NULL;
	size_t count = 0, all;
	int err = entries_all(edit->instance, &list, &count);

	all = count;
	if (!err)
		err = prune(edit, list, &count);
	if (!err && count != all)
		err = clean_filter(edit, list, count);
	err = err ? entries_failed(err, "read", message)
		  : check_with(list, count, prefix, &edit->live.nest, message);
	free(list);
	return err;
}

/* How many entries cover a prefix, itself included; what has expired of them goes. */
static int chain_depth(struct edit *edit, const struct prefix *prefix, size_t *depth)
{
	struct prefix at = *prefix;
	struct entry entry;
	int err = 0;

	for (*depth = 1; at.len && *depth <= ENTRY_NEST && !err;) {
		at = cut(at, at.len - 1);
		if (!covering(edit->instance, &at, &entry))
			break;
		at = cut(at, entry.len);
		if (entry_expired(&entry, edit->now))
			err = drop_entry(edit, &at, &entry);
		else
			(*depth)++;
	}
	return err;
}

static bool scan_is_due(const struct edit *edit)
{
	return edit->live.entries <= SCAN_MOST || edit->live.entries % SCAN_EACH == 0;
}

/*
 * With a million entries a look at all takes seconds. It can be spared where even the deepest
 * nest there may be, put below the entry, does not go too deep; below an address is nothing.
 */
static int make_way(struct edit *edit, const struct prefix *prefix, struct message *message)
{
	bool address = prefix->len == (prefix->family == 4 ? 32 : 128);
	size_t depth;
	int err = chain_depth(edit, prefix, &depth);

	if (!err)
		err = prune_limits(edit);
	if (err)
		return entries_failed(err, "prune", message);
	if (!address)
		depth += edit->live.nest;
	if (scan_is_due(edit) || depth > ENTRY_NEST)
		return look_at_all(edit, prefix, message);
	if (depth > edit->live.nest)
		edit->live.nest = depth;
	return 0;
}

static int place_limit(struct edit *edit, const struct entry *old, struct policy *policy,
		       const struct entry_words *words, struct entry *entry,
		       struct message *message)
{
	const struct policy *before = old ? room_policy(&edit->room, old->policy) : NULL;
	bool fresh, clamp;
	int err = room_place(&edit->room, &words->prefix, before, policy, &entry->policy, &fresh,
			     message);

	if (err)
		return err;
	policy->services_base = (edit->live.generation & 1) * SERVICE_ROWS;
	policy->generation = edit->live.generation & 1;
	clamp = !fresh && policy->limits[0].burst_ns < before->limits[0].burst_ns;
	err = room_write(&edit->room, entry->policy, policy, words);
	if (!err && fresh)
		err = states_clear(edit->instance, entry->policy, 0, &policy->limits[0]);
	if (!err && clamp)
		err = states_clamp(edit->instance, entry->policy, 0, &policy->limits[0]);
	return err ? entries_failed(err, "write", message) : 0;
}

static int put_entry(struct edit *edit, const struct prefix *prefix, const struct entry *entry,
		     const struct entry *old, struct message *message)
{
	struct filter in_use = { .words = edit->filter };
	union prefix_key key = prefix_key(prefix);
	int err = 0;

	filter_add_entry(&in_use, prefix);
	if (!edit->live.entries && !old) {
		err = entries_count_some(edit->instance, 1);
		if (err)
			return entries_failed(err, "count", message);
		edit->count_change--;
	}
	if (bpf_map_update_elem(trie_fd(edit->instance, prefix), &key, entry, BPF_ANY))
		return entries_failed(-errno, "write", message);
	if (old)
		err = release(edit, old);
	else
		edit->count_change++;
	return err ? entries_failed(err, "write", message) : 0;
}

static int set_one(struct edit *edit, struct entry *entry, struct policy *policy,
		   const struct entry_words *words, struct message *message)
{
	struct entry there;
	const struct entry *old = NULL;
	int err;

	if (entry_at(edit->instance, &words->prefix, &there))
		old = &there;
	if (entry->kind == ENTRY_LIMIT) {
		err = place_limit(edit, old && old->kind == ENTRY_LIMIT ? old : NULL, policy, words,
				  entry, message);
		if (err)
			return err;
	}
	return put_entry(edit, &words->prefix, entry, old, message);
}

int entry_set(struct instance *instance, const struct image *image, const struct prefix *prefix,
	      enum entry_kind kind, uint64_t expires_ns, struct policy *policy, const char *text,
	      struct message *message)
{
	struct entry entry = { .expires_ns = expires_ns, .kind = kind, .len = prefix->len };
	struct entry_words words = { .prefix = *prefix };
	struct edit edit;
	int err;

	if (kind == ENTRY_LIMIT)
		snprintf(words.text, sizeof(words.text), "%s", text);
	err = edit_begin(&edit, instance, image, message);
	if (!err)
		err = make_way(&edit, prefix, message);
	if (!err)
		err = set_one(&edit, &entry, policy, &words, message);
	return edit_end(&edit, err, message);
}

static int no_entry(const struct instance *instance, const struct prefix *prefix,
		    struct message *message)
{
	char text[PREFIX_TEXT], other[PREFIX_TEXT];
	struct entry entry;
	struct prefix outer;

	message_set(message, -ENOENT, "there is no entry for %s",
		    units_prefix_text(prefix, text, sizeof(text)));
	if (!covering(instance, prefix, &entry))
		return -ENOENT;
	outer = cut(*prefix, entry.len);
	return message_hint(message, -ENOENT, "it lies within %s",
			    units_prefix_text(&outer, other, sizeof(other)));
}

int entry_remove(struct instance *instance, const struct prefix *prefix, struct message *message)
{
	struct edit edit;
	struct entry entry;
	int err;

	if (!entry_at(instance, prefix, &entry))
		return no_entry(instance, prefix, message);
	err = edit_begin(&edit, instance, NULL, message);
	if (!err) {
		err = drop_entry(&edit, prefix, &entry);
		if (err)
			entries_failed(err, "change", message);
	}
	err = edit_end(&edit, err, message);
	return !err && entry_expired(&entry, kernel_now_ns()) ? no_entry(instance, prefix, message)
							      : err;
}
