/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pin directories under bpffs: mounting, names, rights, the lock, and
 * replacing a pin in one step. Knows files of bpffs only; must not know what
 * the pinned objects mean.
 */
#ifndef WEIR_PINS_H
#define WEIR_PINS_H

#include <stdbool.h>
#include <stddef.h>

#include "log.h"

#define PINS_MOUNT "/sys/fs/bpf"
#define PINS_ROOT  PINS_MOUNT "/weir"

/* Longer than any path made here: root, instance, pin and the mark of a half-made one. */
enum pins_size {
	PINS_PATH = 192,
};

/* Who may read a pin, besides root. */
enum pins_right {
	PINS_GROUP, /* members of the group `weir`, where there is one */
	PINS_PRIVATE,
};

/* A name that may be a directory of bpffs (which takes no dots) and an instance. */
int pins_check_name(const char *name, struct message *message);

/* PINS_ROOT/name, or with a pin its path. Both fit into PINS_PATH. */
void pins_instance_path(const char *name, char path[PINS_PATH]);
void pins_path(const char *directory, const char *pin, char path[PINS_PATH]);

/* Mount bpffs where it is not mounted and make PINS_ROOT; pins_release undoes what was made. */
struct pins_root {
	bool mounted;
	int lock; /* on PINS_ROOT: held while instances are made and removed */
};
int pins_root_open(struct pins_root *root, struct message *message);
void pins_root_close(struct pins_root *root);
void pins_root_undo(struct pins_root *root); /* close, and leave nothing that was made */

/* Lock a directory, waiting some seconds for the other process. Returns the lock or -errno. */
int pins_lock(const char *directory, struct message *message);

int pins_make_directory(const char *path, struct message *message);

/* Remove a directory with all pins in it; 0 where there is none. */
int pins_remove_directory(const char *path);

/* Pin `fd` at directory/pin; what was pinned there before is replaced in one step. */
int pins_put(int fd, const char *directory, const char *pin, enum pins_right right,
	     struct message *message);
void pins_remove(const char *directory, const char *pin);
bool pins_exists(const char *directory, const char *pin);

/*
 * For each pin of a directory whose name begins with `prefix`; a nonzero return of `visit` ends
 * the walk and is returned.
 */
int pins_each(const char *directory, const char *prefix,
	      int (*visit)(const char *pin, void *context), void *context);

#endif
