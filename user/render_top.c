/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "render_top.h"

enum layout {
	LEAST_ROWS = 10,
	LEAST_COLUMNS = 60,
	HEAD_ROWS = 5,	    /* title, passed, dropped, reasons, table */
	POLICIES_LEAST = 3, /* rows, where there are that many */
	NUMBER = 9,	    /* width of a column of numbers */
	FLOW_COLUMN = 47,   /* where the minute is drawn */
	LIMIT_COLUMN = 22,  /* width of policy/limit, on a narrow screen */
	POLICY_COLUMNS = 7, /* of numbers */
	SOURCE_COLUMNS = 4,
	RETRY = NUMBER + 1, /* width of the last of them: "ban 55.5s" */
	DIGITS = 12, /* of a number in JSON: a rate of 100 Gbit/s and a digit behind the point */
};

static const wchar_t blocks[] = L" \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588";
static const wchar_t blocks_ascii[] = L" .:-=+*%#";

enum {
	BLOCKS = sizeof(blocks) / sizeof(*blocks) - 2, /* the highest */
};

/* Samples in one column: the minute is squeezed where there are fewer columns than samples. */
static double bar(const struct speed *history, size_t count, size_t first, size_t each)
{
	double most = 0;

	for (size_t i = first; i < first + each && i < count; i++)
		most = history[i].packets > most ? history[i].packets : most;
	return most;
}

static void draw_minute(const struct top *top, const struct speed *history, bool ascii,
			enum style style, int row, struct screen *screen)
{
	int width = screen->columns - FLOW_COLUMN;
	size_t each, bars;
	double highest = 0;

	if (width < 1)
		return;
	each = (TOP_HISTORY + (size_t)width - 1) / (size_t)width;
	bars = (top->history + each - 1) / each;
	highest = bar(history, top->history, 0, top->history);
	for (size_t i = 0; i < bars && highest > 0; i++) {
		double value = bar(history, top->history, i * each, each);
		int level = (int)(value / highest * BLOCKS + 0.5);

		if (value > 0 && !level)
			level = 1;
		screen_set(screen, row, FLOW_COLUMN + (int)i, style,
			   ascii ? blocks_ascii[level] : blocks[level]);
	}
}

static void draw_flow(const struct top *top, const char *label, bool ascii, int row,
		      struct screen *screen)
{
	bool passed = *label == 'p';
	struct speed speed = passed ? top->rates.passed : top->rates.dropped;
	enum style style = passed ? STYLE_GOOD : STYLE_BAD;
	char packets[UNIT_TEXT], bits[UNIT_TEXT];

	screen_put(screen, row, 0, speed.packets > 0 ? style : STYLE_PLAIN,
		   "%-8s %8s packets/s %8s bit/s", label,
		   units_human(speed.packets, packets, sizeof(packets)),
		   units_human(speed.bits, bits, sizeof(bits)));
	draw_minute(top, passed ? top->passed : top->dropped, ascii, style, row, screen);
}

static void draw_reasons(const struct top *top, int row, struct screen *screen)
{
	int column = screen_put(screen, row, 0, STYLE_PLAIN, "reasons ");
	char packets[UNIT_TEXT];
	bool any = false;

	for (int i = REASON_COUNT - 1; i >= 0; i--) {
		double speed = top->rates.reasons[i].packets;

		if (speed <= 0)
			continue;
		column = screen_put(screen, row, column, STYLE_PLAIN, " %s %s/s", reason_name(i),
				    units_human(speed, packets, sizeof(packets)));
		any = true;
	}
	if (!any)
		screen_put(screen, row, column, STYLE_DIM, " no packets");
}

static void draw_title(const struct top *top, struct screen *screen)
{
	char every[UNIT_TEXT];

	screen_style_row(screen, 0, STYLE_TITLE);
	screen_put(screen, 0, 0, top->protecting ? STYLE_TITLE : STYLE_BAD, "%s%s", top->title,
		   top->protecting ? "" : "  NOT PROTECTING");
	if (top->paused)
		snprintf(every, sizeof(every), " PAUSED");
	else
		snprintf(every, sizeof(every), " every %.3g s",
			 (double)(top->rates.span_ns ? top->rates.span_ns : top->interval_ns) /
				 NS_PER_SEC);
	screen_put(screen, 0, screen->columns - (int)strlen(every), STYLE_TITLE, "%s", every);
}

static void put_number(struct screen *screen, int row, int column, enum style style, double value)
{
	char text[UNIT_TEXT];

	screen_put(screen, row, column, style, "%*s", NUMBER,
		   units_human(value, text, sizeof(text)));
}

/* Names are cut, so that they don't run into the numbers. */
static void put_name(struct screen *screen, int row, int column, int width, enum style style,
		     const char *name)
{
	screen_put(screen, row, column, style, "%-*.*s", width, width, name);
}

static int compare_policies(const void *a, const void *b)
{
	const struct policy_rates *one = *(const struct policy_rates *const *)a;
	const struct policy_rates *two = *(const struct policy_rates *const *)b;
	double by = two->dropped.packets - one->dropped.packets;

	if (by == 0)
		by = two->passed.packets - one->passed.packets;
	if (by == 0)
		by = one < two ? -1 : 1;
	return by < 0 ? -1 : 1;
}

static void draw_policy(const struct policy_rates *policy, int row, struct screen *screen)
{
	int column = screen->columns - POLICY_COLUMNS * NUMBER;
	const double numbers[POLICY_COLUMNS] = {
		policy->passed.packets,
		policy->passed.bits,
		policy->dropped.packets,
		policy->dropped.bits,
		policy->reasons[REASON_LIMIT].packets,
		policy->reasons[REASON_BAN].packets,
		policy->reasons[REASON_BLOCKED].packets,
	};

	put_name(screen, row, 0, column - 1, STYLE_PLAIN, policy->name);
	for (int i = 0; i < POLICY_COLUMNS; i++)
		put_number(screen, row, column + i * NUMBER,
			   i >= 2 && numbers[i] > 0 ? STYLE_BAD : STYLE_PLAIN, numbers[i]);
}

static int policy_rows(const struct top *top, const struct screen *screen)
{
	int most = (screen->rows - HEAD_ROWS) / 3 - 1;

	if (most < POLICIES_LEAST)
		most = POLICIES_LEAST;
	return (int)top->rates.policy_count < most ? (int)top->rates.policy_count : most;
}

/* Returns the row behind. */
static int draw_policies(const struct top *top, int row, struct screen *screen)
{
	size_t count = top->rates.policy_count;
	const struct policy_rates **order = calloc(count + 1, sizeof(*order));
	int rows = policy_rows(top, screen);

	screen_style_row(screen, row, STYLE_BOLD);
	screen_put(screen, row, 0, STYLE_BOLD, "POLICY");
	screen_put(screen, row, screen->columns - POLICY_COLUMNS * NUMBER, STYLE_BOLD,
		   "%9s%9s%9s%9s%9s%9s%9s", "PASSED/s", "BIT/s", "DROP/s", "BIT/s", "LIMIT", "BAN",
		   "BLOCKED");
	if (!order)
		return row + 1;
	for (size_t i = 0; i < count; i++)
		order[i] = &top->rates.policies[i];
	qsort(order, count, sizeof(*order), compare_policies);
	for (int i = 0; i < rows; i++)
		draw_policy(order[i], row + 1 + i, screen);
	free(order);
	return row + 1 + rows;
}

/* Two digits are enough to decide; the unit changes where the number would grow long. */
static char *short_duration(uint64_t ns, char *to, size_t size)
{
	static const struct {
		double ns, below;
		const char *unit;
	} steps[] = {
		{ 1e6, 1000, "ms" }, { 1e9, 100, "s" },	     { 60e9, 100, "min" },
		{ 3600e9, 48, "h" }, { 86400e9, 1e12, "d" },
	};
	size_t i = 0;

	while (i + 1 < sizeof(steps) / sizeof(*steps) && (double)ns / steps[i].ns >= steps[i].below)
		i++;
	snprintf(to, size, "%.3g%s", (double)ns / steps[i].ns, steps[i].unit);
	return to;
}

static void draw_retry(const struct source_rates *source, int row, int column,
		       struct screen *screen)
{
	char text[UNIT_TEXT], word[UNIT_TEXT + 8];

	if (source->ban_ns)
		snprintf(word, sizeof(word), "ban %s",
			 short_duration(source->ban_ns, text, sizeof(text)));
	else if (source->retry_ns == UINT64_MAX)
		snprintf(word, sizeof(word), "never");
	else if (source->retry_ns)
		short_duration(source->retry_ns, word, sizeof(word));
	else
		snprintf(word, sizeof(word), "now");
	screen_put(screen, row, column, source->retry_ns ? STYLE_BAD : STYLE_PLAIN, "%*s", RETRY,
		   word);
}

/* Where the numbers of a source begin. */
static int source_numbers(const struct screen *screen)
{
	return screen->columns - (SOURCE_COLUMNS - 1) * NUMBER - RETRY;
}

static void draw_source(const struct source_rates *source, int row, int first, int second,
			struct screen *screen)
{
	int column = source_numbers(screen);
	char text[2 * RATES_NAME + 2];

	put_name(screen, row, 0, first, STYLE_PLAIN,
		 units_address_text(&source->source, text, sizeof(text)));
	snprintf(text, sizeof(text), "%s/%s", source->policy, source->limit);
	put_name(screen, row, first + 1, second, STYLE_PLAIN, text);
	put_number(screen, row, column, source->drops > 0 ? STYLE_BAD : STYLE_PLAIN, source->drops);
	put_number(screen, row, column + NUMBER, STYLE_PLAIN, (double)source->dropped);
	put_number(screen, row, column + 2 * NUMBER, STYLE_PLAIN, (double)source->remaining);
	draw_retry(source, row, column + 3 * NUMBER, screen);
}

static void draw_sources(const struct top *top, int row, struct screen *screen)
{
	int room = screen->rows - 2 - row;
	int names = source_numbers(screen) - 2;
	int second = names / 2 < LIMIT_COLUMN ? names / 2 : LIMIT_COLUMN + (names - 44) / 2;
	int first = names - second;
	size_t skip = top->selected >= (size_t)room ? top->selected + 1 - (size_t)room : 0;

	screen_style_row(screen, row, STYLE_BOLD);
	screen_put(screen, row, 0, STYLE_BOLD, "SOURCE");
	screen_put(screen, row, first + 1, STYLE_BOLD, "POLICY/LIMIT");
	screen_put(screen, row, source_numbers(screen), STYLE_BOLD, "%9s%9s%9s%10s", "DROP/s",
		   "DROPPED", "LEFT", "RETRY");
	for (int i = 0; i < room && skip + (size_t)i < top->shown_count; i++) {
		draw_source(top->shown[skip + (size_t)i], row + 1 + i, first, second, screen);
		if (skip + (size_t)i == top->selected)
			screen_style_row(screen, row + 1 + i, STYLE_SELECTED);
	}
	if (!top->shown_count)
		screen_put(screen, row + 1, 0, STYLE_DIM, "none%s",
			   top->filtered ? " in the filter" : "");
}

static void draw_footer(const struct top *top, struct screen *screen)
{
	int row = screen->rows - 1;
	char prefix[PREFIX_TEXT] = "all";

	if (*top->notice) {
		screen_put(screen, row, 0, top->notice_bad ? STYLE_BAD : STYLE_BOLD, "%s",
			   top->notice);
		return;
	}
	if (top->mode == TOP_FILTER) {
		screen_put(screen, row, 0, STYLE_BOLD, "Filter by prefix (empty: all): %s_",
			   top->typed);
		return;
	}
	if (top->mode == TOP_CONFIRM) {
		screen_put(screen, row, 0, STYLE_BAD, "Block %s for 10 minutes? (y/n)",
			   units_address_text(&top->victim, prefix, sizeof(prefix)));
		return;
	}
	if (top->filtered)
		units_address_text(&top->filter, prefix, sizeof(prefix));
	screen_put(screen, row, 0, STYLE_DIM,
		   "q quit  s sort: %s  f filter: %s  b block  p %s  ? help",
		   top_sort_name(top->sort), prefix, top->paused ? "go on" : "pause");
}

static void draw_help(struct screen *screen)
{
	static const char *const lines[] = {
		"q           quit",
		"s           sort sources by drops/s, dropped, passed, time to retry",
		"f or /      show only sources in a prefix",
		"b           block the selected source for 10 minutes (asks first)",
		"p or space  pause, go on",
		"up, down    select (also k, j, page up, page down)",
		"",
		"LEFT: packets or bytes the limit would grant the source now.",
		"RETRY: when the next packet would be granted.",
		"",
		"any key to go back",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		screen_put(screen, HEAD_ROWS + (int)i, 2, STYLE_PLAIN, "%s", lines[i]);
}

void render_top_screen(const struct top *top, bool ascii, struct screen *screen)
{
	int row;

	screen_clear(screen);
	if (screen->rows < LEAST_ROWS || screen->columns < LEAST_COLUMNS) {
		screen_put(screen, 0, 0, STYLE_BOLD, "needs %d x %d", LEAST_COLUMNS, LEAST_ROWS);
		return;
	}
	draw_title(top, screen);
	draw_flow(top, "passed", ascii, 1, screen);
	draw_flow(top, "dropped", ascii, 2, screen);
	draw_reasons(top, 3, screen);
	screen_put(screen, 4, 0, STYLE_PLAIN, "%s", top->table);
	if (top->mode == TOP_HELP) {
		draw_help(screen);
		return;
	}
	row = draw_policies(top, HEAD_ROWS, screen);
	draw_sources(top, row, screen);
	draw_footer(top, screen);
}

/* Rates with three digits behind the point: the rest is noise. */
static json_t *json_rate(double value)
{
	return json_real((double)(json_int_t)(value * 1000 + 0.5) / 1000);
}

static json_t *json_speed(struct speed speed)
{
	return json_pack("{s:o, s:o}", "packets_per_second", json_rate(speed.packets),
			 "bits_per_second", json_rate(speed.bits));
}

static json_t *json_reasons(const struct speed *reasons)
{
	json_t *list = json_array();

	for (int i = 0; i < REASON_COUNT; i++)
		if (reasons[i].packets > 0)
			json_array_append_new(
				list, json_pack("{s:s, s:o, s:o}", "reason", reason_name(i),
						"packets_per_second", json_rate(reasons[i].packets),
						"bits_per_second", json_rate(reasons[i].bits)));
	return list;
}

static json_t *json_policies(const struct rates *rates)
{
	json_t *list = json_array();

	for (size_t i = 0; i < rates->policy_count; i++) {
		const struct policy_rates *policy = &rates->policies[i];

		json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:o}", "name", policy->name,
						      "passed", json_speed(policy->passed),
						      "dropped", json_speed(policy->dropped),
						      "reasons", json_reasons(policy->reasons)));
	}
	return list;
}

static json_t *json_source(const struct source_rates *source)
{
	char prefix[PREFIX_TEXT];
	json_t *object = json_pack(
		"{s:s, s:s, s:s, s:I, s:I, s:o, s:I}", "source",
		units_address_text(&source->source, prefix, sizeof(prefix)), "policy",
		source->policy, "limit", source->limit, "passed", (json_int_t)source->passed,
		"dropped", (json_int_t)source->dropped, "dropped_per_second",
		json_rate(source->drops), "remaining", (json_int_t)source->remaining);

	if (source->retry_ns != UINT64_MAX)
		json_object_set_new(object, "retry_after_ns",
				    json_integer((json_int_t)source->retry_ns));
	if (source->ban_ns)
		json_object_set_new(object, "banned_for_ns",
				    json_integer((json_int_t)source->ban_ns));
	return object;
}

int render_top_json(const struct rates *rates, const char *instance, bool pretty, FILE *out)
{
	json_t *sources = json_array();
	json_t *document;
	int err = 0;

	for (size_t i = 0; i < rates->source_count; i++)
		json_array_append_new(sources, json_source(&rates->sources[i]));
	document = json_pack(
		"{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "instance", instance, "time_ns",
		(json_int_t)rates->time_ns, "interval_ns", (json_int_t)rates->span_ns, "passed",
		json_speed(rates->passed), "dropped", json_speed(rates->dropped), "reasons",
		json_reasons(rates->reasons), "policies", json_policies(rates), "sources", sources);
	if (!document ||
	    json_dumpf(document, out,
		       (pretty ? JSON_INDENT(2) : JSON_COMPACT) | JSON_REAL_PRECISION(DIGITS)))
		err = -ENOMEM;
	json_decref(document);
	fputc('\n', out);
	fflush(out);
	return err ? err : (ferror(out) ? -EIO : 0);
}
