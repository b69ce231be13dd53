/* SPDX-License-Identifier: GPL-2.0-only */
/* What the verbs that set an entry by hand (block, allow, limit) share. */
#ifndef WEIR_VERB_ENTRY_H
#define WEIR_VERB_ENTRY_H

#include "cli.h"

/*
 * Set the entry that the command's words describe, at least `least` and at most `most` of them,
 * and show it where JSON is asked for. 0 and *entry, the caller's to free; VERB_USAGE or -errno.
 */
int verb_set_entry(struct command *command, enum entry_kind kind, int least, int most,
		   struct entry_spec *entry, struct message *message);

#endif
