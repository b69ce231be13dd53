/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "running.h"

/* What the pins hold was written by us; if it can't be read, the versions differ or it is torn. */
static int restore(struct running *running, const char *own, size_t own_length,
		   struct message *message)
{
	struct capacity room = instance_capacity(&running->instance);
	struct problems problems = { 0 };
	int err;

	err = config_parse(running->yaml, running->yaml_length, &running->ruleset, &problems);
	if (!err)
		err = image_restore(running->ruleset, own, own_length, &room, kernel_cpus(),
				    &running->image);
	if (err) {
		message_set(message, err,
			    "the rules kept with instance `%s` can't be read back: %s",
			    running->instance.name,
			    problems.count ? problems.list[0].message.text : strerror(-err));
		message_hint(message, err,
			     "it still enforces; `weir detach --all` and `weir attach` start anew");
	}
	problems_free(&problems);
	return err;
}

int running_open(const char *name, bool readonly, struct running *running, struct message *message)
{
	char *own = NULL;
	size_t own_length;
	int err;

	*running = (struct running){ 0 };
	err = instance_open(name, readonly, &running->instance, message);
	if (err)
		return err;
	err = instance_rules_read(&running->instance, &running->yaml, &running->yaml_length, &own,
				  &own_length, message);
	if (!err)
		err = restore(running, own, own_length, message);
	free(own);
	if (err)
		running_close(running);
	return err;
}

void running_close(struct running *running)
{
	image_free(running->image);
	ruleset_free(running->ruleset);
	free(running->yaml);
	instance_close(&running->instance);
	*running = (struct running){ 0 };
}

/* The text as config_parse takes it, without the entries. */
static int write_yaml(struct ruleset *ruleset, char **yaml, size_t *length)
{
	size_t entries = ruleset->entry_count;
	FILE *out = open_memstream(yaml, length);
	int err;

	if (!out)
		return -errno;
	ruleset->entry_count = 0;
	err = config_write(ruleset, out);
	ruleset->entry_count = entries;
	if (fclose(out) && !err)
		err = -errno;
	return err;
}

static int write_rules(struct instance *instance, struct ruleset *ruleset,
		       const struct image *image, struct message *message)
{
	char *yaml = NULL, *own = NULL;
	size_t yaml_length, own_length;
	int err;

	err = write_yaml(ruleset, &yaml, &yaml_length);
	if (!err)
		err = image_save(image, &own, &own_length);
	if (err)
		message_set(message, err, "the rules could not be written down: %s",
			    strerror(-err));
	else
		err = instance_rules_write(instance, yaml, yaml_length, own, own_length, message);
	free(yaml);
	free(own);
	return err;
}

/* The text first: from the swap on it is what readers find, even if we die on the way. */
static int put_in_force(struct running *running, struct ruleset *ruleset, const struct image *image,
			bool flush, struct message *message)
{
	int err = write_rules(&running->instance, ruleset, image, message);

	if (!err)
		err = apply_image(&running->instance, running->image, image, flush, message);
	return err ? err : instance_rules_commit(&running->instance, message);
}

/* Neighbours that are blocked for the same time are set in one swap. */
static int set_blocks(struct running *running, const struct entry_spec *entries, size_t count,
		      struct message *message)
{
	uint64_t expires_ns = entries->for_ns ? kernel_now_ns() + entries->for_ns : 0;
	struct prefix *prefixes = calloc(count, sizeof(*prefixes));
	int err;

	if (!prefixes)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		prefixes[i] = entries[i].prefix;
	err = entries_block(&running->instance, prefixes, count, expires_ns, NULL, message);
	free(prefixes);
	return err;
}

static int set_entries(struct running *running, struct message *message)
{
	const struct entry_spec *entries = running->ruleset->entries;
	size_t count = running->ruleset->entry_count;
	int err = 0;

	for (size_t i = 0, next; !err && i < count; i = next) {
		for (next = i + 1; next < count; next++)
			if (entries[i].kind != ENTRY_BLOCK || entries[next].kind != ENTRY_BLOCK ||
			    entries[next].for_ns != entries[i].for_ns)
				break;
		if (next - i > 1)
			err = set_blocks(running, entries + i, next - i, message);
		else
			err = running_set_entry(running, &entries[i], message);
	}
	return err;
}

int running_create(const char *name, struct ruleset *ruleset, struct running *running,
		   struct message *message)
{
	struct capacity room;
	struct image *image;
	int err;

	*running = (struct running){ .ruleset = ruleset };
	err = image_first(ruleset, kernel_cpus(), &room, &image, message);
	if (err) {
		ruleset_free(ruleset);
		return err;
	}
	err = instance_create(name, &room, &running->instance, message);
	if (err) {
		image_free(image);
		ruleset_free(ruleset);
		return err;
	}
	err = put_in_force(running, ruleset, image, false, message);
	running->image = image;
	if (!err)
		err = set_entries(running, message);
	if (err) {
		running_close(running);
		instance_destroy(name, NULL);
	}
	return err;
}

/* Swap another ruleset in and give the one before back. */
static int swap(struct running *running, struct ruleset *ruleset, bool flush,
		struct ruleset **before, struct message *message)
{
	struct capacity room = instance_capacity(&running->instance);
	struct image *image;
	int err;

	err = image_next(ruleset, kernel_cpus(), &room, running->image, flush, &image, message);
	if (err)
		return err;
	err = put_in_force(running, ruleset, image, flush, message);
	if (err) {
		image_free(image);
		return err;
	}
	image_free(running->image);
	*before = running->ruleset;
	running->image = image;
	running->ruleset = ruleset;
	return 0;
}

int running_apply(struct running *running, struct ruleset *ruleset, bool flush,
		  struct message *message)
{
	struct saved_entries saved = { 0 };
	struct ruleset *before, *refused;
	int err;

	err = running_save_entries(running, ruleset, &saved, message);
	if (!err)
		err = swap(running, ruleset, flush, &before, message);
	if (err) {
		saved_entries_free(&saved);
		ruleset_free(ruleset);
		return err;
	}
	err = set_entries(running, message);
	if (err && !swap(running, before, false, &refused, NULL)) {
		running_restore_entries(running, &saved, NULL);
		before = refused;
	}
	ruleset_free(before);
	saved_entries_free(&saved);
	return err;
}

int running_set_entry(struct running *running, const struct entry_spec *entry,
		      struct message *message)
{
	uint64_t expires_ns = entry->for_ns ? kernel_now_ns() + entry->for_ns : 0;
	struct policy policy = { 0 };
	char text[ENTRY_TEXT] = "";

	if (entry->kind == ENTRY_LIMIT) {
		int err = entry_limit_text(entry, running->ruleset, text, message);

		if (err)
			return err;
		entry_compile(entry, running->image, &policy);
	}
	return entry_set(&running->instance, running->image, &entry->prefix, entry->kind,
			 expires_ns, entry->kind == ENTRY_LIMIT ? &policy : NULL, text, message);
}

int running_add_entry(const char *name, enum entry_kind kind, int argc, char **argv,
		      struct entry_spec *entry, struct message *message)
{
	struct running running;
	int err;

	err = entry_read(kind, argc, argv, NULL, entry, message);
	if (err)
		return err;
	entry_spec_free(entry);
	err = running_open(name, false, &running, message);
	if (err)
		return err;
	err = entry_read(kind, argc, argv, running.ruleset, entry, message);
	if (!err) {
		err = running_set_entry(&running, entry, message);
		if (err)
			entry_spec_free(entry);
	}
	running_close(&running);
	return err;
}

void entries_free(struct entry_spec *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		entry_spec_free(&list[i]);
	free(list);
}

/* The time left is rounded up to milliseconds: people read it. */
static int entry_of_state(const struct entry_state *state, const struct ruleset *ruleset,
			  uint64_t now, struct entry_spec *entry, struct message *message)
{
	*entry = (struct entry_spec){ .kind = state->entry.kind,
				      .prefix = state->prefix,
				      .limit.service = -1 };
	if (state->entry.expires_ns)
		entry->for_ns = (state->entry.expires_ns - now + 999999) / 1000000 * 1000000;
	if (entry->kind != ENTRY_LIMIT)
		return 0;
	return entry_limit_read(state->text, &state->prefix, ruleset, &entry->limit, message);
}

static int save_entry(const struct running *running, const struct prefix *prefix, uint64_t now,
		      struct saved_entry *saved)
{
	struct entry_state state;

	saved->prefix = *prefix;
	if (!entry_find(&running->instance, prefix, now, &state) || state.prefix.len != prefix->len)
		return 0;
	saved->there = true;
	saved->entry = state.entry;
	if (!*state.text)
		return 0;
	saved->text = strdup(state.text);
	return saved->text ? 0 : -ENOMEM;
}

int running_save_entries(const struct running *running, const struct ruleset *ruleset,
			 struct saved_entries *saved, struct message *message)
{
	size_t count = ruleset->entry_count;
	uint64_t now = kernel_now_ns();
	int err = 0;

	*saved = (struct saved_entries){ .list = calloc(count + 1, sizeof(*saved->list)) };
	if (!saved->list)
		err = -ENOMEM;
	for (; !err && saved->count < count; saved->count++)
		err = save_entry(running, &ruleset->entries[saved->count].prefix, now,
				 &saved->list[saved->count]);
	if (!err)
		return 0;
	saved_entries_free(saved);
	return message_set(message, err, "no memory");
}

static int restore_entry(struct running *running, const struct saved_entry *saved,
			 struct message *message)
{
	struct entry_state state = { saved->prefix, saved->entry, "" };
	uint64_t now = kernel_now_ns();
	struct entry_spec entry;
	int err;

	if (!saved->there || (saved->entry.expires_ns && saved->entry.expires_ns <= now))
		return entry_remove(&running->instance, &saved->prefix, message);
	if (saved->text)
		snprintf(state.text, sizeof(state.text), "%s", saved->text);
	err = entry_of_state(&state, running->ruleset, now, &entry, message);
	if (err)
		return err;
	err = running_set_entry(running, &entry, message);
	entry_spec_free(&entry);
	return err;
}

int running_restore_entries(struct running *running, const struct saved_entries *saved,
			    struct message *message)
{
	int err = 0;

	for (size_t i = 0; i < saved->count; i++) {
		int failed = restore_entry(running, &saved->list[i], message);

		if (failed && failed != -ENOENT)
			err = failed;
	}
	return err;
}

void saved_entries_free(struct saved_entries *saved)
{
	for (size_t i = 0; i < saved->count; i++)
		free(saved->list[i].text);
	free(saved->list);
	*saved = (struct saved_entries){ 0 };
}

int running_entries(const struct running *running, struct entry_spec **list, size_t *count,
		    struct message *message)
{
	uint64_t now = kernel_now_ns();
	struct entry_state *states;
	struct entry_spec *specs;
	size_t found, done = 0;
	int err;

	err = entries_read(&running->instance, now, &states, &found);
	if (err)
		return message_set(message, err, "the entries can't be read: %s", strerror(-err));
	specs = calloc(found ? found : 1, sizeof(*specs));
	if (!specs)
		err = -ENOMEM;
	for (; !err && done < found; done++)
		err = entry_of_state(&states[done], running->ruleset, now, &specs[done], message);
	free(states);
	if (err) {
		entries_free(specs, done);
		return err;
	}
	*list = specs;
	*count = found;
	return 0;
}
