/* SPDX-License-Identifier: GPL-2.0-only */
#include "cli.h"
#include "render_json.h"
#include "rollback.h"

/* The policy is not asked for: an instance whose rules can't be read back is detached as well. */
static int detach_interfaces(struct command *command, struct message *message)
{
	struct instance instance;
	int err;

	err = instance_open(command->instance, false, &instance, message);
	if (err)
		return err;
	for (int i = 0; !err && i < command->argc; i++) {
		err = instance_detach(&instance, command->argv[i], message);
		if (!err && !command->json)
			log_info("%s: detached", command->argv[i]);
	}
	instance_close(&instance);
	return err;
}

static int detach_all(struct command *command, struct message *message)
{
	int err;

	/* what waits for confirmation goes with the instance */
	rollback_confirm(command->instance, NULL, NULL);
	err = instance_destroy(command->instance, message);
	if (!err && !command->json)
		log_info("instance %s: all interfaces are detached, its pins are removed",
			 command->instance);
	return err;
}

static json_t *describe(const struct command *command, bool all)
{
	json_t *document = json_object(), *list = json_array();

	for (int i = 0; i < command->argc; i++)
		json_array_append_new(list, json_words(command->argv[i]));
	json_object_set_new(document, "instance", json_string(command->instance));
	json_object_set_new(document, "detached", list);
	json_object_set_new(document, "all", json_boolean(all));
	return document;
}

int cmd_detach(struct command *command, struct message *message)
{
	bool all = command->option[OPT_ALL];
	int err;

	err = words_expect(command, all ? 0 : 1, all ? 0 : 1024, message);
	if (err)
		return err;
	err = all ? detach_all(command, message) : detach_interfaces(command, message);
	if (err || !command->json)
		return err;
	json_print(describe(command, all), command->pretty, command->out);
	return 0;
}
