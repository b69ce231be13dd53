/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The running policy: an instance's pins, opened, with the ruleset and the image
 * that are in force; and the steps that put another ruleset in force. What verbs
 * share; prints nothing and knows no command line.
 */
#ifndef WEIR_RUNNING_H
#define WEIR_RUNNING_H

#include "apply.h"
#include "entry.h"

struct running {
	struct instance instance;
	struct ruleset *ruleset; /* without entries: those live in the kernel */
	struct image *image;
};

/* -ENOENT: not running. readonly: no lock, as kernel.h says. */
int running_open(const char *name, bool readonly, struct running *running,
		 struct message *message);
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

int running_set_entry(struct running *running, const struct entry_spec *entry,
		      struct message *message);

/* As they stand now, limits with their words read; for dump. Freed by entries_free. */
int running_entries(const struct running *running, struct entry_spec **list, size_t *count,
		    struct message *message);
void entries_free(struct entry_spec *list, size_t count);

/*
 * Read a policy file, or the embedded default where path is NULL. On -EINVAL the problems of the
 * text are in *problems, and *message counts them.
 */
int running_read_policy(const char *path, struct ruleset **ruleset, struct problems *problems,
			struct message *message);

/* Every policy only counts what it would drop. */
void ruleset_observe(struct ruleset *ruleset);

#endif
