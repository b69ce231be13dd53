/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "config.h"
#include "render_json.h"
#include "render_yaml.h"
#include "running.h"

static int print_text(struct command *command, const char *text, size_t length,
		      struct message *message)
{
	json_t *document;
	int err;

	if (!command->json) {
		fwrite(text, 1, length, command->out);
		return 0;
	}
	err = json_of_yaml(text, length, &document, message);
	if (!err)
		json_print(document, command->pretty, command->out);
	return err;
}

/* The ruleset in force with the entries that live beside it, as text. */
static int write_running(struct running *running, char **text, size_t *length,
			 struct message *message)
{
	struct ruleset *ruleset = running->ruleset;
	FILE *out;
	int err;

	err = running_entries(running, &ruleset->entries, &ruleset->entry_count, message);
	if (err)
		return err;
	out = open_memstream(text, length);
	if (!out)
		return message_set(message, -ENOMEM, "no memory");
	err = config_write(ruleset, out);
	if (fclose(out) || err)
		return message_set(message, err ? err : -ENOMEM, "the policy can't be written: %s",
				   strerror(err ? -err : ENOMEM));
	return 0;
}

int cmd_dump(struct command *command, struct message *message)
{
	struct running running;
	char *text = NULL;
	size_t length;
	int err;

	err = words_expect(command, 0, 0, message);
	if (err)
		return err;
	if (command->option[OPT_DEFAULT]) {
		const char *built_in = config_default(&length);

		return print_text(command, built_in, length, message);
	}
	err = running_open(command->instance, true, &running, message);
	if (err)
		return err;
	err = write_running(&running, &text, &length, message);
	if (!err)
		err = print_text(command, text, length, message);
	free(text);
	running_close(&running);
	return err;
}
