/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>

#include "cli.h"
#include "render_json.h"
#include "running.h"

int cmd_limit(struct command *command, struct message *message)
{
	struct entry_spec entry;
	int err;

	err = words_expect(command, 2, 16, message);
	if (err)
		return err;
	err = running_add_entry(command->instance, ENTRY_LIMIT, command->argc, command->argv,
				&entry, message);
	if (err)
		return err == -EINVAL ? VERB_USAGE : err;
	if (command->json)
		json_print(json_entry(&entry), command->pretty, command->out);
	entry_spec_free(&entry);
	return 0;
}
