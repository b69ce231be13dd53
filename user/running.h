/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The running policy: an instance's pins, opened, with the ruleset and the image
 * that are in force; and the steps that put another ruleset in force. What verbs
 * share; knows no command line.
 */
#ifndef WEIR_RUNNING_H
#define WEIR_RUNNING_H

#include "apply.h"
#include "entry.h"
#include "explain.h"

struct running {
	struct instance instance;
	struct ruleset *ruleset; /* without entries: those live in the kernel */
	struct image *image;
	char *yaml; /* as it was when opened */
	size_t yaml_length;
};

/* -ENOENT: not running. readonly: no lock, as kernel.h says. */
int running_open(const char *name, bool readonly, struct running *running, struct message *message);
void running_close(struct running *running);

/* A new instance that enforces `ruleset` as soon as it is attached. Takes the ruleset, always. */
int running_create(const char *name, struct ruleset *ruleset, struct running *running,
		   struct message *message);

/*
 * Put another ruleset in force and set its entries. Takes the ruleset, always. On failure the
 * old one is still in force.
 */
int running_apply(struct running *running, struct ruleset *ruleset, bool flush,
		  struct message *message);

/* Open, read the words as entry.h says, set, close. *entry is freed by entry_spec_free. */
int running_add_entry(const char *name, enum entry_kind kind, int argc, char **argv,
		      struct entry_spec *entry, struct message *message);

int running_set_entry(struct running *running, const struct entry_spec *entry,
		      struct message *message);

/* What the entries of a ruleset will stand in the place of, so that it can be put back. */
struct saved_entry {
	struct prefix prefix;
	bool there; /* else there was none */
	struct entry entry;
	char *text; /* of a limit */
};
struct saved_entries {
	struct saved_entry *list;
	size_t count;
};
int running_save_entries(const struct running *running, const struct ruleset *ruleset,
			 struct saved_entries *saved, struct message *message);
int running_restore_entries(struct running *running, const struct saved_entries *saved,
			    struct message *message);
void saved_entries_free(struct saved_entries *saved);

/* As they stand now, limits with their words read; for dump. Freed by entries_free. */
int running_entries(const struct running *running, struct entry_spec **list, size_t *count,
		    struct message *message);
void entries_free(struct entry_spec *list, size_t count);

/* explain.h's question, with what the kernel knows now as evidence. */
int running_explain(const struct running *running, const struct packet *packet,
		    struct explanation *explanation, struct message *message);

/*
 * Warn where the caller's own SSH connection would be dropped with `ruleset` in force, by it or by
 * the entries that stand now.
 */
void running_warn_lockout(const struct running *running, const struct ruleset *ruleset);

#endif
