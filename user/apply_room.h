/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the limits of entries own: a policy each, behind those of the two
 * generations, a slice of the table and counter cells that no image has. For
 * apply and entries; must not know the tries.
 */
#ifndef WEIR_APPLY_ROOM_H
#define WEIR_APPLY_ROOM_H

#include "apply.h"

struct room {
	const struct instance *instance;
	const struct image *images[2]; /* what they own is not free; may be NULL */
	struct policy *held;	       /* meta.entry_policies of them, as in the map */
	struct policy *next;	       /* the same under the new image; room_carry_plan */
	struct entry_words *words;
	uint32_t size; /* of each array */
	bool *taken;   /* by an entry that is in its trie */
};

/* 0 or -errno; closed also after a failure. */
int room_open(const struct instance *instance, const struct image *old, const struct image *image,
	      struct room *room);
void room_close(struct room *room);

/* An entry's policy as it is in the room; index is that of the map, at of the room's arrays. */
const struct policy *room_policy(const struct room *room, uint32_t index);
uint32_t room_index(const struct room *room, uint32_t at);

/*
 * Find a policy's place for a limit on `prefix`, and fill in what it owns. before: the policy
 * whose states the new one goes on with, where they suit it, or NULL. *index is that of the map.
 * Nothing is written. *fresh: its slice has to be cleared.
 */
int room_place(struct room *room, const struct prefix *prefix, const struct policy *before,
	       struct policy *policy, uint32_t *index, bool *fresh, struct message *message);

/* Write the policy and, unless NULL, the words it was told by. */
int room_write(struct room *room, uint32_t index, const struct policy *policy,
	       const struct entry_words *words);

/* The entry is gone and no packet is under way to it: keep its counts, empty its policy. */
int room_release(struct room *room, uint32_t index);

/*
 * Before `image` is swapped in: the limits of entries take its services over by name, and leave
 * what it owns. The plan may fail and writes nothing; room_carry follows when all else is ready.
 * slot: of the image's services.
 */
int room_carry_plan(struct room *room, uint32_t slot, struct message *message);
int room_carry(struct room *room);

#endif
