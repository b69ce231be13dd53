/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "entry.h"
#include "words.h"

enum clause {
	CLAUSE_BURST,
	CLAUSE_PER,
	CLAUSE_SERVICE,
	CLAUSE_FOR,
	CLAUSES,
};

static const char *const clause_names[CLAUSES] = { "burst", "per", "service", "for" };

struct words {
	int count;
	char **at;
};

const char *entry_kind_name(enum entry_kind kind)
{
	switch (kind) {
	case ENTRY_BLOCK:
		return "block";
	case ENTRY_ALLOW:
		return "allow";
	case ENTRY_LIMIT:
		return "limit";
	}
	return "?";
}

void entry_spec_free(struct entry_spec *entry)
{
	free(entry->limit.name);
	entry->limit.name = NULL;
}

static bool is_clause(const char *word)
{
	for (int i = 0; i < CLAUSES; i++)
		if (strlen(word) >= 2 && !strncmp(clause_names[i], word, strlen(word)))
			return true;
	return false;
}

/* A value is one word, or a bare number and its unit: `10 Mbit/s`. */
static int take_value(struct words *words, const char *what, char *to, size_t size,
		      struct message *message)
{
	const char *first;

	if (!words->count)
		return message_set(message, -EINVAL, "%s is missing at the end", what);
	first = words->at[0];
	words->count--;
	words->at++;
	if (words->count && !is_clause(words->at[0]) && *first &&
	    strspn(first, "0123456789.") == strlen(first)) {
		snprintf(to, size, "%s %s", first, words->at[0]);
		words->count--;
		words->at++;
	} else {
		snprintf(to, size, "%s", first);
	}
	return 0;
}

static int read_per(const char *text, const struct prefix *prefix, struct limit_spec *limit,
		    struct message *message)
{
	uint8_t most = prefix->family == 4 ? 32 : 128;
	uint64_t len;

	if (!strcmp(text, "policy")) {
		limit->per = PER_POLICY;
		return 0;
	}
	if (units_count(*text == '/' ? text + 1 : text, &len, NULL) || len > most) {
		message_set(message, -EINVAL, "`per %s`: no key length of IPv%u", text,
			    prefix->family);
		return message_hint(message, -EINVAL,
				    "1 to %u bits of the address make a source; `per policy` is "
				    "the whole prefix together",
				    most);
	}
	*(prefix->family == 4 ? &limit->ipv4_len : &limit->ipv6_len) = (uint8_t)len;
	limit->len_given = true;
	return 0;
}

static int read_service(const char *text, const struct ruleset *ruleset, struct limit_spec *limit,
			struct message *message)
{
	const char *names[SERVICES_MAX];
	size_t count;

	if (!ruleset)
		return 0;
	count = ruleset->service_count < SERVICES_MAX ? ruleset->service_count : SERVICES_MAX;
	if (!count) {
		message_set(message, -EINVAL, "unknown service `%s`", text);
		return message_hint(message, -EINVAL, "the policy in force names no services");
	}
	for (size_t i = 0; i < count; i++)
		names[i] = ruleset->services[i].name;
	limit->service = word_find(text, names, count, "service", message);
	return limit->service < 0 ? -EINVAL : 0;
}

static int read_clause(struct words *words, const struct prefix *prefix,
		       const struct ruleset *ruleset, struct limit_spec *limit, uint64_t *for_ns,
		       struct message *message)
{
	int clause = word_find(words->at[0], clause_names, CLAUSES, "word", message);
	char value[UNIT_TEXT * 2];
	int err;

	if (clause < 0)
		return -EINVAL;
	words->count--;
	words->at++;
	err = take_value(words, clause_names[clause], value, sizeof(value), message);
	if (err)
		return err;
	switch (clause) {
	case CLAUSE_BURST:
		limit->burst_given = true;
		return units_burst(value, &limit->burst, &limit->burst_bytes, message);
	case CLAUSE_PER:
		return read_per(value, prefix, limit, message);
	case CLAUSE_SERVICE:
		return read_service(value, ruleset, limit, message);
	}
	return units_duration(value, for_ns, message);
}

/* One entry's limit is alone in its policy; what a whole policy would refuse, it refuses too. */
static int complete(struct limit_spec *limit, const struct ruleset *ruleset,
		    struct message *message)
{
	struct problems problems = { 0 };
	int err = limit_complete(limit, ruleset, &problems);

	if (err && problems.count && message)
		*message = problems.list[0].message;
	problems_free(&problems);
	return err;
}

static int read_limit(struct words *words, const struct prefix *prefix,
		      const struct ruleset *ruleset, struct limit_spec *limit, uint64_t *for_ns,
		      struct message *message)
{
	char rate[UNIT_TEXT * 2];
	int err;

	*limit = (struct limit_spec){ .service = -1 };
	err = take_value(words, "the rate", rate, sizeof(rate), message);
	if (!err)
		err = units_rate(rate, &limit->rate, message);
	while (!err && words->count)
		err = read_clause(words, prefix, ruleset, limit, for_ns, message);
	if (!err && ruleset)
		err = complete(limit, ruleset, message);
	if (err) {
		free(limit->name);
		limit->name = NULL;
	}
	return err;
}

int entry_read_duration(int argc, char **argv, uint64_t *for_ns, struct message *message)
{
	static const char *const names[] = { "for" };
	struct words words = { argc, argv };
	char value[UNIT_TEXT * 2];
	int err;

	*for_ns = 0;
	if (!argc)
		return 0;
	if (word_find(words.at[0], names, 1, "word", message) < 0)
		return -EINVAL;
	words.count--;
	words.at++;
	err = take_value(&words, "for", value, sizeof(value), message);
	if (!err)
		err = units_duration(value, for_ns, message);
	if (!err && words.count)
		err = message_set(message, -EINVAL, "`%s` is one word too many", words.at[0]);
	return err;
}

int entry_read(enum entry_kind kind, int argc, char **argv, const struct ruleset *ruleset,
	       struct entry_spec *entry, struct message *message)
{
	struct entry_spec spec = { .kind = kind, .limit.service = -1 };
	struct words words = { argc - 1, argv + 1 };
	int err;

	if (!argc)
		return message_set(message, -EINVAL, "the prefix is missing");
	err = units_prefix(argv[0], &spec.prefix, message);
	if (!err && kind == ENTRY_LIMIT)
		err = read_limit(&words, &spec.prefix, ruleset, &spec.limit, &spec.for_ns, message);
	else if (!err)
		err = entry_read_duration(words.count, words.at, &spec.for_ns, message);
	if (!err)
		*entry = spec;
	return err == -ERANGE ? -EINVAL : err;
}

int entry_limit_read(const char *text, const struct prefix *prefix, const struct ruleset *ruleset,
		     struct limit_spec *limit, struct message *message)
{
	char copy[ENTRY_TEXT], *list[ENTRY_TEXT / 2], *rest;
	struct words words = { 0, list };
	uint64_t for_ns;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		list[words.count++] = word;
	return read_limit(&words, prefix, ruleset, limit, &for_ns, message);
}

int entry_limit_text(const struct entry_spec *entry, const struct ruleset *ruleset,
		     char text[ENTRY_TEXT], struct message *message)
{
	const struct limit_spec *limit = &entry->limit;
	char rate[UNIT_TEXT], burst[UNIT_TEXT], per[16] = "";
	unsigned int bits = entry->prefix.family == 4 ? limit->ipv4_len : limit->ipv6_len;
	int length;

	units_rate_text(&limit->rate, rate, sizeof(rate));
	units_burst_text(limit->burst, limit->rate.bytes, burst, sizeof(burst));
	if (limit->per == PER_POLICY)
		snprintf(per, sizeof(per), " per policy");
	else
		snprintf(per, sizeof(per), " per %u", bits);
	length = snprintf(text, ENTRY_TEXT, "%s burst %s%s%s%s", rate, burst, per,
			  limit->service >= 0 ? " service " : "",
			  limit->service >= 0 ? ruleset->services[limit->service].name : "");
	if (length >= ENTRY_TEXT)
		return message_set(message, -ENAMETOOLONG,
				   "the name of the service is too long for an entry");
	return 0;
}

void entry_compile(const struct entry_spec *entry, const struct image *image, struct policy *policy)
{
	const struct ruleset *ruleset = image->ruleset;
	const struct limit_spec *limit = &entry->limit;
	struct allocation own = { .credit = ~0U };
	bool wide = entry->prefix.family == 6 && limit->per == PER_SOURCE && limit->ipv6_len > 64;

	*policy = (struct policy){
		.action = ACTION_LIMIT,
		.count = 1,
		.enforced = 65536,
		.ipv4_len = ruleset->ipv4_len,
		.ipv6_len = ruleset->ipv6_len,
	};
	limit_compile(limit, &own, ruleset->lenient, wide, 1, &policy->limits[0]);
	policy_sum_limits(policy, image->services_any);
}
