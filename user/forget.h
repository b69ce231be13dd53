/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table forgets sources, while packets flow: their balance is whole again,
 * their ban over. Must not know how states are found or shown.
 */
#ifndef WEIR_FORGET_H
#define WEIR_FORGET_H

#include "snapshot.h"

/*
 * The states of one address under every limit by source or subnet; what a policy or the instance
 * shares stays. *count: how many there were. 0 or -errno.
 */
int forget_source(const struct instance *instance, const struct image *image,
		  const struct prefix *address, size_t *count);

/* All states of all limits, shared ones and those of entries included. */
int forget_all(const struct instance *instance, const struct image *image);

#endif
