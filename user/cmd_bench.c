/* SPDX-License-Identifier: GPL-2.0-only */
/* weir bench: what a packet costs on this machine, on an instance of its own that is not attached.
 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "cli.h"
#include "columns.h"
#include "config.h"
#include "kernel_bench.h"
#include "policy_file.h"
#include "running.h"
#include "snapshot.h"
#include "stop.h"

#define INSTANCE "weir-bench"

enum bench_size {
	SOURCES_MOST = 1 << 24, /* 10.0.0.0/8 */
	ROWS = 3,
};

/* A limit that one source exceeds at once, and many do not. */
#define POLICY                               \
	"table: {kind: %s, sources: %llu}\n" \
	"policies:\n"                        \
	"  - name: everyone\n"               \
	"    sources: [0.0.0.0/0, '::/0']\n" \
	"    limits: [{name: packets, rate: 1000/s, burst: 2000}]\n"

struct bench_row {
	uint64_t sources;
	struct bench_result result;
	double passed; /* share */
};

static int make_policy(struct command *command, uint64_t sources, struct ruleset **ruleset,
		       struct message *message)
{
	const char *table = command->option[OPT_TABLE];
	char text[sizeof(POLICY) + 64];

	command->file = command->option[OPT_POLICY];
	if (command->file)
		return policy_file_read(command->file, ruleset, &command->problems, message);
	snprintf(text, sizeof(text), POLICY, table ? table : "sets", (unsigned long long)sources);
	if (!config_parse(text, strlen(text), ruleset, &command->problems))
		return 0;
	*message = command->problems.list[0].message;
	problems_free(&command->problems);
	return -EINVAL;
}

static int totals(const struct running *running, uint64_t *passed, uint64_t *all,
		  struct message *message)
{
	struct snapshot snapshot;
	int err = snapshot_read(&running->instance, running->image, false, &snapshot, message);

	if (err)
		return err;
	*passed = snapshot.passed.packets;
	*all = snapshot.passed.packets + snapshot.dropped.packets;
	snapshot_free(&snapshot);
	return 0;
}

static int run_row(const struct running *running, uint64_t for_ns, struct bench_row *row,
		   struct message *message)
{
	uint64_t passed_before, all_before, passed, all;
	int err = totals(running, &passed_before, &all_before, message);

	if (!err)
		err = bench_run(&running->instance, (uint32_t)row->sources, for_ns, &row->result,
				message);
	if (!err)
		err = totals(running, &passed, &all, message);
	if (!err)
		row->passed = all > all_before ? (double)(passed - passed_before) /
							 (double)(all - all_before)
					       : 0;
	return err;
}

static void print_text(const struct bench_row *rows, size_t count, const struct command *command)
{
	static const char *const titles[] = { ">SOURCES", ">NS A PACKET", ">PACKETS/S A CPU",
					      ">PASSED", NULL };
	struct columns columns;

	columns_start(&columns, titles);
	for (size_t i = 0; i < count; i++) {
		columns_cell(&columns, "%llu", (unsigned long long)rows[i].sources);
		columns_cell(&columns, "%.1f", rows[i].result.ns);
		columns_cell(&columns, "%.0f", 1e9 / rows[i].result.ns);
		columns_cell(&columns, "%.1f %%", rows[i].passed * 100);
	}
	columns_print(&columns, command->color, command->out);
	log_info("the program alone, by BPF_PROG_TEST_RUN with warm caches; in place, with the "
		 "driver of a card around it, a packet takes more");
}

static void print_json(const struct bench_row *rows, size_t count, const struct command *command)
{
	json_t *list = json_array();
	json_t *document;

	for (size_t i = 0; i < count; i++)
		json_array_append_new(
			list, json_pack("{s:I, s:I, s:f, s:f, s:f}", "sources",
					(json_int_t)rows[i].sources, "packets",
					(json_int_t)rows[i].result.packets, "ns_per_packet",
					rows[i].result.ns, "driver_ns_per_packet",
					rows[i].result.driver_ns, "passed_share", rows[i].passed));
	document = json_pack("{s:o}", "runs", list);
	json_dumpf(document, command->out,
		   (command->pretty ? JSON_INDENT(2) : JSON_COMPACT) | JSON_REAL_PRECISION(6));
	fputc('\n', command->out);
	json_decref(document);
}

static int run_rows(struct command *command, struct ruleset *ruleset, uint64_t for_ns,
		    struct bench_row *rows, size_t count, struct message *message)
{
	struct running running;
	int err;

	stop_on_signals(); /* a run is interrupted, and then cleared away */
	if (instance_exists(INSTANCE))
		instance_destroy(INSTANCE, NULL); /* of one that was killed */
	err = running_create(INSTANCE, ruleset, &running, message);
	if (err)
		return err;
	for (size_t i = 0; !err && i < count; i++)
		err = run_row(&running, for_ns, &rows[i], message);
	running_close(&running);
	instance_destroy(INSTANCE, NULL);
	if (err)
		return err;
	if (command->json)
		print_json(rows, count, command);
	else
		print_text(rows, count, command);
	return 0;
}

int cmd_bench(struct command *command, struct message *message)
{
	struct bench_row rows[ROWS] = { { .sources = 1 },
					{ .sources = 1 << 16 },
					{ .sources = 1 << 20 } };
	struct ruleset *ruleset;
	uint64_t sources, for_ns;
	size_t count = ROWS;
	int err = words_expect(command, 0, 0, message);

	if (!err)
		err = option_count(command, OPT_SOURCES, 0, &sources, message);
	if (!err)
		err = option_duration(command, OPT_SECONDS, NS_PER_SEC, &for_ns, message);
	if (err)
		return err;
	if (sources & (sources - 1) || sources > SOURCES_MOST)
		return usage(message, "--sources takes a power of two, at most %d", SOURCES_MOST);
	if (sources) {
		rows[0].sources = sources;
		count = 1;
	}
	err = make_policy(command,
			  rows[count - 1].sources > 1 << 20 ? rows[count - 1].sources : 1 << 20,
			  &ruleset, message);
	return err ? err : run_rows(command, ruleset, for_ns, rows, count, message);
}
