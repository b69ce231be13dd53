/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "difference.h"

/* The line being written: a subject, and what changes about it. */
struct writer {
	struct difference *difference;
	char subject[160];
	char *line;
	bool failed;
};

static void subject(struct writer *writer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void part(struct writer *writer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void finish_line(struct writer *writer)
{
	struct difference *difference = writer->difference;
	char **lines;

	if (!writer->line)
		return;
	lines = reallocarray(difference->lines, difference->count + 1, sizeof(*lines));
	if (lines) {
		lines[difference->count++] = writer->line;
		difference->lines = lines;
	} else {
		free(writer->line);
		writer->failed = true;
	}
	writer->line = NULL;
}

static void subject(struct writer *writer, const char *format, ...)
{
	va_list args;

	finish_line(writer);
	va_start(args, format);
	vsnprintf(writer->subject, sizeof(writer->subject), format, args);
	va_end(args);
}

static void part(struct writer *writer, const char *format, ...)
{
	char text[256], *line;
	va_list args;
	int length;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	length = asprintf(&line, "%s%s%s", writer->line ? writer->line : writer->subject,
			  writer->line ? "; " : ": ", text);
	free(writer->line);
	writer->line = length < 0 ? NULL : line;
	writer->failed |= length < 0;
}

static void part_words(struct writer *writer, const char *what, const char *before,
		       const char *after)
{
	if (strcmp(before, after))
		part(writer, "%s%s%s -> %s", what, *what ? " " : "", before, after);
}

static void part_number(struct writer *writer, const char *what, uint64_t before, uint64_t after)
{
	if (before != after)
		part(writer, "%s %" PRIu64 " -> %" PRIu64, what, before, after);
}

static const char *service_of(const struct ruleset *ruleset, const struct limit_spec *limit)
{
	return limit->service < 0 ? "every packet" : ruleset->services[limit->service].name;
}

static const char *ban_text(uint64_t ban_ns, char to[UNIT_TEXT])
{
	return ban_ns ? units_duration_text(ban_ns, to, UNIT_TEXT) : "none";
}

static char *per_text(const struct limit_spec *limit, char *to, size_t size)
{
	if (limit->per == PER_SOURCE)
		snprintf(to, size, "/%u and /%u", limit->ipv4_len, limit->ipv6_len);
	else
		snprintf(to, size, "%s", limit->per == PER_POLICY ? "policy" : "instance");
	return to;
}

static void changed_limit(struct writer *writer, const struct ruleset *before,
			  const struct limit_spec *old, const struct ruleset *after,
			  const struct limit_spec *new)
{
	char a[UNIT_TEXT], b[UNIT_TEXT];

	part_words(writer, "", units_rate_text(&old->rate, a, sizeof(a)),
		   units_rate_text(&new->rate, b, sizeof(b)));
	part_words(writer, "burst", units_burst_text(old->burst, old->rate.bytes, a, sizeof(a)),
		   units_burst_text(new->burst, new->rate.bytes, b, sizeof(b)));
	part_words(writer, "service", service_of(before, old), service_of(after, new));
	part_words(writer, "ban", ban_text(old->ban_ns, a), ban_text(new->ban_ns, b));
	part_words(writer, "per", per_text(old, a, sizeof(a)), per_text(new, b, sizeof(b)));
	part_words(writer, "algorithm", algorithm_name(old->algorithm),
		   algorithm_name(new->algorithm));
	part_number(writer, "sources", old->sources, new->sources);
}

static void added_limit(struct writer *writer, const struct ruleset *after,
			const struct limit_spec *limit)
{
	char rate[UNIT_TEXT], burst[UNIT_TEXT], per[UNIT_TEXT], ban[UNIT_TEXT];

	part(writer, "added, %s burst %s per %s for %s%s%s",
	     units_rate_text(&limit->rate, rate, sizeof(rate)),
	     units_burst_text(limit->burst, limit->rate.bytes, burst, sizeof(burst)),
	     per_text(limit, per, sizeof(per)), service_of(after, limit),
	     limit->ban_ns ? ", ban " : "", limit->ban_ns ? ban_text(limit->ban_ns, ban) : "");
}

struct limit_list {
	const struct ruleset *ruleset;
	const struct limit_spec *limits;
	size_t count;
};

static const struct limit_spec *limit_named(const struct limit_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->limits[i].name, name))
			return &list->limits[i];
	return NULL;
}

static void changed_limits(struct writer *writer, const char *owner, struct limit_list old,
			   struct limit_list new)
{
	for (size_t i = 0; i < new.count; i++) {
		const struct limit_spec *limit = &new.limits[i];
		const struct limit_spec *was = limit_named(&old, limit->name);

		subject(writer, "%s/%s", owner, limit->name);
		if (was)
			changed_limit(writer, old.ruleset, was, new.ruleset, limit);
		else
			added_limit(writer, new.ruleset, limit);
	}
	for (size_t i = 0; i < old.count; i++) {
		if (limit_named(&new, old.limits[i].name))
			continue;
		subject(writer, "%s/%s", owner, old.limits[i].name);
		part(writer, "removed");
	}
}

/* How many of two sorted lists are in the second only, and in the first only. */
static void count_changes(const struct prefix *old, size_t old_count, const struct prefix *new,
			  size_t new_count, size_t *added, size_t *removed)
{
	size_t i = 0, j = 0;

	*added = *removed = 0;
	while (i < old_count || j < new_count) {
		int order = i == old_count   ? 1
			    : j == new_count ? -1
					     : prefix_compare(&old[i], &new[j]);

		*removed += order < 0;
		*added += order > 0;
		i += order <= 0;
		j += order >= 0;
	}
}

static struct prefix *sorted(const struct prefix *list, size_t count)
{
	struct prefix *copy = calloc(count + 1, sizeof(*copy));

	if (!copy)
		return NULL;
	if (count)
		memcpy(copy, list, count * sizeof(*copy));
	qsort(copy, count, sizeof(*copy), prefix_compare);
	return copy;
}

static void changed_prefixes(struct writer *writer, const struct prefix *old, size_t old_count,
			     const struct prefix *new, size_t new_count)
{
	struct prefix *a = sorted(old, old_count), *b = sorted(new, new_count);
	size_t added, removed;

	if (a && b) {
		count_changes(a, old_count, b, new_count, &added, &removed);
		if (added)
			part(writer, "%zu prefix%s added", added, added == 1 ? "" : "es");
		if (removed)
			part(writer, "%zu prefix%s removed", removed, removed == 1 ? "" : "es");
	} else {
		writer->failed = true;
	}
	free(a);
	free(b);
}

static const char *action_text(const struct policy_spec *policy)
{
	switch (policy->action) {
	case ACTION_PASS:
		return "pass";
	case ACTION_DROP:
		return "drop";
	case ACTION_LIMIT:
		return "limit";
	}
	return "?";
}

static char *mode_text(const struct policy_spec *policy, char to[UNIT_TEXT])
{
	if (policy->enforced == 65536)
		snprintf(to, UNIT_TEXT, "enforce");
	else if (!policy->enforced)
		snprintf(to, UNIT_TEXT, "observe");
	else
		snprintf(to, UNIT_TEXT, "%.4g%%", policy->enforced * 100.0 / 65536);
	return to;
}

static const struct policy_spec *policy_named(const struct ruleset *ruleset, const char *name)
{
	for (size_t i = 0; i < ruleset->policy_count; i++)
		if (!strcmp(ruleset->policies[i].name, name))
			return &ruleset->policies[i];
	return NULL;
}

static struct limit_list limits_of(const struct ruleset *ruleset, const struct policy_spec *policy)
{
	if (!policy)
		return (struct limit_list){ ruleset, NULL, 0 };
	return (struct limit_list){ ruleset, policy->limits, policy->limit_count };
}

static void changed_policy(struct writer *writer, const struct ruleset *before,
			   const struct policy_spec *old, const struct ruleset *after,
			   const struct policy_spec *new)
{
	char a[UNIT_TEXT], b[UNIT_TEXT];

	subject(writer, "%s", new->name);
	if (old) {
		part_words(writer, "action", action_text(old), action_text(new));
		part_words(writer, "mode", mode_text(old, a), mode_text(new, b));
		changed_prefixes(writer, old->sources, old->source_count, new->sources,
				 new->source_count);
	} else {
		part(writer, "policy added, %s for %zu prefix%s, %s", action_text(new),
		     new->source_count, new->source_count == 1 ? "" : "es", mode_text(new, b));
	}
	changed_limits(writer, new->name, limits_of(before, old), limits_of(after, new));
}

static void changed_policies(struct writer *writer, const struct ruleset *before,
			     const struct ruleset *after)
{
	for (size_t i = 0; i < after->policy_count; i++) {
		const struct policy_spec *policy = &after->policies[i];

		changed_policy(writer, before, policy_named(before, policy->name), after, policy);
	}
	for (size_t i = 0; i < before->policy_count; i++) {
		if (policy_named(after, before->policies[i].name))
			continue;
		subject(writer, "%s", before->policies[i].name);
		part(writer, "policy removed");
	}
}

static bool same_matches(const struct service_spec *a, const struct service_spec *b)
{
	if (a->match_count != b->match_count)
		return false;
	for (size_t i = 0; i < a->match_count; i++) {
		const struct service_match *x = &a->matches[i], *y = &b->matches[i];

		if (x->kind != y->kind || x->first != y->first || x->last != y->last)
			return false;
	}
	return true;
}

static void changed_services(struct writer *writer, const struct ruleset *before,
			     const struct ruleset *after)
{
	for (size_t i = 0; i < after->service_count; i++) {
		const struct service_spec *new = &after->services[i];
		int index = ruleset_service(before, new->name);

		subject(writer, "service %s", new->name);
		if (index < 0) {
			part(writer, "added");
			continue;
		}
		if (!same_matches(&before->services[index], new))
			part(writer, "matches other packets");
		changed_prefixes(writer, before->services[index].to,
				 before->services[index].to_count, new->to, new->to_count);
	}
	for (size_t i = 0; i < before->service_count; i++) {
		if (ruleset_service(after, before->services[i].name) >= 0)
			continue;
		subject(writer, "service %s", before->services[i].name);
		part(writer, "removed");
	}
}

static void changed_instance(struct writer *writer, const struct ruleset *before,
			     const struct ruleset *after)
{
	subject(writer, "table");
	part_words(writer, "kind", table_kind_name(before->table), table_kind_name(after->table));
	part_number(writer, "sources", before->sources, after->sources);
	part_words(writer, "on_full", before->lenient ? "lenient" : "strict",
		   after->lenient ? "lenient" : "strict");
	subject(writer, "key");
	part_number(writer, "ipv4", before->ipv4_len, after->ipv4_len);
	part_number(writer, "ipv6", before->ipv6_len, after->ipv6_len);
	subject(writer, "malformed");
	part_words(writer, "", before->malformed_pass ? "pass" : "drop",
		   after->malformed_pass ? "pass" : "drop");
	changed_limits(writer, "instance",
		       (struct limit_list){ before, before->limits, before->limit_count },
		       (struct limit_list){ after, after->limits, after->limit_count });
}

int difference_read(const struct ruleset *before, const struct ruleset *after,
		    struct difference *difference)
{
	struct writer writer = { .difference = difference };

	*difference = (struct difference){ 0 };
	changed_instance(&writer, before, after);
	changed_services(&writer, before, after);
	changed_policies(&writer, before, after);
	subject(&writer, "entries");
	if (after->entry_count)
		part(&writer, "%zu set", after->entry_count);
	finish_line(&writer);
	if (!writer.failed)
		return 0;
	difference_free(difference);
	return -ENOMEM;
}

void difference_free(struct difference *difference)
{
	for (size_t i = 0; i < difference->count; i++)
		free(difference->lines[i]);
	free(difference->lines);
	*difference = (struct difference){ 0 };
}
