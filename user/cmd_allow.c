/* SPDX-License-Identifier: GPL-2.0-only */
#include "entry.h"
#include "verb_entry.h"

int cmd_allow(struct command *command, struct message *message)
{
	struct entry_spec entry;
	int err = verb_set_entry(command, ENTRY_ALLOW, 1, 4, &entry, message);

	if (!err)
		entry_spec_free(&entry);
	return err;
}
