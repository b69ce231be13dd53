/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The joint between main and the verbs: what was typed, split into options and
 * words, and where the answer goes. A verb is one line in main.c's table and one
 * cmd_*.c; an option is one line in options.c.
 */
#ifndef WEIR_CLI_H
#define WEIR_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "log.h"
#include "policy.h"

/* Options beyond the global ones; a verb says which it takes. */
enum option_id {
	OPT_MODE,
	OPT_POLICY,
	OPT_REPLACE,
	OPT_CONFIRM,
	OPT_OBSERVE,
	OPT_ALL,
	OPT_DRY_RUN,
	OPT_FLUSH,
	OPT_DEFAULT,
	OPT_FILE,
	OPT_INTERVAL,
	OPT_COUNT,
	OPT_TOP,
	OPT_BY,
	OPT_MAX,
	OPT_SECONDS,
	OPT_SUGGEST,
	OPT_LISTEN,
	OPT_ONCE,
	OPT_TEXTFILE,
	OPT_REDIS,
	OPT_NODE,
	OPT_KEY,
	OPT_SOURCES,
	OPT_TABLE,
	OPTIONS,
};

#define OPTION(name) (1ULL << OPT_##name)

struct verb;

struct command {
	const struct verb *verb;
	const char *instance;
	bool json, pretty;
	bool color;		     /* escape sequences are welcome on `out` */
	bool human;		     /* `out` is a terminal: 12.3k, not 12345 */
	bool help, version;	     /* asked for instead of the verb's job */
	const char *option[OPTIONS]; /* as given; "" for one without a value; NULL: not given */
	int argc;
	char **argv; /* the words behind the verb */
	FILE *out;
	/* A policy file's problems, for main to report, and the file's name. */
	struct problems problems;
	const char *file;
};

/* Results of a verb beside 0 and -errno; main makes exit codes of them. */
enum verb_result {
	VERB_USAGE = -5000,	  /* the command line can't be understood: exit 2 */
	VERB_UNPROTECTED = -5001, /* said all there is to say, but: exit 3 */
};

struct verb {
	const char *name;
	int (*run)(struct command *command, struct message *message);
	unsigned long long options; /* OPTION(..) | OPTION(..) */
	const char *usage;	    /* what follows the name */
	const char *summary;
};

int cmd_allow(struct command *command, struct message *message);
int cmd_apply(struct command *command, struct message *message);
int cmd_attach(struct command *command, struct message *message);
int cmd_bench(struct command *command, struct message *message);
int cmd_block(struct command *command, struct message *message);
int cmd_capture(struct command *command, struct message *message);
int cmd_check(struct command *command, struct message *message);
int cmd_completion(struct command *command, struct message *message);
int cmd_confirm(struct command *command, struct message *message);
int cmd_detach(struct command *command, struct message *message);
int cmd_dump(struct command *command, struct message *message);
int cmd_explain(struct command *command, struct message *message);
int cmd_export(struct command *command, struct message *message);
int cmd_limit(struct command *command, struct message *message);
int cmd_monitor(struct command *command, struct message *message);
int cmd_remove(struct command *command, struct message *message);
int cmd_replay(struct command *command, struct message *message);
int cmd_source(struct command *command, struct message *message);
int cmd_stats(struct command *command, struct message *message);
int cmd_status(struct command *command, struct message *message);
int cmd_sync(struct command *command, struct message *message);
int cmd_top(struct command *command, struct message *message);

/*
 * Split the command line. Returns VERB_USAGE with *message where an option is not known or lacks
 * its value; json and color are right even then, so that the error is shown as asked for.
 * argv is permuted; command->argv starts at the verb.
 */
int options_read(int argc, char **argv, struct command *command, struct message *message);

/* The name of an option without its dashes, and what its value is called (NULL: it takes none). */
const char *option_name(enum option_id id);
const char *option_value(enum option_id id);

/* The value of an option, or `otherwise` if it was not given. VERB_USAGE with *message. */
int option_count(const struct command *command, enum option_id id, uint64_t otherwise,
		 uint64_t *count, struct message *message);
/* A duration; a bare number is seconds. */
int option_duration(const struct command *command, enum option_id id, uint64_t otherwise_ns,
		    uint64_t *ns, struct message *message);

/* `return usage(message, "...")`: the words can't be understood. */
int usage(struct message *message, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds the verb's usage as hint; returns VERB_USAGE. */
int usage_hint(const struct command *command, struct message *message);

/* The number of words must be in [least, most]; else VERB_USAGE, and the verb's usage as hint. */
int words_expect(const struct command *command, int least, int most, struct message *message);

#endif
