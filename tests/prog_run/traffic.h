/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random traffic: frames of many shapes from a crowd of sources of which some
 * send far more than others, at times that like to fall on edges. The same for
 * the same seed. Must not know limits or verdicts.
 */
#ifndef WEIR_TEST_TRAFFIC_H
#define WEIR_TEST_TRAFFIC_H

#include "frame.h"
#include "random.h"

struct traffic;

/* Bails out where a shape can't be built or memory is short. */
struct traffic *traffic_new(uint64_t seed, uint64_t start_ns);
void traffic_free(struct traffic *traffic);

/* The next frame, which is the traffic's own until the call after, and its time. */
const struct frame_bytes *traffic_next(struct traffic *traffic, uint64_t *now_ns);

#endif
