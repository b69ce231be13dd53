/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A list of prefixes as text: one a line, blank lines and # comments between.
 * Must not know what they are for.
 */
#ifndef WEIR_PREFIX_LIST_H
#define WEIR_PREFIX_LIST_H

#include "policy.h"

/* 0 and a malloc'ed list, or -EINVAL with every bad line in *problems, or -ENOMEM. */
int prefix_list_parse(const char *text, size_t length, struct prefix **list, size_t *count,
		      struct problems *problems);

#endif
