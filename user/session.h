/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The running policy: an instance's pins, opened, with the ruleset and the image
 * that are in force; and the steps that put another ruleset in force. What verbs
 * share; prints nothing and knows no command line.
 */
#ifndef WEIR_SESSION_H
#define WEIR_SESSION_H

#include "apply.h"
#include "entry.h"

struct session {
	struct instance instance;
	struct ruleset *ruleset; /* without entries: those live in the kernel */
	struct image *image;
};

/* -ENOENT: not running. readonly: no lock, as kernel.h says. */
int session_open(const char *name, bool readonly, struct session *session,
		 struct message *message);
void session_close(struct session *session);

/* A new instance that enforces `ruleset` as soon as it is attached. Takes the ruleset, always. */
int session_create(const char *name, struct ruleset *ruleset, struct session *session,
		   struct message *message);

/*
 * Put another ruleset in force and set its entries. Takes the ruleset, always. On failure the
 * old one is still in force.
 */
int session_apply(struct session *session, struct ruleset *ruleset, bool flush,
		  struct message *message);

int session_set_entry(struct session *session, const struct entry_spec *entry,
		      struct message *message);

/* As they stand now, limits with their words read; for dump. Freed by session_entries_free. */
int session_entries(const struct session *session, struct entry_spec **list, size_t *count,
		    struct message *message);
void session_entries_free(struct entry_spec *list, size_t count);

/*
 * Read a policy file, or the embedded default where path is NULL. On -EINVAL the problems of the
 * text are in *problems, and *message counts them.
 */
int session_read_policy(const char *path, struct ruleset **ruleset, struct problems *problems,
			struct message *message);

/* Every policy only counts what it would drop. */
void ruleset_observe(struct ruleset *ruleset);

#endif
