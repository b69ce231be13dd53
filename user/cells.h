/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What counter cells say: the reason each stands for, sums over the CPUs, and
 * where counts go whose policy is gone. Must not know names.
 */
#ifndef WEIR_CELLS_H
#define WEIR_CELLS_H

#include "kernel.h"

/* The reason a frame in this cell was counted for, -1: none, it is no frame's only cell. */
int cell_reason_policy(uint32_t action, unsigned int cell);
int cell_reason_limit(unsigned int cell);
int cell_reason_global(unsigned int cell);

/* All cells of the instance, summed over the CPUs; *cells is malloc'ed, meta.cells of them. */
int cells_read(const struct instance *instance, struct counter **cells);

/*
 * Move what a policy (its verdict cells) or a limit has counted to the instance's retired cells,
 * so that totals never go back, and zero them. The program must not count there any more.
 */
int cells_retire_policy(const struct instance *instance, uint32_t action, uint32_t first);
int cells_retire_limit(const struct instance *instance, uint32_t first);

#endif
