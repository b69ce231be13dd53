/* SPDX-License-Identifier: GPL-2.0-only */
/* Every row of the fixture table, with each kind of table. */
#include <stdio.h>
#include <string.h>

#include "row.h"
#include "step.h"
#include "tap.h"

static const struct {
	const char *name;
	const struct row *rows;
} groups[] = {
	{ "keys", rows_key },	      { "rates", rows_rate },	 { "frames", rows_parse },
	{ "services", rows_service }, { "nested", rows_nested }, { "actions", rows_action },
	{ "entries", rows_entry },    { "changes", rows_apply }, { "tables", rows_table },
	{ "memos", rows_memo },
};

/* Maps that every row without a table of its own fits in. */
#define ROOMY                                                                    \
	"policies:\n"                                                            \
	"- {name: a, sources: [10.0.0.0/8], limits: [&, &, &, &, &, &, &, &]}\n" \
	"- {name: b, sources: [11.0.0.0/8], limits: [&, &, &, &, &, &, &, &]}\n" \
	"- {name: c, sources: [12.0.0.0/8], limits: [&, &, &, &, &, &, &, &]}\n" \
	"- {name: d, sources: [13.0.0.0/8], limits: [&, &, &, &, &, &, &, &]}\n" \
	"- {name: e, sources: [14.0.0.0/8], limits: [&]}\n"                      \
	"- {name: f, sources: [15.0.0.0/8], limits: [&]}\n"
#define ROOMY_LIMIT "{algorithm: sliding-log, rate: 1/s}"

/* The invariant of every row: each frame was counted once, with all its bytes. */
static int check_sum(const struct walk *walk, struct message *message)
{
	struct counter total = counts_total(walk->rig, &walk->counts);

	if (total.packets == walk->sent.packets && total.bytes == walk->sent.bytes)
		return 0;
	return message_set(message, -1, "%llu packets and %llu bytes counted, %llu and %llu sent",
			   total.packets, total.bytes, walk->sent.packets, walk->sent.bytes);
}

static void walk_row(struct rig *rig, const struct row *row, const char *table, const char *label,
		     struct message *message)
{
	struct walk walk = { .rig = rig, .policies = row->policy, .table = table };
	int error = 0;

	counts_start(rig, &walk.counts);
	for (int i = 0; !error && row->steps[i]; i++) {
		error = step_run(&walk, row->steps[i], message);
		if (error)
			tap_note("step %d: %s", i + 1, message->text);
	}
	if (!error && check_sum(&walk, message)) {
		error = -1;
		tap_note("%s", message->text);
	}
	tap_ok(!error, "%s, %s", row->name, label);
}

static void run_alone(const struct row *row)
{
	struct message message = { 0 };
	struct rig rig;

	if (rig_open(&rig, row->policy[0], &message)) {
		tap_note("%s", message.text);
		tap_ok(false, "%s", row->name);
	} else {
		walk_row(&rig, row, "", "own table", &message);
	}
	rig_close(&rig);
}

static void run_on(struct rig *rig, const struct row *row, const char *kind)
{
	struct message message = { 0 };
	char table[64], policy[4096];

	snprintf(table, sizeof(table), "table: {kind: %s, sources: 1024}\n", kind);
	snprintf(policy, sizeof(policy), "%s%s", row->policy[0], table);
	if (rig_renew(rig, policy, &message)) {
		tap_note("%s", message.text);
		tap_ok(false, "%s, %s", row->name, kind);
		return;
	}
	walk_row(rig, row, table, kind, &message);
}

static bool has_table(const struct row *row)
{
	return strstr(row->policy[0], "table:") != NULL;
}

static bool wanted(const struct row *row, const char *only)
{
	return !only || strstr(row->name, only);
}

static bool any_wanted(const char *only)
{
	for (size_t g = 0; g < sizeof(groups) / sizeof(*groups); g++)
		for (const struct row *row = groups[g].rows; row->name; row++)
			if (wanted(row, only) && !has_table(row))
				return true;
	return false;
}

static void each_row(struct rig *rig, const char *kind, const char *only)
{
	for (size_t g = 0; g < sizeof(groups) / sizeof(*groups); g++) {
		tap_note("%s", groups[g].name);
		for (const struct row *row = groups[g].rows; row->name; row++) {
			if (!wanted(row, only))
				continue;
			if (rig && !has_table(row))
				run_on(rig, row, kind);
			if (!rig && has_table(row))
				run_alone(row);
		}
	}
}

/* ROOMY with each & replaced by a limit. */
static void roomy_policy(const char *kind, char *to, size_t size)
{
	FILE *out = fmemopen(to, size, "w");

	for (const char *at = ROOMY; *at; at++)
		fprintf(out, *at == '&' ? ROOMY_LIMIT : "%c", *at);
	fprintf(out, "table: {kind: %s, sources: 8192}\n", kind);
	fclose(out);
}

static void run_kind(const char *kind, const char *only)
{
	struct message message = { 0 };
	char policy[4096];
	struct rig rig;

	if (!any_wanted(only))
		return;
	roomy_policy(kind, policy, sizeof(policy));
	if (rig_open(&rig, policy, &message))
		tap_bail("%s: %s", kind, message.text);
	each_row(&rig, kind, only);
	rig_close(&rig);
}

/* test_fixtures [ROW [TABLE]]: the rows with ROW in their name ("": all), on one table only. */
int main(int argc, char **argv)
{
	static const char *const kinds[] = { "sets", "hash", "percpu" };
	const char *only = argc > 1 ? argv[1] : NULL;
	const char *kind = argc > 2 ? argv[2] : NULL;

	rig_prepare();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!kind || !strcmp(kind, kinds[i]))
			run_kind(kinds[i], only);
	if (!kind)
		each_row(NULL, NULL, only);
	return tap_done();
}
