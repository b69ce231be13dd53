/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The key of a state: the source address cut to a length, and its keyed hash,
 * SipHash-1-3 (Aumasson, Bernstein: SipHash: a fast short-input PRF, 2012).
 * Where a key lies in the table, and which sources a share of a policy
 * enforces, must not be known to who chooses source addresses. Pure.
 */
#ifndef WEIR_KEY_H
#define WEIR_KEY_H

#include <bpf/bpf_endian.h>

#include "abi.h"

#define KEY_INLINE static inline __attribute__((always_inline, unused))

/*
 * IPv4 in 64 bits, told apart from every IPv6 key: those that begin 0:4::/32,
 * in space that RFC 4291 reserves, and whose lower half is 0, all share the key
 * of 0:5::/64 instead.
 */
#define KEY_IPV4     (4ULL << 32)
#define KEY_RESERVED (5ULL << 32)

KEY_INLINE __u64 keep_bits(__u64 value, __u32 bits)
{
	return bits == 0 ? 0 : value >> (64 - bits) << (64 - bits);
}

/* `address` in network order, IPv4 in its first four bytes; `bits` at most 32. */
KEY_INLINE struct key key_ipv4(const __u8 *address, __u32 bits)
{
	__be32 raw;

	__builtin_memcpy(&raw, address, sizeof(raw));
	return (struct key){
		.hi = KEY_IPV4 | keep_bits((__u64)bpf_ntohl(raw) << 32, bits) >> 32,
		.family = 4,
	};
}

/* `bits` at most 128. */
KEY_INLINE struct key key_ipv6(const __u8 *address, __u32 bits)
{
	__be64 raw[2];
	struct key key = { .family = 6 };

	__builtin_memcpy(raw, address, sizeof(raw));
	key.hi = keep_bits(bpf_be64_to_cpu(raw[0]), bits < 64 ? bits : 64);
	if (bits > 64)
		key.lo = keep_bits(bpf_be64_to_cpu(raw[1]), bits - 64);
	if (!key.lo && key.hi >> 32 == KEY_IPV4 >> 32)
		key.hi = KEY_RESERVED;
	return key;
}

/* The one key of a limit that all sources share. */
KEY_INLINE struct key key_shared(void)
{
	return (struct key){ .family = 1 };
}

/* A family in two bits: 0 for none, 1 for a shared key, 2 for 4, 3 for 6. */
KEY_INLINE __u32 family_code(__u32 family)
{
	return (family + 1) / 2;
}

KEY_INLINE __u32 family_coded(__u32 code)
{
	return code == 1 ? 1 : 2 * code;
}

/* The family of a way, of a set's `families`. */
KEY_INLINE __u32 family_of_way(__u32 families, __u32 way)
{
	return family_coded(families >> 2 * way & 3);
}

#define SIP_ROTATE(x, bits) (((x) << (bits)) | ((x) >> (64 - (bits))))

struct sip {
	__u64 v0, v1, v2, v3;
};

KEY_INLINE void sip_round(struct sip *s)
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

KEY_INLINE void sip_word(struct sip *s, __u64 word)
{
	s->v3 ^= word;
	sip_round(s);
	s->v0 ^= word;
}

/*
 * The message: hi in 8 bytes, lo in 8 more unless it is 0, the family in one.
 * Two different keys never make one message, since its length is hashed too.
 */
KEY_INLINE __u64 key_hash(const struct key *key, __u64 secret0, __u64 secret1)
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
