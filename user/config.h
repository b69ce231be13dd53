/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The policy file: YAML text to a ruleset, and a ruleset back to text.
 * Knows the schema; must not know the kernel.
 */
#ifndef WEIR_CONFIG_H
#define WEIR_CONFIG_H

#include <stdio.h>

#include "policy.h"

/*
 * Read a whole policy file. Returns 0 and a complete, checked ruleset in *ruleset, or -EINVAL
 * with every problem of the text in *problems (at least one) and *ruleset untouched.
 */
int config_parse(const char *text, size_t length, struct ruleset **ruleset,
		 struct problems *problems);

/* The same from a file; "-" is stdin. -errno with *message if it can't be read. */
int config_read_text(const char *path, char **text, size_t *length, struct message *message);

/* Canonical YAML that config_parse reads back to an equal ruleset. 0 or -errno. */
int config_write(const struct ruleset *ruleset, FILE *out);

/* The embedded default policy (share/default.yaml): text and length. */
const char *config_default(size_t *length);

#endif
