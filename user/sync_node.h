/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * This machine's part of a fleet: reads what its sources used, and charges to
 * their states what they used elsewhere. Must not know how nodes talk.
 */
#ifndef WEIR_SYNC_NODE_H
#define WEIR_SYNC_NODE_H

#include "reader.h"
#include "sync.h"

struct sync_node {
	struct reader reader; /* its name is the caller's to set; the rest begins as 0 */
	size_t top;	      /* sources told of at most */
	struct sync *sync;
	ino_t pins; /* of the instance that `sync` was made for */
	/* By policy of the image, for byte limits: what was granted until now, and a frame of it.
	 */
	uint32_t generation;
	struct counter *granted;
	double *frame;
};

/*
 * Read the table: sync_uses of node->sync is what was used since the last time. The image is that
 * of node->reader. -ENOENT: the instance does not run; -EOPNOTSUPP: its table has no sets.
 */
int sync_node_read(struct sync_node *node, struct message *message);

/*
 * Charge uses of other nodes, as sync_parse made them with the image of the last reading. Where
 * another policy was put in force since, nothing is charged. *charged: states that changed.
 */
int sync_node_charge(struct sync_node *node, const struct sync_use *uses, size_t count,
		     uint64_t debt_ns, size_t *charged, struct message *message);

void sync_node_close(struct sync_node *node);

#endif
