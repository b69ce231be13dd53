/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>

#include "columns.h"
#include "entry.h"
#include "render_text.h"

#define RED   "\033[31m"
#define GREEN "\033[32m"
#define PLAIN "\033[0m"

static const char *paint(const struct text_style *style, const char *color)
{
	return style->color ? color : "";
}

static char *number(const struct text_style *style, uint64_t value, char to[UNIT_TEXT])
{
	if (style->human)
		return units_human((double)value, to, UNIT_TEXT);
	snprintf(to, UNIT_TEXT, "%" PRIu64, value);
	return to;
}

static void cell_number(struct columns *columns, const struct text_style *style, uint64_t value)
{
	char text[UNIT_TEXT];

	columns_cell(columns, "%s", number(style, value, text));
}

/* To the millisecond where seconds matter: nobody waits for a nanosecond. */
static char *duration(uint64_t ns, char to[UNIT_TEXT])
{
	uint64_t step = ns < NS_PER_SEC ? 1000 : ns < 60 * NS_PER_SEC ? 1000000 : NS_PER_SEC;

	if (ns == ~0ULL)
		snprintf(to, UNIT_TEXT, "never");
	else if (ns < 1000000)
		snprintf(to, UNIT_TEXT, "%.3fms", (double)ns / 1e6);
	else
		units_duration_text((ns + step - 1) / step * step, to, UNIT_TEXT);
	return to;
}

static void text_interfaces(const struct snapshot *snapshot, const struct text_style *style,
			    FILE *out)
{
	static const char *const titles[] = { "interface", "mode", "program", "attached", NULL };
	struct columns columns;

	columns_start(&columns, titles);
	for (size_t i = 0; i < snapshot->interface_count; i++) {
		const struct attachment *at = &snapshot->interfaces[i];

		columns_cell(&columns, "%s", at->interface);
		columns_cell(&columns, "%s%s", at->native ? "native" : "generic",
			     at->frags ? "" : " (no multi-buffer frames)");
		columns_cell(&columns, "%u", at->program_id);
		columns_cell(&columns, "%s", at->attached ? "yes" : "NO");
	}
	columns_print(&columns, style->color, out);
}

static void text_table(const struct snapshot *snapshot, const struct text_style *style, FILE *out)
{
	const struct snapshot_table *table = &snapshot->table;
	char live[UNIT_TEXT], capacity[UNIT_TEXT], displaced[UNIT_TEXT], more[UNIT_TEXT];

	fprintf(out, "table      %s, %s: %s of %s states live, %s displaced, %s MiB\n",
		table_kind_name(table->kind), table->lenient ? "lenient" : "strict",
		number(style, table->live, live), number(style, table->capacity, capacity),
		number(style, table->displaced, displaced),
		number(style, table->bytes >> 20, more));
	if (table->refused_full)
		fprintf(out, "           %s packets refused for want of room\n",
			number(style, table->refused_full, more));
	if (table->forged_rate > 0)
		fprintf(out,
			"           forged sources together get at most %s packets/s through\n",
			units_human(table->forged_rate, more, sizeof(more)));
}

static bool any_generic(const struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->interface_count; i++)
		if (snapshot->interfaces[i].attached && !snapshot->interfaces[i].native)
			return true;
	return false;
}

void text_status(const struct snapshot *snapshot, const struct text_style *style, FILE *out)
{
	char entries[UNIT_TEXT];

	fprintf(out, "instance   %s: %s%s%s\n", snapshot->instance,
		paint(style, snapshot->protecting ? GREEN : RED),
		snapshot->protecting ? "protecting" : "NOT PROTECTING", paint(style, PLAIN));
	if (snapshot->generation) {
		fprintf(out, "policy     generation %u, layout %u, %s entries set by hand\n",
			snapshot->generation, snapshot->layout,
			number(style, snapshot->entry_count, entries));
		text_table(snapshot, style, out);
		fputc('\n', out);
		text_interfaces(snapshot, style, out);
	}
	if (any_generic(snapshot))
		fprintf(out, "\nin generic mode a packet may be a super-packet of up to 64 KiB, "
			     "put together by the card or the kernel\n");
	for (size_t i = 0; i < snapshot->warning_count; i++)
		fprintf(out, "%s%swarning:%s %s\n", i ? "" : "\n", paint(style, RED),
			paint(style, PLAIN), snapshot->warnings[i]);
}

static void text_reasons(const struct snapshot *snapshot, const struct text_style *style, FILE *out)
{
	static const char *const titles[] = { "reason", "verdict", ">packets", ">bytes", NULL };
	struct columns columns;

	columns_start(&columns, titles);
	for (int i = 0; i < REASON_COUNT; i++) {
		if (!snapshot->reasons[i].packets)
			continue;
		columns_cell(&columns, "%s", reason_name(i));
		columns_cell(&columns, "%s", snapshot_drops(snapshot, i) ? "drop" : "pass");
		cell_number(&columns, style, snapshot->reasons[i].packets);
		cell_number(&columns, style, snapshot->reasons[i].bytes);
	}
	if (columns.cell_count)
		fputc('\n', out);
	columns_print(&columns, style->color, out);
}

/* A policy's own line, then one for each limit with what it alone refused. */
static void text_policies(const struct snapshot *snapshot, const struct text_style *style,
			  FILE *out)
{
	static const char *const titles[] = { "policy",	   "limit",    ">passed", ">dropped",
					      ">observed", ">refused", NULL };
	struct columns columns;

	columns_start(&columns, titles);
	for (size_t i = 0; i < snapshot->policy_count; i++) {
		const struct snapshot_policy *policy = &snapshot->policies[i];

		columns_cell(&columns, "%s", policy->name);
		columns_blank(&columns, 1);
		cell_number(&columns, style, policy->passed.packets);
		cell_number(&columns, style, policy->dropped.packets);
		cell_number(&columns, style, policy->observed.packets);
		columns_blank(&columns, 1);
		for (size_t j = 0; j < policy->limit_count; j++) {
			columns_blank(&columns, 1);
			columns_cell(&columns, "%s", policy->limits[j].name);
			columns_blank(&columns, 3);
			cell_number(&columns, style, policy->limits[j].refused.packets);
		}
	}
	if (columns.cell_count)
		fputc('\n', out);
	columns_print(&columns, style->color, out);
}

void text_stats(const struct snapshot *snapshot, const struct text_style *style, FILE *out)
{
	static const char *const titles[] = { "total", ">packets", ">bytes", NULL };
	struct columns columns;

	columns_start(&columns, titles);
	columns_cell(&columns, "passed");
	cell_number(&columns, style, snapshot->passed.packets);
	cell_number(&columns, style, snapshot->passed.bytes);
	columns_cell(&columns, "dropped");
	cell_number(&columns, style, snapshot->dropped.packets);
	cell_number(&columns, style, snapshot->dropped.bytes);
	columns_print(&columns, style->color, out);
	text_reasons(snapshot, style, out);
	text_policies(snapshot, style, out);
	fputc('\n', out);
	text_table(snapshot, style, out);
}

/* A key of a full address is shown as an address. */
static void cell_source(struct columns *columns, const struct prefix *source)
{
	char text[PREFIX_TEXT];

	columns_cell(columns, "%s", units_address_text(source, text, sizeof(text)));
}

/* What is left of one limit: `12.3k` packets or bytes, when the next one passes, a ban. */
static void cells_left(struct columns *columns, const struct text_style *style, bool bytes,
		       uint64_t remaining, uint64_t retry_after_ns, uint64_t banned_for_ns)
{
	char text[UNIT_TEXT];

	columns_cell(columns, "%s%s", number(style, remaining, text), bytes ? " B" : "");
	columns_cell(columns, "%s", retry_after_ns ? duration(retry_after_ns, text) : "now");
	columns_cell(columns, "%s", banned_for_ns ? duration(banned_for_ns, text) : "");
}

void text_sources(const struct source_view *list, size_t count, const struct text_style *style,
		  FILE *out)
{
	static const char *const titles[] = { "source",	  "policy",	"limit",
					      ">dropped", ">passed",	">left",
					      ">next in", "banned for", NULL };
	char prefix[PREFIX_TEXT];
	struct columns columns;

	columns_start(&columns, titles);
	for (size_t i = 0; i < count; i++) {
		const struct source_view *view = &list[i];

		cell_source(&columns, &view->source);
		columns_cell(&columns, "%s",
			     view->policy
				     ? view->policy
				     : units_prefix_text(&view->entry, prefix, sizeof(prefix)));
		columns_cell(&columns, "%s", view->limit);
		cell_number(&columns, style, view->dropped);
		cell_number(&columns, style, view->passed);
		cells_left(&columns, style, view->bytes, view->remaining, view->retry_after_ns,
			   view->banned_for_ns);
	}
	columns_print(&columns, style->color, out);
}

static void text_ruling(const struct explanation *explanation, FILE *out)
{
	const struct entry_state *entry = &explanation->entry;
	char text[PREFIX_TEXT], left[UNIT_TEXT];

	fprintf(out, "source    %s\n",
		units_address_text(&explanation->source, text, sizeof(text)));
	if (explanation->policy)
		fprintf(out, "policy    %s\n", explanation->policy);
	else if (!explanation->by_entry)
		fprintf(out, "policy    none: passes\n");
	else
		fprintf(out, "entry     %s %s%s%s%s%s\n", entry_kind_name(entry->entry.kind),
			units_prefix_text(&entry->prefix, text, sizeof(text)),
			*entry->text ? " " : "", entry->text,
			explanation->entry_for_ns ? ", for another " : "",
			explanation->entry_for_ns ? duration(explanation->entry_for_ns, left) : "");
}

void text_source(const struct explanation *explanation, const struct text_style *style, FILE *out)
{
	static const char *const titles[] = { "limit",	 ">left",    ">next in", "banned for",
					      ">passed", ">dropped", NULL };
	struct columns columns;

	text_ruling(explanation, out);
	columns_start(&columns, titles);
	for (size_t i = 0; i < explanation->limit_count; i++) {
		const struct explained_limit *limit = &explanation->limits[i];

		columns_cell(&columns, "%s", limit->name);
		cells_left(&columns, style, limit->bytes, limit->remaining, limit->retry_after_ns,
			   limit->banned_for_ns);
		cell_number(&columns, style, limit->passed);
		cell_number(&columns, style, limit->dropped);
	}
	if (columns.cell_count)
		fputc('\n', out);
	columns_print(&columns, style->color, out);
}

static void text_services(const struct explanation *explanation, FILE *out)
{
	const struct ruleset *ruleset = explanation->ruleset;
	const char *between = "";

	fprintf(out, "services  ");
	for (size_t i = 0; i < ruleset->service_count; i++) {
		if (!(explanation->services & (1U << i)))
			continue;
		fprintf(out, "%s%s", between, ruleset->services[i].name);
		between = ", ";
	}
	fprintf(out, "%s\n", *between ? "" : "none");
}

static void text_verdict(const struct explanation *explanation, const struct text_style *style,
			 FILE *out)
{
	fprintf(out, "\nverdict   %s%s%s, %s\n", paint(style, explanation->passes ? GREEN : RED),
		explanation->passes ? "pass" : "drop", paint(style, PLAIN),
		reason_name(explanation->reason));
	if (explanation->enforced && explanation->enforced < 65536)
		fprintf(out,
			"          the policy is enforced for %u%% of the sources only; what it "
			"drops "
			"passes for the others\n",
			(explanation->enforced * 100 + 32768) / 65536);
}

void text_explanation(const struct explanation *explanation, const struct text_style *style,
		      FILE *out)
{
	static const char *const titles[] = { "limit",	  "grants",	">left",
					      ">next in", "banned for", NULL };
	struct columns columns;

	text_ruling(explanation, out);
	text_services(explanation, out);
	columns_start(&columns, titles);
	for (size_t i = 0; i < explanation->limit_count; i++) {
		const struct explained_limit *limit = &explanation->limits[i];

		if (!limit->applies)
			continue;
		columns_cell(&columns, "%s", limit->name);
		columns_cell(&columns, "%s", limit->granted ? "yes" : "no");
		cells_left(&columns, style, limit->bytes, limit->remaining, limit->retry_after_ns,
			   limit->banned_for_ns);
	}
	if (columns.cell_count)
		fputc('\n', out);
	columns_print(&columns, style->color, out);
	text_verdict(explanation, style, out);
}
