/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../bpf/algo.h"
#include "limiter.h"
#include "states.h"

static int describe(const struct instance *instance, const struct found *found,
		    struct source_state *out)
{
	const struct owner *owner = found->owner;

	*out = (struct source_state){
		.source = limit_source(&owner->rule, &found->key),
		.policy = owner->policy,
		.limit = owner->limit,
		.entry = owner->entry,
		.rule = owner->rule,
		.state = found->state,
		.passed = found->passed,
		.dropped = found->dropped,
	};
	return states_ring(instance, found, &out->ring);
}

/* ---- the first of an order ---- */

/* What is left to pay off, as a time: windows do so at their end. */
static uint64_t debt_ns(const struct limit *rule, const struct state *state, uint64_t now)
{
	uint64_t word = state->word & ~STATE_BANNED, end;

	if (!state_live(rule, state->word, now))
		return 0;
	if (!(state->word & STATE_BANNED) &&
	    (rule->algorithm == ALGO_FIXED_WINDOW || rule->algorithm == ALGO_SLIDING_WINDOW)) {
		end = ((word >> 32) + 1) * rule->interval_ns;
		return end > now ? end - now : 1;
	}
	return word > now ? word - now : 0;
}

/* A heap of the `most` largest by rank: the least of them is at its root. */
struct ranked {
	uint64_t rank;
	struct found found;
};

struct heap {
	struct ranked *list;
	size_t count, room, most;
	enum source_order order;
	uint64_t now;
};

static void sift_down(struct heap *heap, size_t at)
{
	struct ranked moved = heap->list[at];
	size_t child;

	for (; (child = 2 * at + 1) < heap->count; at = child) {
		if (child + 1 < heap->count && heap->list[child + 1].rank < heap->list[child].rank)
			child++;
		if (heap->list[child].rank >= moved.rank)
			break;
		heap->list[at] = heap->list[child];
	}
	heap->list[at] = moved;
}

static void sift_up(struct heap *heap, size_t at)
{
	struct ranked moved = heap->list[at];

	for (; at && heap->list[(at - 1) / 2].rank > moved.rank; at = (at - 1) / 2)
		heap->list[at] = heap->list[(at - 1) / 2];
	heap->list[at] = moved;
}

static uint64_t rank_of(const struct heap *heap, const struct found *found)
{
	switch (heap->order) {
	case ORDER_PASSED:
		return found->passed;
	case ORDER_DEBT:
		return debt_ns(&found->owner->rule, &found->state, heap->now);
	default:
		return found->dropped;
	}
}

/* `most` may be far more than there are. */
static int make_room(struct heap *heap)
{
	size_t room = heap->room ? 2 * heap->room : 64;
	struct ranked *list = reallocarray(heap->list, room, sizeof(*list));

	if (!list)
		return -ENOMEM;
	heap->list = list;
	heap->room = room;
	return 0;
}

static int visit_top(const struct found *found, void *context)
{
	struct heap *heap = context;
	struct ranked ranked = { rank_of(heap, found), *found };

	if (!ranked.rank || (found->owner->rule.flags & LIMIT_SHARED))
		return 0;
	if (heap->count < heap->most) {
		int err = heap->count == heap->room ? make_room(heap) : 0;

		if (err)
			return err;
		heap->list[heap->count] = ranked;
		sift_up(heap, heap->count++);
	} else if (ranked.rank > heap->list[0].rank) {
		heap->list[0] = ranked;
		sift_down(heap, 0);
	}
	return 0;
}

static int largest_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return (x->rank < y->rank) - (x->rank > y->rank);
}

static int describe_all(const struct instance *instance, const struct heap *heap,
			struct source_state **list, size_t *count)
{
	struct source_state *out = calloc(heap->count + 1, sizeof(*out));
	int err = out ? 0 : -ENOMEM;

	for (size_t i = 0; i < heap->count && !err; i++)
		err = describe(instance, &heap->list[i].found, &out[i]);
	if (err) {
		free(out);
		return err;
	}
	*list = out;
	*count = heap->count;
	return 0;
}

int sources_top(const struct instance *instance, const struct image *image, enum source_order order,
		size_t top, struct source_state **list, size_t *count)
{
	struct heap heap = { .most = top, .order = order, .now = kernel_now_ns() };
	struct owners owners;
	int err = owners_read(instance, image, NULL, &owners);

	if (err)
		return err;
	if (top)
		err = states_walk(instance, &owners, visit_top, &heap);
	if (!err) {
		qsort(heap.list, heap.count, sizeof(*heap.list), largest_first);
		err = describe_all(instance, &heap, list, count);
	}
	free(heap.list);
	owners_free(&owners);
	return err;
}

/* ---- all ---- */

struct walk {
	const struct instance *instance;
	uint64_t now;
	int (*visit)(const struct source_state *state, void *context);
	void *context;
};

static int visit_live(const struct found *found, void *context)
{
	const struct limit *rule = &found->owner->rule;
	const struct walk *walk = context;
	struct source_state state;
	int err;

	if ((rule->flags & LIMIT_SHARED) || !state_live(rule, found->state.word, walk->now))
		return 0;
	err = describe(walk->instance, found, &state);
	return err ? err : walk->visit(&state, walk->context);
}

int sources_walk(const struct instance *instance, const struct image *image,
		 int (*visit)(const struct source_state *state, void *context), void *context)
{
	struct walk walk = { instance, kernel_now_ns(), visit, context };
	struct owners owners;
	int err = owners_read(instance, image, NULL, &owners);

	if (err)
		return err;
	err = states_walk(instance, &owners, visit_live, &walk);
	owners_free(&owners);
	return err;
}

/* ---- one address ---- */

/* Of the states that all sources share, only those of the policy in question concern it. */
static bool concerns(const struct owner *owner, const struct image_policy *policy,
		     const struct prefix *address)
{
	if (!owner->policy && !prefix_contains(&owner->entry, address))
		return false;
	return !(owner->rule.flags & LIMIT_SHARED) || !owner->policy || owner->policy == policy;
}

static int states_of(const struct instance *instance, const struct owners *owners,
		     const struct image_policy *policy, const struct prefix *address,
		     struct source_state *list, size_t *count)
{
	int err = 0;

	for (size_t i = 0; i < owners->count && !err; i++) {
		const struct owner *owner = &owners->list[i];
		struct key key = limit_key(&owner->rule, address);
		struct found found = {};
		int there;

		if (!concerns(owner, policy, address))
			continue;
		there = states_find(instance, owner, &key, &found);
		if (there < 0)
			return there;
		if (!there)
			continue;
		err = describe(instance, &found, &list[*count]);
		if (owner->rule.flags & LIMIT_SHARED)
			list[*count].source = (struct prefix){ .family = address->family };
		(*count)++;
	}
	return err;
}

/* As the file has them; entries first, they outrank. */
static int by_place(const void *a, const void *b)
{
	const struct source_state *x = a, *y = b;

	if (x->policy != y->policy)
		return x->policy < y->policy ? -1 : 1;
	return (x->limit > y->limit) - (x->limit < y->limit);
}

int sources_of(const struct instance *instance, const struct image *image,
	       const struct prefix *address, struct source_state **list, size_t *count)
{
	int match = image_match(image, address, NULL);
	const struct image_policy *policy = match < 0 ? NULL : &image->policies[match];
	struct source_state *out;
	struct owners owners;
	size_t found = 0;
	int err;

	err = owners_read(instance, image, policy, &owners);
	if (err)
		return err;
	out = calloc(owners.count + 1, sizeof(*out));
	err = out ? states_of(instance, &owners, policy, address, out, &found) : -ENOMEM;
	owners_free(&owners);
	if (err) {
		free(out);
		return err;
	}
	qsort(out, found, sizeof(*out), by_place);
	*list = out;
	*count = found;
	return 0;
}
