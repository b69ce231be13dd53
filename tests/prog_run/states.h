/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many states a rig's table holds. Must not know what they say.
 */
#ifndef WEIR_TEST_STATES_H
#define WEIR_TEST_STATES_H

#include "rig.h"

/* Of all limits together, full buckets included that nobody has taken the place of. */
uint32_t states_count(const struct rig *rig);

#endif
