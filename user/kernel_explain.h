/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Why the kernel refused to load the program, in words for people: missing
 * rights, features or memory. Must not know pins or the program itself.
 */
#ifndef WEIR_KERNEL_EXPLAIN_H
#define WEIR_KERNEL_EXPLAIN_H

#include "kernel.h"

/* All return err with *message filled. meta: the sizes that were asked for. */
int explain_load(int err, const struct meta *meta, struct message *message);
int explain_too_large(int err, const struct meta *meta, struct message *message);

/* Is there so much memory to be had without driving others out? */
bool memory_suffices(uint64_t bytes);

#endif
