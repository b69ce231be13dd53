/* SPDX-License-Identifier: GPL-2.0-only */
#include "limiter.h"
#include "../bpf/key.h"

struct key limit_key(const struct limit *limit, const struct prefix *address)
{
	if (limit->flags & LIMIT_SHARED)
		return key_shared();
	return address->family == 4 ? key_ipv4(address->addr, limit->ipv4_len)
				    : key_ipv6(address->addr, limit->ipv6_len);
}

static void put_number(uint64_t number, unsigned int bytes, uint8_t *to)
{
	for (unsigned int i = 0; i < bytes; i++)
		to[i] = number >> 8 * (bytes - 1 - i);
}

/* The bits of a key behind its length are 0. */
struct prefix limit_source(const struct limit *limit, const struct key *key)
{
	struct prefix prefix = { .family = key->family == 4 ? 4 : 6 };

	if (key->family == 4) {
		prefix.len = limit->ipv4_len;
		put_number(key->hi & 0xffffffff, 4, prefix.addr);
	} else {
		prefix.len = limit->ipv6_len;
		put_number(key->hi, 8, prefix.addr);
		put_number(key->lo, 8, prefix.addr + 8);
	}
	return prefix;
}

/* Time in 2^-32 ns. */
typedef __int128 fine_ns;

static fine_ns fine(uint64_t ns, uint32_t frac)
{
	return (fine_ns)ns << 32 | frac;
}

static fine_ns bucket_full(const struct state *state, uint64_t now)
{
	return state->word < now ? fine(now, 0) : fine(state->word, state->extra);
}

static uint64_t bucket_remaining(const struct limit *limit, const struct state *state, uint64_t now)
{
	fine_ns latest = fine(now, 0) + fine(limit->burst_ns, limit->burst_frac);
	fine_ns left = latest - bucket_full(state, now);

	return left > 0 ? (uint64_t)(left / fine(limit->interval_ns, limit->interval_frac)) : 0;
}

/* Granted once full + cost x interval is no later than burst from then; whole ns, rounded up. */
static uint64_t bucket_retry_ns(const struct limit *limit, const struct state *state, uint64_t now,
				uint64_t cost)
{
	fine_ns latest = fine(now, 0) + fine(limit->burst_ns, limit->burst_frac);
	fine_ns full =
		bucket_full(state, now) + cost * fine(limit->interval_ns, limit->interval_frac);

	return full > latest ? (uint64_t)((full - latest + 0xffffffff) >> 32) : 0;
}

static uint64_t window_remaining(const struct limit *limit, const struct state *state, uint64_t now)
{
	struct window window = window_at(limit, state, now);
	uint64_t taken = window.current;

	if (limit->algorithm == ALGO_SLIDING_WINDOW)
		taken += window_carry(limit, window, now);
	return taken < limit->burst ? limit->burst - taken : 0;
}

/* The window's number never goes back, whatever the clock says. */
static uint64_t fixed_window_retry_ns(const struct limit *limit, const struct state *state,
				      uint64_t now, uint64_t cost)
{
	struct window window = window_at(limit, state, now);

	if (window.current + cost <= limit->burst)
		return 0;
	return (window.number + 1) * limit->interval_ns - now;
}

/*
 * How far into its window the estimate leaves room for `cost`, at most interval_ns: the inverse of
 * window_carry. previous x weight <= room x 2^16, and weight is (interval - elapsed) x 2^16 /
 * interval, rounded up.
 */
static uint64_t window_room_after(const struct limit *limit, struct window window, uint64_t cost)
{
	unsigned __int128 weight;

	if (window.current + cost > limit->burst)
		return limit->interval_ns;
	if (!window.previous)
		return 0;
	weight =
		((unsigned __int128)(limit->burst - window.current - cost) << 16) / window.previous;
	if (weight >= 1 << 16)
		return 0;
	return limit->interval_ns - (uint64_t)(weight * limit->interval_ns >> 16);
}

/* In this window, in the next, where its count is the one before, or in the one after that. */
static uint64_t sliding_window_retry_ns(const struct limit *limit, const struct state *state,
					uint64_t now, uint64_t cost)
{
	struct window window = window_at(limit, state, now);
	uint64_t after = window_room_after(limit, window, cost), at;

	if (!after) /* even if the window is yet to begin, by a clock that is behind */
		return 0;
	for (int i = 0; i < 2 && after == limit->interval_ns; i++) {
		window = (struct window){ window.number + 1, 0, window.current };
		after = window_room_after(limit, window, cost);
	}
	at = window.number * limit->interval_ns + after;
	return at > now ? at - now : 0;
}

static uint64_t log_at(const struct state *state, const struct log_ring *ring, uint64_t ago)
{
	return ring ? ring->at[(state->extra - (uint32_t)ago) & (LOG_SLOTS - 1)] : 0;
}

static uint64_t log_remaining(const struct limit *limit, const struct state *state,
			      const struct log_ring *ring, uint64_t now)
{
	uint64_t left = 0;

	for (uint64_t ago = limit->burst; ago; ago--) {
		uint64_t at = log_at(state, ring, ago);

		left += !at || at + limit->interval_ns <= now;
	}
	return left;
}

static uint64_t log_retry_ns(const struct limit *limit, const struct state *state,
			     const struct log_ring *ring, uint64_t now)
{
	uint64_t at = log_at(state, ring, limit->burst);

	return at && at + limit->interval_ns > now ? at + limit->interval_ns - now : 0;
}

/* A state as state_take sees it once no ban is left. */
static struct state without_ban(const struct state *state)
{
	return state->word & STATE_BANNED ? (struct state){ 0 } : *state;
}

uint64_t state_remaining(const struct limit *limit, const struct state *state,
			 const struct log_ring *ring, uint64_t now)
{
	struct state open = without_ban(state);

	if (state_banned(state->word, now))
		return 0;
	switch (limit->algorithm) {
	case ALGO_TOKEN_BUCKET:
		return bucket_remaining(limit, &open, now);
	case ALGO_SLIDING_LOG:
		return log_remaining(limit, &open, ring, now);
	default:
		return window_remaining(limit, &open, now);
	}
}

uint64_t state_retry_ns(const struct limit *limit, const struct state *state,
			const struct log_ring *ring, uint64_t now, uint64_t cost)
{
	struct state open = without_ban(state);

	if (cost > limit->burst)
		return UINT64_MAX;
	if (state_banned(state->word, now))
		return (state->word & ~STATE_BANNED) - now;
	switch (limit->algorithm) {
	case ALGO_TOKEN_BUCKET:
		return bucket_retry_ns(limit, &open, now, cost);
	case ALGO_FIXED_WINDOW:
		return fixed_window_retry_ns(limit, &open, now, cost);
	case ALGO_SLIDING_WINDOW:
		return sliding_window_retry_ns(limit, &open, now, cost);
	default:
		return log_retry_ns(limit, &open, ring, now);
	}
}
