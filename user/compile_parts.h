/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of compile share: an image before anything is owned, and its
 * last step. Not for others; they have compile.h.
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

#endif
