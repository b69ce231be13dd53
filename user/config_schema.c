/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <net/if.h>

#include "config_match.h"
#include "config_schema.h"
#include "words.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ENFORCED_ALL 65536

enum schema_size {
	FIELDS_MAX = 16, /* keys of one mapping */
	SOURCES_MOST = UINT32_MAX,
};

struct reader {
	yaml_document_t *document;
	struct ruleset *ruleset;
	struct problems *problems;
	bool no_memory;
};

/* One key of a mapping. `read` fills what lies `offset` behind the mapping's own struct. */
struct field {
	const char *key;
	void (*read)(struct reader *reader, const yaml_node_t *node, void *to);
	size_t offset;
	bool required;
};

struct place schema_place(yaml_mark_t mark)
{
	return (struct place){ mark.line + 1, mark.column + 1 };
}

static struct place place_of(const yaml_node_t *node)
{
	return schema_place(node->start_mark);
}

static void __attribute__((format(printf, 3, 4)))
fail(struct reader *reader, const yaml_node_t *node, const char *format, ...)
{
	struct message message;
	va_list args;

	va_start(args, format);
	message_vset(&message, -EINVAL, format, args);
	va_end(args);
	problems_add_message(reader->problems, place_of(node), -EINVAL, &message);
}

static void fail_message(struct reader *reader, const yaml_node_t *node,
			 const struct message *message)
{
	problems_add_message(reader->problems, place_of(node), -EINVAL, message);
}

/* calloc for `count` elements; 0 is no failure. */
static void *array_new(struct reader *reader, size_t count, size_t size)
{
	void *array = calloc(count ? count : 1, size);

	if (!array)
		reader->no_memory = true;
	return array;
}

/* The text of a scalar; NULL and a problem for anything else. */
static const char *text_of(struct reader *reader, const yaml_node_t *node)
{
	const char *text = (const char *)node->data.scalar.value;

	if (node->type != YAML_SCALAR_NODE) {
		fail(reader, node, "one value is wanted here, not a %s",
		     node->type == YAML_SEQUENCE_NODE ? "list" : "mapping");
		return NULL;
	}
	if (strlen(text) != node->data.scalar.length) {
		fail(reader, node, "the text holds a NUL character");
		return NULL;
	}
	return text;
}

static char *copy_of(struct reader *reader, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		reader->no_memory = true;
	return copy;
}

/* Index of the scalar in `names`, or -1 and a problem. */
static int choice_of(struct reader *reader, const yaml_node_t *node, const char *const *names,
		     size_t count, const char *what)
{
	const char *text = text_of(reader, node);
	struct message message = {};
	int i;

	if (!text)
		return -1;
	i = word_find_whole(text, names, count, what, &message);
	if (i >= 0)
		return i;
	fail_message(reader, node, &message);
	return -1;
}

static int count_of(struct reader *reader, const yaml_node_t *node, uint64_t most, uint64_t *count)
{
	const char *text = text_of(reader, node);
	struct message message = {};
	uint64_t value;

	if (!text)
		return -EINVAL;
	if (units_count(text, &value, &message)) {
		fail_message(reader, node, &message);
		return -EINVAL;
	}
	if (value > most) {
		fail(reader, node, "%s is too large: at most %" PRIu64, text, most);
		return -EINVAL;
	}
	*count = value;
	return 0;
}

/* A lone value stands for a list of one. False and a problem for a mapping. */
static bool list_length(struct reader *reader, const yaml_node_t *node, size_t *length)
{
	*length = 1;
	if (node->type == YAML_SEQUENCE_NODE)
		*length = node->data.sequence.items.top - node->data.sequence.items.start;
	else if (node->type == YAML_MAPPING_NODE)
		fail(reader, node, "a list is wanted here, not a mapping");
	return node->type != YAML_MAPPING_NODE;
}

static const yaml_node_t *list_item(struct reader *reader, const yaml_node_t *node, size_t i)
{
	if (node->type != YAML_SEQUENCE_NODE)
		return node;
	return yaml_document_get_node(reader->document, node->data.sequence.items.start[i]);
}

static const yaml_node_t *pair_key(struct reader *reader, const yaml_node_pair_t *pair)
{
	return yaml_document_get_node(reader->document, pair->key);
}

static const yaml_node_t *pair_value(struct reader *reader, const yaml_node_pair_t *pair)
{
	return yaml_document_get_node(reader->document, pair->value);
}

/* Sort the mapping's values by field; unknown and double keys are reported. */
static void values_find(struct reader *reader, const yaml_node_t *node, const struct field *fields,
			size_t count, const yaml_node_t **values)
{
	const char *keys[FIELDS_MAX];

	for (size_t i = 0; i < count; i++)
		keys[i] = fields[i].key;
	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     pair < node->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = pair_key(reader, pair);
		int i = choice_of(reader, key, keys, count, "key");

		if (i >= 0 && values[i])
			fail(reader, key, "key '%s' is given twice", keys[i]);
		else if (i >= 0)
			values[i] = pair_value(reader, pair);
	}
}

/*
 * Read a mapping by its table of fields, in the table's order, whatever the
 * file's: a field may rely on those above it. Returns the mask of those given.
 */
static uint32_t mapping_read(struct reader *reader, const yaml_node_t *node, const char *what,
			     const struct field *fields, size_t count, void *to)
{
	const yaml_node_t *values[FIELDS_MAX] = {};
	uint32_t given = 0;

	if (node->type != YAML_MAPPING_NODE) {
		fail(reader, node, "%s is a mapping: {%s: ...}", what, fields[0].key);
		return ~0U;
	}
	values_find(reader, node, fields, count, values);
	for (size_t i = 0; i < count; i++) {
		if (values[i]) {
			given |= 1U << i;
			fields[i].read(reader, values[i], (char *)to + fields[i].offset);
		} else if (fields[i].required) {
			fail(reader, node, "%s has no '%s'", what, fields[i].key);
		}
	}
	return given;
}

static void read_name(struct reader *reader, const yaml_node_t *node, void *to)
{
	const char *text = text_of(reader, node);
	char **name = to;

	if (!text)
		return;
	if (!policy_name_valid(text))
		fail(reader, node,
		     "'%.70s' is not a name: up to %d letters, digits, '.', '_' and '-'", text,
		     NAME_LENGTH_MAX);
	else
		*name = copy_of(reader, text);
}

static void read_duration(struct reader *reader, const yaml_node_t *node, void *to)
{
	const char *text = text_of(reader, node);
	struct message message = {};

	if (text && units_duration(text, to, &message))
		fail_message(reader, node, &message);
}

static void read_sources_count(struct reader *reader, const yaml_node_t *node, void *to)
{
	count_of(reader, node, SOURCES_MOST, to);
}

static void read_length(struct reader *reader, const yaml_node_t *node, uint64_t most, uint8_t *len)
{
	uint64_t value;

	if (!count_of(reader, node, most, &value))
		*len = (uint8_t)value;
}

static void read_ipv4_length(struct reader *reader, const yaml_node_t *node, void *to)
{
	read_length(reader, node, 32, to);
}

static void read_ipv6_length(struct reader *reader, const yaml_node_t *node, void *to)
{
	read_length(reader, node, 128, to);
}

/* Prefixes of a list; those that can't be read are left out. `places` may be NULL. */
static void read_prefixes(struct reader *reader, const yaml_node_t *node, struct prefix **prefixes,
			  struct place **places, size_t *count)
{
	struct message message = {};
	size_t length;

	if (!list_length(reader, node, &length))
		return;
	*prefixes = array_new(reader, length, sizeof(**prefixes));
	if (places)
		*places = array_new(reader, length, sizeof(**places));
	if (!*prefixes || (places && !*places))
		return;
	for (size_t i = 0; i < length; i++) {
		const yaml_node_t *item = list_item(reader, node, i);
		const char *text = text_of(reader, item);

		if (!text)
			continue;
		if (units_prefix(text, &(*prefixes)[*count], &message)) {
			fail_message(reader, item, &message);
			continue;
		}
		if (places)
			(*places)[*count] = place_of(item);
		++*count;
	}
}

static void read_rate(struct reader *reader, const yaml_node_t *node, void *to)
{
	struct limit_spec *limit = to;
	const char *text = text_of(reader, node);
	struct message message = {};

	if (text && units_rate(text, &limit->rate, &message))
		fail_message(reader, node, &message);
}

/* A burst that can't be read leaves a rate behind that must not be judged with another one. */
static void read_burst(struct reader *reader, const yaml_node_t *node, void *to)
{
	struct limit_spec *limit = to;
	const char *text = text_of(reader, node);
	struct message message = {};

	if (text && !units_burst(text, &limit->burst, &limit->burst_bytes, &message)) {
		limit->burst_given = true;
		return;
	}
	if (text)
		fail_message(reader, node, &message);
	limit->rate.amount = 0;
}

static void read_algorithm(struct reader *reader, const yaml_node_t *node, void *to)
{
	struct limit_spec *limit = to;
	const char *names[ALGO_COUNT];
	int i;

	for (i = 0; i < ALGO_COUNT; i++)
		names[i] = algorithm_name(i);
	i = choice_of(reader, node, names, ALGO_COUNT, "algorithm");
	if (i >= 0)
		limit->algorithm = i;
	else
		limit->rate.amount = 0;
}

static void read_per(struct reader *reader, const yaml_node_t *node, void *to)
{
	static const struct field fields[] = {
		{ "ipv4", read_ipv4_length, offsetof(struct limit_spec, ipv4_len), false },
		{ "ipv6", read_ipv6_length, offsetof(struct limit_spec, ipv6_len), false },
	};
	static const char *const names[] = {
		[PER_SOURCE] = "source",
		[PER_POLICY] = "policy",
		[PER_INSTANCE] = "instance",
	};
	struct limit_spec *limit = to;
	int i;

	if (node->type == YAML_MAPPING_NODE) {
		limit->len_given = mapping_read(reader, node, "per", fields, COUNT(fields), limit);
		limit->per = PER_SOURCE;
		return;
	}
	i = choice_of(reader, node, names, COUNT(names), "word for whom a limit is");
	if (i >= 0)
		limit->per = i;
}

static void read_service(struct reader *reader, const yaml_node_t *node, void *to)
{
	const struct ruleset *ruleset = reader->ruleset;
	const char *names[SERVICES_MAX];
	struct limit_spec *limit = to;

	/* Too many of them: the file is refused for that. */
	if (ruleset->service_count > SERVICES_MAX)
		return;
	for (size_t i = 0; i < ruleset->service_count; i++)
		names[i] = ruleset->services[i].name;
	limit->service = choice_of(reader, node, names, ruleset->service_count, "service");
}

static void read_limit_name(struct reader *reader, const yaml_node_t *node, void *to)
{
	struct limit_spec *limit = to;

	read_name(reader, node, &limit->name);
	limit->named = limit->name;
}

static void read_ban(struct reader *reader, const yaml_node_t *node, void *to)
{
	read_duration(reader, node, &((struct limit_spec *)to)->ban_ns);
}

static void read_share(struct reader *reader, const yaml_node_t *node, void *to)
{
	read_sources_count(reader, node, &((struct limit_spec *)to)->sources);
}

static void read_limits(struct reader *reader, const yaml_node_t *node, struct limit_spec **limits,
			size_t *count, enum per per)
{
	static const struct field fields[] = {
		{ "rate", read_rate, 0, true },
		{ "burst", read_burst, 0, false },
		{ "algorithm", read_algorithm, 0, false },
		{ "per", read_per, 0, false },
		{ "service", read_service, 0, false },
		{ "name", read_limit_name, 0, false },
		{ "ban", read_ban, 0, false },
		{ "sources", read_share, 0, false },
	};
	size_t length;

	/* In place of a mapping stands a limit without a rate, lest there be said to be none. */
	list_length(reader, node, &length);
	*limits = array_new(reader, length, sizeof(**limits));
	if (!*limits)
		return;
	*count = length;
	for (size_t i = 0; i < length; i++) {
		const yaml_node_t *item = list_item(reader, node, i);
		struct limit_spec *limit = &(*limits)[i];

		limit->per = per;
		limit->service = -1;
		limit->place = place_of(item);
		if (node->type != YAML_MAPPING_NODE)
			mapping_read(reader, item, "a limit", fields, COUNT(fields), limit);
	}
}

static void read_instance_limits(struct reader *reader, const yaml_node_t *node, void *to)
{
	struct ruleset *ruleset = to;

	read_limits(reader, node, &ruleset->limits, &ruleset->limit_count, PER_INSTANCE);
}

static void read_policy_limits(struct reader *reader, const yaml_node_t *node, void *to)
{
	struct policy_spec *policy = to;

	read_limits(reader, node, &policy->limits, &policy->limit_count, PER_SOURCE);
}

static void read_policy_sources(struct reader *reader, const yaml_node_t *node, void *to)
{
	struct policy_spec *policy = to;
	size_t before = reader->problems->count;

	read_prefixes(reader, node, &policy->sources, &policy->source_places,
		      &policy->source_count);
	if (!policy->source_count && reader->problems->count == before)
		fail(reader, node, "the list of sources is empty");
}

static void read_action(struct reader *reader, const yaml_node_t *node, void *to)
{
	static const char *const names[] = {
		[ACTION_PASS] = "pass",
		[ACTION_DROP] = "drop",
		[ACTION_LIMIT] = "limit",
		"unlimited", /* another word for pass */
	};
	struct policy_spec *policy = to;
	int i = choice_of(reader, node, names, COUNT(names), "action");

	if (i >= 0)
		policy->action = i <= ACTION_LIMIT ? (enum action)i : ACTION_PASS;
	else if (!policy->limit_count) /* not to be told that it lacks limits */
		policy->action = ACTION_PASS;
}

/* "25%", to 1/65536. Decimals as config_write makes them. */
static int share_of(const char *text, uint32_t *enforced)
{
	uint64_t value = 0, scale = 100;
	size_t i = 0, decimals = 0;

	for (; text[i] >= '0' && text[i] <= '9' && i < 3; i++)
		value = value * 10 + (uint64_t)(text[i] - '0');
	if (!i)
		return -EINVAL;
	if (text[i] == '.')
		for (i++; text[i] >= '0' && text[i] <= '9' && decimals < 6; i++, decimals++) {
			value = value * 10 + (uint64_t)(text[i] - '0');
			scale *= 10;
		}
	if (strcmp(text + i, "%") || !value || value > scale)
		return -EINVAL;
	*enforced = (uint32_t)((value * ENFORCED_ALL + scale / 2) / scale);
	return *enforced ? 0 : -EINVAL;
}

static void read_policy_mode(struct reader *reader, const yaml_node_t *node, void *to)
{
	struct policy_spec *policy = to;
	const char *text = text_of(reader, node);

	if (!text)
		return;
	if (!strcmp(text, "enforce"))
		policy->enforced = ENFORCED_ALL;
	else if (!strcmp(text, "observe"))
		policy->enforced = 0;
	else if (share_of(text, &policy->enforced))
		fail(reader, node,
		     "unknown mode '%.40s': enforce, observe or a share of the sources up to 100%%",
		     text);
}

static void read_policies(struct reader *reader, const yaml_node_t *node, void *to)
{
	static const struct field fields[] = {
		{ "name", read_name, offsetof(struct policy_spec, name), true },
		{ "sources", read_policy_sources, 0, true },
		{ "limits", read_policy_limits, 0, false },
		{ "action", read_action, 0, false },
		{ "mode", read_policy_mode, 0, false },
	};
	struct ruleset *ruleset = to;
	size_t length;

	if (!list_length(reader, node, &length))
		return;
	ruleset->policies = array_new(reader, length, sizeof(*ruleset->policies));
	if (!ruleset->policies)
		return;
	for (size_t i = 0; i < length; i++) {
		const yaml_node_t *item = list_item(reader, node, i);
		struct policy_spec *policy = &ruleset->policies[ruleset->policy_count];

		policy->place = place_of(item);
		policy->action = ACTION_LIMIT;
		policy->enforced = ENFORCED_ALL;
		mapping_read(reader, item, "a policy", fields, COUNT(fields), policy);
		/* What is no mapping is left out, lest it be said to lack limits too. */
		ruleset->policy_count += item->type == YAML_MAPPING_NODE;
	}
}

static void read_matches(struct reader *reader, const yaml_node_t *node, void *to)
{
	struct service_spec *service = to;
	struct message message = {};
	size_t length;

	if (!list_length(reader, node, &length))
		return;
	if (!length)
		fail(reader, node, "service '%s' matches nothing", service->name);
	service->matches = array_new(reader, length, sizeof(*service->matches));
	if (!service->matches)
		return;
	for (size_t i = 0; i < length; i++) {
		const yaml_node_t *item = list_item(reader, node, i);
		const char *text = text_of(reader, item);

		if (!text)
			continue;
		if (match_read(text, &service->matches[service->match_count], &message))
			fail_message(reader, item, &message);
		else
			service->match_count++;
	}
}

static void read_destinations(struct reader *reader, const yaml_node_t *node, void *to)
{
	struct service_spec *service = to;

	read_prefixes(reader, node, &service->to, NULL, &service->to_count);
}

static void read_service_body(struct reader *reader, const yaml_node_t *node,
			      struct service_spec *service)
{
	static const struct field fields[] = {
		{ "match", read_matches, 0, true },
		{ "to", read_destinations, 0, false },
	};

	if (node->type == YAML_MAPPING_NODE)
		mapping_read(reader, node, "a service", fields, COUNT(fields), service);
	else
		read_matches(reader, node, service);
}

static void read_services(struct reader *reader, const yaml_node_t *node, void *to)
{
	struct ruleset *ruleset = to;
	size_t length;

	if (node->type != YAML_MAPPING_NODE) {
		fail(reader, node, "services is a mapping: {dns: [udp/53, tcp/53]}");
		return;
	}
	length = node->data.mapping.pairs.top - node->data.mapping.pairs.start;
	ruleset->services = array_new(reader, length, sizeof(*ruleset->services));
	if (!ruleset->services)
		return;
	for (size_t i = 0; i < length; i++) {
		const yaml_node_pair_t *pair = &node->data.mapping.pairs.start[i];
		struct service_spec *service = &ruleset->services[ruleset->service_count];

		read_name(reader, pair_key(reader, pair), &service->name);
		if (!service->name)
			continue;
		ruleset->service_count++;
		service->place = place_of(pair_key(reader, pair));
		read_service_body(reader, pair_value(reader, pair), service);
	}
}

static void read_entry(struct reader *reader, const yaml_node_t *node, struct entry_spec *entry,
		       enum entry_kind kind)
{
	const char *text = text_of(reader, node);
	struct message message = {};

	if (entry->kind)
		fail(reader, node, "an entry is one of block, allow and limit");
	entry->kind = kind;
	if (text && units_prefix(text, &entry->prefix, &message))
		fail_message(reader, node, &message);
}

static void read_block(struct reader *reader, const yaml_node_t *node, void *to)
{
	read_entry(reader, node, to, ENTRY_BLOCK);
}

static void read_allow(struct reader *reader, const yaml_node_t *node, void *to)
{
	read_entry(reader, node, to, ENTRY_ALLOW);
}

static void read_limit(struct reader *reader, const yaml_node_t *node, void *to)
{
	read_entry(reader, node, to, ENTRY_LIMIT);
}

enum entry_field {
	ENTRY_FIELDS = 4, /* block, allow, limit, for; then what `weir limit` gives a limit */
};

static void entry_check(struct reader *reader, const yaml_node_t *node,
			const struct entry_spec *entry, uint32_t given)
{
	if (node->type != YAML_MAPPING_NODE)
		return;
	if (!entry->kind)
		fail(reader, node, "an entry is one of block, allow and limit");
	else if (entry->kind == ENTRY_LIMIT && !(given & 1U << ENTRY_FIELDS))
		fail(reader, node, "a limit entry has no 'rate'");
	else if (entry->kind != ENTRY_LIMIT && given >> ENTRY_FIELDS)
		fail(reader, node, "only a limit entry has a rate and what belongs to it");
}

/* Entries whose prefix can't be read are left out. A limit has what `weir limit` can give it. */
static void read_entries(struct reader *reader, const yaml_node_t *node, void *to)
{
	static const struct field fields[] = {
		{ "block", read_block, 0, false },
		{ "allow", read_allow, 0, false },
		{ "limit", read_limit, 0, false },
		{ "for", read_duration, offsetof(struct entry_spec, for_ns), false },
		{ "rate", read_rate, offsetof(struct entry_spec, limit), false },
		{ "burst", read_burst, offsetof(struct entry_spec, limit), false },
		{ "per", read_per, offsetof(struct entry_spec, limit), false },
		{ "service", read_service, offsetof(struct entry_spec, limit), false },
	};
	struct ruleset *ruleset = to;
	size_t length;

	if (!list_length(reader, node, &length))
		return;
	ruleset->entries = array_new(reader, length, sizeof(*ruleset->entries));
	if (!ruleset->entries)
		return;
	for (size_t i = 0; i < length; i++) {
		const yaml_node_t *item = list_item(reader, node, i);
		struct entry_spec *entry = &ruleset->entries[ruleset->entry_count];
		uint32_t given;

		entry->place = entry->limit.place = place_of(item);
		entry->limit.service = -1;
		given = mapping_read(reader, item, "an entry", fields, COUNT(fields), entry);
		entry_check(reader, item, entry, given);
		if (entry->kind && entry->prefix.family)
			ruleset->entry_count++;
		else
			*entry = (struct entry_spec){};
	}
}

/* What the kernel takes as a name, and of that what can be seen. */
static bool interface_valid(const char *name)
{
	size_t length = strlen(name);

	if (!length || length >= IFNAMSIZ || !strcmp(name, ".") || !strcmp(name, ".."))
		return false;
	for (size_t i = 0; i < length; i++)
		if (name[i] <= ' ' || name[i] > '~' || name[i] == '/' || name[i] == ':')
			return false;
	return true;
}

static void read_interfaces(struct reader *reader, const yaml_node_t *node, void *to)
{
	struct ruleset *ruleset = to;
	size_t length;

	if (!list_length(reader, node, &length))
		return;
	ruleset->interfaces = array_new(reader, length, sizeof(*ruleset->interfaces));
	if (!ruleset->interfaces)
		return;
	for (size_t i = 0; i < length; i++) {
		const yaml_node_t *item = list_item(reader, node, i);
		const char *text = text_of(reader, item);

		if (!text)
			continue;
		if (!interface_valid(text))
			fail(reader, item, "'%.40s' is not a name of an interface", text);
		else if ((ruleset->interfaces[ruleset->interface_count] = copy_of(reader, text)))
			ruleset->interface_count++;
	}
}

static void read_attach_mode(struct reader *reader, const yaml_node_t *node, void *to)
{
	const char *const names[] = {
		attach_mode_name(MODE_AUTO),
		attach_mode_name(MODE_NATIVE),
		attach_mode_name(MODE_GENERIC),
	};
	int i = choice_of(reader, node, names, COUNT(names), "mode");

	if (i >= 0)
		((struct ruleset *)to)->mode = i;
}

static void read_table_kind(struct reader *reader, const yaml_node_t *node, void *to)
{
	const char *names[TABLE_COUNT];
	int i;

	for (i = 0; i < TABLE_COUNT; i++)
		names[i] = table_kind_name(i);
	i = choice_of(reader, node, names, TABLE_COUNT, "kind of table");
	if (i >= 0)
		((struct ruleset *)to)->table = i;
}

static void read_on_full(struct reader *reader, const yaml_node_t *node, void *to)
{
	static const char *const names[] = { "strict", "lenient" };
	int i = choice_of(reader, node, names, COUNT(names), "way when the table is full");

	if (i >= 0)
		((struct ruleset *)to)->lenient = i == 1;
}

static void read_table(struct reader *reader, const yaml_node_t *node, void *to)
{
	static const struct field fields[] = {
		{ "kind", read_table_kind, 0, false },
		{ "sources", read_sources_count, offsetof(struct ruleset, sources), false },
		{ "on_full", read_on_full, 0, false },
	};

	mapping_read(reader, node, "table", fields, COUNT(fields), to);
}

static void read_key(struct reader *reader, const yaml_node_t *node, void *to)
{
	static const struct field fields[] = {
		{ "ipv4", read_ipv4_length, offsetof(struct ruleset, ipv4_len), false },
		{ "ipv6", read_ipv6_length, offsetof(struct ruleset, ipv6_len), false },
	};

	mapping_read(reader, node, "key", fields, COUNT(fields), to);
}

static void read_malformed(struct reader *reader, const yaml_node_t *node, void *to)
{
	static const char *const names[] = { "drop", "pass" };
	int i = choice_of(reader, node, names, COUNT(names), "action for malformed packets");

	if (i >= 0)
		((struct ruleset *)to)->malformed_pass = i == 1;
}

int schema_read(yaml_document_t *document, struct ruleset *ruleset, struct problems *problems)
{
	/* Services come before the limits that name them. */
	static const struct field fields[] = {
		{ "interfaces", read_interfaces, 0, false },
		{ "mode", read_attach_mode, 0, false },
		{ "table", read_table, 0, false },
		{ "key", read_key, 0, false },
		{ "malformed", read_malformed, 0, false },
		{ "services", read_services, 0, false },
		{ "limits", read_instance_limits, 0, false },
		{ "policies", read_policies, 0, false },
		{ "entries", read_entries, 0, false },
	};
	struct reader reader = { document, ruleset, problems, false };
	const yaml_node_t *root = yaml_document_get_root_node(document);

	mapping_read(&reader, root, "a policy file", fields, COUNT(fields), ruleset);
	return reader.no_memory ? -ENOMEM : 0;
}
