/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SipHash-1-3 (Aumasson, Bernstein: SipHash: a fast short-input PRF, 2012) of
 * a state's key: where the key lies in the table, and which sources a share
 * of a policy enforces, must not be known to who chooses source addresses.
 */
#ifndef WEIR_SIPHASH_H
#define WEIR_SIPHASH_H

#include "abi.h"

#define SIP_ROTATE(x, bits) (((x) << (bits)) | ((x) >> (64 - (bits))))

struct sip {
	__u64 v0, v1, v2, v3;
};

static inline __attribute__((always_inline, unused)) void sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v1 = SIP_ROTATE(s->v1, 13) ^ s->v0;
	s->v0 = SIP_ROTATE(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = SIP_ROTATE(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = SIP_ROTATE(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = SIP_ROTATE(s->v1, 17) ^ s->v2;
	s->v2 = SIP_ROTATE(s->v2, 32);
}

static inline __attribute__((always_inline, unused)) void sip_word(struct sip *s, __u64 word)
{
	s->v3 ^= word;
	sip_round(s);
	s->v0 ^= word;
}

/*
 * The message: hi in 8 bytes, lo in 8 more unless it is 0, the family in one.
 * Two different keys never make one message, since its length is hashed too.
 */
static inline __attribute__((always_inline, unused)) __u64 key_hash(const struct key *key,
								    __u64 secret0, __u64 secret1)
{
	struct sip s = {
		secret0 ^ 0x736f6d6570736575ULL,
		secret1 ^ 0x646f72616e646f6dULL,
		secret0 ^ 0x6c7967656e657261ULL,
		secret1 ^ 0x7465646279746573ULL,
	};

	sip_word(&s, key->hi);
	if (key->lo)
		sip_word(&s, key->lo);
	sip_word(&s, (key->lo ? 17ULL : 9ULL) << 56 | (key->family & 0xff));
	s.v2 ^= 0xff;
	sip_round(&s);
	sip_round(&s);
	sip_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

#endif
