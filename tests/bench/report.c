/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/columns.h"
#include "report.h"

#define BYTES_TARGET 48
#define LOAD_TARGET  3.0

static int compare_doubles(const void *a, const void *b)
{
	double one = *(const double *)a, two = *(const double *)b;

	return (one > two) - (one < two);
}

static double median(const double *values, unsigned int count)
{
	double sorted[ROUNDS_MOST];

	memcpy(sorted, values, count * sizeof(*values));
	qsort(sorted, count, sizeof(*sorted), compare_doubles);
	return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

static double least(const double *values, unsigned int count)
{
	double min = values[0];

	for (unsigned int i = 1; i < count; i++)
		min = values[i] < min ? values[i] : min;
	return min;
}

static const struct result *find(const struct report *report, const char *title)
{
	for (size_t i = 0; i < report->count; i++)
		if (!strcmp(report->results[i].row->title, title))
			return &report->results[i];
	return NULL;
}

/* The least of the row, less the least of its driver: what a quiet machine would take. */
static double least_net(const struct report *report, const struct result *result)
{
	const struct result *driver = find(report, row_drivers[result->row->kind]);

	return least(result->gross, report->rounds) - least(driver->gross, report->rounds);
}

/* Round by round, since the machine's pace changes between rounds; 0 where one was left out. */
static double ratio(const struct report *report, const struct result *one,
		    const struct result *other)
{
	double each[ROUNDS_MOST];

	if (!one || !other)
		return 0;
	for (unsigned int i = 0; i < report->rounds; i++)
		each[i] = one->net[i] / other->net[i];
	return median(each, report->rounds);
}

static double ratio_gross(const struct report *report, const struct result *one,
			  const struct result *other)
{
	double each[ROUNDS_MOST];

	if (!one || !other)
		return 0;
	for (unsigned int i = 0; i < report->rounds; i++)
		each[i] = one->gross[i] / other->gross[i];
	return median(each, report->rounds);
}

static const char *met(double is, double most)
{
	return is <= most ? "met" : "not met";
}

/* Pair by pair. */
static double duel_ratio(const struct duel *duel)
{
	double each[PAIRS_MOST];

	for (unsigned int i = 0; i < duel->pairs; i++)
		each[i] = (duel->row.gross[i] - duel->row.driver[i]) /
			  (duel->other.gross[i] - duel->other.driver[i]);
	return median(each, duel->pairs);
}

static double least_turn(const struct turns *turns, unsigned int count)
{
	return least(turns->gross, count) - least(turns->driver, count);
}

/* Of the quietest turn of each. */
static double duel_least(const struct duel *duel)
{
	return least_turn(&duel->row, duel->pairs) / least_turn(&duel->other, duel->pairs);
}

/* What the least that any program must do for the row would come to; 0: not told. */
static double floor_ratio(const struct report *report, const struct target *target)
{
	if (!target->floor)
		return 0;
	return ratio(report, find(report, target->floor), find(report, target_other(target)));
}

static void print_rows(const struct report *report, FILE *out)
{
	static const char *const titles[] = {
		"PROGRAM, NS A PACKET", ">NET", ">LEAST", ">GROSS", ">x BASE", ">GROSS x", NULL
	};
	struct columns columns;

	columns_start(&columns, titles);
	for (size_t i = 0; i < report->count; i++) {
		const struct result *result = &report->results[i];
		const struct result *base = find(report, row_base(result->row));

		columns_cell(&columns, "%s", result->row->title);
		columns_cell(&columns, "%.1f", median(result->net, report->rounds));
		columns_cell(&columns, "%.1f", least_net(report, result));
		columns_cell(&columns, "%.1f", median(result->gross, report->rounds));
		columns_cell(&columns, "%.2f", ratio(report, result, base));
		columns_cell(&columns, "%.2f", ratio_gross(report, result, base));
	}
	columns_print(&columns, false, out);
}

static void print_targets(const struct report *report, FILE *out)
{
	static const char *const titles[] = { "TARGET", "AGAINST", ">RATIO", ">AT MOST",
					      "",	">LEAST",  ">FLOOR", NULL };
	struct columns columns;

	columns_start(&columns, titles);
	for (size_t i = 0; i < target_count; i++) {
		double is, floor = floor_ratio(report, &targets[i]);

		if (!report->duels[i].pairs)
			continue;
		is = duel_ratio(&report->duels[i]);
		columns_cell(&columns, "%s", targets[i].row);
		columns_cell(&columns, "%s", target_other(&targets[i]));
		columns_cell(&columns, "%.2f", is);
		columns_cell(&columns, "%.2f", targets[i].most);
		columns_cell(&columns, "%s", met(is, targets[i].most));
		columns_cell(&columns, "%.2f", duel_least(&report->duels[i]));
		columns_cell(&columns, floor > 0 ? "%.2f" : "", floor);
	}
	columns_print(&columns, false, out);
}

static bool is_table(const struct made *made)
{
	static const char *const names[] = { "1M", "1M six", "hash", "percpu", "log 64k" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (made->setup && !strcmp(made->setup->name, names[i]))
			return true;
	return false;
}

static void print_memory(const struct report *report, FILE *out)
{
	static const char *const titles[] = { "TABLE OF", "KIND", ">BYTES A STATE",
					      ">AT MOST", "",	  NULL };
	struct columns columns;

	columns_start(&columns, titles);
	for (size_t i = 0; i < report->made_count; i++) {
		const struct made *made = &report->made[i];

		if (!is_table(made))
			continue;
		columns_cell(&columns, "%s", made->setup->name);
		columns_cell(&columns, "%s", made->setup->kind ? made->setup->kind : "sets");
		columns_cell(&columns, "%.1f", made->bytes);
		columns_cell(&columns, "%d", BYTES_TARGET);
		columns_cell(&columns, "%s", met(made->bytes, BYTES_TARGET));
	}
	columns_print(&columns, false, out);
}

/* What the change of the policy itself takes: the text, then the kernel's side. */
static double load_seconds(const struct made *made)
{
	return made->setup->use == PREFIXES_ENTRIES ? made->block_s : made->load_s;
}

static void print_loads(const struct report *report, FILE *out)
{
	static const char *const titles[] = { "LOADED",	  ">PREFIXES", ">TEXT, S", ">KERNEL, S",
					      ">AT MOST", "",	       NULL };
	struct columns columns;

	columns_start(&columns, titles);
	for (size_t i = 0; i < report->made_count; i++) {
		const struct made *made = &report->made[i];

		if (!made->setup || !made->setup->prefixes)
			continue;
		columns_cell(&columns, "%s", made->setup->name);
		columns_cell(&columns, "%u", made->setup->prefixes);
		columns_cell(&columns, "%.2f", made->parse_s);
		columns_cell(&columns, "%.2f", load_seconds(made));
		columns_cell(&columns, "%.1f", LOAD_TARGET);
		columns_cell(&columns, "%s", met(load_seconds(made), LOAD_TARGET));
	}
	columns_print(&columns, false, out);
}

void report_text(const struct report *report, FILE *out)
{
	print_rows(report, out);
	fputc('\n', out);
	print_targets(report, out);
	fputc('\n', out);
	print_memory(report, out);
	fputc('\n', out);
	print_loads(report, out);
}

static json_t *json_rows(const struct report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; i < report->count; i++) {
		const struct result *result = &report->results[i];
		const struct row *row = result->row;
		const struct result *base = find(report, row_base(row));

		json_array_append_new(
			list, json_pack("{s:s, s:i, s:i, s:f, s:f, s:f, s:f, s:f}", "row",
					row->title, "sources", (int)row->sources, "cpus",
					(int)row->cpus, "ns", median(result->net, report->rounds),
					"least_ns", least_net(report, result), "gross_ns",
					median(result->gross, report->rounds), "ratio_to_base",
					ratio(report, result, base), "gross_ratio_to_base",
					ratio_gross(report, result, base)));
	}
	return list;
}

static json_t *json_targets(const struct report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; i < target_count; i++) {
		const struct target *target = &targets[i];
		const struct duel *duel = &report->duels[i];
		double is;

		if (!duel->pairs)
			continue;
		is = duel_ratio(duel);
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:f, s:f, s:b, s:f, s:f}", "row", target->row,
					"against", target_other(target), "ratio", is, "at_most",
					target->most, "met", is <= target->most, "least_ratio",
					duel_least(duel), "floor", floor_ratio(report, target)));
	}
	return list;
}

static json_t *json_setups(const struct report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; i < report->made_count; i++) {
		const struct made *made = &report->made[i];

		if (made->setup)
			json_array_append_new(
				list,
				json_pack("{s:s, s:s, s:i, s:f, s:f, s:f, s:f}", "name",
					  made->setup->name, "table",
					  made->setup->kind ? made->setup->kind : "sets",
					  "prefixes", (int)made->setup->prefixes, "bytes_per_state",
					  made->bytes, "parse_s", made->parse_s, "load_s",
					  made->load_s, "block_s", made->block_s));
	}
	return list;
}

int report_json(const struct report *report, const char *path)
{
	json_t *document = json_pack("{s:i, s:o, s:o, s:o}", "rounds", (int)report->rounds, "rows",
				     json_rows(report), "targets", json_targets(report), "setups",
				     json_setups(report));
	int err = json_dump_file(document, path, JSON_INDENT(2) | JSON_REAL_PRECISION(5));

	json_decref(document);
	return err ? -EIO : 0;
}
