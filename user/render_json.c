/* SPDX-License-Identifier: GPL-2.0-only */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "entry.h"
#include "render_json.h"

json_t *json_unsigned(uint64_t value)
{
	return json_integer(value > LLONG_MAX ? LLONG_MAX : (json_int_t)value);
}

json_t *json_words(const char *text)
{
	json_t *string = json_string(text);
	char *copy;

	if (string)
		return string;
	copy = strdup(text);
	for (char *at = copy; at && *at; at++)
		if (*at & 0x80)
			*at = '?';
	string = json_string(copy);
	free(copy);
	return string;
}

json_t *json_prefix(const struct prefix *prefix)
{
	char text[PREFIX_TEXT];

	return json_string(units_prefix_text(prefix, text, sizeof(text)));
}

json_t *json_address(const struct prefix *address)
{
	char text[PREFIX_TEXT];

	return json_string(units_address_text(address, text, sizeof(text)));
}

void json_print(json_t *document, bool pretty, FILE *out)
{
	json_dumpf(document, out, pretty ? JSON_INDENT(2) : JSON_COMPACT);
	fputc('\n', out);
	json_decref(document);
}

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static void set_unsigned(json_t *object, const char *key, uint64_t value)
{
	set(object, key, json_unsigned(value));
}

static void set_text(json_t *object, const char *key, const char *value)
{
	set(object, key, json_words(value));
}

static void set_bool(json_t *object, const char *key, bool value)
{
	set(object, key, json_boolean(value));
}

static json_t *json_problem(const char *file, const struct problem *problem)
{
	json_t *object = json_object();

	set_text(object, "file", file);
	set_unsigned(object, "line", problem->place.line);
	set_unsigned(object, "column", problem->place.column);
	set_text(object, "message", problem->message.text);
	if (*problem->message.hint)
		set_text(object, "hint", problem->message.hint);
	return object;
}

json_t *json_error(const struct message *message, const char *file, const struct problems *problems)
{
	json_t *error = json_object(), *document = json_object();

	set_text(error, "message", message->text);
	set_text(error, "hint", message->hint);
	if (problems->count) {
		json_t *list = json_array();

		for (size_t i = 0; i < problems->count; i++)
			json_array_append_new(list, json_problem(file, &problems->list[i]));
		set(error, "problems", list);
	}
	set(document, "error", error);
	return document;
}

static json_t *json_counter(const struct counter *counter)
{
	json_t *object = json_object();

	set_unsigned(object, "packets", counter->packets);
	set_unsigned(object, "bytes", counter->bytes);
	return object;
}

json_t *json_attachments(const struct attachment *list, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *object = json_object();

		set_text(object, "name", list[i].interface);
		set_unsigned(object, "ifindex", list[i].ifindex);
		set_text(object, "mode", list[i].native ? "native" : "generic");
		set_unsigned(object, "program_id", list[i].program_id);
		set_bool(object, "attached", list[i].attached);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *json_table(const struct snapshot_table *table)
{
	json_t *object = json_object();

	set_text(object, "kind", table_kind_name(table->kind));
	set_unsigned(object, "capacity", table->capacity);
	set_unsigned(object, "live", table->live);
	set_unsigned(object, "displaced", table->displaced);
	set_unsigned(object, "refused_full", table->refused_full);
	return object;
}

static json_t *json_reasons(const struct snapshot *snapshot)
{
	json_t *array = json_array();

	for (int i = 0; i < REASON_COUNT; i++) {
		const struct counter *counter = &snapshot->reasons[i];
		json_t *object;

		if (!counter->packets)
			continue;
		object = json_object();
		set_text(object, "reason", reason_name(i));
		set_text(object, "verdict", snapshot_drops(snapshot, i) ? "drop" : "pass");
		set_unsigned(object, "packets", counter->packets);
		set_unsigned(object, "bytes", counter->bytes);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *json_policy(const struct snapshot_policy *policy)
{
	json_t *object = json_object(), *limits = json_array();

	set_text(object, "name", policy->name);
	set(object, "passed", json_counter(&policy->passed));
	set(object, "dropped", json_counter(&policy->dropped));
	set(object, "observed", json_counter(&policy->observed));
	for (size_t i = 0; i < policy->limit_count; i++) {
		json_t *limit = json_object();

		set_text(limit, "name", policy->limits[i].name);
		set(limit, "refused", json_counter(&policy->limits[i].refused));
		json_array_append_new(limits, limit);
	}
	set(object, "limits", limits);
	return object;
}

json_t *json_stats(const struct snapshot *snapshot)
{
	json_t *object = json_object(), *totals = json_object(), *policies = json_array();

	set_text(object, "instance", snapshot->instance);
	set_unsigned(object, "generation", snapshot->generation);
	set(object, "interfaces",
	    json_attachments(snapshot->interfaces, snapshot->interface_count));
	set(totals, "passed", json_counter(&snapshot->passed));
	set(totals, "dropped", json_counter(&snapshot->dropped));
	set(object, "totals", totals);
	set(object, "reasons", json_reasons(snapshot));
	for (size_t i = 0; i < snapshot->policy_count; i++)
		json_array_append_new(policies, json_policy(&snapshot->policies[i]));
	set(object, "policies", policies);
	set(object, "table", json_table(&snapshot->table));
	return object;
}

/* One word for all interfaces. */
static const char *mode_of_all(const struct snapshot *snapshot)
{
	size_t native = 0, attached = 0;

	for (size_t i = 0; i < snapshot->interface_count; i++) {
		attached += snapshot->interfaces[i].attached;
		native += snapshot->interfaces[i].attached && snapshot->interfaces[i].native;
	}
	if (!attached)
		return "none";
	if (native == attached)
		return "native";
	return native ? "mixed" : "generic";
}

json_t *json_status(const struct snapshot *snapshot)
{
	json_t *object = json_object(), *warnings = json_array(), *table;

	set_text(object, "instance", snapshot->instance);
	set(object, "interfaces",
	    json_attachments(snapshot->interfaces, snapshot->interface_count));
	set_text(object, "mode", mode_of_all(snapshot));
	set_unsigned(object, "generation", snapshot->generation);
	set_unsigned(object, "layout_version", snapshot->layout);
	for (size_t i = 0; i < snapshot->warning_count; i++)
		json_array_append_new(warnings, json_words(snapshot->warnings[i]));
	set(object, "warnings", warnings);
	set_bool(object, "protecting", snapshot->protecting);
	if (snapshot->generation) {
		table = json_table(&snapshot->table);
		set_unsigned(table, "memory_bytes", snapshot->table.bytes);
		if (snapshot->table.forged_rate > 0)
			set(table, "forged_packets_per_second",
			    json_real(snapshot->table.forged_rate));
		set(object, "table", table);
		set_unsigned(object, "entries", snapshot->entry_count);
		set_unsigned(object, "events_lost", snapshot->events_lost);
	}
	return object;
}

/* Never is told by the absence of a time. */
static void set_retry(json_t *object, uint64_t retry_after_ns)
{
	if (retry_after_ns != ~0ULL)
		set_unsigned(object, "retry_after_ns", retry_after_ns);
}

static json_t *json_view(const struct source_view *view)
{
	json_t *object = json_object();

	set(object, "source", json_address(&view->source));
	if (view->policy)
		set_text(object, "policy", view->policy);
	else
		set(object, "entry", json_prefix(&view->entry));
	set_text(object, "limit", view->limit);
	set_unsigned(object, "passed", view->passed);
	set_unsigned(object, "dropped", view->dropped);
	set_unsigned(object, "remaining", view->remaining);
	set_retry(object, view->retry_after_ns);
	if (view->banned_for_ns)
		set_unsigned(object, "banned_for_ns", view->banned_for_ns);
	return object;
}

void json_print_sources(const struct source_view *list, size_t count, bool pretty, FILE *out)
{
	const char *indent = pretty ? "\n    " : "", *end = pretty && count ? "\n  ]\n}\n" : "]}\n";

	fputs(pretty ? "{\n  \"sources\": [" : "{\"sources\":[", out);
	for (size_t i = 0; i < count; i++) {
		json_t *object = json_view(&list[i]);

		fprintf(out, "%s%s", i ? "," : "", indent);
		json_dumpf(object, out, pretty ? 0 : JSON_COMPACT);
		json_decref(object);
	}
	fputs(end, out);
}

static void set_ruling(json_t *object, const struct explanation *explanation)
{
	const struct entry_state *entry = &explanation->entry;
	json_t *ruling;

	set(object, "source", json_address(&explanation->source));
	if (explanation->policy)
		set_text(object, "policy", explanation->policy);
	if (!explanation->by_entry)
		return;
	ruling = json_object();
	set_text(ruling, "kind", entry_kind_name(entry->entry.kind));
	set(ruling, "prefix", json_prefix(&entry->prefix));
	if (entry->entry.expires_ns)
		set_unsigned(ruling, "expires_in_ns", explanation->entry_for_ns);
	set(object, "entry", ruling);
}

json_t *json_source(const struct explanation *explanation)
{
	json_t *object = json_object(), *limits = json_array();

	set_ruling(object, explanation);
	for (size_t i = 0; i < explanation->limit_count; i++) {
		const struct explained_limit *limit = &explanation->limits[i];
		json_t *one = json_object();

		set_text(one, "name", limit->name);
		set_unsigned(one, "remaining", limit->remaining);
		set_retry(one, limit->retry_after_ns);
		set_unsigned(one, "passed", limit->passed);
		set_unsigned(one, "dropped", limit->dropped);
		if (limit->bans)
			set_unsigned(one, "banned_for_ns", limit->banned_for_ns);
		json_array_append_new(limits, one);
	}
	set(object, "limits", limits);
	return object;
}

json_t *json_explanation(const struct explanation *explanation)
{
	json_t *object = json_object(), *services = json_array(), *limits = json_array();

	set_ruling(object, explanation);
	for (size_t i = 0; i < explanation->ruleset->service_count; i++)
		if (explanation->services & (1U << i))
			json_array_append_new(services,
					      json_string(explanation->ruleset->services[i].name));
	set(object, "services", services);
	for (size_t i = 0; i < explanation->limit_count; i++) {
		const struct explained_limit *limit = &explanation->limits[i];
		json_t *one;

		if (!limit->applies)
			continue;
		one = json_object();
		set_text(one, "name", limit->name);
		set_bool(one, "granted", limit->granted);
		set_unsigned(one, "remaining", limit->remaining);
		set_retry(one, limit->retry_after_ns);
		json_array_append_new(limits, one);
	}
	set(object, "limits", limits);
	set_text(object, "verdict", explanation->passes ? "pass" : "drop");
	set_text(object, "reason", reason_name(explanation->reason));
	return object;
}

json_t *json_entry(const struct entry_spec *entry)
{
	json_t *object = json_object();

	set_text(object, "kind", entry_kind_name(entry->kind));
	set(object, "prefix", json_prefix(&entry->prefix));
	if (entry->for_ns)
		set_unsigned(object, "expires_in_ns", entry->for_ns);
	return object;
}
