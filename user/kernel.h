/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lifecycle of an instance: open -> size maps, rodata -> load -> fill maps
 * -> attach (bpf_link) -> pin; and opening the pins of one that runs. The only
 * includer of the skeleton. Must not know files or text formats.
 */
#ifndef WEIR_KERNEL_H
#define WEIR_KERNEL_H

#include <stdbool.h>

#include "compile.h"
#include "log.h"

enum map_index {
	MAP_LIVE,
	MAP_META,
	MAP_SECRET, /* never group-readable */
	MAP_COUNTERS,
	MAP_SETS,
	MAP_LOGS,
	MAP_HASH,
	MAP_HASH_LOGS,
	MAP_PERCPU,
	MAP_PERCPU_LOGS,
	MAP_TALLY,
	MAP_CREDITS,
	MAP_POLICIES,
	MAP_SERVICES,
	MAP_FILTER,
	MAP_ROOTS,
	MAP_PREFIXES4,
	MAP_PREFIXES6,
	MAP_DESTINATIONS4,
	MAP_DESTINATIONS6,
	MAP_ENTRIES4,
	MAP_ENTRIES6,
	MAP_EVENTS,
	/* user space only */
	MAP_ENTRY_WORDS, /* struct entry_words for each entry policy */
	MAP_ENTRY_TRIE4, /* what entries4 and entries6 hold: their ids need CAP_SYS_ADMIN */
	MAP_ENTRY_TRIE6,
	MAP_INTERFACES, /* ifindex -> name at attach, so that a deleted one can be named */
	MAP_COUNT,
};

/* Of a limit set by hand: where, and the words it was told by. */
struct entry_words {
	struct prefix prefix;
	char text[ENTRY_TEXT];
	uint8_t pad[6];
};

/* A running instance: its pinned maps, opened and checked against the layout. */
struct instance {
	char name[INSTANCE_NAME];
	char path[128];	     /* /sys/fs/bpf/weir/NAME */
	int maps[MAP_COUNT]; /* -1: not opened */
	struct meta meta;
	bool readonly;
	int maintain; /* the program weir_maintain, -1: not opened */
	int lock;     /* flock on the pin directory, -1: none; a child that outlives the verb closes
		       * it by instance_close */
};

/* How an interface is attached now. */
struct attachment {
	char interface[32]; /* its name now; where it is gone, that at attach */
	unsigned int ifindex;
	bool attached; /* our link is there and holds the interface */
	bool native;
	bool frags; /* the program takes multi-buffer frames */
	uint32_t program_id;
	uint32_t link_id;
};

struct capacity instance_capacity(const struct instance *instance);

/* True if such an instance runs: its pins are there, and a policy was put in force. */
bool instance_exists(const char *name);

/*
 * Open the pins of a running instance. readonly: no lock, BPF_F_RDONLY, needs no capability
 * where the pins are group-readable. -ENOENT: not running. -EPROTO: another layout (the
 * message names both and the remedy).
 */
int instance_open(const char *name, bool readonly, struct instance *instance,
		  struct message *message);
void instance_close(struct instance *instance);

/*
 * Make an instance: mounts bpffs if needed, loads the program with maps of the given room,
 * pins all under the instance's directory. Nothing is attached yet; the image and the rest
 * are filled by apply.h before instance_attach. On failure nothing is left behind.
 */
int instance_create(const char *name, const struct capacity *room, struct instance *instance,
		    struct message *message);

/*
 * Replace the program of a running instance in place by the one of this binary, on the same
 * maps, updating every link; keeps the secret. No packet passes unjudged.
 */
int instance_upgrade(struct instance *instance, struct message *message);

/* Is its program the one of this binary? */
bool instance_is_current(const struct instance *instance);

/*
 * Attach the instance's program with a bpf_link pinned as link-IFINDEX. Already ours: 0 and
 * *already. A foreign program: -EBUSY, naming its id and mode, unless replace. mode auto: native,
 * else generic; *message then says why (its text is empty after any other success).
 */
int instance_attach(struct instance *instance, const char *interface, enum attach_mode mode,
		    bool replace, bool *already, struct message *message);
int instance_detach(struct instance *instance, const char *interface, struct message *message);

/* Detach all and remove every pin of the instance. */
int instance_destroy(const char *name, struct message *message);

/* What is attached: *list is malloc'ed. Interfaces that are gone are in it, attached = false. */
int instance_attachments(const struct instance *instance, struct attachment **list, size_t *count,
			 struct message *message);

/*
 * Change states: in sets by the program weir_maintain, under their lock, at most MAINTAIN_MOST
 * sets a call; in the kernel's hash tables, which have no sets, all states of the limit at once.
 * command->done is set. -EOPNOTSUPP: a charge to a table without sets.
 */
int instance_maintain(const struct instance *instance, struct maintain *command);

/*
 * The policy as text (YAML and image_save's), kept in a pinned map that is made anew each time.
 * Written before apply_image, it is what instance_rules_read finds from the swap on, even where
 * the writer dies there; commit afterwards. Read: both are malloc'ed; -ENOENT before the first.
 */
int instance_rules_write(struct instance *instance, const char *yaml, size_t yaml_length,
			 const char *own, size_t own_length, struct message *message);
int instance_rules_commit(struct instance *instance, struct message *message);
int instance_rules_read(const struct instance *instance, char **yaml, size_t *yaml_length,
			char **own, size_t *own_length, struct message *message);

/* Monotonic clock, as the program reads it. */
uint64_t kernel_now_ns(void);
uint32_t kernel_tick_ns(void);	/* a jiffy */
unsigned int kernel_cpus(void); /* possible CPUs: elements of a per-CPU value */

#endif
