/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bounded store of states, one seam over three kinds: look (without a
 * lock: is a refusal certain?), take (decide and charge) and give back. A
 * charge names the limit's state by its key. Must not know packets, policies
 * or verdicts. The time is a parameter: the kernel allows no clock under a
 * spin lock, nor any other call, so all that happens there is inlined.
 */
#ifndef WEIR_TABLE_H
#define WEIR_TABLE_H

#include "algo.h"
#include "count.h"
#include "key.h"
#include "maps.h"

/* What one limit says to a packet. */
enum outcome {
	OUTCOME_GRANTED,
	OUTCOME_REFUSED,
	OUTCOME_BANNED,
	OUTCOME_FULL, /* a newcomer the table can't remember as it would have to */
	OUTCOME_OPEN, /* of a look: only a take can tell */
};

struct charge {
	struct key key;
	__u64 hash; /* of the key; 0 for a shared limit */
	__u64 now;
	__u64 cost;
	__u64 word;  /* of the state, as a look found it, table `sets` */
	__u64 next;  /* what it becomes when charged; NEXT_UNKNOWN, NEXT_LOCKED */
	__u32 extra; /* of the state, and stays */
	__u32 set;   /* where */
	__u16 way;   /* SET_WAYS: nowhere */
	__u16 tally; /* the slot that may count for it */
};

#define NEXT_UNKNOWN 0	     /* no state that was charged has this word */
#define NEXT_LOCKED  (~0ULL) /* not granted by its word alone */

/* What a look, which takes no lock, found: a refusal that is certain before `until`; 0: none. */
struct look {
	__u64 until;
	__u32 outcome;
	struct set *set;	 /* table `sets`; NULL: no state */
	struct hash_state *cell; /* the other tables; NULL: no state */
};

/* What a state's word says for certain; a refusal that begins a ban has to be written. */
static __always_inline void look_at_word(const struct limit *limit, __u64 word, __u64 cost,
					 struct look *look)
{
	if (word == STATE_LIFTED)
		return;
	if (word & STATE_BANNED) {
		look->outcome = OUTCOME_BANNED;
		look->until = word & ~STATE_BANNED;
	} else if (!limit->ban_ns) {
		look->outcome = OUTCOME_REFUSED;
		look->until = word_refused_until(limit, word, cost);
	}
}

/*
 * Charge a state that the source owns; with a ban on the limit, a refusal begins it. A packet that
 * could never pass says nothing of a rate: it begins none, whether or not the source is known.
 */
static __always_inline int charge_state(const struct limit *limit, struct state *state,
					struct log_ring *ring, const struct charge *charge)
{
	if (state_take(limit, state, ring, charge->now, charge->cost))
		return OUTCOME_GRANTED;
	if (state_banned(state->word, charge->now))
		return OUTCOME_BANNED;
	if (limit->ban_ns && charge->cost <= limit->burst)
		state_ban(limit, state, charge->now);
	return OUTCOME_REFUSED;
}

/* ---- sets: a hash table of small sets, each under a lock ---- */

static __always_inline __u32 set_index(const struct limit *limit, const struct charge *charge)
{
	return limit->slice_base + ((__u32)charge->hash & limit->slice_mask);
}

/*
 * Comparisons without a branch. In which way a source lies is a toss to the
 * branch predictor, and for the verifier each branch is a world of its own.
 * `hide` keeps clang from seeing the comparison and branching after all.
 */
static __always_inline __u64 hide(__u64 x)
{
	asm volatile("" : "+r"(x));
	return x;
}

static __always_inline __u64 same(__u64 a, __u64 b)
{
	__u64 differs = a ^ b;

	return ((differs | hide(-differs)) >> 63) ^ 1;
}

/* The borrow of a - b (Warren: Hacker's Delight, 2-13). */
static __always_inline __u64 less(__u64 a, __u64 b)
{
	return ((~a & b) | ((~a | b) & hide(a - b))) >> 63;
}

static __always_inline __u64 choose(__u64 condition, __u64 yes, __u64 no)
{
	return no ^ ((yes ^ no) & hide(-condition));
}

/* By nibble: the lowest bit that is set in 0..15, SET_WAYS for none. */
#define LOWEST_BIT 0x0102010301020104ULL

/* The way that holds the key, or SET_WAYS. An empty way may match ::/64, which does no harm. */
static __always_inline __u32 set_find(const struct set *set, const struct limit *limit,
				      const struct key *key)
{
	const __u64 *held = set->hot.key;
	__u64 hits;

	if (limit->flags & LIMIT_WIDE)
		hits = (same(held[0], key->hi) & same(held[1], key->lo)) |
		       (same(held[2], key->hi) & same(held[3], key->lo)) << 1;
	else
		hits = same(held[0], key->hi) | same(held[1], key->hi) << 1 |
		       same(held[2], key->hi) << 2 | same(held[3], key->hi) << 3;
	return LOWEST_BIT >> (4 * hits) & 7;
}

/* The mask that the verifier has to see where a way is used; a plain one the compiler may prove
 * away, each version at another place. */
static __always_inline __u32 way_bounded(__u32 way)
{
	barrier_var(way);
	return way & (SET_WAYS - 1);
}

/* Where in hot.key the key of a way begins. */
static __always_inline __u32 set_key_at(const struct limit *limit, __u32 way)
{
	return (limit->flags & LIMIT_WIDE ? 2 * way : way) & (SET_WAYS - 1);
}

static __always_inline int set_holds(const struct set *set, const struct limit *limit, __u32 way,
				     const struct key *key)
{
	__u32 at = set_key_at(limit, way);

	return READ_ONCE(set->hot.key[at]) == key->hi &&
	       (!(limit->flags & LIMIT_WIDE) ||
		READ_ONCE(set->hot.key[(at + 1) & (SET_WAYS - 1)]) == key->lo);
}

/* Of a state that is lifted nobody can tell; it may be the cheapest. */
static __always_inline __u64 rank_of(const struct limit *limit, __u64 word)
{
	return choose(same(word, STATE_LIFTED), 0, state_rank(limit, word));
}

/* The way that is cheapest to forget, and the word that says so. */
static __always_inline __u32 set_cheapest(const struct set *set, const struct limit *limit,
					  __u64 *ranked)
{
	__u64 word = READ_ONCE(set->hot.word[0]), least = rank_of(limit, word);
	__u64 wide = limit->flags / LIMIT_WIDE & 1;
	__u64 way = 0;

	*ranked = word;
	for (__u32 i = 1; i < SET_WAYS; i++) {
		__u64 rank, better;

		word = READ_ONCE(set->hot.word[i]);
		rank = rank_of(limit, word);
		better = less(rank, least) & (i < SET_WAYS_WIDE ? 1 : 1 ^ wide);
		least = choose(better, rank, least);
		way = choose(better, i, way);
		*ranked = choose(better, word, *ranked);
	}
	return way;
}

static __always_inline void set_write_key(struct set *set, const struct limit *limit, __u32 way,
					  const struct key *key)
{
	__u32 at = set_key_at(limit, way);

	set->hot.key[at] = key->hi;
	if (limit->flags & LIMIT_WIDE)
		set->hot.key[(at + 1) & (SET_WAYS - 1)] = key->lo;
}

/*
 * A state that is known is charged without the lock where one compare-and-swap of its word does it
 * (sets_take_known). So whoever holds the lock lifts the word out before it reads the rest: no swap
 * succeeds until the state, whole again, is written back.
 */
static __always_inline struct state set_lift(struct set *set, __u32 way)
{
	struct state state = { .word = __sync_lock_test_and_set(&set->hot.word[way],
								STATE_LIFTED) };

	state.extra = set->cold.extra[way];
	return state;
}

/* Behind all else that was written: the exchange is a barrier. */
static __always_inline void set_put_back(struct set *set, __u32 way, __u64 word)
{
	__sync_lock_test_and_set(&set->hot.word[way], word);
}

enum lift_size {
	LIFT_TRIES = 3,
};

/*
 * Lift the cheapest state, as it was ranked: one that was charged meanwhile need not be the
 * cheapest any more.
 */
static __always_inline __u32 set_lift_cheapest(struct set *set, const struct limit *limit,
					       struct state *state)
{
	__u32 way = 0;

	for (int i = 0; i < LIFT_TRIES; i++) {
		__u64 ranked;

		way = way_bounded(set_cheapest(set, limit, &ranked));
		*state = set_lift(set, way);
		if (state->word == ranked || i == LIFT_TRIES - 1)
			break;
		set_put_back(set, way, state->word);
	}
	return way;
}

/* With its family each time: a source may hit a way that is empty, as the key of one forgotten. */
static __always_inline void set_write_state(struct set *set, __u32 way, __u32 family,
					    const struct state *state)
{
	set->cold.extra[way] = state->extra;
	set->cold.families &= ~(3 << 2 * way);
	set->cold.families |= family_code(family) << 2 * way;
	set_put_back(set, way, state->word);
}

/* 40-bit counters that stop at the top. Counted outside of the lock too: atomic. */
static __always_inline void count_40(__u32 *low, __u8 *high, __u32 packets)
{
	__u32 before;

	if (*high == 0xff)
		return;
	before = __sync_fetch_and_add(low, packets);
	if (before + packets < before)
		(*high)++;
}

static __always_inline void set_count(struct set *set, __u32 way, __u32 passed, __u32 dropped)
{
	way = way_bounded(way);
	if (passed)
		count_40(&set->cold.passed[way], &set->cold.passed_high[way], passed);
	if (dropped)
		count_40(&set->cold.dropped[way], &set->cold.dropped_high[way], dropped);
}

static __always_inline void set_forget_counts(struct set *set, __u32 way)
{
	set->cold.passed[way] = 0;
	set->cold.dropped[way] = 0;
	set->cold.passed_high[way] = 0;
	set->cold.dropped_high[way] = 0;
}

enum tally_size {
	TALLY_PATIENCE = 64, /* drops of others after which a slot changes hands */
};

static __always_inline struct tally *tally_slot(__u32 number)
{
	__u32 zero = 0;
	struct tallies *tallies = bpf_map_lookup_elem(&tally, &zero);

	return tallies ? &tallies->slot[number & (TALLY_SLOTS - 1)] : NULL;
}

static __always_inline int tally_is(const struct tally *slot, const struct charge *charge)
{
	return slot->set == charge->set && slot->way == charge->way &&
	       slot->key.hi == charge->key.hi && slot->key.lo == charge->key.lo;
}

/* Hand what a slot has counted to the state it was counted for, if that is still there. */
static __always_inline void tally_settle(const struct tally *slot)
{
	__u32 index = slot->set;
	struct set *set = bpf_map_lookup_elem(&sets, &index);

	if (!set || !slot->dropped)
		return;
	if (set->hot.key[slot->key_at & (SET_WAYS - 1)] == slot->key.hi)
		set_count(set, slot->way, 0, slot->dropped);
}

/* Far from the usual way: a function by itself. */
__noinline int tally_hand_over(struct tally *slot, const struct limit *limit,
			       const struct charge *charge)
{
	if (!slot || !limit || !charge)
		return 0;
	tally_settle(slot);
	*slot = (struct tally){
		.key = charge->key,
		.set = charge->set,
		.way = charge->way,
		.key_at = set_key_at(limit, charge->way),
	};
	return 0;
}

/* A slot is settled before its count overflows, whoever has it. */
static __always_inline int tally_is_full(const struct tally *slot)
{
	return slot->dropped >> 31;
}

/* The slot of the charged state, taken over if need be; NULL: it is another's who is still busy. */
static __always_inline struct tally *tally_of(const struct limit *limit,
					      const struct charge *charge)
{
	struct tally *slot = tally_slot(charge->tally);
	int own = slot && tally_is(slot, charge);

	if (!slot || (!own && slot->dropped && ++slot->missed < TALLY_PATIENCE))
		return NULL;
	if (!own || tally_is_full(slot))
		tally_hand_over(slot, limit, charge);
	slot->missed = 0;
	return slot;
}

/*
 * Count a drop that was decided without the lock. A source under flood soon owns the slot of its
 * CPU, and no line that another CPU reads is written; the many others pay for an atomic add.
 * Returns whether the CPU keeps the count.
 */
static __always_inline int tally_drop(struct set *set, const struct limit *limit,
				      const struct charge *charge)
{
	struct tally *slot = tally_of(limit, charge);

	if (slot)
		slot->dropped++;
	else
		set_count(set, charge->way, 0, 1);
	return slot != NULL;
}

/*
 * A newcomer is refused for certain where the debt of the cheapest state refuses it, which lives as
 * long as it does.
 */
static __always_inline void sets_look_miss(const struct set *set, const struct limit *limit,
					   __u64 cost, struct look *look)
{
	__u64 word;

	set_cheapest(set, limit, &word);
	if ((limit->flags & LIMIT_LENIENT) || word == STATE_LIFTED || cost > limit->burst)
		return;
	look->outcome = OUTCOME_FULL;
	if (limit->algorithm == ALGO_SLIDING_LOG)
		look->until = word & ~STATE_BANNED;
	else if (!(word & STATE_BANNED))
		look->until = word_refused_until(limit, word, cost);
}

/* The way that holds the key: most often that of the last packet, or SET_WAYS. */
static __always_inline __u32 set_find_again(const struct set *set, const struct limit *limit,
					    const struct charge *charge, __u32 index)
{
	__u32 way = charge->way;

	if (way < (limit->flags & LIMIT_WIDE ? SET_WAYS_WIDE : SET_WAYS) && charge->set == index) {
		way = way_bounded(way);
		if (set_holds(set, limit, way, &charge->key))
			return way;
	}
	return set_find(set, limit, &charge->key);
}

/*
 * What the state that a look has found becomes, if the packet is granted at charge->now. More than
 * its word is left to the lock. Returns whether it is granted, and by its word alone.
 */
static __always_inline int sets_plan(const struct set *set, const struct limit *limit,
				     struct charge *charge)
{
	__u32 way = way_bounded(charge->way), extra = READ_ONCE(set->cold.extra[way]);
	struct state state = { .word = charge->word, .extra = extra };

	charge->next = NEXT_LOCKED;
	if (limit->algorithm == ALGO_SLIDING_LOG ||
	    family_of_way(set->cold.families, way) != charge->key.family ||
	    !state_take(limit, &state, NULL, charge->now, charge->cost) || state.extra != extra)
		return 0;
	charge->next = state.word;
	charge->extra = extra;
	return 1;
}

/*
 * The word is read between two looks at the key: of a way that changed hands meanwhile it tells
 * nothing. Where the time is known and the packet is granted, that is all there is to find. The
 * second line is wanted soon after the first; asked for here, it comes at the same time.
 */
static __always_inline void sets_look(const struct limit *limit, struct charge *charge,
				      struct look *look)
{
	__u32 index = set_index(limit, charge);
	struct set *set = bpf_map_lookup_elem(&sets, &index);
	__u32 way;

	if (!set)
		return;
	barrier_var(set); /* one pointer, not made anew from the index */
	(void)READ_ONCE(set->cold.extra[0]);
	way = set_find_again(set, limit, charge, index);
	charge->set = index;
	charge->way = way;
	if (way >= SET_WAYS) {
		sets_look_miss(set, limit, charge->cost, look);
		return;
	}
	way = way_bounded(way);
	charge->word = READ_ONCE(set->hot.word[way]);
	barrier();
	if (!set_holds(set, limit, way, &charge->key)) {
		charge->way = SET_WAYS;
		return;
	}
	look->set = set;
	if (charge->now && sets_plan(set, limit, charge))
		return;
	charge->tally = ((charge->hash >> 32) + limit->id) & (TALLY_SLOTS - 1);
	look_at_word(limit, charge->word, charge->cost, look);
}

static __always_inline struct log_set *set_rings(const struct limit *limit,
						 const struct charge *charge)
{
	__u32 index = limit->log_base + ((__u32)charge->hash & limit->slice_mask);

	if (limit->algorithm != ALGO_SLIDING_LOG)
		return NULL;
	return bpf_map_lookup_elem(&logs, &index);
}

/* What a newcomer starts with in the place of `state`: 0 if it can't be let in. */
static __always_inline int newcomer_state(const struct limit *limit, struct state *state,
					  struct log_ring *ring, int live, __u64 now)
{
	if (live && !(limit->flags & LIMIT_LENIENT))
		return state_inherit(limit, state, now);
	if (live)
		log_clear(ring);
	state->word = 0;
	state->extra = 0;
	return 1;
}

/* Under the lock: decide for the state in `way`, write it back. */
static __always_inline int set_take_hit(struct set *set, __u32 way, const struct limit *limit,
					struct log_ring *ring, const struct charge *charge)
{
	struct state state = set_lift(set, way);
	int outcome = charge_state(limit, &state, ring, charge);

	set_write_state(set, way, charge->key.family, &state);
	set_count(set, way, outcome == OUTCOME_GRANTED, outcome != OUTCOME_GRANTED);
	return outcome;
}

static __always_inline void set_write_newcomer(struct set *set, __u32 way,
					       const struct limit *limit, const struct key *key,
					       const struct state *state)
{
	set_write_key(set, limit, way, key);
	set_forget_counts(set, way);
	set_write_state(set, way, key->family, state);
}

/*
 * Under the lock, the word of `way` lifted: a newcomer takes the way if it is granted. Refused, it
 * leaves no trace, but where the whole set is banned: there its empty bucket stays in the place of
 * the ban that ends first.
 */
static __always_inline int set_take_miss(struct set *set, __u32 way, const struct limit *limit,
					 struct log_ring *ring, const struct charge *charge,
					 const struct state *old, int live)
{
	struct state state = *old;
	int stays = 0, outcome = OUTCOME_FULL;

	if (charge->cost > limit->burst) {
		outcome = OUTCOME_REFUSED;
	} else if (newcomer_state(limit, &state, ring, live, charge->now)) {
		if (state_take(limit, &state, ring, charge->now, charge->cost))
			outcome = OUTCOME_GRANTED;
		stays = outcome == OUTCOME_GRANTED || (live && (old->word & STATE_BANNED));
	}
	if (stays)
		set_write_newcomer(set, way, limit, &charge->key, &state);
	else
		set_put_back(set, way, old->word);
	if (outcome == OUTCOME_GRANTED)
		set_count(set, way, 1, 0);
	return outcome;
}

__noinline int sets_take_locked(const struct limit *limit, const struct charge *charge)
{
	struct log_set *rings;
	struct log_ring *ring;
	int outcome, live = 0;
	struct set *set;
	__u32 index, way;

	if (!limit || !charge)
		return OUTCOME_FULL;
	index = set_index(limit, charge);
	set = bpf_map_lookup_elem(&sets, &index);
	rings = set_rings(limit, charge);
	if (!set)
		return OUTCOME_FULL;
	bpf_spin_lock(&set->lock);
	way = set_find(set, limit, &charge->key);
	if (way < SET_WAYS) {
		way = way_bounded(way);
		ring = rings ? &rings->way[way_bounded(way)] : NULL;
		outcome = set_take_hit(set, way, limit, ring, charge);
	} else {
		struct state old;

		way = way_bounded(set_lift_cheapest(set, limit, &old));
		ring = rings ? &rings->way[way_bounded(way)] : NULL;
		live = state_live(limit, old.word, charge->now);
		outcome = set_take_miss(set, way, limit, ring, charge, &old, live);
	}
	bpf_spin_unlock(&set->lock);
	if (live && outcome == OUTCOME_GRANTED)
		count(limit->cells + CELL_LIMIT_DISPLACED, 0);
	return outcome;
}

/* Where a look did not know the time: seldom enough for a function by itself. */
__noinline int sets_plan_late(const struct limit *limit, struct charge *charge)
{
	struct set *set;
	__u32 index;

	if (!limit || !charge)
		return 0;
	index = charge->set;
	set = bpf_map_lookup_elem(&sets, &index);
	return set ? sets_plan(set, limit, charge) : 0;
}

/*
 * Does a charge stand whose word was swapped in? Not where more than the word has changed since the
 * plan, nor where another source has got the way and, by chance, the very word: that one gets its
 * token back. What has been charged on meanwhile can't be taken back: if it is the source's own,
 * the charge stands, as what came behind was charged to it.
 */
static __always_inline int sets_charge_stands(struct set *set, const struct limit *limit,
					      const struct charge *charge, __u32 way)
{
	int own = set_holds(set, limit, way, &charge->key);

	if (own && READ_ONCE(set->cold.extra[way]) == charge->extra)
		return 1;
	return __sync_val_compare_and_swap(&set->hot.word[way], charge->next, charge->word) !=
		       charge->next &&
	       own;
}

/*
 * Charge a state that a look has found, without the lock: granted, or OUTCOME_OPEN where more than
 * its word is to change, or it has changed since.
 */
static __always_inline int sets_take_known(const struct limit *limit, struct charge *charge,
					   struct set *set)
{
	__u32 index = charge->set, way = way_bounded(charge->way);

	if (charge->way >= SET_WAYS)
		return OUTCOME_OPEN;
	if (!set)
		set = bpf_map_lookup_elem(&sets, &index);
	if (!set)
		return OUTCOME_OPEN;
	if (charge->next == NEXT_UNKNOWN)
		sets_plan_late(limit, charge);
	if (charge->next == NEXT_LOCKED ||
	    __sync_val_compare_and_swap(&set->hot.word[way], charge->word, charge->next) !=
		    charge->word ||
	    !sets_charge_stands(set, limit, charge, way))
		return OUTCOME_OPEN;
	set_count(set, way, 1, 0);
	return OUTCOME_GRANTED;
}

static __always_inline void sets_give_back(const struct limit *limit, const struct charge *charge)
{
	__u32 index = set_index(limit, charge);
	struct set *set = bpf_map_lookup_elem(&sets, &index);
	struct log_set *rings = set_rings(limit, charge);
	__u32 way;

	if (!set)
		return;
	bpf_spin_lock(&set->lock);
	way = set_find(set, limit, &charge->key);
	if (way < SET_WAYS) {
		struct state state;

		way = way_bounded(way);
		state = set_lift(set, way);
		state_give_back(limit, &state, rings ? &rings->way[way_bounded(way)] : NULL,
				charge->cost);
		set_write_state(set, way, charge->key.family, &state);
		if (set->cold.passed[way])
			__sync_fetch_and_sub(&set->cold.passed[way], 1);
	}
	bpf_spin_unlock(&set->lock);
}

/* ---- hash and percpu: the kernel's hash tables, a struct hash_state for each key ---- */

static __always_inline struct hash_key hash_key_of(const struct limit *limit,
						   const struct charge *charge)
{
	return (struct hash_key){ charge->key.hi, charge->key.lo, charge->key.family, limit->id };
}

static const struct hash_cell empty_cell;
static const struct log_ring empty_ring;

static __always_inline int cell_take(struct hash_state *cell, const struct limit *limit,
				     struct log_ring *ring, const struct charge *charge)
{
	struct state state = { cell->word, cell->extra, 0 };
	int outcome = charge_state(limit, &state, ring, charge);

	cell->word = state.word;
	cell->extra = state.extra;
	if (outcome == OUTCOME_GRANTED)
		cell->passed++;
	else
		__sync_fetch_and_add(&cell->dropped, 1);
	return outcome;
}

static __always_inline void cell_give_back(struct hash_state *cell, const struct limit *limit,
					   struct log_ring *ring, const struct charge *charge)
{
	struct state state = { cell->word, cell->extra, 0 };

	state_give_back(limit, &state, ring, charge->cost);
	cell->word = state.word;
	cell->extra = state.extra;
	if (cell->passed)
		cell->passed--;
}

/* No room: strict refuses who can't be remembered, lenient lets it pass; both are counted. */
static __always_inline int hash_full(const struct limit *limit)
{
	if (!(limit->flags & LIMIT_LENIENT))
		return OUTCOME_FULL;
	count(limit->cells + CELL_LIMIT_DISPLACED, 0);
	return OUTCOME_GRANTED;
}

/* Finds what `key` maps to, made from `empty` when it is new; NULL: no room. */
#define FIND_OR_MAKE(map, key, empty)                                      \
	({                                                                 \
		void *found_ = bpf_map_lookup_elem(map, key);              \
		if (!found_) {                                             \
			bpf_map_update_elem(map, key, empty, BPF_NOEXIST); \
			found_ = bpf_map_lookup_elem(map, key);            \
		}                                                          \
		found_;                                                    \
	})

static __always_inline int hash_take(const struct limit *limit, const struct charge *charge)
{
	struct hash_key key = hash_key_of(limit, charge);
	struct hash_cell *cell = FIND_OR_MAKE(&hash, &key, &empty_cell);
	struct log_ring *ring = NULL;
	int outcome;

	if (!cell)
		return charge->cost > limit->burst ? OUTCOME_REFUSED : hash_full(limit);
	if (limit->algorithm == ALGO_SLIDING_LOG) {
		ring = FIND_OR_MAKE(&hash_logs, &key, &empty_ring);
		if (!ring)
			return hash_full(limit);
	}
	bpf_spin_lock(&cell->lock);
	outcome = cell_take(&cell->state, limit, ring, charge);
	bpf_spin_unlock(&cell->lock);
	return outcome;
}

static __always_inline void hash_give_back(const struct limit *limit, const struct charge *charge)
{
	struct hash_key key = hash_key_of(limit, charge);
	struct hash_cell *cell = bpf_map_lookup_elem(&hash, &key);
	struct log_ring *ring = NULL;

	if (limit->algorithm == ALGO_SLIDING_LOG)
		ring = bpf_map_lookup_elem(&hash_logs, &key);
	if (!cell)
		return;
	bpf_spin_lock(&cell->lock);
	cell_give_back(&cell->state, limit, ring, charge);
	bpf_spin_unlock(&cell->lock);
}

/* The map is an LRU: there is always room, at the expense of the source not seen for longest. */
static __always_inline int percpu_take(const struct limit *limit, const struct charge *charge)
{
	struct hash_key key = hash_key_of(limit, charge);
	struct hash_state *cell = FIND_OR_MAKE(&percpu, &key, &empty_cell.state);
	struct log_ring *ring = NULL;

	if (limit->algorithm == ALGO_SLIDING_LOG)
		ring = FIND_OR_MAKE(&percpu_logs, &key, &empty_ring);
	if (!cell || (limit->algorithm == ALGO_SLIDING_LOG && !ring))
		return hash_full(limit);
	return cell_take(cell, limit, ring, charge);
}

static __always_inline void percpu_give_back(const struct limit *limit, const struct charge *charge)
{
	struct hash_key key = hash_key_of(limit, charge);
	struct hash_state *cell = bpf_map_lookup_elem(&percpu, &key);
	struct log_ring *ring = NULL;

	if (limit->algorithm == ALGO_SLIDING_LOG)
		ring = bpf_map_lookup_elem(&percpu_logs, &key);
	if (cell)
		cell_give_back(cell, limit, ring, charge);
}

/*
 * ---- the seam; table_kind is constant, so the program holds the code of one table ----
 *
 * Global functions: the verifier proves each once, whoever calls, which keeps
 * its work small. It takes no pointer of theirs for granted.
 */

/*
 * Until when is a refusal certain, without a lock and whatever the time is? charge->now: the time,
 * if it is known; else 0.
 */
static __always_inline void table_look(const struct limit *limit, struct charge *charge,
				       struct look *look)
{
	struct hash_key key;

	*look = (struct look){};
	if (table_kind == TABLE_SETS) {
		sets_look(limit, charge, look);
		return;
	}
	key = hash_key_of(limit, charge);
	if (table_kind == TABLE_HASH)
		look->cell = bpf_map_lookup_elem(&hash, &key);
	else
		look->cell = bpf_map_lookup_elem(&percpu, &key);
	if (look->cell)
		look_at_word(limit, READ_ONCE(look->cell->word), charge->cost, look);
}

/*
 * Fetch the set of a source that is not that of the last packet, while the clock is read or the way
 * is looked for. A store is the one instruction of BPF that does not wait for its line.
 */
static __always_inline void table_touch(const struct limit *limit, const struct charge *charge)
{
	__u32 index = set_index(limit, charge);
	struct set *set;

	if (table_kind != TABLE_SETS)
		return;
	set = bpf_map_lookup_elem(&sets, &index);
	if (set)
		*(volatile __u8 *)&set->cold.touched = 1;
}

/*
 * Count the refusal that a look has told. Returns whether the CPU keeps the count of this state,
 * as it does of those that it meets often.
 */
static __always_inline int table_refused(const struct limit *limit, const struct charge *charge,
					 const struct look *look)
{
	if (look->set)
		return tally_drop(look->set, limit, charge);
	if (look->cell)
		__sync_fetch_and_add(&look->cell->dropped, 1);
	return 0;
}

/* The other tables' part of table_take_locked. */
__noinline int hashes_take(const struct limit *limit, const struct charge *charge)
{
	if (!limit || !charge)
		return OUTCOME_FULL;
	return table_kind == TABLE_HASH ? hash_take(limit, charge) : percpu_take(limit, charge);
}

/* Decide, and charge if granted: what no look could settle. */
static __always_inline int table_take_locked(const struct limit *limit, const struct charge *charge)
{
	return table_kind == TABLE_SETS ? sets_take_locked(limit, charge)
					: hashes_take(limit, charge);
}

/* Decide, and charge if granted. `set`: what the look found, or NULL where that is forgotten. */
static __always_inline int table_take(const struct limit *limit, struct charge *charge,
				      struct set *set)
{
	if (table_kind == TABLE_SETS && sets_take_known(limit, charge, set) == OUTCOME_GRANTED)
		return OUTCOME_GRANTED;
	return table_take_locked(limit, charge);
}

/* Undo a take that was granted. */
__noinline int table_give_back(const struct limit *limit, const struct charge *charge)
{
	if (!limit || !charge)
		return 0;
	if (table_kind == TABLE_SETS)
		sets_give_back(limit, charge);
	else if (table_kind == TABLE_HASH)
		hash_give_back(limit, charge);
	else
		percpu_give_back(limit, charge);
	return 0;
}

#endif
