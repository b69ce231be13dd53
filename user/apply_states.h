/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All states of a limit changed while packets flow. Must not know images.
 */
#ifndef WEIR_APPLY_STATES_H
#define WEIR_APPLY_STATES_H

#include "kernel.h"

/*
 * policy, index: where the kernel has the limit. Cleared: as if no packet was ever seen. Clamped:
 * no debt beyond the burst.
 */
int states_clear(const struct instance *instance, uint32_t policy, uint32_t index,
		 const struct limit *limit);
int states_clamp(const struct instance *instance, uint32_t policy, uint32_t index,
		 const struct limit *limit);

/* Drops and tokens that CPUs keep to themselves: forget all. */
int states_clear_private(const struct instance *instance);

/* The kernel's hash tables: forget the states of limits that `live` does not know. */
int states_prune(const struct instance *instance, bool (*live)(uint32_t id, void *context),
		 void *context);

#endif
