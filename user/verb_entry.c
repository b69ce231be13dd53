/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>

#include "render_json.h"
#include "running.h"
#include "verb_entry.h"

int verb_set_entry(struct command *command, enum entry_kind kind, int least, int most,
		   struct entry_spec *entry, struct message *message)
{
	int err = words_expect(command, least, most, message);

	if (err)
		return err;
	err = running_add_entry(command->instance, kind, command->argc, command->argv, entry,
				message);
	if (err)
		return err == -EINVAL ? VERB_USAGE : err;
	if (command->json)
		json_print(json_entry(entry), command->pretty, command->out);
	return 0;
}
