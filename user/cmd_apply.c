/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "difference.h"
#include "impact.h"
#include "policy_file.h"
#include "render_json.h"
#include "rollback.h"

/* What --dry-run finds out. */
struct preview {
	struct difference difference;
	struct impact impact;
};

static int add_state(const struct source_state *state, void *context)
{
	return impact_add(context, state);
}

static int read_impact(const struct running *running, const struct ruleset *ruleset, bool flush,
		       struct impact *impact, struct message *message)
{
	struct capacity room = instance_capacity(&running->instance);
	struct image *image;
	int err;

	err = image_next(ruleset, kernel_cpus(), &room, running->image, flush, &image, message);
	if (err)
		return err;
	impact_start(image, kernel_now_ns(), impact);
	err = sources_walk(&running->instance, running->image, add_state, impact);
	if (err)
		message_set(message, err, "the states can't be read: %s", strerror(-err));
	impact_finish(impact);
	image_free(image);
	return err;
}

static void print_preview(struct command *command, const struct preview *preview)
{
	const struct difference *difference = &preview->difference;
	json_t *document, *changes, *impact;

	if (!command->json) {
		for (size_t i = 0; i < difference->count; i++)
			fprintf(command->out, "%s\n", difference->lines[i]);
		if (!difference->count)
			fprintf(command->out, "nothing would change\n");
		fprintf(command->out, "of %zu live sources, %zu would be refused now\n",
			preview->impact.live, preview->impact.refused);
		return;
	}
	document = json_object();
	changes = json_array();
	for (size_t i = 0; i < difference->count; i++)
		json_array_append_new(changes, json_words(difference->lines[i]));
	impact = json_object();
	json_object_set_new(impact, "live", json_unsigned(preview->impact.live));
	json_object_set_new(impact, "refused", json_unsigned(preview->impact.refused));
	json_object_set_new(document, "changes", changes);
	json_object_set_new(document, "impact", impact);
	json_print(document, command->pretty, command->out);
}

/* Takes the ruleset. Reads only: it needs no rights where the pins are readable. */
static int preview(struct command *command, struct ruleset *ruleset, struct message *message)
{
	struct preview found = { 0 };
	struct running running;
	int err;

	err = running_open(command->instance, true, &running, message);
	if (!err) {
		err = difference_read(running.ruleset, ruleset, &found.difference);
		if (!err)
			err = read_impact(&running, ruleset, command->option[OPT_FLUSH],
					  &found.impact, message);
		if (!err)
			print_preview(command, &found);
		difference_free(&found.difference);
		running_close(&running);
	}
	ruleset_free(ruleset);
	return err;
}

/* The keeper of what is in force now is there before anything changes. */
static int apply_unless_undone(struct running *running, struct ruleset *ruleset, bool flush,
			       uint64_t confirm_ns, struct message *message)
{
	struct before before = { 0 };
	struct rollback rollback;
	int err;

	snprintf(before.name, sizeof(before.name), "%s", running->instance.name);
	err = before_read(running, ruleset, &before, message);
	if (!err)
		err = rollback_prepare(&running->instance, &before, confirm_ns, &rollback, message);
	before_free(&before);
	if (err) {
		ruleset_free(ruleset);
		return err;
	}
	err = running_apply(running, ruleset, flush, message);
	if (err)
		rollback_cancel(&rollback);
	else
		rollback_start(&rollback);
	return err;
}

static json_t *describe(const struct running *running, uint64_t confirm_ns)
{
	json_t *document = json_object();

	json_object_set_new(document, "instance", json_string(running->instance.name));
	json_object_set_new(document, "applied", json_true());
	json_object_set_new(document, "policies", json_unsigned(running->ruleset->policy_count));
	if (confirm_ns)
		json_object_set_new(document, "undone_in_ns", json_unsigned(confirm_ns));
	return document;
}

/* Takes the ruleset. */
static int apply(struct command *command, struct ruleset *ruleset, uint64_t confirm_ns,
		 struct message *message)
{
	bool flush = command->option[OPT_FLUSH];
	struct running running;
	int err;

	err = running_open(command->instance, false, &running, message);
	if (!err) {
		err = rollback_refuse_pending(command->instance, message);
		if (err)
			running_close(&running);
	}
	if (err) {
		ruleset_free(ruleset);
		return err;
	}
	running_warn_lockout(&running, ruleset);
	if (confirm_ns)
		err = apply_unless_undone(&running, ruleset, flush, confirm_ns, message);
	else
		err = running_apply(&running, ruleset, flush, message);
	if (!err && command->json)
		json_print(describe(&running, confirm_ns), command->pretty, command->out);
	else if (!err)
		log_info("%s is in force: %zu policies", command->file,
			 running.ruleset->policy_count);
	running_close(&running);
	return err;
}

int cmd_apply(struct command *command, struct message *message)
{
	struct ruleset *ruleset;
	uint64_t confirm_ns;
	char left[UNIT_TEXT];
	int err;

	err = words_expect(command, 1, 1, message);
	if (!err)
		err = option_duration(command, OPT_CONFIRM, 0, &confirm_ns, message);
	if (err)
		return err;
	command->file = policy_file_name(command->argv[0]);
	err = policy_file_read(command->argv[0], &ruleset, &command->problems, message);
	if (err)
		return err;
	if (command->option[OPT_OBSERVE])
		policy_file_observe(ruleset);
	if (command->option[OPT_DRY_RUN])
		return preview(command, ruleset, message);
	err = apply(command, ruleset, confirm_ns, message);
	if (!err && confirm_ns && !command->json)
		log_info("undone in %s unless `weir confirm` keeps it",
			 units_duration_text(confirm_ns, left, sizeof(left)));
	return err;
}
