/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The states in the table, whatever its kind: who owns which, and a walk over
 * them in batches, since they may be tens of millions. For snapshot and
 * sources. Reads only.
 */
#ifndef WEIR_STATES_H
#define WEIR_STATES_H

#include "snapshot.h"

/* A limit that owns states: one of the image, or of an entry set by hand. */
struct owner {
	const struct image_policy *policy; /* NULL: an entry's */
	unsigned int limit;
	struct prefix entry;
	struct limit rule;
	size_t order; /* of two with one id the first counts */
};

/* By slice in table `sets`, else by id. The instance's limits are in it once. */
struct owners {
	struct owner *list;
	size_t count;
};

/* `first`: the policy that limits of the whole instance are to be shown under, or NULL. */
int owners_read(const struct instance *instance, const struct image *image,
		const struct image_policy *first, struct owners *owners);
void owners_free(struct owners *owners);

/* A state as the walk meets it. passed and dropped are whole, those kept by CPUs included. */
struct found {
	const struct owner *owner;
	struct key key;
	struct state state;
	uint64_t passed, dropped;
	uint32_t set, way; /* table `sets` */
};

typedef int (*states_visit)(const struct found *found, void *context);

/* All states that a source has, whether they still say something or not. */
int states_walk(const struct instance *instance, const struct owners *owners, states_visit visit,
		void *context);

/* The state of one key under one limit; returns 1 if there is one, 0 or -errno. */
int states_find(const struct instance *instance, const struct owner *owner, const struct key *key,
		struct found *found);

/* The sliding log of a state; zero for other algorithms. */
int states_ring(const struct instance *instance, const struct found *found, struct log_ring *ring);

/* States that the owner's part of the table holds at most; for the kernel's tables 0. */
uint64_t owner_capacity(const struct instance *instance, const struct owner *owner);

#endif
