/* SPDX-License-Identifier: GPL-2.0-only */
#include "cli.h"
#include "render_json.h"
#include "running.h"

int cmd_remove(struct command *command, struct message *message)
{
	struct instance instance;
	struct prefix prefix;
	json_t *document;
	int err;

	err = words_expect(command, 1, 1, message);
	if (err)
		return err;
	if (units_prefix(command->argv[0], &prefix, message))
		return VERB_USAGE;
	err = instance_open(command->instance, false, &instance, message);
	if (err)
		return err;
	err = entry_remove(&instance, &prefix, message);
	instance_close(&instance);
	if (err || !command->json)
		return err;
	document = json_object();
	json_object_set_new(document, "removed", json_prefix(&prefix));
	json_print(document, command->pretty, command->out);
	return 0;
}
