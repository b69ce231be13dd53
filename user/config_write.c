/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "config.h"
#include "config_match.h"

#define ENFORCED_ALL 65536

enum write_size {
	LINE_PREFIXES = 4, /* more than this many get a line each */
};

/* Interfaces' names may hold anything; all other names are plain by themselves. */
static void write_quoted(const char *text, FILE *out)
{
	fputc('\'', out);
	for (; *text; text++) {
		if (*text == '\'')
			fputc('\'', out);
		fputc(*text, out);
	}
	fputc('\'', out);
}

static void write_interfaces(const struct ruleset *ruleset, FILE *out)
{
	if (!ruleset->interface_count)
		return;
	fputs("interfaces: [", out);
	for (size_t i = 0; i < ruleset->interface_count; i++) {
		fputs(i ? ", " : "", out);
		if (policy_name_valid(ruleset->interfaces[i]))
			fputs(ruleset->interfaces[i], out);
		else
			write_quoted(ruleset->interfaces[i], out);
	}
	fputs("]\n", out);
}

/* The colons of IPv6 would make "::/0" a mapping to some. */
static void write_prefix(const struct prefix *prefix, FILE *out)
{
	const char *quote = prefix->family == 6 ? "\"" : "";
	char text[PREFIX_TEXT];

	fprintf(out, "%s%s%s", quote, units_prefix_text(prefix, text, sizeof(text)), quote);
}

static void write_prefix_list(const struct prefix *prefixes, size_t count, FILE *out)
{
	fputc('[', out);
	for (size_t i = 0; i < count; i++) {
		fputs(i ? ", " : "", out);
		write_prefix(&prefixes[i], out);
	}
	fputc(']', out);
}

static void write_matches(const struct service_spec *service, FILE *out)
{
	char text[MATCH_TEXT];

	fputc('[', out);
	for (size_t i = 0; i < service->match_count; i++)
		fprintf(out, "%s%s", i ? ", " : "",
			match_text(&service->matches[i], text, sizeof(text)));
	fputc(']', out);
}

static void write_services(const struct ruleset *ruleset, FILE *out)
{
	if (ruleset->service_count)
		fputs("services:\n", out);
	for (size_t i = 0; i < ruleset->service_count; i++) {
		const struct service_spec *service = &ruleset->services[i];

		fprintf(out, "  %s: ", service->name);
		if (service->to_count)
			fputs("{match: ", out);
		write_matches(service, out);
		if (service->to_count) {
			fputs(", to: ", out);
			write_prefix_list(service->to, service->to_count, out);
			fputc('}', out);
		}
		fputc('\n', out);
	}
}

static void write_per(const struct limit_spec *limit, FILE *out)
{
	if (limit->per == PER_POLICY)
		fputs(", per: policy", out);
	else if (limit->per == PER_SOURCE && limit->len_given)
		fprintf(out, ", per: {ipv4: %u, ipv6: %u}", limit->ipv4_len, limit->ipv6_len);
}

/* What was given, not what was filled in: names and bursts made up follow the rate. */
static void write_limit(const struct limit_spec *limit, const struct ruleset *ruleset, FILE *out)
{
	char text[UNIT_TEXT];

	if (limit->named)
		fprintf(out, "name: %s, ", limit->name);
	fprintf(out, "rate: %s", units_rate_text(&limit->rate, text, sizeof(text)));
	if (limit->burst_given)
		fprintf(out, ", burst: %s",
			units_burst_text(limit->burst, limit->rate.bytes, text, sizeof(text)));
	if (limit->algorithm != ALGO_TOKEN_BUCKET)
		fprintf(out, ", algorithm: %s", algorithm_name(limit->algorithm));
	if (limit->service >= 0)
		fprintf(out, ", service: %s", ruleset->services[limit->service].name);
	write_per(limit, out);
	if (limit->ban_ns)
		fprintf(out, ", ban: %s", units_duration_text(limit->ban_ns, text, sizeof(text)));
	if (limit->sources)
		fprintf(out, ", sources: %s",
			units_burst_text(limit->sources, false, text, sizeof(text)));
}

static void write_limits(const struct limit_spec *limits, size_t count, const char *indent,
			 const struct ruleset *ruleset, FILE *out)
{
	if (count)
		fprintf(out, "%slimits:\n", indent);
	for (size_t i = 0; i < count; i++) {
		fprintf(out, "%s  - {", indent);
		write_limit(&limits[i], ruleset, out);
		fputs("}\n", out);
	}
}

static void write_sources(const struct policy_spec *policy, FILE *out)
{
	fputs("    sources:", out);
	if (policy->source_count <= LINE_PREFIXES) {
		fputc(' ', out);
		write_prefix_list(policy->sources, policy->source_count, out);
		fputc('\n', out);
		return;
	}
	fputc('\n', out);
	for (size_t i = 0; i < policy->source_count; i++) {
		fputs("      - ", out);
		write_prefix(&policy->sources[i], out);
		fputc('\n', out);
	}
}

/* Whole percents where they say it; six decimals tell all 65536 shares apart. */
static void write_enforced(uint32_t enforced, FILE *out)
{
	uint32_t percent = (enforced * 100 + ENFORCED_ALL / 2) / ENFORCED_ALL;

	if (enforced >= ENFORCED_ALL)
		return;
	if (!enforced)
		fputs("    mode: observe\n", out);
	else if ((percent * ENFORCED_ALL + 50) / 100 == enforced)
		fprintf(out, "    mode: %u%%\n", percent);
	else
		fprintf(out, "    mode: %.6f%%\n", enforced * 100.0 / ENFORCED_ALL);
}

static void write_policies(const struct ruleset *ruleset, FILE *out)
{
	static const char *const actions[] = {
		[ACTION_PASS] = "pass",
		[ACTION_DROP] = "drop",
	};

	if (ruleset->policy_count)
		fputs("policies:\n", out);
	for (size_t i = 0; i < ruleset->policy_count; i++) {
		const struct policy_spec *policy = &ruleset->policies[i];

		fprintf(out, "  - name: %s\n", policy->name);
		write_sources(policy, out);
		if (policy->action != ACTION_LIMIT)
			fprintf(out, "    action: %s\n", actions[policy->action]);
		write_enforced(policy->enforced, out);
		write_limits(policy->limits, policy->limit_count, "    ", ruleset, out);
	}
}

static void write_entries(const struct ruleset *ruleset, FILE *out)
{
	static const char *const kinds[] = {
		[ENTRY_BLOCK] = "block",
		[ENTRY_ALLOW] = "allow",
		[ENTRY_LIMIT] = "limit",
	};
	char text[UNIT_TEXT];

	if (ruleset->entry_count)
		fputs("entries:\n", out);
	for (size_t i = 0; i < ruleset->entry_count; i++) {
		const struct entry_spec *entry = &ruleset->entries[i];

		fprintf(out, "  - {%s: ", kinds[entry->kind]);
		write_prefix(&entry->prefix, out);
		if (entry->kind == ENTRY_LIMIT) {
			fputs(", ", out);
			write_limit(&entry->limit, ruleset, out);
		}
		if (entry->for_ns)
			fprintf(out, ", for: %s",
				units_duration_text(entry->for_ns, text, sizeof(text)));
		fputs("}\n", out);
	}
}

int config_write(const struct ruleset *ruleset, FILE *out)
{
	char sources[UNIT_TEXT];

	write_interfaces(ruleset, out);
	fprintf(out, "mode: %s\n", attach_mode_name(ruleset->mode));
	fprintf(out, "table: {kind: %s, sources: %s, on_full: %s}\n",
		table_kind_name(ruleset->table),
		units_burst_text(ruleset->sources, false, sources, sizeof(sources)),
		ruleset->lenient ? "lenient" : "strict");
	fprintf(out, "key: {ipv4: %u, ipv6: %u}\n", ruleset->ipv4_len, ruleset->ipv6_len);
	fprintf(out, "malformed: %s\n", ruleset->malformed_pass ? "pass" : "drop");
	write_services(ruleset, out);
	write_limits(ruleset->limits, ruleset->limit_count, "", ruleset, out);
	write_policies(ruleset, out);
	write_entries(ruleset, out);
	return ferror(out) ? -EIO : 0;
}
