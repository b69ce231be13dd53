/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers that look random and are the same for the same seed. Knows nothing else. */
#ifndef WEIR_TEST_RANDOM_H
#define WEIR_TEST_RANDOM_H

#include <stdint.h>

struct random {
	uint64_t state; /* not 0 */
};

/* xorshift64* (Vigna: An experimental exploration of Marsaglia's xorshift generators, 2016). */
static inline uint64_t random_next(struct random *random)
{
	random->state ^= random->state >> 12;
	random->state ^= random->state << 25;
	random->state ^= random->state >> 27;
	return random->state * 0x2545f4914f6cdd1dULL;
}

/* Of [0, most). */
static inline uint64_t random_below(struct random *random, uint64_t most)
{
	return (random_next(random) >> 16) % most;
}

#endif
