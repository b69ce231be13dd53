/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of compile share. In this order: the image is made (compile_image.c), the plan
 * of who needs what is drawn up beside the old image (compile_claims.c), slices of the table
 * (compile_slices.c), ids, credits and counter cells (compile_owners.c) are given out, and the
 * program's structs are filled (compile_limit.c). Not for others; they have compile.h.
 */
#ifndef WEIR_COMPILE_PARTS_H
#define WEIR_COMPILE_PARTS_H

#include "compile.h"

#define NO_CREDIT (~0U)

/*
 * Policies with names, specs, actions; prefixes, services and destinations. Nobody owns anything
 * yet. 0 or -ENOMEM.
 */
int image_new(const struct ruleset *ruleset, struct image **image);

/* Once all is owned: fill the program's policies. */
void image_finish(struct image *image, unsigned int cpus);

/* Is this one of the ruleset's own limits, those behind the limits of every policy? */
bool image_limit_is_instance(const struct image *image, const struct limit_spec *spec);

/* A change of a live limit: do its states still say something to it? Is its burst shorter now? */
bool limit_states_carry(const struct limit_spec *old, const struct limit_spec *new);
bool limit_burst_shrinks(const struct limit_spec *old, const struct limit_spec *new);

/* Who needs a slice: each limit of each policy, and each of the instance's once. */
struct claim {
	const struct limit_spec *spec;
	struct allocation *own;
	const struct allocation *before; /* of the same names in the old image, or NULL */
	const struct limit_spec *spec_before;
	bool kept; /* keeps the slice it had */
};

struct plan {
	const struct ruleset *ruleset;
	struct image *image;
	const struct image *old;
	const struct image_policy **by_name; /* the old image's */
	bool flush;
	struct claim *claims;
	size_t count;
};

bool claim_is_shared(const struct claim *claim);
bool claim_is_automatic(const struct claim *claim); /* takes an equal share of the table */
bool claim_is_log(const struct claim *claim);

/* Claims in the order of the file, with what each keeps from the old image. 0 or -ENOMEM. */
int plan_claims(struct plan *plan);
void plan_free(struct plan *plan);

/* The old image's policy of that name, or NULL; and the index of its limit, or -1. */
const struct image_policy *plan_old_policy(const struct plan *plan, const char *name);
int plan_old_limit(const struct plan *plan, const struct image_policy *policy, const char *name,
		   bool instance);

/* The first policy that limits: it owns what all share of the instance's limits. */
const struct image_policy *image_first_limiting(const struct image *image);

/* Sum up the claims in image->need (-E2BIG), and the room to make for such an image. */
int plan_need(const struct plan *plan);
struct capacity plan_room(const struct capacity *need);

/* Give out slices; ids and credits; counter cells. 0, -ENOSPC or -ENOMEM. */
int plan_slices(struct plan *plan, const struct capacity *room);
int plan_ids(struct plan *plan, const struct capacity *room);
int plan_cells(const struct plan *plan, const struct capacity *room);

#endif
