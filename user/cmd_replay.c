/* SPDX-License-Identifier: GPL-2.0-only */
/* weir replay: what a policy would have done to a capture; and limits for what is in it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "config.h"
#include "render_replay.h"
#include "policy_file.h"
#include "stop.h"

enum {
	TOP = 10,
	PROGRESS_EVERY = 1 << 16, /* packets */
};

typedef int (*frame_visit)(void *context, const struct trace_frame *frame, struct message *message);

struct source_file {
	const char *path;
	const char *expression; /* of pcap-filter(7), or NULL */
	bool progress;
	uint64_t outgoing;
};

static void show_progress(const struct source_file *file, const struct trace *trace,
			  uint64_t packets)
{
	unsigned int done = trace_progress(trace);

	if (file->progress && packets % PROGRESS_EVERY == 0)
		fprintf(stderr, "\r%s: %" PRIu64 " packets, %u %% ", file->path, packets,
			done * 100 / 65536);
}

static void end_progress(const struct source_file *file, uint64_t packets)
{
	if (file->progress && packets >= PROGRESS_EVERY)
		fputs("\r\033[K", stderr);
}

/* A capture that was cut off is worth what it holds. */
static int read_file(struct source_file *file, frame_visit visit, void *context,
		     struct message *message)
{
	struct trace_frame frame = { 0 };
	struct trace *trace;
	int err = trace_open(file->path, file->expression, &trace, message);

	if (err)
		return err;
	while (!stop_asked && (err = trace_next(trace, &frame, message)) == 1) {
		err = visit(context, &frame, message);
		if (err)
			break;
		show_progress(file, trace, frame.number);
	}
	end_progress(file, frame.number);
	if (err == -EIO && frame.number) {
		log_warn("%s; what came before is counted", message->text);
		err = 0;
	}
	file->outgoing = trace_outgoing(trace);
	trace_close(trace);
	return stop_asked ? message_set(message, -EINTR, "interrupted") : err;
}

static int judge(void *context, const struct trace_frame *frame, struct message *message)
{
	return replay_frame(context, frame, NULL, message);
}

static int look(void *context, const struct trace_frame *frame, struct message *message)
{
	int err = suggest_frame(context, frame);

	return err ? message_set(message, err, "packet %" PRIu64 ": %s", frame->number,
				 strerror(-err))
		   : 0;
}

static int print_replay(struct command *command, struct replay_page *page, struct message *message)
{
	struct replay_refused *worst = NULL;
	uint64_t top;
	int err = option_count(command, OPT_TOP, TOP, &top, message);

	if (!err)
		err = replay_worst(page->replay, top, &worst, &page->worst_count);
	if (err)
		return err;
	page->worst = worst;
	if (command->json)
		render_replay_json(page, command->pretty, command->out);
	else
		render_replay_text(page, command->out);
	free(worst);
	return 0;
}

static int replay_policy(struct command *command, struct source_file *file,
			 const struct ruleset *ruleset, struct message *message)
{
	struct replay_page page = { .capture = file->path,
				    .policy = command->option[OPT_POLICY]
						      ? command->option[OPT_POLICY]
						      : "the default policy",
				    .color = command->color };
	struct replay replay;
	int err = replay_init(&replay, ruleset, message);

	if (err)
		return err;
	err = read_file(file, judge, &replay, message);
	page.replay = &replay;
	page.outgoing = file->outgoing;
	if (!err)
		err = print_replay(command, &page, message);
	replay_free(&replay);
	return err;
}

static int write_suggestion(struct command *command, const struct suggest *suggest,
			    const struct replay_page *page)
{
	size_t length;
	char *yaml = NULL;
	FILE *out = open_memstream(&yaml, &length);
	int err;

	if (!out)
		return -ENOMEM;
	err = config_write(suggest->ruleset, out);
	if (fclose(out) && !err)
		err = -ENOMEM;
	if (!err && command->json) {
		render_suggest_json(suggest, page, yaml, command->pretty, command->out);
	} else if (!err) {
		render_suggest_comment(suggest, page, command->out);
		fputs(yaml, command->out);
	}
	free(yaml);
	return err;
}

/* The limits are tried on the same capture before they are shown. */
static int print_suggestion(struct command *command, struct source_file *file,
			    const struct suggest *suggest, struct message *message)
{
	struct replay_page page = { .capture = file->path };
	struct replay replay;
	int err = replay_init(&replay, suggest->ruleset, message);

	if (err)
		return err;
	err = read_file(file, judge, &replay, message);
	page.replay = &replay;
	if (!err)
		err = write_suggestion(command, suggest, &page);
	replay_free(&replay);
	return err;
}

static int suggest_limits(struct command *command, struct source_file *file,
			  const struct ruleset *given, struct message *message)
{
	struct suggest suggest;
	int err;

	if (!strcmp(file->path, "-"))
		return usage(message, "--suggest reads the capture several times: name a file");
	err = suggest_init(&suggest, given, message);
	if (err)
		return err;
	while (!err && suggest.pass != SUGGEST_DONE) {
		err = read_file(file, look, &suggest, message);
		if (!err)
			err = suggest_end_pass(&suggest, message);
	}
	if (!err)
		err = print_suggestion(command, file, &suggest, message);
	suggest_free(&suggest);
	return err;
}

/* The words behind the file are a filter, as tcpdump takes it. */
static int join_words(const struct command *command, char **expression)
{
	size_t length = 0;
	FILE *out;

	*expression = NULL;
	if (command->argc < 2)
		return 0;
	out = open_memstream(expression, &length);
	if (!out)
		return -ENOMEM;
	for (int i = 1; i < command->argc; i++)
		fprintf(out, "%s%s", i > 1 ? " " : "", command->argv[i]);
	return fclose(out) ? -ENOMEM : 0;
}

int cmd_replay(struct command *command, struct message *message)
{
	const char *policy = command->option[OPT_POLICY];
	bool suggest = command->option[OPT_SUGGEST];
	struct source_file file = { .progress = isatty(STDERR_FILENO) && !command->json };
	struct ruleset *ruleset = NULL;
	char *expression = NULL;
	int err = words_expect(command, 1, 1000, message);

	if (!err)
		err = join_words(command, &expression);
	if (err)
		return err;
	stop_on_signals();
	file.path = command->argv[0];
	file.expression = expression;
	command->file = policy;
	if (policy || !suggest)
		err = policy_file_read(policy, &ruleset, &command->problems, message);
	if (!err && suggest)
		err = suggest_limits(command, &file, ruleset, message);
	else if (!err)
		err = replay_policy(command, &file, ruleset, message);
	ruleset_free(ruleset);
	free(expression);
	return err;
}
