/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The whole judgement in user space: a policy's verdict on a packet at a given
 * time, by the same parse.h and algo.h as the program. The reference that the
 * program is compared with; the engine of replay and explain. Unbounded exact
 * table, no displacement. Must not know the kernel; prints nothing.
 */
#ifndef WEIR_LIMITER_H
#define WEIR_LIMITER_H

#include "../bpf/algo.h"
#include "compile.h"

struct packet;
struct limiter;

struct decision {
	bool granted; /* does the packet pass? */
	enum reason reason;
	int policy;		 /* index into the image, -1: none */
	int limit;		 /* index of the refusing limit within the policy, -1: none */
	uint64_t retry_after_ns; /* until the same packet could pass; 0 where it does */
	uint64_t remaining; /* tokens left, least of the packet's limits in packets; ~0: no limit */
};

/*
 * From a complete ruleset. -EINVAL with *message for a ruleset without policies or a limit with
 * a zero window. The image is the limiter's own. secret: two words for the keyed hash.
 */
int limiter_new(const struct ruleset *ruleset, const uint64_t secret[2], struct limiter **limiter,
		struct message *message);
void limiter_free(struct limiter *limiter);
const struct image *limiter_image(const struct limiter *limiter);

/*
 * Judge a packet and take its tokens. now: monotonic ns, 0 < now < 2^62, else -EINVAL; a time
 * before the last one counts as no time. 0 or -errno (-ENOMEM).
 */
int limiter_allow(struct limiter *limiter, const struct packet *packet, uint64_t now,
		  struct decision *decision);

/* The same for raw bytes of a frame; `length` may exceed `captured` (snap length). */
int limiter_allow_frame(struct limiter *limiter, const uint8_t *frame, uint32_t captured,
			uint32_t length, uint64_t now, struct decision *decision);

/* Parse a frame in user space; the result's kind as in parse.h. */
int limiter_parse(const uint8_t *frame, uint32_t captured, uint32_t length, struct packet *packet);

/* Of one state: tokens left at `now`, and ns until `cost` would be granted (0: now; ~0: never). */
uint64_t state_remaining(const struct limit *limit, const struct state *state,
			 const struct log_ring *ring, uint64_t now);
uint64_t state_retry_ns(const struct limit *limit, const struct state *state,
			const struct log_ring *ring, uint64_t now, uint64_t cost);

/* The key of an address under a limit, and the address a key was cut from, as far as it knows. */
struct key limit_key(const struct limit *limit, const struct prefix *address);
struct prefix limit_source(const struct limit *limit, const struct key *key);

#endif
