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
};

#define READ_ONCE(x) (*(const volatile typeof(x) *)&(x))

/* What a state's word says for certain; a refusal that begins a ban has to be written. */
static __always_inline int word_outcome(const struct limit *limit, __u64 word,
					const struct charge *charge)
{
	if (state_banned(word, charge->now))
		return OUTCOME_BANNED;
	if (!(word & STATE_BANNED) && !limit->ban_ns &&
	    word_refuses(limit, word, charge->now, charge->cost))
		return OUTCOME_REFUSED;
	return OUTCOME_OPEN;
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

/* The way that is cheapest to forget. */
static __always_inline __u32 set_cheapest(const struct set *set, const struct limit *limit)
{
	__u64 least = state_rank(limit, READ_ONCE(set->hot.word[0]));
	__u64 wide = limit->flags / LIMIT_WIDE & 1;
	__u64 way = 0;

	for (__u32 i = 1; i < SET_WAYS; i++) {
		__u64 rank = state_rank(limit, READ_ONCE(set->hot.word[i]));
		__u64 better = less(rank, least) & (i < SET_WAYS_WIDE ? 1 : 1 ^ wide);

		least = choose(better, rank, least);
		way = choose(better, i, way);
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

static __always_inline struct state set_state(const struct set *set, __u32 way)
{
	return (struct state){ set->hot.word[way], set->cold.extra[way], 0 };
}

/* With its family each time: a source may hit a way that is empty, as the key of one forgotten. */
static __always_inline void set_write_state(struct set *set, __u32 way, const struct key *key,
					    const struct state *state)
{
	set->hot.word[way] = state->word;
	set->cold.extra[way] = state->extra;
	set->cold.family[way] = key->family;
}

/* 40-bit counters that stop at the top. Drops are also counted outside of the lock: atomic. */
static __always_inline void set_count_dropped(struct set *set, __u32 way, __u32 packets)
{
	__u32 before;

	way = way_bounded(way);
	if (set->cold.dropped_high[way] == 0xff)
		return;
	before = __sync_fetch_and_add(&set->cold.dropped[way], packets);
	if (before + packets < before)
		set->cold.dropped_high[way]++;
}

static __always_inline void set_count_passed(struct set *set, __u32 way)
{
	way = way_bounded(way);
	if (set->cold.passed_high[way] == 0xff)
		return;
	if (++set->cold.passed[way] == 0)
		set->cold.passed_high[way]++;
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

static __always_inline int tally_is(const struct tally *slot, __u32 index, __u32 way,
				    const struct key *key)
{
	return slot->set == index && slot->way == way && slot->key.hi == key->hi &&
	       slot->key.lo == key->lo;
}

/* Hand what a slot has counted to the state it was counted for, if that is still there. */
static __always_inline void tally_settle(const struct tally *slot)
{
	__u32 index = slot->set;
	__u32 way = way_bounded(slot->way);
	struct set *set = bpf_map_lookup_elem(&sets, &index);

	if (!set || !slot->count)
		return;
	if (set->hot.key[slot->key_at & (SET_WAYS - 1)] == slot->key.hi)
		set_count_dropped(set, way, slot->count);
}

/*
 * Count a drop that was decided without the lock. A source under flood soon owns the slot of
 * its CPU, and no line that another CPU reads is written; the many others pay for an atomic add.
 */
static __always_inline void tally_drop(struct set *set, __u32 index, __u32 way,
				       const struct limit *limit, const struct charge *charge)
{
	__u32 number = (charge->hash >> 32) & (TALLY_SLOTS - 1);
	struct tally *slot = bpf_map_lookup_elem(&tally, &number);

	if (!slot)
		return;
	if (tally_is(slot, index, way, &charge->key)) {
		slot->count++;
		if (slot->missed)
			slot->missed = 0;
		return;
	}
	if (slot->count && ++slot->missed < TALLY_PATIENCE) {
		set_count_dropped(set, way, 1);
		return;
	}
	tally_settle(slot);
	slot->key = charge->key;
	slot->set = index;
	slot->way = way;
	slot->key_at = set_key_at(limit, way);
	slot->count = 1;
	slot->missed = 0;
}

/* A newcomer is refused for certain where the debt of the cheapest state refuses it. */
static __always_inline int sets_look_miss(const struct set *set, const struct limit *limit,
					  const struct charge *charge)
{
	__u32 way = way_bounded(set_cheapest(set, limit));
	__u64 word = READ_ONCE(set->hot.word[way]);

	if ((limit->flags & LIMIT_LENIENT) || !state_live(limit, word, charge->now))
		return OUTCOME_OPEN;
	if (limit->algorithm == ALGO_SLIDING_LOG)
		return OUTCOME_FULL;
	if (!(word & STATE_BANNED) && word_refuses(limit, word, charge->now, charge->cost))
		return OUTCOME_FULL;
	return OUTCOME_OPEN;
}

/*
 * The word is read between two looks at the key: a way that changed hands
 * meanwhile tells nothing.
 */
static __always_inline int sets_look(const struct limit *limit, const struct charge *charge)
{
	__u32 index = set_index(limit, charge);
	struct set *set = bpf_map_lookup_elem(&sets, &index);
	int outcome;
	__u32 way;

	if (!set)
		return OUTCOME_OPEN;
	way = set_find(set, limit, &charge->key);
	if (way >= SET_WAYS)
		return sets_look_miss(set, limit, charge);
	outcome = word_outcome(limit, READ_ONCE(set->hot.word[way]), charge);
	barrier();
	if (outcome == OUTCOME_OPEN || !set_holds(set, limit, way, &charge->key))
		return OUTCOME_OPEN;
	tally_drop(set, index, way, limit, charge);
	return outcome;
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
	struct state state = set_state(set, way);
	int outcome = charge_state(limit, &state, ring, charge);

	set_write_state(set, way, &charge->key, &state);
	if (outcome == OUTCOME_GRANTED)
		set_count_passed(set, way);
	else
		set_count_dropped(set, way, 1);
	return outcome;
}

static __always_inline void set_write_newcomer(struct set *set, __u32 way,
					       const struct limit *limit, const struct key *key,
					       const struct state *state)
{
	set_write_key(set, limit, way, key);
	set_forget_counts(set, way);
	set_write_state(set, way, key, state);
}

/*
 * Under the lock: a newcomer takes `way` if it is granted. Refused, it leaves no trace, but where
 * the whole set is banned: there its empty bucket stays in the place of the ban that ends first.
 */
static __always_inline int set_take_miss(struct set *set, __u32 way, const struct limit *limit,
					 struct log_ring *ring, const struct charge *charge,
					 int live)
{
	struct state state = set_state(set, way);

	if (charge->cost > limit->burst)
		return OUTCOME_REFUSED;
	if (!newcomer_state(limit, &state, ring, live, charge->now))
		return OUTCOME_FULL;
	if (!state_take(limit, &state, ring, charge->now, charge->cost)) {
		if (live && (set->hot.word[way] & STATE_BANNED))
			set_write_newcomer(set, way, limit, &charge->key, &state);
		return OUTCOME_FULL;
	}
	set_write_newcomer(set, way, limit, &charge->key, &state);
	set_count_passed(set, way);
	return OUTCOME_GRANTED;
}

static __always_inline int sets_take(const struct limit *limit, const struct charge *charge)
{
	__u32 index = set_index(limit, charge);
	struct set *set = bpf_map_lookup_elem(&sets, &index);
	struct log_set *rings = set_rings(limit, charge);
	struct log_ring *ring;
	int outcome, live = 0;
	__u32 way;

	if (!set)
		return OUTCOME_FULL;
	bpf_spin_lock(&set->lock);
	way = set_find(set, limit, &charge->key);
	if (way < SET_WAYS) {
		ring = rings ? &rings->way[way_bounded(way)] : NULL;
		outcome = set_take_hit(set, way, limit, ring, charge);
	} else {
		way = way_bounded(set_cheapest(set, limit));
		ring = rings ? &rings->way[way_bounded(way)] : NULL;
		live = state_live(limit, set->hot.word[way], charge->now);
		outcome = set_take_miss(set, way, limit, ring, charge, live);
	}
	bpf_spin_unlock(&set->lock);
	if (live && outcome == OUTCOME_GRANTED)
		count(limit->cells + CELL_LIMIT_DISPLACED, 0);
	return outcome;
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
		struct state state = set_state(set, way);

		state_give_back(limit, &state, rings ? &rings->way[way_bounded(way)] : NULL,
				charge->cost);
		set_write_state(set, way, &charge->key, &state);
		if (set->cold.passed[way])
			set->cold.passed[way]--;
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

static __always_inline int cell_look(struct hash_state *cell, const struct limit *limit,
				     const struct charge *charge)
{
	__u64 word = READ_ONCE(cell->word);
	int outcome = word_outcome(limit, word, charge);

	if (outcome != OUTCOME_OPEN)
		__sync_fetch_and_add(&cell->dropped, 1);
	return outcome;
}

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

/* Is a refusal certain, without a lock? Else OUTCOME_OPEN. A certain refusal is counted. */
static __always_inline int table_look(const struct limit *limit, const struct charge *charge)
{
	struct hash_state *cell;
	struct hash_key key;

	if (!limit || !charge)
		return OUTCOME_OPEN;
	if (table_kind == TABLE_SETS)
		return sets_look(limit, charge);
	key = hash_key_of(limit, charge);
	if (table_kind == TABLE_HASH)
		cell = bpf_map_lookup_elem(&hash, &key);
	else
		cell = bpf_map_lookup_elem(&percpu, &key);
	return cell ? cell_look(cell, limit, charge) : OUTCOME_OPEN;
}

/* Decide, and charge if granted. */
__noinline int table_take(const struct limit *limit, const struct charge *charge)
{
	if (!limit || !charge)
		return OUTCOME_FULL;
	if (table_kind == TABLE_SETS)
		return sets_take(limit, charge);
	if (table_kind == TABLE_HASH)
		return hash_take(limit, charge);
	return percpu_take(limit, charge);
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
