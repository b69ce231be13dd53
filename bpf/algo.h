/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The four limiting algorithms: (limit, state, now, cost) -> granted or not,
 * and the new state. Pure arithmetic on 64-bit words, the same in the program,
 * in the user-space limiter and in the tests. Must not know maps, helpers, the
 * clock or libc: time is a parameter, monotonic ns, below 2^62 and, for the
 * window algorithms, below 2^31 windows (68 years of the shortest, a second).
 *
 * state.word is ordered by debt in every algorithm: of two states of a limit
 * the one with the smaller word is the cheaper to forget.
 *
 *   token-bucket    word  when the bucket is full again (GCRA's theoretical
 *                         arrival time, ITU-T I.371), ns; extra: 2^-32 ns
 *   fixed-window    word  window number << 32 | tokens taken in it
 *   sliding-window  word  as above; extra: tokens taken in the window before
 *   sliding-log     word  when the newest packet leaves the window, ns;
 *                         extra: the ring's next slot
 *   any, banned     word  STATE_BANNED | end of the ban, ns
 */
#ifndef WEIR_ALGO_H
#define WEIR_ALGO_H

#include "abi.h"

#define ALGO_INLINE static inline __attribute__((always_inline, unused))

#define STATE_BANNED (1ULL << 63)

/* In the place of a word while whoever holds the set's lock has it: see table.h. */
#define STATE_LIFTED (~0ULL)

struct ns_frac {
	__u64 ns;
	__u32 frac; /* in 2^-32 ns */
};

/*
 * What `cost` tokens take, exact. cost is at most limit->burst, so the product is at most 2^62 ns,
 * and below 2^32, so that of the fraction fits too.
 */
ALGO_INLINE struct ns_frac token_time(const struct limit *limit, __u64 cost)
{
	__u64 low = cost * limit->interval_frac;

	return (struct ns_frac){ cost * limit->interval_ns + (low >> 32), (__u32)low };
}

ALGO_INLINE struct ns_frac ns_frac_add(struct ns_frac a, struct ns_frac b)
{
	__u64 low = (__u64)a.frac + b.frac;

	return (struct ns_frac){ a.ns + b.ns + (low >> 32), (__u32)low };
}

ALGO_INLINE int ns_frac_after(struct ns_frac a, struct ns_frac b)
{
	return a.ns > b.ns || (a.ns == b.ns && a.frac > b.frac);
}

/* The bucket holds at most burst tokens: it may be full again burst_ns from now, no later. */
ALGO_INLINE int bucket_take(const struct limit *limit, struct state *state, __u64 now, __u64 cost)
{
	struct ns_frac full = { state->word, state->extra };
	struct ns_frac latest = { now + limit->burst_ns, limit->burst_frac };

	if (full.ns < now)
		full = (struct ns_frac){ now, 0 };
	full = ns_frac_add(full, token_time(limit, cost));
	if (ns_frac_after(full, latest))
		return 0;
	state->word = full.ns;
	state->extra = full.frac;
	return 1;
}

ALGO_INLINE void bucket_give_back(const struct limit *limit, struct state *state, __u64 cost)
{
	struct ns_frac took = token_time(limit, cost);
	__u64 borrow = state->extra < took.frac;

	if (state->word < took.ns + borrow) /* forgotten meanwhile */
		return;
	state->word -= took.ns + borrow;
	state->extra -= took.frac;
}

/* Tokens taken in the window of `now` and in the one before. */
struct window {
	__u64 number;
	__u64 current;
	__u64 previous;
};

/* A window number ahead of `now` was written by a CPU whose clock is ahead: no time passed. */
ALGO_INLINE struct window window_at(const struct limit *limit, const struct state *state, __u64 now)
{
	struct window window = { now / limit->interval_ns, 0, 0 };
	__u64 number = state->word >> 32;

	if (number >= window.number) {
		window.number = number;
		window.current = (__u32)state->word;
		window.previous = state->extra;
	} else if (number + 1 == window.number) {
		window.previous = (__u32)state->word;
	}
	return window;
}

ALGO_INLINE int fixed_window_take(const struct limit *limit, struct state *state, __u64 now,
				  __u64 cost)
{
	struct window window = window_at(limit, state, now);

	if (window.current + cost > limit->burst)
		return 0;
	state->word = window.number << 32 | (window.current + cost);
	return 1;
}

/*
 * The share of the window before that still lies in the trailing window, in
 * 2^-16, rounded up. The window is at most a day (2^47 ns): the shift fits.
 */
ALGO_INLINE __u64 window_carry(const struct limit *limit, struct window window, __u64 now)
{
	__u64 start = window.number * limit->interval_ns;
	__u64 elapsed = now > start ? now - start : 0;
	__u64 weight = (((limit->interval_ns - elapsed) << 16) + limit->interval_ns - 1) /
		       limit->interval_ns;

	return (window.previous * weight + 0xffff) >> 16;
}

ALGO_INLINE int sliding_window_take(const struct limit *limit, struct state *state, __u64 now,
				    __u64 cost)
{
	struct window window = window_at(limit, state, now);

	if (window_carry(limit, window, now) + window.current + cost > limit->burst)
		return 0;
	state->word = window.number << 32 | (window.current + cost);
	state->extra = (__u32)window.previous;
	return 1;
}

/*
 * The ring holds the last LOG_SLOTS packets whatever the limit allows, so that a
 * change of the quota finds what it needs. Granted when the packet `burst` ago
 * has left the window; one exactly a window old has. A slot never used is 0.
 */
ALGO_INLINE int log_take(const struct limit *limit, struct state *state, struct log_ring *ring,
			 __u64 now)
{
	__u64 before = ring->at[(state->extra - (__u32)limit->burst) & (LOG_SLOTS - 1)];
	__u64 newest = state->word > limit->interval_ns ? state->word - limit->interval_ns : 0;

	if (before && before + limit->interval_ns > now)
		return 0;
	if (now < newest)
		now = newest;
	ring->at[state->extra & (LOG_SLOTS - 1)] = now;
	state->extra = (state->extra + 1) & (LOG_SLOTS - 1);
	state->word = now + limit->interval_ns;
	return 1;
}

ALGO_INLINE void log_give_back(const struct limit *limit, struct state *state,
			       struct log_ring *ring)
{
	__u32 newest = (state->extra - 1) & (LOG_SLOTS - 1);
	__u64 before = ring->at[(newest - 1) & (LOG_SLOTS - 1)];

	ring->at[newest] = 0;
	state->extra = newest;
	state->word = before ? before + limit->interval_ns : 0;
}

ALGO_INLINE int state_banned(__u64 word, __u64 now)
{
	return (word & STATE_BANNED) && (word & ~STATE_BANNED) > now;
}

/*
 * The order in which states are displaced: the smaller, the sooner a state says nothing. Time for
 * a bucket and a log, and a ban ranks by its end. For the windows it is a word, and a ban ranks
 * as the last one that says nothing when the ban ends.
 */
ALGO_INLINE __u64 state_rank(const struct limit *limit, __u64 word)
{
	__u64 end = word & ~STATE_BANNED, number, spent;

	if (!(word & STATE_BANNED) || limit->algorithm == ALGO_TOKEN_BUCKET ||
	    limit->algorithm == ALGO_SLIDING_LOG)
		return end;
	number = end / limit->interval_ns;
	spent = limit->algorithm == ALGO_FIXED_WINDOW ? 1 : 2;
	return number < spent ? 0 : (number - spent) << 32 | 0xffffffff;
}

/* Does the state still say something, or is it the same as none? */
ALGO_INLINE int state_live(const struct limit *limit, __u64 word, __u64 now)
{
	if (word & STATE_BANNED)
		return state_banned(word, now);
	switch (limit->algorithm) {
	case ALGO_FIXED_WINDOW:
		return (word >> 32) >= now / limit->interval_ns && (__u32)word;
	case ALGO_SLIDING_WINDOW:
		return (word >> 32) + 1 >= now / limit->interval_ns && word;
	case ALGO_TOKEN_BUCKET:
		return word >= now; /* a fraction of a ns may be left */
	default:
		return word > now;
	}
}

/*
 * Charge `cost` tokens to the state. Returns 1 and the new state if granted,
 * 0 with the state untouched if not. `ring` is the state's own (sliding-log).
 * A refusal by a limit with a ban is turned into one by state_ban.
 */
ALGO_INLINE int state_take(const struct limit *limit, struct state *state, struct log_ring *ring,
			   __u64 now, __u64 cost)
{
	struct state next = *state;
	int granted;

	if (state_banned(state->word, now) || cost > limit->burst)
		return 0;
	if (next.word & STATE_BANNED) {
		next.word = 0;
		next.extra = 0;
	}
	switch (limit->algorithm) {
	case ALGO_TOKEN_BUCKET:
		granted = bucket_take(limit, &next, now, cost);
		break;
	case ALGO_FIXED_WINDOW:
		granted = fixed_window_take(limit, &next, now, cost);
		break;
	case ALGO_SLIDING_WINDOW:
		granted = sliding_window_take(limit, &next, now, cost);
		break;
	default:
		granted = ring && log_take(limit, &next, ring, now);
		break;
	}
	if (granted)
		*state = next;
	return granted;
}

/* Undo a state_take that was granted just before. Nothing to undo once the state is banned. */
ALGO_INLINE void state_give_back(const struct limit *limit, struct state *state,
				 struct log_ring *ring, __u64 cost)
{
	if (state->word & STATE_BANNED)
		return;
	switch (limit->algorithm) {
	case ALGO_TOKEN_BUCKET:
		bucket_give_back(limit, state, cost);
		break;
	case ALGO_FIXED_WINDOW:
	case ALGO_SLIDING_WINDOW:
		if ((__u32)state->word >= cost)
			state->word -= cost;
		break;
	default:
		if (ring)
			log_give_back(limit, state, ring);
		break;
	}
}

/*
 * Tokens that were granted elsewhere. The bucket may owe beyond its burst, up to debt_ns: what
 * several nodes gave out before they heard of each other is paid back before more is granted.
 */
ALGO_INLINE int bucket_charge(const struct limit *limit, struct state *state, __u64 now, __u64 cost,
			      __u64 debt_ns)
{
	__u64 most = limit->burst_ns + debt_ns;
	struct ns_frac full = { state->word, state->extra };
	struct ns_frac latest = { now + most, limit->burst_frac };

	if (latest.ns >= STATE_BANNED)
		latest = (struct ns_frac){ STATE_BANNED - 1, 0 };
	if (full.ns < now)
		full = (struct ns_frac){ now, 0 };
	if (!ns_frac_after(latest, full))
		return 0;
	if (limit->interval_ns && cost > most / limit->interval_ns)
		full = latest;
	else
		full = ns_frac_add(full, token_time(limit, cost));
	if (ns_frac_after(full, latest))
		full = latest;
	state->word = full.ns;
	state->extra = full.frac;
	return 1;
}

/* What is over the quota is worth what it says: in a sliding window it counts on in the next. */
ALGO_INLINE int window_charge(const struct limit *limit, struct state *state, __u64 now, __u64 cost)
{
	struct window window = window_at(limit, state, now);
	__u64 current = window.current + cost;

	if (current > 0xffffffff)
		current = 0xffffffff;
	if (!current)
		return 0;
	state->word = window.number << 32 | current;
	if (limit->algorithm == ALGO_SLIDING_WINDOW)
		state->extra = (__u32)window.previous;
	return 1;
}

/*
 * Charge what cannot be refused any more. cost below 2^32, debt_ns at most 2^62. Returns 0 and the
 * state untouched where there is nothing to say: under a ban, to a bucket that owes all it may,
 * and to a log, which would need the time of each packet.
 */
ALGO_INLINE int state_charge(const struct limit *limit, struct state *state, __u64 now, __u64 cost,
			     __u64 debt_ns)
{
	struct state next = *state;
	int changed = 0;

	if (state_banned(state->word, now) || limit->algorithm == ALGO_SLIDING_LOG)
		return 0;
	if (next.word & STATE_BANNED) {
		next.word = 0;
		next.extra = 0;
	}
	if (limit->algorithm == ALGO_TOKEN_BUCKET)
		changed = bucket_charge(limit, &next, now, cost, debt_ns);
	else
		changed = window_charge(limit, &next, now, cost);
	if (changed)
		*state = next;
	return changed;
}

ALGO_INLINE void state_ban(const struct limit *limit, struct state *state, __u64 now)
{
	state->word = STATE_BANNED | (now + limit->ban_ns);
	state->extra = 0;
}

/* A log with no packet in it. Volatile: clang would make a memset of it, which BPF has not. */
ALGO_INLINE void log_clear(struct log_ring *ring)
{
	for (int i = 0; ring && i < LOG_SLOTS; i++)
		*(volatile __u64 *)&ring->at[i] = 0;
}

/*
 * Turns `state`, which is live, into what a newcomer that displaces it starts
 * with: at least the displaced one's debt, so that the displaced source, coming
 * back, finds at least what it owed (Metwally, Agrawal, El Abbadi: Efficient
 * computation of frequent and top-k elements in data streams, ICDT 2005): that
 * holds as states are displaced by their rank, and ranks never go down below
 * what any displaced source owes. Where a rank does not tell the whole debt, the
 * rest counts as spent: a fraction of a ns, the window before. A ban is not
 * inherited, the newcomer did nothing; it starts with nothing left, or with what
 * the end of the ban leaves. Returns 0 if the newcomer displaces nobody: a log,
 * whose word tells only its newest packet.
 */
ALGO_INLINE int state_inherit(const struct limit *limit, struct state *state, __u64 now)
{
	__u64 rank = state_rank(limit, state->word), number;

	switch (limit->algorithm) {
	case ALGO_TOKEN_BUCKET:
		if (state->word & STATE_BANNED)
			state->word = rank < now + limit->burst_ns ? rank : now + limit->burst_ns;
		state->extra = 0xffffffff;
		return 1;
	case ALGO_FIXED_WINDOW:
	case ALGO_SLIDING_WINDOW:
		if (state->word & STATE_BANNED) {
			number = now / limit->interval_ns;
			if (rank >> 32 < number)
				number = rank >> 32;
			state->word = number << 32 | (__u32)limit->burst;
		}
		state->extra = (__u32)limit->burst;
		return 1;
	default:
		return 0;
	}
}

/*
 * Judged from a word that is no ban, without the lock: a packet of this cost is
 * refused for certain before the time returned; 0: it may pass already. The
 * fraction is not read, so an edge within 1 ns is left to the locked look, as
 * is a log, whose word does not tell.
 */
ALGO_INLINE __u64 word_refused_until(const struct limit *limit, __u64 word, __u64 cost)
{
	__u64 spare;

	switch (limit->algorithm) {
	case ALGO_TOKEN_BUCKET:
		if (cost > limit->burst)
			return ~0ULL;
		spare = limit->burst_ns - token_time(limit, cost).ns;
		return word > spare ? word - spare : 0;
	case ALGO_FIXED_WINDOW:
	case ALGO_SLIDING_WINDOW:
		if ((__u32)word + cost <= limit->burst)
			return 0;
		return ((word >> 32) + 1) * limit->interval_ns;
	default:
		return 0;
	}
}

ALGO_INLINE int word_refuses(const struct limit *limit, __u64 word, __u64 now, __u64 cost)
{
	return now < word_refused_until(limit, word, cost);
}

#endif
