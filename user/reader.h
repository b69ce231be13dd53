/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A running instance as seen by a process that stays: the pins are opened
 * read-only, and again when a policy was applied or the instance was made
 * anew, so that names and numbers belong together. Prints nothing.
 */
#ifndef WEIR_READER_H
#define WEIR_READER_H

#include <sys/types.h>

#include "running.h"
#include "snapshot.h"

struct reader {
	const char *name;
	bool open;
	struct running running;
	uint32_t generation; /* that `running` was read at */
	ino_t pins;	     /* of the pin directory */
};

/* Opens what is not open, or not up to date. -ENOENT: not running (any more); closed then. */
int reader_refresh(struct reader *reader, struct message *message);
void reader_close(struct reader *reader);

#endif
