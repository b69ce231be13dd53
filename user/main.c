/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The verbs, and what happens when none fits. The table is the usage text; the
 * only place where results become exit codes.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "render_json.h"
#include "words.h"

enum exit_code {
	EXIT_DONE,
	EXIT_FAILED,
	EXIT_USAGE,
	EXIT_UNPROTECTED,
};

static int cmd_help(struct command *command, struct message *message);

static const struct verb verbs[] = {
	{ "attach", cmd_attach,
	  OPTION(MODE) | OPTION(POLICY) | OPTION(REPLACE) | OPTION(CONFIRM) | OPTION(OBSERVE),
	  "IFACE... [--mode auto|native|generic] [--policy FILE] [--replace] [--observe] "
	  "[--confirm SECONDS]",
	  "protect interfaces" },
	{ "detach", cmd_detach, OPTION(ALL), "IFACE... | --all",
	  "stop protecting; --all removes the instance" },
	{ "check", cmd_check, 0, "FILE", "read a policy file and say what is wrong with it" },
	{ "apply", cmd_apply, OPTION(DRY_RUN) | OPTION(CONFIRM) | OPTION(FLUSH) | OPTION(OBSERVE),
	  "FILE [--dry-run] [--observe] [--flush] [--confirm SECONDS]",
	  "put a policy file in force, whole or not at all" },
	{ "confirm", cmd_confirm, 0, "", "keep what was applied with --confirm" },
	{ "dump", cmd_dump, OPTION(DEFAULT), "[--default]",
	  "print the policy in force as a file that apply takes" },
	{ "limit", cmd_limit, 0, "PREFIX RATE [burst N] [per LEN] [service NAME] [for DURATION]",
	  "limit a prefix by hand" },
	{ "block", cmd_block, OPTION(FILE), "PREFIX [for DURATION] | --file FILE [for DURATION]",
	  "drop all packets of a prefix" },
	{ "allow", cmd_allow, 0, "PREFIX [for DURATION]", "pass all packets of a prefix" },
	{ "remove", cmd_remove, 0, "PREFIX", "undo limit, block or allow" },
	{ "status", cmd_status, 0, "", "is this machine protected?" },
	{ "stats", cmd_stats, OPTION(INTERVAL) | OPTION(COUNT), "[--interval SECONDS] [--count N]",
	  "counters by policy, limit and reason" },
	{ "source", cmd_source, OPTION(TOP) | OPTION(BY) | OPTION(ALL),
	  "list [--top N] [--by dropped|passed|debt] | show ADDR | forget ADDR|--all",
	  "what is remembered of sources" },
	{ "explain", cmd_explain, 0, "ADDR [proto P] [dport N] [type N] [to ADDR] [len N] [syn]",
	  "how such a packet would be judged now" },
	{ "top", cmd_top, OPTION(INTERVAL) | OPTION(COUNT) | OPTION(TOP),
	  "[--interval S] [--count N, with -j] [--top N, with -j]",
	  "live screen: rates, reasons, top sources" },
	{ "monitor", cmd_monitor, OPTION(MAX) | OPTION(SECONDS), "[--max N] [--seconds S]",
	  "sampled drops as they happen" },
	{ "capture", cmd_capture, OPTION(MAX) | OPTION(SECONDS),
	  "FILE.pcapng [--max N] [--seconds S]",
	  "dropped packets to a file, with the reason of each" },
	{ "export", cmd_export,
	  OPTION(LISTEN) | OPTION(ONCE) | OPTION(TEXTFILE) | OPTION(INTERVAL) | OPTION(TOP),
	  "[--listen ADDR:PORT] [--once] [--textfile PATH [--interval S]] [--top N]",
	  "metrics for Prometheus" },
	{ "sync", cmd_sync,
	  OPTION(REDIS) | OPTION(INTERVAL) | OPTION(NODE) | OPTION(KEY) | OPTION(TOP) |
		  OPTION(ONCE),
	  "--redis URL [--interval S] [--node NODE] [--key PREFIX] [--top N] [--once]",
	  "share states over a fleet" },
	{ "replay", cmd_replay, OPTION(POLICY) | OPTION(SUGGEST) | OPTION(TOP),
	  "FILE.pcap[ng] [--policy FILE] [--top N] [FILTER...] | FILE --suggest [--policy FILE]",
	  "what a policy would have done to a capture; limits for it" },
	{ "bench", cmd_bench, OPTION(SOURCES) | OPTION(TABLE) | OPTION(POLICY) | OPTION(SECONDS),
	  "[--sources N] [--table sets|hash|percpu] [--policy FILE] [--seconds S]",
	  "ns a packet on this machine" },
	{ "completion", cmd_completion, 0, "bash|zsh", "print a completion script" },
	{ "help", cmd_help, 0, "[COMMAND]", "this text, or a command's" },
};

enum {
	VERBS = sizeof(verbs) / sizeof(*verbs),
};

static const struct verb *verb_find(const char *word, struct message *message)
{
	const char *names[VERBS];
	int found;

	for (size_t i = 0; i < VERBS; i++)
		names[i] = verbs[i].name;
	found = word_find(word, names, VERBS, "command", message);
	return found < 0 ? NULL : &verbs[found];
}

static void print_usage(const struct verb *verb, FILE *out)
{
	fprintf(out, "usage: weir %s%s%s\n\n    %s\n", verb->name, *verb->usage ? " " : "",
		verb->usage, verb->summary);
}

static void print_help(FILE *out)
{
	fprintf(out, "weir holds packet floods back at the network card, source by source.\n\n"
		     "usage: weir [OPTION...] [COMMAND [WORD...]]\n\n");
	for (size_t i = 0; i < VERBS; i++)
		fprintf(out, "    %-10s  %s\n", verbs[i].name, verbs[i].summary);
	fprintf(out, "\n`weir help COMMAND` shows a command's words and options. For all of them:\n"
		     "    -j, --json           one JSON document, errors too\n"
		     "    -p, --pretty         the same, indented\n"
		     "    -q, --quiet          only data, warnings and errors\n"
		     "    -v, --verbose        say what is done\n"
		     "    --instance NAME      one of several instances (default: default)\n"
		     "    --color WHEN         auto, always or never\n"
		     "    -h, --help; -V, --version\n\n"
		     "exit: 0 done, 1 failed, 2 usage, 3 status: not fully protecting\n");
}

static int cmd_help(struct command *command, struct message *message)
{
	const struct verb *verb;
	int err = words_expect(command, 0, 1, message);

	if (err)
		return err;
	if (!command->argc) {
		print_help(command->out);
		return 0;
	}
	verb = verb_find(command->argv[0], message);
	if (!verb)
		return VERB_USAGE;
	print_usage(verb, command->out);
	return 0;
}

/* The name becomes a directory of bpffs, which takes no dots. */
static int check_instance(const char *name, struct message *message)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_-";
	size_t length = strlen(name);

	if (length && length < INSTANCE_NAME && strspn(name, letters) == length)
		return 0;
	usage(message, "`%s` can't be the name of an instance", name);
	return message_hint(message, VERB_USAGE, "1 to %d letters, digits, `-` or `_`",
			    INSTANCE_NAME - 1);
}

static int check_options(const struct command *command, struct message *message)
{
	const struct verb *verb = command->verb;

	for (int i = 0; i < OPTIONS; i++) {
		if (!command->option[i] || (verb->options & (1ULL << i)))
			continue;
		usage(message, "`weir %s` takes no option --%s", verb->name, option_name(i));
		return usage_hint(command, message);
	}
	return check_instance(command->instance, message);
}

static int run(struct command *command, struct message *message)
{
	const char *word = "status";
	int err;

	if (command->version) {
		fprintf(command->out, "weir %s\n", WEIR_VERSION);
		return 0;
	}
	if (command->argc) {
		word = command->argv[0];
		command->argc--;
		command->argv++;
	} else if (command->help) {
		word = "help";
	}
	command->verb = verb_find(word, message);
	if (!command->verb)
		return VERB_USAGE;
	if (command->help && command->verb->run != cmd_help) {
		print_usage(command->verb, command->out);
		return 0;
	}
	err = check_options(command, message);
	return err ? err : command->verb->run(command, message);
}

/* A lost answer is a failure: `weir dump > /dev/full`. */
static int finish_output(struct command *command, struct message *message)
{
	if (fflush(command->out) || ferror(command->out))
		return message_set(message, -EIO, "the output could not be written: %s",
				   strerror(errno));
	return 0;
}

static void print_problems(const struct command *command, FILE *out)
{
	for (size_t i = 0; i < command->problems.count; i++) {
		const struct problem *problem = &command->problems.list[i];

		fprintf(out, "%s:%u:%u: error: %s\n", command->file, problem->place.line,
			problem->place.column, problem->message.text);
		if (*problem->message.hint)
			fprintf(out, "    hint: %s\n", problem->message.hint);
	}
}

static void report(const struct command *command, const struct message *message)
{
	if (command->json) {
		json_print(json_error(message, command->file, &command->problems), command->pretty,
			   command->out);
		fflush(command->out);
		return;
	}
	print_problems(command, stderr);
	fprintf(stderr, "weir: %s\n", message->text);
	if (*message->hint)
		fprintf(stderr, "    hint: %s\n", message->hint);
}

static enum exit_code exit_code(int result)
{
	switch (result) {
	case 0:
		return EXIT_DONE;
	case VERB_USAGE:
		return EXIT_USAGE;
	case VERB_UNPROTECTED:
		return EXIT_UNPROTECTED;
	default:
		return EXIT_FAILED;
	}
}

int main(int argc, char **argv)
{
	struct message message = { 0 };
	struct command command;
	int result;

	result = options_read(argc, argv, &command, &message);
	if (!result)
		result = run(&command, &message);
	if (!result || result == VERB_UNPROTECTED) {
		int err = finish_output(&command, &message);

		result = err ? err : result;
	}
	if (result && result != VERB_UNPROTECTED) {
		if (!*message.text)
			message_set(&message, result, "%s", strerror(-result));
		report(&command, &message);
	}
	problems_free(&command.problems);
	return exit_code(result);
}
