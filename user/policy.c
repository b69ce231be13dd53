/* SPDX-License-Identifier: GPL-2.0-only */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy.h"

/* A full bucket is at most this far ahead of now, so that no sum of times wraps. */
#define REFILL_MAX_NS (1ULL << 62)
#define NS_PER_MS     1000000ULL

struct ruleset *ruleset_new(void)
{
	struct ruleset *ruleset = calloc(1, sizeof(*ruleset));

	if (!ruleset)
		return NULL;
	ruleset->mode = MODE_AUTO;
	ruleset->table = TABLE_SETS;
	ruleset->sources = 1000000;
	ruleset->ipv4_len = 32;
	ruleset->ipv6_len = 64;
	return ruleset;
}

static void limits_free(struct limit_spec *limits, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(limits[i].name);
	free(limits);
}

static void services_free(struct service_spec *services, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(services[i].name);
		free(services[i].matches);
		free(services[i].to);
	}
	free(services);
}

static void policies_free(struct policy_spec *policies, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(policies[i].name);
		free(policies[i].sources);
		free(policies[i].source_places);
		limits_free(policies[i].limits, policies[i].limit_count);
	}
	free(policies);
}

void ruleset_free(struct ruleset *ruleset)
{
	if (!ruleset)
		return;
	for (size_t i = 0; i < ruleset->interface_count; i++)
		free(ruleset->interfaces[i]);
	free(ruleset->interfaces);
	for (size_t i = 0; i < ruleset->entry_count; i++)
		free(ruleset->entries[i].limit.name);
	free(ruleset->entries);
	services_free(ruleset->services, ruleset->service_count);
	policies_free(ruleset->policies, ruleset->policy_count);
	limits_free(ruleset->limits, ruleset->limit_count);
	free(ruleset);
}

int problems_add_message(struct problems *problems, struct place place, int error,
			 const struct message *message)
{
	struct problem *list;

	if (problems->count >= PROBLEMS_MAX)
		return error;
	/* Grown at each power of two. */
	if (!(problems->count & (problems->count - 1))) {
		size_t room = problems->count ? 2 * problems->count : 1;

		list = realloc(problems->list, room * sizeof(*list));
		if (!list) {
			problems->lost = true;
			return error;
		}
		problems->list = list;
	}
	problems->list[problems->count].place = place;
	problems->list[problems->count].message = *message;
	if (++problems->count == PROBLEMS_MAX)
		message_set(&problems->list[PROBLEMS_MAX - 1].message, error,
			    "too many problems: the others are not shown");
	return error;
}

int problems_add(struct problems *problems, struct place place, int error, const char *format, ...)
{
	struct message message;
	va_list args;

	va_start(args, format);
	message_vset(&message, -EINVAL, format, args);
	va_end(args);
	return problems_add_message(problems, place, error, &message);
}

static int problem_compare(const void *a, const void *b)
{
	const struct problem *left = a, *right = b;

	if (left->place.line != right->place.line)
		return left->place.line < right->place.line ? -1 : 1;
	return (left->place.column > right->place.column) -
	       (left->place.column < right->place.column);
}

void problems_sort(struct problems *problems)
{
	if (problems->count)
		qsort(problems->list, problems->count, sizeof(*problems->list), problem_compare);
}

void problems_free(struct problems *problems)
{
	free(problems->list);
	*problems = (struct problems){};
}

bool policy_name_valid(const char *name)
{
	size_t length = strlen(name);

	if (!isalnum((unsigned char)name[0]) || length > NAME_LENGTH_MAX)
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
			return false;
	return true;
}

int ruleset_service(const struct ruleset *ruleset, const char *name)
{
	for (size_t i = 0; i < ruleset->service_count; i++)
		if (!strcmp(ruleset->services[i].name, name))
			return i;
	return -1;
}

/* ns a token takes, in 2^-32 ns. */
static unsigned __int128 interval_fixed(const struct limit_spec *limit)
{
	uint64_t ns;
	uint32_t frac;

	units_interval(&limit->rate, &ns, &frac);
	return (unsigned __int128)ns << 32 | frac;
}

uint64_t limit_refill_ns(const struct limit_spec *limit)
{
	unsigned __int128 refill;

	switch (limit->algorithm) {
	case ALGO_TOKEN_BUCKET:
		refill = (interval_fixed(limit) * limit->burst + UINT32_MAX) >> 32;
		return refill > UINT64_MAX ? UINT64_MAX : refill;
	case ALGO_SLIDING_WINDOW: /* the window before still counts in the next */
		return 2 * limit->rate.window_ns;
	default:
		return limit->rate.window_ns;
	}
}

/* Tokens of the rate in one of its windows. */
static uint64_t rate_quota(const struct rate *rate)
{
	return rate->bits ? rate->amount / 8 : rate->amount;
}

static void limit_fill(struct limit_spec *limit, const struct ruleset *ruleset)
{
	uint64_t least = limit->rate.bytes ? FRAME_FULL : 1;

	if (!limit->ipv4_len)
		limit->ipv4_len = ruleset->ipv4_len;
	if (!limit->ipv6_len)
		limit->ipv6_len = ruleset->ipv6_len;
	if (limit->burst_given || limit->burst || !limit->rate.amount)
		return;
	limit->burst = rate_quota(&limit->rate);
	if (limit->algorithm != ALGO_TOKEN_BUCKET)
		return;
	limit->burst /= limit->rate.window_ns / NS_PER_SEC;
	if (limit->burst < least)
		limit->burst = least;
}

static int bucket_check(const struct limit_spec *limit, struct problems *problems)
{
	unsigned __int128 most = ((unsigned __int128)REFILL_MAX_NS << 32) / interval_fixed(limit);
	char burst[UNIT_TEXT], rate[UNIT_TEXT], allowed[UNIT_TEXT];

	units_burst_text(limit->burst, limit->rate.bytes, burst, sizeof(burst));
	if (limit->burst_given && limit->burst_bytes != limit->rate.bytes)
		return problems_add(problems, limit->place, -EINVAL,
				    limit->rate.bytes
					    ? "burst of a byte limit needs a unit: 64kB, 4MB, 4MiB"
					    : "burst is in bytes, but the rate counts packets");
	if (limit->rate.bytes && limit->burst < FRAME_LEAST)
		return problems_add(
			problems, limit->place, -EINVAL,
			"burst %s is below one full frame: a frame of %d bytes could never pass",
			burst, FRAME_LEAST);
	if (limit->burst <= most)
		return 0;
	units_burst_text(most, limit->rate.bytes, allowed, sizeof(allowed));
	return problems_add(
		problems, limit->place, -EINVAL,
		"burst %s at %s would take over 146 years to refill (2^62 ns): at most %s", burst,
		units_rate_text(&limit->rate, rate, sizeof(rate)), allowed);
}

static int window_check(const struct limit_spec *limit, struct problems *problems)
{
	const char *name = algorithm_name(limit->algorithm);
	uint64_t quota = rate_quota(&limit->rate);

	if (limit->burst_given)
		return problems_add(problems, limit->place, -EINVAL,
				    "burst is for token-bucket: %s allows its rate in each window",
				    name);
	if (limit->algorithm == ALGO_SLIDING_LOG && limit->rate.bytes)
		return problems_add(problems, limit->place, -EINVAL,
				    "sliding-log counts packets, not bytes");
	if (limit->algorithm == ALGO_SLIDING_LOG && quota > LOG_SLOTS)
		return problems_add(problems, limit->place, -EINVAL,
				    "sliding-log allows at most %d packets a window, not %" PRIu64,
				    LOG_SLOTS, quota);
	if (quota > UINT32_MAX)
		return problems_add(problems, limit->place, -EINVAL,
				    "%s allows at most %u %s a window, not %" PRIu64, name,
				    UINT32_MAX, limit->rate.bytes ? "bytes" : "packets", quota);
	if (limit->rate.bytes && quota < FRAME_LEAST)
		return problems_add(problems, limit->place, -EINVAL,
				    "%" PRIu64 " bytes a window are below one full frame: a frame "
				    "of %d bytes could never pass",
				    quota, FRAME_LEAST);
	return 0;
}

static int ban_check(const struct limit_spec *limit, struct problems *problems)
{
	uint64_t refill_ns = limit_refill_ns(limit);
	char ban[UNIT_TEXT], refill[UNIT_TEXT];

	if (!limit->ban_ns || limit->ban_ns >= refill_ns)
		return 0;
	if (refill_ns > NS_PER_SEC)
		refill_ns = (refill_ns + NS_PER_MS - 1) / NS_PER_MS * NS_PER_MS;
	return problems_add(problems, limit->place, -EINVAL,
			    "ban %s is shorter than the refill: an exhausted limit takes %s",
			    units_duration_text(limit->ban_ns, ban, sizeof(ban)),
			    units_duration_text(refill_ns, refill, sizeof(refill)));
}

/* What can be said of one limit alone. A rate of 0 could not be read and was reported. */
static int limit_check(struct limit_spec *limit, const struct ruleset *ruleset,
		       struct problems *problems)
{
	int err;

	limit_fill(limit, ruleset);
	if (limit->sources && limit->per != PER_SOURCE)
		problems_add(
			problems, limit->place, -EINVAL,
			"a limit for all sources together has one state: sources does not fit");
	if (!limit->rate.amount)
		return -EINVAL;
	if (limit->algorithm == ALGO_TOKEN_BUCKET)
		err = bucket_check(limit, problems);
	else
		err = window_check(limit, problems);
	return err ? err : ban_check(limit, problems);
}

/* The name of a limit that was given none. */
static char *limit_name_base(const struct limit_spec *limit, const struct ruleset *ruleset)
{
	const char *what = limit->rate.bytes ? "bytes" : "packets";
	const char *whose = "";
	char *name;

	if (limit->service >= 0 && (size_t)limit->service < ruleset->service_count)
		what = ruleset->services[limit->service].name;
	if (limit->per == PER_POLICY)
		whose = "policy-";
	else if (limit->per == PER_INSTANCE)
		whose = "instance-";
	else if (limit->ipv4_len < ruleset->ipv4_len || limit->ipv6_len < ruleset->ipv6_len)
		whose = "subnet-";
	return asprintf(&name, "%s%s", whose, what) < 0 ? NULL : name;
}

int limit_complete(struct limit_spec *limit, const struct ruleset *ruleset,
		   struct problems *problems)
{
	size_t before = problems->count;

	limit_check(limit, ruleset, problems);
	if (!limit->name)
		limit->name = limit_name_base(limit, ruleset);
	if (!limit->name)
		return -ENOMEM;
	return problems->count == before && !problems->lost && limit->rate.amount ? 0 : -EINVAL;
}

/* The limits that judge one packet: a policy's and, behind them, the instance's. */
struct limit_list {
	struct limit_spec *limits[2 * LIMITS_MAX];
	size_t count;
	size_t own; /* the first of them; doubles among the others were reported before */
};

static void list_add(struct limit_list *list, struct limit_spec *limits, size_t count)
{
	for (size_t i = 0; i < count && i < LIMITS_MAX; i++)
		list->limits[list->count++] = &limits[i];
}

static bool list_has(const struct limit_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->limits[i]->name && !strcmp(list->limits[i]->name, name))
			return true;
	return false;
}

/* Make up a name that none of the list has: NAME, NAME-2, NAME-3... */
static int limit_name(struct limit_spec *limit, const struct limit_list *list,
		      const struct ruleset *ruleset)
{
	char *base = limit_name_base(limit, ruleset);
	char *name = base;

	for (unsigned int i = 2; name && list_has(list, name); i++) {
		if (name != base)
			free(name);
		if (asprintf(&name, "%s-%u", base, i) < 0)
			name = NULL;
	}
	if (name != base)
		free(base);
	limit->name = name;
	return name ? 0 : -ENOMEM;
}

/* Name the list's unnamed limits and report names given twice. */
static int limits_name(struct limit_list *list, const struct ruleset *ruleset,
		       struct problems *problems)
{
	for (size_t i = 0; i < list->count; i++)
		if (!list->limits[i]->name && limit_name(list->limits[i], list, ruleset))
			return -ENOMEM;
	for (size_t i = 1; i < list->count; i++)
		for (size_t j = 0; j < i && j < list->own; j++)
			if (!strcmp(list->limits[i]->name, list->limits[j]->name)) {
				struct limit_spec *later = list->limits[i];

				/* The instance's come last in the list, but may come first in
				 * the file. */
				if (later->place.line < list->limits[j]->place.line)
					later = list->limits[j];
				problems_add(problems, later->place, -EINVAL,
					     "limit '%s' exists already", later->name);
				break;
			}
	return 0;
}

/* An instance limit sits behind those of every policy, so its name may collide in each. */
static int policy_limits_check(struct policy_spec *policy, struct ruleset *ruleset,
			       struct problems *problems)
{
	size_t total = policy->limit_count + ruleset->limit_count;
	struct limit_list list = {};

	for (size_t i = 0; i < policy->limit_count; i++) {
		if (policy->limits[i].per == PER_INSTANCE)
			problems_add(problems, policy->limits[i].place, -EINVAL,
				     "per: instance is for the limits outside the policies");
		limit_check(&policy->limits[i], ruleset, problems);
	}
	if (policy->action != ACTION_LIMIT) {
		if (policy->limit_count)
			problems_add(problems, policy->limits[0].place, -EINVAL,
				     "policy '%s' does not limit: it can't have limits",
				     policy->name ? policy->name : "");
		return 0;
	}
	if (!total)
		problems_add(problems, policy->place, -EINVAL,
			     "policy '%s' has no limits: give it some, or action: pass or drop",
			     policy->name ? policy->name : "");
	if (total > LIMITS_MAX)
		problems_add(
			problems, policy->place, -EINVAL,
			"policy '%s' has %zu limits, those of the instance included: at most %d",
			policy->name ? policy->name : "", total, LIMITS_MAX);
	list_add(&list, policy->limits, policy->limit_count);
	list.own = list.count;
	list_add(&list, ruleset->limits, ruleset->limit_count);
	return limits_name(&list, ruleset, problems);
}

static int instance_limits_check(struct ruleset *ruleset, struct problems *problems)
{
	struct limit_list list = {};

	for (size_t i = 0; i < ruleset->limit_count; i++) {
		if (ruleset->limits[i].per != PER_INSTANCE)
			problems_add(problems, ruleset->limits[i].place, -EINVAL,
				     "limits outside the policies are per: instance");
		limit_check(&ruleset->limits[i], ruleset, problems);
	}
	if (ruleset->limit_count > LIMITS_MAX)
		return problems_add(problems, ruleset->limits[LIMITS_MAX].place, -EINVAL,
				    "%zu limits outside the policies: at most %d",
				    ruleset->limit_count, LIMITS_MAX);
	list_add(&list, ruleset->limits, ruleset->limit_count);
	list.own = list.count;
	return limits_name(&list, ruleset, problems);
}

/* A name or prefix with where it was written, to find doubles by sorting. */
struct claim {
	const struct prefix *prefix;
	const char *name; /* of the service or policy; NULL: an entry */
	struct place place;
	size_t order;
};

static int claim_order(const struct claim *left, const struct claim *right)
{
	return (left->order > right->order) - (left->order < right->order);
}

static int claim_name_compare(const void *a, const void *b)
{
	const struct claim *left = a, *right = b;
	int order = strcmp(left->name, right->name);

	return order ? order : claim_order(left, right);
}

static int claim_prefix_compare(const void *a, const void *b)
{
	const struct claim *left = a, *right = b;
	int order = prefix_compare(left->prefix, right->prefix);

	return order ? order : claim_order(left, right);
}

static void names_check(struct claim *claims, size_t count, const char *what,
			struct problems *problems)
{
	qsort(claims, count, sizeof(*claims), claim_name_compare);
	for (size_t i = 1; i < count; i++)
		if (!strcmp(claims[i - 1].name, claims[i].name))
			problems_add(problems, claims[i].place, -EINVAL,
				     "%s '%s' exists already, in line %u", what, claims[i].name,
				     claims[i - 1].place.line);
}

static void prefixes_check(struct claim *claims, size_t count, struct problems *problems)
{
	char text[PREFIX_TEXT];

	qsort(claims, count, sizeof(*claims), claim_prefix_compare);
	for (size_t i = 1; i < count; i++) {
		const struct claim *first = &claims[i - 1], *again = &claims[i];

		if (prefix_compare(first->prefix, again->prefix))
			continue;
		units_prefix_text(again->prefix, text, sizeof(text));
		if (again->name)
			problems_add(problems, again->place, -EINVAL,
				     "prefix %s is in policy '%s' already, in line %u", text,
				     first->name, first->place.line);
		else
			problems_add(problems, again->place, -EINVAL,
				     "prefix %s has an entry already, in line %u", text,
				     first->place.line);
	}
}

static int services_check(const struct ruleset *ruleset, struct problems *problems)
{
	size_t count = ruleset->service_count;
	struct claim *claims;

	if (!count)
		return 0;
	claims = calloc(count, sizeof(*claims));
	if (!claims)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		claims[i] = (struct claim){ .name = ruleset->services[i].name,
					    .place = ruleset->services[i].place,
					    .order = i };
	names_check(claims, count, "service", problems);
	free(claims);
	if (count > SERVICES_MAX)
		problems_add(problems, ruleset->services[SERVICES_MAX].place, -EINVAL,
			     "%zu services: at most %d", count, SERVICES_MAX);
	return 0;
}

static int policy_names_check(const struct ruleset *ruleset, struct problems *problems)
{
	struct claim *claims = calloc(ruleset->policy_count + 1, sizeof(*claims));
	size_t count = 0;

	if (!claims)
		return -ENOMEM;
	for (size_t i = 0; i < ruleset->policy_count; i++)
		if (ruleset->policies[i].name)
			claims[count++] = (struct claim){ .name = ruleset->policies[i].name,
							  .place = ruleset->policies[i].place,
							  .order = i };
	names_check(claims, count, "policy", problems);
	free(claims);
	return 0;
}

static int policy_prefixes_check(const struct ruleset *ruleset, struct problems *problems)
{
	struct claim *claims;
	size_t count = 0;

	for (size_t i = 0; i < ruleset->policy_count; i++)
		count += ruleset->policies[i].source_count;
	claims = calloc(count + 1, sizeof(*claims));
	if (!claims)
		return -ENOMEM;
	count = 0;
	for (size_t i = 0; i < ruleset->policy_count; i++) {
		const struct policy_spec *policy = &ruleset->policies[i];

		for (size_t j = 0; j < policy->source_count; j++, count++)
			claims[count] = (struct claim){ .prefix = &policy->sources[j],
							.name = policy->name ? policy->name : "",
							.place = policy->source_places
									 ? policy->source_places[j]
									 : policy->place,
							.order = count };
	}
	prefixes_check(claims, count, problems);
	free(claims);
	return 0;
}

static int entries_check(struct ruleset *ruleset, struct problems *problems)
{
	struct claim *claims = calloc(ruleset->entry_count + 1, sizeof(*claims));
	int err = 0;

	if (!claims)
		return -ENOMEM;
	for (size_t i = 0; i < ruleset->entry_count; i++) {
		struct entry_spec *entry = &ruleset->entries[i];

		claims[i] = (struct claim){ .prefix = &entry->prefix,
					    .place = entry->place,
					    .order = i };
		if (entry->kind == ENTRY_LIMIT && entry->limit.per == PER_INSTANCE)
			problems_add(problems, entry->place, -EINVAL,
				     "per: instance is for the limits outside the policies");
		if (entry->kind == ENTRY_LIMIT &&
		    limit_complete(&entry->limit, ruleset, problems) == -ENOMEM)
			err = -ENOMEM;
	}
	prefixes_check(claims, ruleset->entry_count, problems);
	free(claims);
	return err;
}

/* The limits' own shares must fit into the table. */
static void shares_check(const struct ruleset *ruleset, struct problems *problems)
{
	char share[UNIT_TEXT], table[UNIT_TEXT];
	uint64_t left = ruleset->sources;

	for (size_t i = 0; i < ruleset->policy_count; i++)
		for (size_t j = 0; j < ruleset->policies[i].limit_count; j++) {
			const struct limit_spec *limit = &ruleset->policies[i].limits[j];

			if (limit->sources <= left) {
				left -= limit->sources;
				continue;
			}
			units_burst_text(limit->sources, false, share, sizeof(share));
			units_burst_text(ruleset->sources, false, table, sizeof(table));
			problems_add(problems, limit->place, -EINVAL,
				     "sources: %s does not fit: the table's %s are given away",
				     share, table);
			return;
		}
}

int ruleset_complete(struct ruleset *ruleset, struct problems *problems)
{
	size_t before = problems->count;
	int err;

	err = services_check(ruleset, problems);
	if (!err && instance_limits_check(ruleset, problems) == -ENOMEM)
		err = -ENOMEM;
	for (size_t i = 0; !err && i < ruleset->policy_count; i++)
		err = policy_limits_check(&ruleset->policies[i], ruleset, problems);
	if (!err)
		err = policy_names_check(ruleset, problems);
	if (!err)
		err = policy_prefixes_check(ruleset, problems);
	if (!err)
		err = entries_check(ruleset, problems);
	if (err)
		return problems_add(problems, (struct place){}, err, "out of memory");
	shares_check(ruleset, problems);
	return problems->count == before && !problems->lost ? 0 : -EINVAL;
}

const char *algorithm_name(enum algorithm algorithm)
{
	static const char *const names[] = {
		[ALGO_TOKEN_BUCKET] = "token-bucket",
		[ALGO_FIXED_WINDOW] = "fixed-window",
		[ALGO_SLIDING_WINDOW] = "sliding-window",
		[ALGO_SLIDING_LOG] = "sliding-log",
	};

	_Static_assert(sizeof(names) / sizeof(names[0]) == ALGO_COUNT, "algorithm names");
	return names[algorithm];
}

const char *table_kind_name(enum table_kind kind)
{
	static const char *const names[] = {
		[TABLE_SETS] = "sets",
		[TABLE_HASH] = "hash",
		[TABLE_PERCPU] = "percpu",
	};

	_Static_assert(sizeof(names) / sizeof(names[0]) == TABLE_COUNT, "table names");
	return names[kind];
}

const char *reason_name(enum reason reason)
{
	static const char *const names[] = {
		[REASON_GRANTED] = "granted",
		[REASON_ALLOWED] = "allowed",
		[REASON_UNMATCHED] = "unmatched",
		[REASON_NOT_IP] = "not-ip",
		[REASON_NEIGHBOUR_DISCOVERY] = "neighbour-discovery",
		[REASON_OBSERVED] = "observed",
		[REASON_LIMIT] = "limit",
		[REASON_BAN] = "ban",
		[REASON_BLOCKED] = "blocked",
		[REASON_TABLE_FULL] = "table-full",
		[REASON_MALFORMED] = "malformed",
	};

	_Static_assert(sizeof(names) / sizeof(names[0]) == REASON_COUNT, "reason names");
	return names[reason];
}

const char *attach_mode_name(enum attach_mode mode)
{
	static const char *const names[] = {
		[MODE_AUTO] = "auto",
		[MODE_NATIVE] = "native",
		[MODE_GENERIC] = "generic",
	};

	return names[mode];
}
