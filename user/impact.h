/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a new image would mean for the sources that the table knows now: how many
 * would be refused at once. Pure; the states are handed in.
 */
#ifndef WEIR_IMPACT_H
#define WEIR_IMPACT_H

#include "snapshot.h"

struct impact {
	size_t live;	/* sources with a state that says something */
	size_t refused; /* of them: the next packet would be dropped by the new image */
};

/* The states were read under the image in force; the list gets sorted. */
void impact_read(struct source_state *states, size_t count, const struct image *after, uint64_t now,
		 struct impact *impact);

#endif
