/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli.h"
#include "config.h"
#include "policy_file.h"
#include "prefix_list.h"
#include "render_json.h"
#include "running.h"
#include "ssh_peer.h"
#include "verb_entry.h"

/* Who blocks the address from which he is logged in loses the way back. */
static void warn_own(const struct prefix *prefixes, size_t count)
{
	char text[PREFIX_TEXT], blocked[PREFIX_TEXT];
	struct prefix peer;

	if (!ssh_peer(&peer))
		return;
	for (size_t i = 0; i < count; i++)
		if (prefix_contains(&prefixes[i], &peer))
			log_warn("%s blocks your own SSH connection from %s; undo: weir remove %s",
				 units_prefix_text(&prefixes[i], blocked, sizeof(blocked)),
				 units_address_text(&peer, text, sizeof(text)), blocked);
}

static int block_one(struct command *command, struct message *message)
{
	struct entry_spec entry;
	int err = verb_set_entry(command, ENTRY_BLOCK, 1, 4, &entry, message);

	if (err)
		return err;
	warn_own(&entry.prefix, 1);
	entry_spec_free(&entry);
	return 0;
}

static void show_progress(size_t done, size_t of)
{
	fprintf(stderr, "\r%zu of %zu prefixes%s", done, of, done == of ? "\n" : "");
}

static int read_list(struct command *command, struct prefix **list, size_t *count,
		     struct message *message)
{
	char *text;
	size_t length;
	int err;

	command->file = policy_file_name(command->option[OPT_FILE]);
	err = config_read_text(command->option[OPT_FILE], &text, &length, message);
	if (err)
		return err;
	err = prefix_list_parse(text, length, list, count, &command->problems);
	free(text);
	if (err)
		message_set(message, err, "%s: nothing is blocked: %zu line%s can't be read",
			    command->file, command->problems.count,
			    command->problems.count == 1 ? "" : "s");
	return err;
}

static int block_list(struct command *command, const struct prefix *list, size_t count,
		      uint64_t for_ns, struct message *message)
{
	bool shown = isatty(STDERR_FILENO) && log_level > LOG_QUIET;
	struct running running;
	int err;

	err = running_open(command->instance, false, &running, message);
	if (err)
		return err;
	err = entries_block(&running.instance, list, count, for_ns ? kernel_now_ns() + for_ns : 0,
			    shown ? show_progress : NULL, message);
	running_close(&running);
	return err;
}

static int block_file(struct command *command, struct message *message)
{
	struct prefix *list;
	json_t *document;
	uint64_t for_ns;
	size_t count;
	int err;

	err = words_expect(command, 0, 3, message);
	if (err)
		return err;
	if (entry_read_duration(command->argc, command->argv, &for_ns, message))
		return VERB_USAGE;
	err = read_list(command, &list, &count, message);
	if (err)
		return err;
	err = block_list(command, list, count, for_ns, message);
	if (!err)
		warn_own(list, count);
	free(list);
	if (err)
		return err;
	if (!command->json) {
		log_info("%zu prefixes are blocked", count);
		return 0;
	}
	document = json_object();
	json_object_set_new(document, "blocked", json_unsigned(count));
	if (for_ns)
		json_object_set_new(document, "expires_in_ns", json_unsigned(for_ns));
	json_print(document, command->pretty, command->out);
	return 0;
}

int cmd_block(struct command *command, struct message *message)
{
	return command->option[OPT_FILE] ? block_file(command, message)
					 : block_one(command, message);
}
