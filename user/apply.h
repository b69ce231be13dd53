/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Image -> kernel maps: a whole new policy swapped in under traffic, and the
 * entries set by hand. Each packet sees the old image or the new one. Must not
 * know text or files.
 */
#ifndef WEIR_APPLY_H
#define WEIR_APPLY_H

#include "kernel.h"

/*
 * Put `image` in force. `old` is the one now in force, NULL for the first. Fills the idle half
 * of the policies and services, new tries, then swaps; afterwards clears or clamps the states of
 * limits marked so, zeroes the counter cells that nobody owns any more. On failure before the
 * swap nothing changed. flush: clear every state.
 */
int apply_image(struct instance *instance, const struct image *old, const struct image *image,
		bool flush, struct message *message);

/* An entry as it stands in the kernel; `text` is what weir limit was told, for ENTRY_LIMIT. */
struct entry_state {
	struct prefix prefix;
	struct entry entry;
	char text[ENTRY_TEXT];
};

/* All entries that are not expired at `now`, sorted; *list is malloc'ed. */
int entries_read(const struct instance *instance, uint64_t now, struct entry_state **list,
		 size_t *count);

/* The longest entry that covers `prefix` or is it, and is not expired at `now`; false: none. */
bool entry_find(const struct instance *instance, const struct prefix *prefix, uint64_t now,
		struct entry_state *state);

/*
 * Add or replace one. For ENTRY_LIMIT `policy` is the compiled policy with one limit; its slice
 * is taken from what no limit of `image` and no entry holds (-ENOSPC with the remedy), its id
 * from the range above 2^31. Prunes what has expired. expires_ns 0: for good.
 */
int entry_set(struct instance *instance, const struct image *image, const struct prefix *prefix,
	      enum entry_kind kind, uint64_t expires_ns, struct policy *policy, const char *text,
	      struct message *message);
int entry_remove(struct instance *instance, const struct prefix *prefix, struct message *message);

/* Many block entries in one swap; those there stay, expired ones go. progress may be NULL. */
int entries_block(struct instance *instance, const struct prefix *prefixes, size_t count,
		  uint64_t expires_ns, void (*progress)(size_t done, size_t of),
		  struct message *message);

#endif
