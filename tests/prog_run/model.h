/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the user-space limiter says, in the words of the program's counters.
 */
#ifndef WEIR_TEST_MODEL_H
#define WEIR_TEST_MODEL_H

#include "../../user/limiter.h"

/* The cell of `image` that counts a packet so decided. */
uint32_t model_cell(const struct image *image, const struct decision *decision);

#endif
