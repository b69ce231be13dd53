/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include <time.h>

#include "columns.h"
#include "render_json.h"
#include "render_replay.h"

enum {
	TIME_TEXT = 40,
};

static const struct image *image_of(const struct replay *replay)
{
	return limiter_image(replay->limiter);
}

static double seconds_of(uint64_t ns)
{
	return (double)ns / NS_PER_SEC;
}

/* As offset from the first frame: that is what one finds in the capture. */
static char *offset_text(const struct replay *replay, uint64_t time_ns, char *to, size_t size)
{
	if (time_ns)
		snprintf(to, size, "%.6f", seconds_of(time_ns - replay->first_ns));
	else
		snprintf(to, size, "-");
	return to;
}

static char *time_text(uint64_t time_ns, char *to, size_t size)
{
	time_t seconds = (time_t)(time_ns / NS_PER_SEC);
	struct tm tm;

	strftime(to, size, "%F %T", localtime_r(&seconds, &tm));
	return to;
}

static void text_head(const struct replay_page *page, FILE *out)
{
	const struct replay *replay = page->replay;
	uint64_t packets = replay->passed.packets + replay->dropped.packets;
	size_t seen, refused;
	char from[TIME_TEXT];

	replay_count_sources(replay, &seen, &refused);
	fprintf(out, "%s under %s\n", page->capture, page->policy);
	if (!packets) {
		fputs("no packets\n", out);
		return;
	}
	fprintf(out,
		"%" PRIu64 " packets in %.3f s from %s on: %llu passed, %llu dropped (%.2f %%)\n",
		packets, seconds_of(replay->last_ns - replay->first_ns),
		time_text(replay->first_ns, from, sizeof(from)), replay->passed.packets,
		replay->dropped.packets, 100.0 * (double)replay->dropped.packets / (double)packets);
	fprintf(out, "%zu sources, %zu of them refused at least once\n", seen, refused);
	if (replay->backwards)
		fprintf(out, "%" PRIu64 " packets were older than the one before: no time passed\n",
			replay->backwards);
	if (page->outgoing)
		fprintf(out, "%" PRIu64 " packets were sent by the host itself: not judged\n",
			page->outgoing);
}

static void text_reasons(const struct replay_page *page, FILE *out)
{
	static const char *const titles[] = { "REASON", ">PACKETS", ">BYTES", NULL };
	const struct replay *replay = page->replay;
	struct columns columns;

	columns_start(&columns, titles);
	for (int i = 0; i < REASON_COUNT; i++) {
		if (!replay->reasons[i].packets)
			continue;
		columns_cell(&columns, "%s", reason_name(i));
		columns_cell(&columns, "%llu", replay->reasons[i].packets);
		columns_cell(&columns, "%llu", replay->reasons[i].bytes);
	}
	fputc('\n', out);
	columns_print(&columns, page->color, out);
}

static void text_limit(const struct replay *replay, size_t policy, size_t limit,
		       struct columns *columns)
{
	const struct replay_limit *counts = &replay->policies[policy].limits[limit];
	char text[TIME_TEXT];

	columns_cell(columns, "  %s", image_of(replay)->policies[policy].specs[limit]->name);
	columns_cell(columns, "%" PRIu64, counts->granted);
	columns_cell(columns, "%llu", counts->refused.packets);
	columns_cell(columns, "%s", "");
	columns_cell(columns, "%s",
		     offset_text(replay, counts->refusals.first_ns, text, sizeof(text)));
	columns_cell(columns, "%s",
		     offset_text(replay, counts->refusals.last_ns, text, sizeof(text)));
}

/* A limit's `passed` are the packets it concerned that all limits granted. */
static void text_policies(const struct replay_page *page, FILE *out)
{
	static const char *const titles[] = {
		"POLICY",    ">PASSED", ">REFUSED", ">OBSERVED", ">FIRST REFUSAL (s)",
		">LAST (s)", NULL
	};
	const struct replay *replay = page->replay;
	struct columns columns;

	columns_start(&columns, titles);
	for (size_t i = 0; i < image_of(replay)->policy_count; i++) {
		const struct replay_policy *policy = &replay->policies[i];

		columns_cell(&columns, "%s", image_of(replay)->policies[i].name);
		columns_cell(&columns, "%llu", policy->passed.packets);
		columns_cell(&columns, "%llu", policy->dropped.packets);
		columns_cell(&columns, "%llu", policy->observed.packets);
		columns_cell(&columns, "%s", "");
		columns_cell(&columns, "%s", "");
		for (size_t j = 0; j < image_of(replay)->policies[i].policy.count; j++)
			text_limit(replay, i, j, &columns);
	}
	fputc('\n', out);
	columns_print(&columns, page->color, out);
}

static const char *limit_name(const struct replay *replay, const struct replay_source *source,
			      char *to, size_t size)
{
	const struct image_policy *policy;

	if (source->policy < 0)
		return "by hand";
	policy = &image_of(replay)->policies[source->policy];
	if (source->limit < 0)
		return policy->name;
	snprintf(to, size, "%s/%s", policy->name, policy->specs[source->limit]->name);
	return to;
}

static void text_sources(const struct replay_page *page, FILE *out)
{
	static const char *const titles[] = {
		"SOURCE", ">REFUSED", ">PASSED", "LAST REFUSED BY", ">FIRST (s)", ">LAST (s)", NULL
	};
	struct columns columns;
	char text[2 * TIME_TEXT + PREFIX_TEXT];

	if (!page->worst_count)
		return;
	columns_start(&columns, titles);
	for (size_t i = 0; i < page->worst_count; i++) {
		const struct replay_source *counts = &page->worst[i].counts;

		columns_cell(&columns, "%s",
			     units_address_text(&page->worst[i].source, text, sizeof(text)));
		columns_cell(&columns, "%" PRIu64, counts->refused);
		columns_cell(&columns, "%" PRIu64, counts->passed);
		columns_cell(&columns, "%s", limit_name(page->replay, counts, text, sizeof(text)));
		columns_cell(
			&columns, "%s",
			offset_text(page->replay, counts->refusals.first_ns, text, sizeof(text)));
		columns_cell(
			&columns, "%s",
			offset_text(page->replay, counts->refusals.last_ns, text, sizeof(text)));
	}
	fputc('\n', out);
	columns_print(&columns, page->color, out);
}

void render_replay_text(const struct replay_page *page, FILE *out)
{
	text_head(page, out);
	if (!page->replay->passed.packets && !page->replay->dropped.packets)
		return;
	text_reasons(page, out);
	text_policies(page, out);
	text_sources(page, out);
}

static json_t *json_counter(const struct counter *counter)
{
	return json_pack("{s:I, s:I}", "packets", (json_int_t)counter->packets, "bytes",
			 (json_int_t)counter->bytes);
}

static void set_span(json_t *object, const struct replay_span *span)
{
	if (!span->first_ns)
		return;
	json_object_set_new(object, "first_refusal_ns", json_integer((json_int_t)span->first_ns));
	json_object_set_new(object, "last_refusal_ns", json_integer((json_int_t)span->last_ns));
}

static json_t *json_reasons(const struct replay *replay)
{
	json_t *list = json_array();

	for (int i = 0; i < REASON_COUNT; i++) {
		json_t *object;

		if (!replay->reasons[i].packets)
			continue;
		object = json_counter(&replay->reasons[i]);
		json_object_set_new(object, "reason", json_string(reason_name(i)));
		json_array_append_new(list, object);
	}
	return list;
}

static json_t *json_limits(const struct replay *replay, size_t policy)
{
	const struct image_policy *image = &image_of(replay)->policies[policy];
	json_t *list = json_array();

	for (size_t i = 0; i < image->policy.count; i++) {
		const struct replay_limit *limit = &replay->policies[policy].limits[i];
		json_t *object = json_pack("{s:s, s:I, s:o}", "name", image->specs[i]->name,
					   "granted_packets", (json_int_t)limit->granted, "refused",
					   json_counter(&limit->refused));

		set_span(object, &limit->refusals);
		json_array_append_new(list, object);
	}
	return list;
}

static json_t *json_policies(const struct replay *replay)
{
	json_t *list = json_array();

	for (size_t i = 0; i < image_of(replay)->policy_count; i++) {
		const struct replay_policy *policy = &replay->policies[i];

		json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:o, s:o}", "name",
						      image_of(replay)->policies[i].name, "passed",
						      json_counter(&policy->passed), "dropped",
						      json_counter(&policy->dropped), "observed",
						      json_counter(&policy->observed), "limits",
						      json_limits(replay, i)));
	}
	return list;
}

static json_t *json_worst(const struct replay_page *page)
{
	json_t *list = json_array();

	for (size_t i = 0; i < page->worst_count; i++) {
		const struct replay_source *counts = &page->worst[i].counts;
		char text[PREFIX_TEXT];
		json_t *object = json_pack(
			"{s:s, s:I, s:I}", "source",
			units_address_text(&page->worst[i].source, text, sizeof(text)), "refused",
			(json_int_t)counts->refused, "passed", (json_int_t)counts->passed);

		if (counts->policy >= 0) {
			const struct image_policy *policy =
				&image_of(page->replay)->policies[counts->policy];

			json_object_set_new(object, "policy", json_string(policy->name));
			if (counts->limit >= 0)
				json_object_set_new(
					object, "limit",
					json_string(policy->specs[counts->limit]->name));
		}
		set_span(object, &counts->refusals);
		json_array_append_new(list, object);
	}
	return list;
}

void render_replay_json(const struct replay_page *page, bool pretty, FILE *out)
{
	const struct replay *replay = page->replay;
	size_t seen, refused;
	json_t *document;

	replay_count_sources(replay, &seen, &refused);
	document = json_pack(
		"{s:s, s:s, s:I, s:I, s:{s:o, s:o}, s:o, s:o, s:I, s:I, s:o, s:I, s:I}", "capture",
		page->capture, "policy_file", page->policy, "first_ns",
		(json_int_t)replay->first_ns, "last_ns", (json_int_t)replay->last_ns, "totals",
		"passed", json_counter(&replay->passed), "dropped", json_counter(&replay->dropped),
		"reasons", json_reasons(replay), "policies", json_policies(replay), "sources_seen",
		(json_int_t)seen, "sources_refused", (json_int_t)refused, "sources",
		json_worst(page), "out_of_order", (json_int_t)replay->backwards, "outgoing",
		(json_int_t)page->outgoing);
	json_print(document, pretty, out);
}

static void comment_series(const struct suggest *suggest, const struct suggest_series *series,
			   FILE *out)
{
	const char *unit = series->bytes ? "bytes" : "packets";
	const char *name =
		series->service < 0 ? unit : suggest->ruleset->services[series->service].name;

	fprintf(out, "#   %-14s %8" PRIu64 " sources; %.1f %s/s, %.0f at once\n", name,
		series->sources, series->measured_rate, unit, series->measured_burst);
}

void render_suggest_comment(const struct suggest *suggest, const struct replay_page *page,
			    FILE *out)
{
	const struct replay *replay = page->replay;
	uint64_t packets = replay->passed.packets + replay->dropped.packets;
	size_t seen, refused;

	replay_count_sources(replay, &seen, &refused);
	fprintf(out,
		"# Suggested by `weir replay %s --suggest`: what the source at the 99.9th\n"
		"# percentile asked for, and half as much again. Fewer than 1000 sources: the\n"
		"# busiest one. Seen:\n",
		page->capture);
	for (size_t i = 0; i < suggest->series_count; i++)
		comment_series(suggest, &suggest->series[i], out);
	fprintf(out,
		"# These limits would have refused %llu of the %" PRIu64
		" packets, of %zu of the %zu sources.\n",
		replay->dropped.packets, packets, refused, seen);
	fputs("# If the capture shows an attack, they let that attack pass: use quiet hours.\n",
	      out);
}

static json_t *json_series(const struct suggest *suggest)
{
	json_t *list = json_array();

	for (size_t i = 0; i < suggest->series_count; i++) {
		const struct suggest_series *series = &suggest->series[i];
		json_t *object = json_pack(
			"{s:s, s:I, s:f, s:f, s:I, s:I}", "unit",
			series->bytes ? "bytes" : "packets", "sources", (json_int_t)series->sources,
			"measured_per_second", series->measured_rate, "measured_burst",
			series->measured_burst, "rate_per_second", (json_int_t)series->rate,
			"burst", (json_int_t)series->burst);

		if (series->service >= 0)
			json_object_set_new(
				object, "service",
				json_string(suggest->ruleset->services[series->service].name));
		json_array_append_new(list, object);
	}
	return list;
}

void render_suggest_json(const struct suggest *suggest, const struct replay_page *page,
			 const char *yaml, bool pretty, FILE *out)
{
	json_t *document =
		json_pack("{s:s, s:o, s:o, s:o, s:s}", "capture", page->capture, "limits",
			  json_series(suggest), "passed", json_counter(&page->replay->passed),
			  "dropped", json_counter(&page->replay->dropped), "yaml", yaml);

	json_print(document, pretty, out);
}
