/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What changes from one ruleset to another, in words:
 * "everyone/dns: 50/s -> 20/s". Pure; must not know the kernel.
 */
#ifndef WEIR_DIFFERENCE_H
#define WEIR_DIFFERENCE_H

#include "policy.h"

struct difference {
	char **lines; /* none: nothing changes */
	size_t count;
};

/* 0 or -ENOMEM. */
int difference_read(const struct ruleset *before, const struct ruleset *after,
		    struct difference *difference);
void difference_free(struct difference *difference);

#endif
