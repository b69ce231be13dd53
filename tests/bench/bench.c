/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * make bench, the program level: every row of rows.h, in turn, round by round,
 * so that what else the machine does meets all of them alike. Nothing is
 * attached; the instances lie in a bpffs of this process alone, and are gone
 * when it ends.
 */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "../../user/pins.h"
#include "measure.h"
#include "report.h"
#include "rows.h"
#include "setup.h"

enum bench_size {
	CALIBRATE = 20000, /* packets, to learn how many fill the time */
	PACKETS_MOST = 1 << 23,
	SLICE_NS = 15000000,
	SLICE_QUICK_NS = 8000000,
	ROUNDS = 9,
	ROUNDS_QUICK = 3,
	PAIRS = 21,    /* of a target */
	PAIR_PART = 2, /* of a round's packets, in each turn of a pair */
};

struct options {
	bool quick;
	unsigned int rounds;
	const char *only; /* rows whose titles hold this, and what they are compared with */
	const char *json;
};

/* A row on its way. */
struct runner {
	struct run run;
	uint32_t packets;
	unsigned int surprises; /* rounds that ended with another verdict */
};

struct session {
	struct options options;
	struct bench bench;
	struct made *made;	/* by setup */
	struct result *results; /* by row that is run */
	struct runner *runners; /* the same */
	struct duel *duels;	/* by target */
	size_t count;
	struct message message;
};

/* On a terminal only, in one line. */
__attribute__((format(printf, 1, 2))) static void progress(const char *format, ...)
{
	va_list args;

	if (!isatty(STDERR_FILENO))
		return;
	fputs("\r\033[K", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
}

static int fail(struct session *session, int err, const char *what)
{
	return message_set(&session->message, err, "%s: %s", what, strerror(-err));
}

static bool is_driver(const struct row *row)
{
	return !strncmp(row->title, "bare drop", 9);
}

static bool is_target_of(const struct options *options, const char *title)
{
	for (size_t i = 0; i < target_count; i++)
		if (strstr(targets[i].row, options->only) &&
		    (!strcmp(target_other(&targets[i]), title) ||
		     (targets[i].floor && !strcmp(targets[i].floor, title))))
			return true;
	return false;
}

static bool is_wanted(const struct options *options, const struct row *row)
{
	const struct setup *setup = setup_named(row->under);

	if (options->quick && setup && setup->large)
		return false;
	if (!options->only || is_driver(row) || !strcmp(row->title, ROW_BASE4) ||
	    !strcmp(row->title, ROW_BASE6))
		return true;
	return strstr(row->title, options->only) || is_target_of(options, row->title);
}

static struct drive_address *list_at(const struct session *session, size_t list)
{
	return session->bench.lists + list * DRIVE_LIST;
}

/* The first two lists are random addresses; then one for each setup, made or not. */
static int make_setup(struct session *session, size_t index)
{
	const struct setup *setup = &setups[index];
	struct made *made = &session->made[index];

	if (made->setup)
		return 0;
	progress("%s", setup->name);
	made->inside = (uint32_t)(index + 2) * DRIVE_LIST;
	return setup_make(setup, list_at(session, index + 2), made, &session->message);
}

static int program_of(struct session *session, const struct row *row)
{
	const struct setup *setup = setup_named(row->under);
	int err;

	if (!setup) {
		err = bench_program(&session->bench, row->under);
		return err < 0 ? fail(session, err, row->under) : err;
	}
	err = make_setup(session, (size_t)(setup - setups));
	return err ? err : session->made[setup - setups].program;
}

static uint32_t list_base(const struct row *row)
{
	const struct setup *setup = setup_named(row->under);

	if (row->list == LIST_INSIDE)
		return (uint32_t)(setup - setups + 2) * DRIVE_LIST;
	return row->kind == DRIVE_LIST6 ? DRIVE_LIST : 0;
}

static int measure(struct session *session, size_t index, uint32_t packets, double *ns)
{
	struct runner *runner = &session->runners[index];
	const struct row *row = session->results[index].row;
	uint32_t verdict;
	int err = bench_measure(&session->bench, &runner->run, packets, ns, &verdict);

	if (err)
		return fail(session, err, row->title);
	if (row->expect != EXPECT_ANY && verdict != (uint32_t)row->expect)
		runner->surprises++;
	return 0;
}

static void start_drives(const struct row *row, struct run *run)
{
	for (unsigned int cpu = 0; cpu < run->cpus; cpu++) {
		struct drive *drive = &run->drive[cpu];

		drive->mask = row->sources - 1;
		drive->stride = row->list ? 1 : DRIVE_SCATTER;
		drive->base = row->list ? list_base(row) : 0x0a000000;
		if (row->apart)
			drive->base += cpu * row->sources;
	}
}

/* Each source is seen once before any time is taken, and the packets that fill it are learnt. */
static int prepare(struct session *session, size_t index)
{
	const struct row *row = session->results[index].row;
	struct runner *runner = &session->runners[index];
	double slice = session->options.quick ? SLICE_QUICK_NS : SLICE_NS;
	double each, packets;
	int program = program_of(session, row), err;

	if (program < 0)
		return program;
	progress("%s", row->title);
	runner->run = (struct run){ .program = program, .kind = row->kind, .cpus = row->cpus };
	start_drives(row, &runner->run);
	err = measure(session, index, row->sources > CALIBRATE ? row->sources : CALIBRATE, &each);
	if (!err)
		err = measure(session, index, CALIBRATE, &each);
	packets = slice / each;
	runner->packets = packets < CALIBRATE	   ? CALIBRATE
			  : packets > PACKETS_MOST ? PACKETS_MOST
						   : (uint32_t)packets;
	runner->surprises = 0;
	return err;
}

static const double *driver_times(const struct session *session, enum drive_kind kind)
{
	for (size_t i = 0; i < session->count; i++)
		if (!strcmp(session->results[i].row->title, row_drivers[kind]))
			return session->results[i].gross;
	return NULL;
}

/* A round's packets first, untimed: the caches are another row's, and a flood lasts. */
static int measure_settled(struct session *session, size_t index, uint32_t packets, double *ns)
{
	unsigned int surprises = session->runners[index].surprises;
	double unused;
	int err = measure(session, index, session->runners[index].packets, &unused);

	session->runners[index].surprises = surprises;
	return err ? err : measure(session, index, packets, ns);
}

static int run_round(struct session *session, unsigned int round)
{
	for (size_t i = 0; i < session->count; i++) {
		struct result *result = &session->results[i];
		int err = measure_settled(session, i, session->runners[i].packets,
					  &result->gross[round]);

		if (err)
			return err;
		result->net[round] =
			result->gross[round] - driver_times(session, result->row->kind)[round];
	}
	return 0;
}

/* ---- targets: two rows in turn ---- */

static bool index_of(const struct session *session, const char *title, size_t *index)
{
	for (*index = 0; *index < session->count; (*index)++)
		if (!strcmp(session->results[*index].row->title, title))
			return true;
	return false;
}

static int measure_part(struct session *session, size_t index, double *ns)
{
	return measure_settled(session, index, session->runners[index].packets / PAIR_PART, ns);
}

/* A row's turn, right behind its driver's. */
static int measure_turn(struct session *session, size_t index, struct turns *turns,
			unsigned int pair)
{
	const char *title = row_drivers[session->results[index].row->kind];
	size_t driver;
	int err;

	if (!index_of(session, title, &driver))
		return fail(session, -ENOENT, title);
	err = measure_part(session, driver, &turns->driver[pair]);
	return err ? err : measure_part(session, index, &turns->gross[pair]);
}

static int run_duel(struct session *session, const struct target *target, struct duel *duel)
{
	unsigned int pairs = session->options.quick ? session->options.rounds : PAIRS;
	size_t row, other;
	int err = 0;

	if (!index_of(session, target->row, &row) ||
	    !index_of(session, target_other(target), &other))
		return 0;
	progress("%s", target->row);
	for (; !err && duel->pairs < pairs; duel->pairs++) {
		err = measure_turn(session, row, &duel->row, duel->pairs);
		if (!err)
			err = measure_turn(session, other, &duel->other, duel->pairs);
	}
	return err;
}

static int run_duels(struct session *session)
{
	int err = 0;

	for (size_t i = 0; !err && i < target_count; i++)
		err = run_duel(session, &targets[i], &session->duels[i]);
	return err;
}

/* A row that measured something else than its title says is worse than none. */
static int check_verdicts(struct session *session)
{
	for (size_t i = 0; i < session->count; i++)
		if (session->runners[i].surprises > session->options.rounds / 2)
			return message_set(&session->message, -EPROTO,
					   "%s: the program's verdict was another one",
					   session->results[i].row->title);
	return 0;
}

static int run(struct session *session)
{
	int err = 0;

	for (size_t i = 0; !err && i < session->count; i++)
		err = prepare(session, i);
	for (unsigned int round = 0; !err && round < session->options.rounds; round++) {
		progress("round %u of %u", round + 1, session->options.rounds);
		err = run_round(session, round);
	}
	if (!err)
		err = run_duels(session);
	progress("%s", "");
	return err ? err : check_verdicts(session);
}

static int report(struct session *session)
{
	struct report all = {
		.results = session->results,
		.count = session->count,
		.rounds = session->options.rounds,
		.duels = session->duels,
		.made = session->made,
		.made_count = setup_count,
	};
	int err = 0;

	report_text(&all, stdout);
	if (session->options.json)
		err = report_json(&all, session->options.json);
	return err ? fail(session, err, session->options.json) : 0;
}

static int start(struct session *session)
{
	int err;

	session->made = calloc(setup_count, sizeof(*session->made));
	session->results = calloc(row_count, sizeof(*session->results));
	session->runners = calloc(row_count, sizeof(*session->runners));
	session->duels = calloc(target_count, sizeof(*session->duels));
	if (!session->made || !session->results || !session->runners || !session->duels)
		return fail(session, -ENOMEM, "tables");
	for (size_t i = 0; i < row_count; i++)
		if (is_wanted(&session->options, &rows[i]))
			session->results[session->count++].row = &rows[i];
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("bpf", PINS_MOUNT, "bpf", 0, NULL))
		return fail(session, -errno, "a bpffs of its own (root?)");
	err = bench_open(&session->bench, (unsigned int)setup_count + 2);
	if (err)
		return fail(session, err, "reference programs");
	addresses_random(4, list_at(session, 0));
	addresses_random(6, list_at(session, 1));
	return 0;
}

static void end(struct session *session)
{
	for (size_t i = 0; session->made && i < setup_count; i++)
		setup_unmake(&session->made[i]);
	bench_close(&session->bench);
	free(session->made);
	free(session->results);
	free(session->runners);
	free(session->duels);
}

static void usage(void)
{
	fputs("usage: bench [--quick] [--rounds N] [--only WORDS] [--json FILE]\n", stderr);
	exit(2);
}

static struct options parse_options(int argc, char **argv)
{
	static const struct option names[] = {
		{ "quick", no_argument, NULL, 'q' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "only", required_argument, NULL, 'o' },
		{ "json", required_argument, NULL, 'j' },
		{ 0 },
	};
	struct options options = { 0 };
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (option == 'q')
			options.quick = true;
		else if (option == 'r')
			options.rounds = (unsigned int)strtoul(optarg, NULL, 10);
		else if (option == 'o')
			options.only = optarg;
		else if (option == 'j')
			options.json = optarg;
		else
			usage();
	}
	if (!options.rounds)
		options.rounds = options.quick ? ROUNDS_QUICK : ROUNDS;
	if (optind != argc || options.rounds > ROUNDS_MOST)
		usage();
	return options;
}

int main(int argc, char **argv)
{
	struct session session = { .options = parse_options(argc, argv) };
	int err = start(&session);

	if (!err)
		err = run(&session);
	if (!err)
		err = report(&session);
	if (err)
		fprintf(stderr, "bench: %s\n", session.message.text);
	end(&session);
	return err ? 1 : 0;
}
