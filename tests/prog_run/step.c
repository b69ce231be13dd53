/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/entry.h"
#include "../../user/forget.h"
#include "states.h"
#include "step.h"

enum step_size {
	WANTS_MOST = 8,
	LINE_MOST = 512,
	WORDS_MOST = 32,
};

/* One part of what is expected. */
struct want {
	unsigned int count; /* 0: all that are left */
	const char *name;
	unsigned int seen;
};

/* A line of frames, read. */
struct volley {
	char text[LINE_MOST];
	const char *words; /* of the frame */
	unsigned int count;
	uint64_t every_ns;
	bool ordered;
	size_t want_count;
	struct want wants[WANTS_MOST];
};

static int bad(struct message *message, const char *line, const char *why)
{
	return message_set(message, -EINVAL, "%s in `%s`", why, line);
}

/* Where the list of `text` begins, with the arrow cut off; NULL: there is none. */
static char *cut_arrow(char *text, bool *ordered)
{
	char *arrow = strstr(text, " -> ");

	*ordered = arrow != NULL;
	if (!arrow)
		arrow = strstr(text, " => ");
	if (!arrow)
		return NULL;
	*arrow = '\0';
	return arrow + 4;
}

static int read_wants(char *list, struct volley *volley)
{
	char *save = NULL;

	for (char *part = strtok_r(list, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
		struct want *want = &volley->wants[volley->want_count];
		char *end;

		if (volley->want_count++ == WANTS_MOST)
			return -EINVAL;
		want->count = strtoul(part, &end, 10);
		want->name = end + strspn(end, " ");
		if (!strncmp(want->name, "some ", 5))
			want->name += 5;
		if (!*want->name)
			return -EINVAL;
	}
	return volley->want_count ? 0 : -EINVAL;
}

static int read_every(char *words, uint64_t *every_ns)
{
	char *every = strstr(words, " every ");

	*every_ns = 0;
	if (!every)
		return 0;
	*every = '\0';
	return units_duration(every + strlen(" every "), every_ns, NULL);
}

static int read_volley(const char *line, struct volley *volley)
{
	char *list, *end;

	if (snprintf(volley->text, sizeof(volley->text), "%s", line) >= LINE_MOST)
		return -EINVAL;
	list = cut_arrow(volley->text, &volley->ordered);
	if (!list || read_every(volley->text, &volley->every_ns))
		return -EINVAL;
	volley->words = volley->text;
	volley->count = strtoul(volley->text, &end, 10);
	if (volley->count && !strncmp(end, " x ", 3))
		volley->words = end + 3;
	else
		volley->count = 1;
	return read_wants(list, volley);
}

/* Which of the cells counted the frame just sent? NULL: none, or not exactly once. */
static const struct cell *find_counted(const struct counts *before, const struct counts *now,
				       uint32_t length)
{
	const struct cell *found = NULL;

	for (size_t i = 0; i < now->count; i++) {
		const struct cell *cell = &now->cells[i];
		uint64_t packets = cell->value.packets - before->cells[i].value.packets;
		uint64_t bytes = cell->value.bytes - before->cells[i].value.bytes;

		if (!cell->verdict || (!packets && !bytes))
			continue;
		if (found || packets != 1 || bytes != length)
			return NULL;
		found = cell;
	}
	return found;
}

static struct want *want_at(struct volley *volley, unsigned int nth)
{
	unsigned int past = 0;

	for (size_t i = 0; i < volley->want_count; i++) {
		past += volley->wants[i].count;
		if (!volley->wants[i].count || nth < past)
			return &volley->wants[i];
	}
	return NULL;
}

static struct want *want_for(struct volley *volley, const struct cell *cell)
{
	for (size_t i = 0; i < volley->want_count; i++)
		if (cell_is(cell, volley->wants[i].name))
			return &volley->wants[i];
	return NULL;
}

/* Tell the frame's fate from the counters and compare it with the program's verdict. */
static int check_frame(struct walk *walk, struct volley *volley, unsigned int nth, uint32_t length,
		       uint32_t verdict, struct message *message)
{
	struct counts now = walk->counts;
	const struct cell *cell;
	struct want *want;

	counts_read(walk->rig, &now);
	cell = find_counted(&walk->counts, &now, length);
	walk->counts = now;
	if (!cell)
		return message_set(message, -EINVAL, "frame %u of `%s`: not counted exactly once",
				   nth + 1, volley->words);
	if (verdict != (cell->passes ? XDP_PASS : XDP_DROP))
		return message_set(message, -EINVAL, "frame %u of `%s`: counted %s, returned %u",
				   nth + 1, volley->words, cell->name, verdict);
	want = volley->ordered ? want_at(volley, nth) : want_for(volley, cell);
	if (!want || !cell_is(cell, want->name))
		return message_set(message, -EINVAL, "frame %u of `%s`: %s, not %s", nth + 1,
				   volley->words, cell->name, want ? want->name : "expected");
	want->seen++;
	return 0;
}

static int send(struct walk *walk, struct volley *volley, unsigned int nth, struct message *message)
{
	static struct frame_bytes frame;
	uint32_t verdict;
	int error = frame_build(volley->words, nth, &frame);

	if (error)
		return bad(message, volley->words, "a word of no frame");
	error = rig_run(walk->rig, RIG_WEIR, &frame, 1, &verdict);
	if (error)
		return message_set(message, error, "`%s`: %s", volley->words, strerror(-error));
	walk->sent.packets++;
	walk->sent.bytes += frame.length;
	return check_frame(walk, volley, nth, frame.length, verdict, message);
}

static int check_totals(const struct volley *volley, struct message *message)
{
	for (size_t i = 0; i < volley->want_count; i++) {
		const struct want *want = &volley->wants[i];

		if (want->count && want->seen != want->count)
			return message_set(message, -EINVAL, "`%s`: %u %s, not %u", volley->words,
					   want->seen, want->name, want->count);
		if (!want->count && !want->seen)
			return message_set(message, -EINVAL, "`%s`: no %s", volley->words,
					   want->name);
	}
	return 0;
}

static int send_all(struct walk *walk, const char *line, struct message *message)
{
	struct volley volley = { 0 };

	if (read_volley(line, &volley))
		return bad(message, line, "a mistake");
	for (unsigned int nth = 0; nth < volley.count; nth++) {
		int error = send(walk, &volley, nth, message);

		if (error)
			return error;
		walk->rig->time->now_ns += volley.every_ns;
	}
	return check_totals(&volley, message);
}

struct command {
	char text[LINE_MOST];
	int count;
	char *words[WORDS_MOST];
};

static void split(const char *line, struct command *command)
{
	char *save = NULL;

	command->count = 0;
	snprintf(command->text, sizeof(command->text), "%s", line);
	for (char *word = strtok_r(command->text, " ", &save); word && command->count < WORDS_MOST;
	     word = strtok_r(NULL, " ", &save))
		command->words[command->count++] = word;
}

static int set_entry(struct walk *walk, enum entry_kind kind, struct command *command,
		     struct message *message)
{
	struct rig *rig = walk->rig;
	struct entry_spec spec;
	struct policy policy = { 0 };
	char text[ENTRY_TEXT] = "";
	uint64_t expires_ns;
	int error = entry_read(kind, command->count - 1, command->words + 1, rig->ruleset, &spec,
			       message);

	if (error)
		return error;
	expires_ns = spec.for_ns ? rig->time->now_ns + spec.for_ns : 0;
	if (kind == ENTRY_LIMIT) {
		entry_compile(&spec, rig->image, &policy);
		error = entry_limit_text(&spec, rig->ruleset, text, message);
	}
	if (!error)
		error = entry_set(&rig->instance, rig->image, &spec.prefix, kind, expires_ns,
				  kind == ENTRY_LIMIT ? &policy : NULL, text, message);
	entry_spec_free(&spec);
	counts_start(rig, &walk->counts);
	return error;
}

static int step_block(struct walk *walk, struct command *command, struct message *message)
{
	return set_entry(walk, ENTRY_BLOCK, command, message);
}

static int step_allow(struct walk *walk, struct command *command, struct message *message)
{
	return set_entry(walk, ENTRY_ALLOW, command, message);
}

static int step_limit(struct walk *walk, struct command *command, struct message *message)
{
	return set_entry(walk, ENTRY_LIMIT, command, message);
}

static int step_remove(struct walk *walk, struct command *command, struct message *message)
{
	struct prefix prefix;
	int error = units_prefix(command->words[1], &prefix, message);

	if (!error)
		error = entry_remove(&walk->rig->instance, &prefix, message);
	counts_start(walk->rig, &walk->counts);
	return error;
}

static int step_apply(struct walk *walk, struct command *command, struct message *message)
{
	const char *policy = walk->policies[strtoul(command->words[1], NULL, 10) - 1];
	bool flush = command->count > 2 && !strcmp(command->words[2], "flush");
	char text[4096];
	int error;

	snprintf(text, sizeof(text), "%s%s", policy, walk->table);
	error = rig_apply(walk->rig, text, flush, message);
	counts_start(walk->rig, &walk->counts);
	return error;
}

static int step_states(struct walk *walk, struct command *command, struct message *message)
{
	uint32_t want = strtoul(command->words[1], NULL, 10), is = states_count(walk->rig);

	if (want != is)
		return message_set(message, -EINVAL, "%u states, not %u", is, want);
	return 0;
}

static int step_displaced(struct walk *walk, struct command *command, struct message *message)
{
	uint64_t want = strtoul(command->words[1], NULL, 10), is = 0;

	for (size_t i = 0; i < walk->counts.count; i++)
		if (!walk->counts.cells[i].verdict)
			is += walk->counts.cells[i].value.packets;
	if (want != is)
		return message_set(message, -EINVAL, "%lu displaced, not %lu", is, want);
	return 0;
}

static int step_forget(struct walk *walk, struct command *command, struct message *message)
{
	struct prefix prefix;
	size_t count;
	int error = units_prefix(command->words[1], &prefix, message);

	if (error)
		return error;
	error = forget_source(&walk->rig->instance, walk->rig->image, &prefix, &count);
	return error ? message_set(message, error, "forget: %s", strerror(-error)) : 0;
}

static bool is_limit(const struct source_state *state, const char *name)
{
	return state->policy && !strcmp(state->policy->specs[state->limit]->name, name);
}

/* "source ADDRESS LIMIT N passed M dropped", as `weir source show` has it. */
static int step_source(struct walk *walk, struct command *command, struct message *message)
{
	struct source_state *list = NULL;
	uint64_t passed = 0, dropped = 0;
	struct prefix prefix;
	size_t count = 0;
	int error;

	if (command->count < 6)
		return -EINVAL;
	error = units_prefix(command->words[1], &prefix, message);
	if (!error)
		error = sources_of(&walk->rig->instance, walk->rig->image, &prefix, &list, &count);
	for (size_t i = 0; !error && i < count; i++) {
		if (!is_limit(&list[i], command->words[2]))
			continue;
		passed += list[i].passed;
		dropped += list[i].dropped;
	}
	free(list);
	if (error || passed != strtoul(command->words[3], NULL, 10) ||
	    dropped != strtoul(command->words[5], NULL, 10))
		return message_set(message, -EINVAL, "%s: %lu passed, %lu dropped",
				   command->words[1], passed, dropped);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(struct walk *walk, struct command *command, struct message *message);
} commands[] = {
	{ "block", step_block },   { "allow", step_allow },   { "limit", step_limit },
	{ "remove", step_remove }, { "forget", step_forget }, { "apply", step_apply },
	{ "source", step_source }, { "states", step_states }, { "displaced", step_displaced },
};

/* "@TIME": the clock shows the row's start and so much. */
static int set_clock(struct rig *rig, const char *word, struct message *message)
{
	uint64_t since_ns;
	int error = units_duration(word + 1, &since_ns, message);

	if (!error)
		rig->time->now_ns = rig->epoch_ns + since_ns;
	return error;
}

int step_run(struct walk *walk, const char *line, struct message *message)
{
	struct command command;
	int error;

	if (*line == '@') {
		split(line, &command);
		error = set_clock(walk->rig, command.words[0], message);
		if (error)
			return error;
		line += strcspn(line, " ");
		line += strspn(line, " ");
	}
	split(line, &command);
	for (size_t i = 0; command.count > 1 && i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(command.words[0], commands[i].name))
			return commands[i].run(walk, &command, message);
	return send_all(walk, line, message);
}
