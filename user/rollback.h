/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A change that undoes itself unless it is confirmed in time. A process of its
 * own, which no terminal's end reaches, keeps what was in force before; a
 * directory beside the pins is the mark of the unconfirmed change, and whoever
 * removes it decides: `weir confirm` keeps the change, the keeper undoes it.
 */
#ifndef WEIR_ROLLBACK_H
#define WEIR_ROLLBACK_H

#include "pins.h"
#include "running.h"

/* What to go back to. Borrowed by rollback_prepare, which hands a copy to the keeper. */
struct before {
	char name[INSTANCE_NAME];
	bool destroy; /* the instance did not exist */
	char *yaml;   /* the policy to go back to; NULL: it stays as it is */
	size_t yaml_length;
	struct saved_entries entries; /* with a policy */
	char *const *interfaces;      /* to be detached, those that are attached; borrowed */
	size_t interface_count;
};

/* The policy in force and the entries that those of `next` will take the place of. */
int before_read(const struct running *running, const struct ruleset *next, struct before *before,
		struct message *message);
void before_free(struct before *before);

/* Go back now; the instance must not be open. */
int before_restore(const struct before *before, struct message *message);

struct rollback {
	int orders; /* to the keeper */
	char mark[PINS_PATH];
};

/* -EBUSY: an earlier change waits for its confirmation. Nothing is changed yet. */
int rollback_prepare(struct instance *instance, const struct before *before, uint64_t after_ns,
		     struct rollback *rollback, struct message *message);

/* The change was made: the time runs. If the caller dies before saying so, it runs as well. */
void rollback_start(struct rollback *rollback);

/* The change failed and left nothing to undo. */
void rollback_cancel(struct rollback *rollback);

/*
 * Keep what waits for confirmation. -ENOENT: nothing does. *left_ns (may be NULL): how much time
 * was left.
 */
int rollback_confirm(const char *name, uint64_t *left_ns, struct message *message);

/* Does a change wait, and how long yet? 0 or -ENOENT. */
int rollback_pending(const char *name, uint64_t *left_ns);

/* -EBUSY with the remedy where one does: a second change would be undone to before the first. */
int rollback_refuse_pending(const char *name, struct message *message);

#endif
