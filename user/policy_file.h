/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A policy file, read and checked, with one sentence about what is wrong with
 * it. What every verb that takes a FILE does first.
 */
#ifndef WEIR_POLICY_FILE_H
#define WEIR_POLICY_FILE_H

#include "policy.h"

/*
 * The embedded default where path is NULL, stdin where it is "-". On -EINVAL the problems of the
 * text are in *problems, and *message counts them.
 */
int policy_file_read(const char *path, struct ruleset **ruleset, struct problems *problems,
		     struct message *message);

/* What to call it in words: "stdin", "the built-in policy". */
const char *policy_file_name(const char *path);

/* Every policy only counts what it would drop. */
void policy_file_observe(struct ruleset *ruleset);

#endif
