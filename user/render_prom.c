/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "render_prom.h"

struct family {
	const char *name; /* without _total or _info */
	const char *type;
	const char *help;
};

/* OpenMetrics names the family, the older format the sample. */
static void put_family(const struct prom_page *page, FILE *out, const struct family *family)
{
	const char *type = family->type;
	const char *suffix = "";

	if (!page->openmetrics && !strcmp(type, "counter"))
		suffix = "_total";
	if (!page->openmetrics && !strcmp(type, "info")) {
		suffix = "_info";
		type = "gauge";
	}
	fprintf(out, "# HELP %s%s %s\n", family->name, suffix, family->help);
	fprintf(out, "# TYPE %s%s %s\n", family->name, suffix, type);
}

static void put_label(FILE *out, const char *name, const char *value, bool first)
{
	fprintf(out, "%s%s=\"", first ? "" : ",", name);
	for (; *value; value++) {
		if (*value == '\n')
			fputs("\\n", out);
		else if (*value == '"' || *value == '\\')
			fprintf(out, "\\%c", *value);
		else
			fputc(*value, out);
	}
	fputc('"', out);
}

/* Which number of a counter a family shows. */
enum measure {
	PACKETS,
	BYTES,
};

static uint64_t measured(const struct counter *counter, enum measure measure)
{
	return measure == PACKETS ? counter->packets : counter->bytes;
}

static bool reason_drops(const struct snapshot *snapshot, enum reason reason)
{
	return reason >= REASON_LIMIT && !(reason == REASON_MALFORMED && snapshot->malformed_pass);
}

static void put_reason(const struct prom_page *page, FILE *out, enum measure measure,
		       const char *policy, enum reason reason, const struct counter *counter)
{
	fprintf(out, "weir_%s_total{", measure == PACKETS ? "packets" : "bytes");
	put_label(out, "policy", policy, true);
	put_label(out, "verdict", reason_drops(page->snapshot, reason) ? "drop" : "pass", false);
	put_label(out, "reason", reason_name(reason), false);
	fprintf(out, "} %" PRIu64 "\n", measured(counter, measure));
}

/* What no policy judged: frames that are not IP, entries set by hand, ... */
static struct counter without_policy(const struct snapshot *snapshot, enum reason reason)
{
	struct counter rest = snapshot->reasons[reason];

	for (size_t i = 0; i < snapshot->policy_count; i++) {
		rest.packets -= snapshot->policies[i].reasons[reason].packets;
		rest.bytes -= snapshot->policies[i].reasons[reason].bytes;
	}
	return rest;
}

/* Series that can be told to come are there from the start, at 0, so that rate() sees the first. */
static bool always_shown(const struct snapshot_policy *policy, enum reason reason)
{
	switch (reason) {
	case REASON_GRANTED:
	case REASON_LIMIT:
		return policy && policy->limit_count;
	case REASON_ALLOWED:
	case REASON_UNMATCHED:
	case REASON_NOT_IP:
	case REASON_NEIGHBOUR_DISCOVERY:
	case REASON_BLOCKED:
	case REASON_MALFORMED:
		return !policy;
	default:
		return false;
	}
}

static void put_verdicts(const struct prom_page *page, FILE *out, enum measure measure)
{
	const struct snapshot *snapshot = page->snapshot;

	for (int reason = 0; reason < REASON_COUNT; reason++) {
		struct counter rest = without_policy(snapshot, reason);

		if (rest.packets || always_shown(NULL, reason))
			put_reason(page, out, measure, "", reason, &rest);
	}
	for (size_t i = 0; i < snapshot->policy_count; i++) {
		const struct snapshot_policy *policy = &snapshot->policies[i];

		for (int reason = 0; reason < REASON_COUNT; reason++)
			if (policy->reasons[reason].packets || always_shown(policy, reason))
				put_reason(page, out, measure, policy->name, reason,
					   &policy->reasons[reason]);
	}
}

static void put_limits(const struct snapshot *snapshot, FILE *out)
{
	for (size_t i = 0; i < snapshot->policy_count; i++) {
		const struct snapshot_policy *policy = &snapshot->policies[i];

		for (size_t j = 0; j < policy->limit_count; j++) {
			fputs("weir_limit_refused_packets_total{", out);
			put_label(out, "policy", policy->name, true);
			put_label(out, "limit", policy->limits[j].name, false);
			fprintf(out, "} %" PRIu64 "\n",
				measured(&policy->limits[j].refused, PACKETS));
		}
	}
}

static const char *interface_mode(const struct attachment *interface)
{
	if (!interface->attached)
		return "none";
	return interface->native ? "native" : "generic";
}

static void put_interfaces(const struct snapshot *snapshot, FILE *out)
{
	for (size_t i = 0; i < snapshot->interface_count; i++) {
		const struct attachment *interface = &snapshot->interfaces[i];
		char gone[32];

		snprintf(gone, sizeof(gone), "ifindex-%u", interface->ifindex);
		fputs("weir_interface_attached{", out);
		put_label(out, "interface", *interface->interface ? interface->interface : gone,
			  true);
		put_label(out, "mode", interface_mode(interface), false);
		fprintf(out, "} %d\n", interface->attached);
	}
}

static const struct family packets_family = { "weir_packets", "counter",
					      "Frames by policy, verdict and reason." };
static const struct family bytes_family = {
	"weir_bytes", "counter", "Bytes of whole frames by policy, verdict and reason."
};
static const struct family limits_family = { "weir_limit_refused_packets", "counter",
					     "Packets that a limit refused." };
static const struct family states_family = {
	"weir_table_states", "gauge",
	"States of sources: live ones, and how many there is room for."
};
static const struct family interfaces_family = {
	"weir_interface_attached", "gauge", "Whether weir holds the interface (1) or lost it (0)."
};
static const struct family top_family = {
	"weir_top_source_dropped_packets", "gauge",
	"Packets dropped of the worst sources in the table, by rank."
};
static const struct family build_family = { "weir_build", "info", "The version of weir." };

/* Families of one sample without labels. */
static void put_single(const struct prom_page *page, FILE *out, const struct family *family,
		       uint64_t value)
{
	put_family(page, out, family);
	fprintf(out, "%s%s %" PRIu64 "\n", family->name,
		strcmp(family->type, "counter") ? "" : "_total", value);
}

static void put_table(const struct prom_page *page, FILE *out)
{
	const struct snapshot_table *table = &page->snapshot->table;

	put_family(page, out, &states_family);
	fprintf(out, "weir_table_states{state=\"live\"} %" PRIu64 "\n", table->live);
	fprintf(out, "weir_table_states{state=\"capacity\"} %" PRIu64 "\n", table->capacity);
	put_single(page, out,
		   &(struct family){
			   "weir_table_displaced", "counter",
			   "States displaced by newcomers while they still said something." },
		   table->displaced);
	put_single(page, out,
		   &(struct family){ "weir_table_refused_full", "counter",
				     "Packets of new sources dropped because the table was full." },
		   table->refused_full);
	put_single(page, out,
		   &(struct family){ "weir_table_bytes", "gauge", "Memory of the table's maps." },
		   table->bytes);
}

static void put_top(const struct prom_page *page, FILE *out)
{
	if (!page->top_count)
		return;
	put_family(page, out, &top_family);
	for (size_t i = 0; i < page->top_count; i++)
		fprintf(out, "weir_top_source_dropped_packets{rank=\"%zu\"} %" PRIu64 "\n", i + 1,
			page->top_dropped[i]);
}

static void put_snapshot(const struct prom_page *page, FILE *out)
{
	const struct snapshot *snapshot = page->snapshot;

	put_family(page, out, &packets_family);
	put_verdicts(page, out, PACKETS);
	put_family(page, out, &bytes_family);
	put_verdicts(page, out, BYTES);
	put_family(page, out, &limits_family);
	put_limits(snapshot, out);
	put_table(page, out);
	put_family(page, out, &interfaces_family);
	put_interfaces(snapshot, out);
	put_single(page, out,
		   &(struct family){ "weir_policy_generation", "gauge",
				     "How often a policy was put in force." },
		   snapshot->generation);
	put_single(page, out,
		   &(struct family){ "weir_entries", "gauge",
				     "Entries set by hand: block, allow and limit." },
		   snapshot->entry_count);
	put_single(page, out,
		   &(struct family){ "weir_events_lost", "counter",
				     "Drops not sampled while they were watched." },
		   snapshot->events_lost);
	put_top(page, out);
}

int render_prom(const struct prom_page *page, FILE *out)
{
	if (page->snapshot)
		put_snapshot(page, out);
	put_single(page, out,
		   &(struct family){
			   "weir_protecting", "gauge",
			   "Whether every interface of the instance is held (1) or not (0)." },
		   page->snapshot && page->snapshot->protecting);
	put_family(page, out, &build_family);
	fputs("weir_build_info{version=\"" WEIR_VERSION "\"} 1\n", out);
	if (page->openmetrics)
		fputs("# EOF\n", out);
	fflush(out);
	return ferror(out) ? (errno ? -errno : -EIO) : 0;
}

/* The weight a list element of an Accept header gives itself (RFC 9110, 12.4.2); 1 by default. */
static double accept_weight(const char *element, size_t length)
{
	char text[256];
	char *parameter;

	if (length >= sizeof(text))
		return 0;
	memcpy(text, element, length);
	text[length] = '\0';
	for (parameter = strchr(text, ';'); parameter; parameter = strchr(parameter, ';')) {
		parameter += 1 + strspn(parameter + 1, " \t");
		if (!strncmp(parameter, "q=", 2))
			return strtod(parameter + 2, NULL);
	}
	return 1;
}

static double accept_weight_of(const char *accept, const char *type)
{
	double best = 0;

	while (*accept) {
		size_t length = strcspn(accept, ",");
		size_t name = strcspn(accept, ",; \t");

		if (name == strlen(type) && !strncmp(accept, type, name)) {
			double weight = accept_weight(accept, length);

			best = weight > best ? weight : best;
		}
		accept += length;
		accept += strspn(accept, ", \t");
	}
	return best;
}

bool prom_wants_openmetrics(const char *accept)
{
	double openmetrics;

	if (!accept)
		return false;
	accept += strspn(accept, " \t");
	openmetrics = accept_weight_of(accept, "application/openmetrics-text");
	return openmetrics > 0 && openmetrics >= accept_weight_of(accept, "text/plain");
}

const char *prom_content_type(bool openmetrics)
{
	return openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
			   : "text/plain; version=0.0.4; charset=utf-8";
}
