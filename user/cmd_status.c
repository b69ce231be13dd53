/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "render_json.h"
#include "render_text.h"
#include "rollback.h"

static void print(struct command *command, const struct snapshot *snapshot)
{
	struct text_style style = { command->human, command->color };

	if (command->json)
		json_print(json_status(snapshot), command->pretty, command->out);
	else
		text_status(snapshot, &style, command->out);
}

/* What status says where there is nothing to take a snapshot of. */
static int print_stopped(struct command *command)
{
	char warning[] = "weir is not running: `weir attach IFACE` protects an interface";
	char *warnings[] = { warning };
	struct snapshot snapshot = { .layout = ABI_LAYOUT,
				     .warnings = warnings,
				     .warning_count = 1 };

	snprintf(snapshot.instance, sizeof(snapshot.instance), "%s", command->instance);
	print(command, &snapshot);
	return VERB_UNPROTECTED;
}

/* The snapshot owns its warnings. */
static void add_warning(struct snapshot *snapshot, const char *text)
{
	size_t count = snapshot->warning_count;
	char **warnings = reallocarray(snapshot->warnings, count + 1, sizeof(*warnings));

	if (!warnings)
		return;
	snapshot->warnings = warnings;
	warnings[count] = strdup(text);
	snapshot->warning_count += warnings[count] != NULL;
}

static void warn_unconfirmed(const char *name, struct snapshot *snapshot)
{
	char text[160], left[UNIT_TEXT];
	uint64_t left_ns;

	if (rollback_pending(name, &left_ns))
		return;
	units_duration_text((left_ns / NS_PER_SEC + 1) * NS_PER_SEC, left, sizeof(left));
	snprintf(text, sizeof(text),
		 "the last change is undone in %s unless `weir confirm` keeps it", left);
	add_warning(snapshot, text);
}

int cmd_status(struct command *command, struct message *message)
{
	struct snapshot snapshot;
	struct running running;
	int err;

	err = words_expect(command, 0, 0, message);
	if (err)
		return err;
	err = running_open(command->instance, true, &running, message);
	if (err == -ENOENT)
		return print_stopped(command);
	if (err)
		return err;
	err = snapshot_read(&running.instance, running.image, true, &snapshot, message);
	if (!err) {
		warn_unconfirmed(command->instance, &snapshot);
		print(command, &snapshot);
		err = snapshot.protecting ? 0 : VERB_UNPROTECTED;
		snapshot_free(&snapshot);
	}
	running_close(&running);
	return err;
}
