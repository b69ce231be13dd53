/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is set by hand: the words of `weir limit|block|allow` to an entry_spec,
 * and back to the words that the kernel keeps beside a limit. Pure; must not
 * know the maps.
 */
#ifndef WEIR_ENTRY_H
#define WEIR_ENTRY_H

#include "compile.h"

/*
 * Read PREFIX [for DURATION], or for ENTRY_LIMIT PREFIX RATE [burst N] [per LEN] [service NAME]
 * [for DURATION]. The ruleset knows the services and default key lengths; without one only the
 * words are checked, and the entry is not to be set. 0 or -EINVAL; *entry is freed by
 * entry_spec_free.
 */
int entry_read(enum entry_kind kind, int argc, char **argv, const struct ruleset *ruleset,
	       struct entry_spec *entry, struct message *message);

/* The same, of the words kept in the kernel: RATE [burst N] [per LEN] [service NAME]. */
int entry_limit_read(const char *text, const struct prefix *prefix, const struct ruleset *ruleset,
		     struct limit_spec *limit, struct message *message);

/* Only [for DURATION], for `weir block --file`. */
int entry_read_duration(int argc, char **argv, uint64_t *for_ns, struct message *message);

/* Those words; at most ENTRY_TEXT with the final 0. -ENAMETOOLONG if they don't fit. */
int entry_limit_text(const struct entry_spec *entry, const struct ruleset *ruleset,
		     char text[ENTRY_TEXT], struct message *message);

/*
 * What the program reads for an ENTRY_LIMIT under the image in force: one limit, which owns no
 * slice or cells yet.
 */
void entry_compile(const struct entry_spec *entry, const struct image *image,
		   struct policy *policy);

void entry_spec_free(struct entry_spec *entry);

/* "block", "allow", "limit". */
const char *entry_kind_name(enum entry_kind kind);

#endif
