/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tries of entries as a whole, and keys of tries. For apply and entries;
 * what others need of entries is in apply.h.
 */
#ifndef WEIR_ENTRIES_H
#define WEIR_ENTRIES_H

#include "apply.h"
#include "filter.h"

/* An entry without its words: there may be millions. */
struct entry_item {
	struct prefix prefix; /* first: prefix_compare sorts these */
	struct entry entry;
};

/* All entries there are, expired ones too, sorted by prefix; *list is malloc'ed. */
int entries_all(const struct instance *instance, struct entry_item **list, size_t *count);

/* The entry of exactly this prefix, expired or not. */
bool entry_at(const struct instance *instance, const struct prefix *prefix, struct entry *entry);

bool entry_expired(const struct entry *entry, uint64_t now);

/*
 * `list` is sorted. *nest: how many lie one within the other at most; -E2BIG where that is more
 * than the program follows.
 */
int entries_nesting(const struct entry_item *list, size_t count, uint32_t *nest,
		    struct message *message);

/* A new filter with the bits of these: 0 or -ENOMEM. */
int entries_filter(const struct entry_item *list, size_t count, struct filter *filter);

/* "cannot WHAT the entries: ..."; returns err. */
int entries_failed(int err, const char *what, struct message *message);

/*
 * The policies of limits set by hand: *list is malloc'ed, meta.entry_policies of them; those with
 * a count of 0 are free.
 */
int entry_policies_read(const struct instance *instance, struct policy **list, uint32_t *count);

/* The key of a prefix: a struct prefix4_key or prefix6_key. */
union prefix_key {
	struct prefix4_key v4;
	struct prefix6_key v6;
};
union prefix_key prefix_key(const struct prefix *prefix);
size_t prefix_key_size(unsigned int family);

/*
 * Put a trie into an outer map's slot. The kernel returns when no packet is under way to the one
 * that was there; the same trie again is a way to wait for that.
 */
int trie_swap(int outer_fd, uint32_t slot, int trie_fd);

/* Change struct live, of which each writer knows a part. Under the instance's lock. */
int live_read(const struct instance *instance, struct live *live);
int live_write(const struct instance *instance, const struct live *live);

/*
 * Around a change of what packets are ruled by, policies or entries: while it is open, and after
 * it, no CPU goes by what it keeps in mind of before. One that is cut short stays open, which
 * costs time only; the next one closes it. rulings_close writes *live, the epoch behind all else.
 */
int rulings_open(const struct instance *instance);
int rulings_close(const struct instance *instance, struct live *live);

/* Returns when no packet is under way that was looked up for before. */
int packets_wait(const struct instance *instance);

/* Nobody looks where there is no entry: some are counted before the first is put in its trie. */
int entries_count_some(const struct instance *instance, size_t count);

#endif
