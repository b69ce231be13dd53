/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "words.h"

struct option_text {
	const char *name;
	const char *value; /* what the value is called, NULL: none */
};

static const struct option_text option_texts[OPTIONS] = {
	[OPT_MODE] = { "mode", "auto|native|generic" },
	[OPT_POLICY] = { "policy", "FILE" },
	[OPT_REPLACE] = { "replace", NULL },
	[OPT_CONFIRM] = { "confirm", "SECONDS" },
	[OPT_OBSERVE] = { "observe", NULL },
	[OPT_ALL] = { "all", NULL },
	[OPT_DRY_RUN] = { "dry-run", NULL },
	[OPT_FLUSH] = { "flush", NULL },
	[OPT_DEFAULT] = { "default", NULL },
	[OPT_FILE] = { "file", "FILE" },
	[OPT_INTERVAL] = { "interval", "SECONDS" },
	[OPT_COUNT] = { "count", "N" },
	[OPT_TOP] = { "top", "N" },
	[OPT_BY] = { "by", "dropped|passed|debt" },
	[OPT_MAX] = { "max", "N" },
	[OPT_SECONDS] = { "seconds", "S" },
	[OPT_SUGGEST] = { "suggest", NULL },
	[OPT_LISTEN] = { "listen", "ADDR:PORT" },
	[OPT_ONCE] = { "once", NULL },
	[OPT_TEXTFILE] = { "textfile", "PATH" },
	[OPT_REDIS] = { "redis", "URL" },
	[OPT_NODE] = { "node", "NODE" },
	[OPT_KEY] = { "key", "PREFIX" },
	[OPT_SOURCES] = { "sources", "N" },
	[OPT_TABLE] = { "table", "sets|hash|percpu" },
};

/* getopt's values: letters for the global options, and from here on the verbs' own. */
enum long_value {
	LONG_INSTANCE = 'I',
	LONG_COLOR = 'C',
	LONG_FIRST = 256,
};

static const struct option global_options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "pretty", no_argument, NULL, 'p' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ "instance", required_argument, NULL, LONG_INSTANCE },
	{ "color", required_argument, NULL, LONG_COLOR },
};

enum {
	GLOBALS = sizeof(global_options) / sizeof(*global_options),
};

const char *option_name(enum option_id id)
{
	return option_texts[id].name;
}

const char *option_value(enum option_id id)
{
	return option_texts[id].value;
}

int usage(struct message *message, const char *format, ...)
{
	va_list args;

	message->hint[0] = '\0';
	va_start(args, format);
	vsnprintf(message->text, sizeof(message->text), format, args);
	va_end(args);
	return VERB_USAGE;
}

int usage_hint(const struct command *command, struct message *message)
{
	const struct verb *verb = command->verb;

	return message_hint(message, VERB_USAGE, "usage: weir %s%s%s", verb->name,
			    *verb->usage ? " " : "", verb->usage);
}

int words_expect(const struct command *command, int least, int most, struct message *message)
{
	const char *name = command->verb->name;

	if (command->argc >= least && command->argc <= most)
		return 0;
	if (command->argc > most)
		usage(message, "`%s` is one word too many for `weir %s`", command->argv[most],
		      name);
	else
		usage(message, "`weir %s` needs more words", name);
	return usage_hint(command, message);
}

static void long_options(struct option *list)
{
	memcpy(list, global_options, sizeof(global_options));
	for (int i = 0; i < OPTIONS; i++)
		list[GLOBALS + i] = (struct option){
			.name = option_texts[i].name,
			.has_arg = option_texts[i].value ? required_argument : no_argument,
			.val = LONG_FIRST + i,
		};
	list[GLOBALS + OPTIONS] = (struct option){ 0 };
}

/* getopt says only that something is wrong; say what. */
static int option_refused(int result, const char *typed, const struct option *list,
			  struct message *message)
{
	char dashed[GLOBALS + OPTIONS][24], word[64];
	const char *names[GLOBALS + OPTIONS];

	if (result == ':')
		return usage(message, "option `%s` needs a value", typed);
	if (strncmp(typed, "--", 2))
		return usage(message, "unknown option `%s`", typed);
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(typed, "="), typed);
	for (int i = 0; i < GLOBALS + OPTIONS; i++) {
		snprintf(dashed[i], sizeof(dashed[i]), "--%s", list[i].name);
		names[i] = dashed[i];
	}
	if (word_find(word, names, GLOBALS + OPTIONS, "option", message) >= 0)
		return usage(message, "option `%s` takes no value", word);
	return VERB_USAGE;
}

static int color_wanted(const char *word, struct command *command, struct message *message)
{
	static const char *const words[] = { "auto", "always", "never" };
	int found = word_find(word, words, 3, "colour choice", message);

	if (found < 0)
		return VERB_USAGE;
	if (found)
		command->color = found == 1;
	return 0;
}

static int option_take(int value, struct command *command, struct message *message)
{
	switch (value) {
	case 'p':
		command->pretty = true;
		/* fall through */
	case 'j':
		command->json = true;
		return 0;
	case 'q':
		log_level = LOG_QUIET;
		return 0;
	case 'v':
		log_level = LOG_VERBOSE;
		return 0;
	case 'h':
		command->help = true;
		return 0;
	case 'V':
		command->version = true;
		return 0;
	case LONG_INSTANCE:
		command->instance = optarg;
		return 0;
	case LONG_COLOR:
		return color_wanted(optarg, command, message);
	}
	command->option[value - LONG_FIRST] = optarg ? optarg : "";
	return 0;
}

int options_read(int argc, char **argv, struct command *command, struct message *message)
{
	struct option list[GLOBALS + OPTIONS + 1];
	const char *no_color = getenv("NO_COLOR");
	struct message first = { 0 };
	int value, err = 0;

	*command = (struct command){ .instance = "default", .out = stdout };
	command->human = isatty(STDOUT_FILENO);
	command->color = command->human && !(no_color && *no_color);
	long_options(list);
	opterr = 0;
	while ((value = getopt_long(argc, argv, ":jpqvhV", list, NULL)) != -1) {
		int result;

		if (value == '?' || value == ':')
			result = option_refused(value, argv[optind - 1], list, &first);
		else
			result = option_take(value, command, &first);
		if (result && !err) {
			err = result;
			*message = first;
		}
	}
	command->argc = argc - optind;
	command->argv = argv + optind;
	return err;
}

int option_count(const struct command *command, enum option_id id, uint64_t otherwise,
		 uint64_t *count, struct message *message)
{
	struct message why;

	if (!command->option[id]) {
		*count = otherwise;
		return 0;
	}
	if (!units_count(command->option[id], count, &why))
		return 0;
	usage(message, "--%s: %s", option_name(id), why.text);
	return message_hint(message, VERB_USAGE, "%s", why.hint);
}

int option_duration(const struct command *command, enum option_id id, uint64_t otherwise_ns,
		    uint64_t *ns, struct message *message)
{
	const char *text = command->option[id];
	struct message why;
	char seconds[64];

	if (!text) {
		*ns = otherwise_ns;
		return 0;
	}
	if (*text && strspn(text, "0123456789.") == strlen(text)) {
		snprintf(seconds, sizeof(seconds), "%ss", text);
		text = seconds;
	}
	if (!units_duration(text, ns, &why))
		return 0;
	usage(message, "--%s: %s", option_name(id), why.text);
	return message_hint(message, VERB_USAGE, "%s", why.hint);
}
