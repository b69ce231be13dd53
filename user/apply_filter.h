/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The map `filter` as memory. For apply and entries; under the instance's
 * lock. What the bits mean is filter.h's.
 *
 * The order that holds whenever a writer dies: bits are set before the prefix
 * is put in force, and cleared only when no packet can look for it any more.
 */
#ifndef WEIR_APPLY_FILTER_H
#define WEIR_APPLY_FILTER_H

#include "filter.h"
#include "kernel.h"

/* *words: FILTER_ALL of them. 0 or -errno. */
int filter_map(const struct instance *instance, uint64_t **words);
void filter_unmap(uint64_t *words); /* NULL: nothing */

#endif
