/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a new image would mean for the sources that the table knows now: how many
 * would be refused at once. Pure; the states are handed in one by one.
 */
#ifndef WEIR_IMPACT_H
#define WEIR_IMPACT_H

#include "snapshot.h"

struct impact_source;

struct impact {
	const struct image *after;
	uint64_t now;
	struct impact_source *list; /* one for each state */
	size_t count, room;
	size_t live;	/* sources; impact_finish */
	size_t refused; /* of them: the next packet would be dropped by the new image */
};

void impact_start(const struct image *after, uint64_t now, struct impact *impact);

/* A live state, read under the image in force. 0 or -ENOMEM. */
int impact_add(struct impact *impact, const struct source_state *state);

/* Count sources, which may have several states, and free the list. */
void impact_finish(struct impact *impact);

#endif
