/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "policy_file.h"
#include "render_json.h"
#include "rollback.h"
#include "words.h"

/* What was asked for, and what stands now. */
struct job {
	struct command *command;
	struct ruleset *ruleset; /* to be put in force; NULL: what runs stays */
	uint64_t confirm_ns;
	int mode; /* enum attach_mode, -1: the policy's */
	char **interfaces;
	size_t interface_count;
	struct running running;
	struct before before;
	struct rollback rollback;
	bool undone_later; /* the rollback is prepared */
};

static int read_mode(const struct command *command, int *mode, struct message *message)
{
	static const char *const names[] = { "auto", "native", "generic" };

	*mode = -1;
	if (!command->option[OPT_MODE])
		return 0;
	*mode = word_find(command->option[OPT_MODE], names, 3, "mode", message);
	return *mode < 0 ? VERB_USAGE : 0;
}

/* The policy to be put in force, if one is. Without a file: the default, where nothing runs. */
static int read_ruleset(struct job *job, bool runs, struct message *message)
{
	struct command *command = job->command;
	const char *path = command->option[OPT_POLICY];
	int err;

	if (runs && !path) {
		if (!command->option[OPT_OBSERVE])
			return 0;
		usage(message, "--observe needs --policy FILE where weir runs already");
		return message_hint(
			message, VERB_USAGE,
			"`weir dump | weir apply --observe -` observes what is in force");
	}
	command->file = policy_file_name(path);
	err = policy_file_read(path, &job->ruleset, &command->problems, message);
	if (!err && command->option[OPT_OBSERVE])
		policy_file_observe(job->ruleset);
	return err;
}

/* Those of the command line, else those of the policy file. Copies: a ruleset may be replaced. */
static int read_interfaces(struct job *job, const struct ruleset *ruleset, struct message *message)
{
	char **from = job->command->argv;
	size_t count = (size_t)job->command->argc;

	if (!count) {
		from = ruleset->interfaces;
		count = ruleset->interface_count;
	}
	if (!count) {
		usage(message, "no interface is named");
		return usage_hint(job->command, message);
	}
	job->interfaces = calloc(count, sizeof(*job->interfaces));
	for (size_t i = 0; job->interfaces && i < count; i++) {
		job->interfaces[i] = strdup(from[i]);
		if (!job->interfaces[i])
			return -ENOMEM;
		job->interface_count++;
	}
	return job->interfaces ? 0 : -ENOMEM;
}

static int unknown_interface(const char *name, struct message *message)
{
	struct if_nameindex *list = if_nameindex();
	char known[400] = "";
	size_t used = 0;

	for (size_t i = 0; list && list[i].if_index && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
					 used ? ", " : "", list[i].if_name);
	if_freenameindex(list);
	message_set(message, -ENODEV, "there is no interface `%s`", name);
	return message_hint(message, -ENODEV, "there are: %s", known);
}

static int check_interfaces(const struct job *job, struct message *message)
{
	for (size_t i = 0; i < job->interface_count; i++)
		if (!if_nametoindex(job->interfaces[i]))
			return unknown_interface(job->interfaces[i], message);
	return 0;
}

/* Only those that are not ours yet are detached when the change is undone. */
static int note_fresh(struct job *job, struct message *message)
{
	struct attachment *list;
	size_t count, fresh = 0;
	int err;

	err = instance_attachments(&job->running.instance, &list, &count, message);
	if (err)
		return err;
	for (size_t i = 0; i < job->interface_count; i++) {
		char *name = job->interfaces[i];
		bool ours = false;

		for (size_t j = 0; j < count; j++)
			ours |= list[j].attached && !strcmp(list[j].interface, name);
		if (ours)
			continue;
		/* fresh ones first: undo takes the front of the list */
		job->interfaces[i] = job->interfaces[fresh];
		job->interfaces[fresh++] = name;
	}
	free(list);
	job->before.interfaces = job->interfaces;
	job->before.interface_count = fresh;
	return 0;
}

static int prepare_rollback(struct job *job, struct message *message)
{
	int err;

	if (!job->confirm_ns)
		return 0;
	err = rollback_prepare(&job->running.instance, &job->before, job->confirm_ns,
			       &job->rollback, message);
	job->undone_later = !err;
	return err;
}

static int start_new(struct job *job, struct message *message)
{
	struct ruleset *ruleset = job->ruleset;
	int err;

	job->ruleset = NULL;
	err = running_create(job->command->instance, ruleset, &job->running, message);
	if (err)
		return err;
	job->before.destroy = true;
	job->before.interfaces = job->interfaces;
	job->before.interface_count = job->interface_count;
	return prepare_rollback(job, message);
}

/* Another program goes on judging until that of this binary takes its place. */
static int upgrade(struct job *job, struct message *message)
{
	struct instance *instance = &job->running.instance;
	char version[INSTANCE_NAME];
	int err;

	if (instance_is_current(instance))
		return 0;
	snprintf(version, sizeof(version), "%s", instance->meta.version);
	err = instance_upgrade(instance, message);
	if (!err)
		log_info("the program of weir %s made way for that of %s", version,
			 instance->meta.version);
	return err;
}

static int join_running(struct job *job, struct message *message)
{
	struct ruleset *ruleset = job->ruleset;
	int err;

	job->ruleset = NULL;
	err = upgrade(job, message);
	if (!err)
		err = note_fresh(job, message);
	if (!err && ruleset)
		err = rollback_refuse_pending(job->command->instance, message);
	if (!err && ruleset)
		err = before_read(&job->running, ruleset, &job->before, message);
	if (!err)
		err = prepare_rollback(job, message);
	if (!err && ruleset)
		return running_apply(&job->running, ruleset, false, message);
	ruleset_free(ruleset);
	return err;
}

static int attach_interfaces(struct job *job, struct message *message)
{
	enum attach_mode mode =
		job->mode >= 0 ? (enum attach_mode)job->mode : job->running.ruleset->mode;
	bool replace = job->command->option[OPT_REPLACE];

	for (size_t i = 0; i < job->interface_count; i++) {
		const char *name = job->interfaces[i];
		bool already = false;
		int err;

		message->text[0] = '\0';
		err = instance_attach(&job->running.instance, name, mode, replace, &already,
				      message);
		if (err)
			return err;
		if (*message->text)
			log_warn("%s", message->text);
		if (already)
			log_info("%s: is protected already", name);
		else
			log_info("%s: protected", name);
	}
	return 0;
}

static void print_attachments(struct job *job)
{
	struct command *command = job->command;
	struct attachment *list;
	json_t *document;
	size_t count;

	if (!command->json || instance_attachments(&job->running.instance, &list, &count, NULL))
		return;
	document = json_object();
	json_object_set_new(document, "instance", json_string(command->instance));
	json_object_set_new(document, "interfaces", json_attachments(list, count));
	if (job->confirm_ns)
		json_object_set_new(document, "undone_in_ns", json_unsigned(job->confirm_ns));
	json_print(document, command->pretty, command->out);
	free(list);
}

/* All or nothing: what was made or changed on the way goes when an interface can't be had. */
static int change(struct job *job, bool runs, struct message *message)
{
	bool changed = false;
	int err;

	err = runs ? join_running(job, message) : start_new(job, message);
	if (!err) {
		changed = true;
		running_warn_lockout(&job->running, job->running.ruleset);
		err = attach_interfaces(job, message);
	}
	if (!err)
		print_attachments(job);
	changed |= job->before.destroy;
	if (runs || job->before.destroy)
		running_close(&job->running);
	if (job->undone_later)
		(err ? rollback_cancel : rollback_start)(&job->rollback);
	if (err && changed)
		before_restore(&job->before, NULL);
	return err;
}

static int attach(struct job *job, struct message *message)
{
	const char *name = job->command->instance;
	bool runs = instance_exists(name);
	int err;

	err = read_ruleset(job, runs, message);
	if (!err && runs)
		err = running_open(name, false, &job->running, message);
	if (err) {
		ruleset_free(job->ruleset);
		return err;
	}
	err = read_interfaces(job, job->ruleset ? job->ruleset : job->running.ruleset, message);
	if (!err)
		err = check_interfaces(job, message);
	if (!err)
		return change(job, runs, message);
	ruleset_free(job->ruleset);
	if (runs)
		running_close(&job->running);
	return err;
}

int cmd_attach(struct command *command, struct message *message)
{
	struct job job = { .command = command };
	char left[UNIT_TEXT];
	int err;

	err = option_duration(command, OPT_CONFIRM, 0, &job.confirm_ns, message);
	if (!err)
		err = read_mode(command, &job.mode, message);
	if (err)
		return err;
	snprintf(job.before.name, sizeof(job.before.name), "%s", command->instance);
	err = attach(&job, message);
	before_free(&job.before);
	for (size_t i = 0; i < job.interface_count; i++)
		free(job.interfaces[i]);
	free(job.interfaces);
	if (!err && job.confirm_ns && !command->json)
		log_info("undone in %s unless `weir confirm` keeps it",
			 units_duration_text(job.confirm_ns, left, sizeof(left)));
	return err;
}
