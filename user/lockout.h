/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whom a policy locks out: does an address fall under a drop, by the file or by
 * an entry? Asked for the administrator's own. Pure.
 */
#ifndef WEIR_LOCKOUT_H
#define WEIR_LOCKOUT_H

#include "apply.h"

/*
 * True if the ruleset, its own entries, or the entry that stands for `address` now (NULL: none)
 * would drop every packet of it; `what` then names the policy or entry.
 */
bool lockout_find(const struct ruleset *ruleset, const struct entry_state *entry,
		  const struct prefix *address, char *what, size_t size);

#endif
