/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bpf/algo.h"
#include "limiter.h"
#include "sync.h"

#define TOKENS_MOST 0xffffffffULL
#define DEBT_MOST   (3600 * NS_PER_SEC)

/* What a place of the table held at the last reading. family 0: nothing. */
struct mark {
	struct key key;
	uint32_t limit; /* limit.id */
	uint64_t passed;
	uint64_t word;
	uint64_t charged; /* tokens since then that were not its own use */
};

struct hot {
	double share; /* of the burst */
	struct sync_use use;
};

struct sync {
	struct mark *marks;
	uint64_t places;
	struct hot *hot; /* a heap, the least share at its root */
	struct sync_use *uses;
	size_t count, top, left;
	uint64_t now_ns, before_ns; /* begin of this reading and of the one before; 0: none */
};

struct sync *sync_new(uint64_t places, size_t top)
{
	struct sync *sync = calloc(1, sizeof(*sync));

	if (!sync)
		return NULL;
	sync->places = places;
	sync->top = top;
	/* calloc gives pages when they are touched: an empty table costs next to nothing. */
	sync->marks = calloc(places + 1, sizeof(*sync->marks));
	sync->hot = calloc(top + 1, sizeof(*sync->hot));
	sync->uses = calloc(top + 1, sizeof(*sync->uses));
	if (!sync->marks || !sync->hot || !sync->uses) {
		sync_free(sync);
		return NULL;
	}
	return sync;
}

void sync_free(struct sync *sync)
{
	if (!sync)
		return;
	free(sync->marks);
	free(sync->hot);
	free(sync->uses);
	free(sync);
}

void sync_begin(struct sync *sync, uint64_t now_ns)
{
	sync->before_ns = sync->now_ns;
	sync->now_ns = now_ns;
	sync->count = 0;
	sync->left = 0;
}

static bool same_key(const struct key *a, const struct key *b)
{
	return a->hi == b->hi && a->lo == b->lo && a->family == b->family;
}

/* ---- how much was used ---- */

/*
 * The bytes behind `packets`, which is all that states count. A bucket knows more: when it is full
 * again moves on by exactly what was taken, and beyond that only where it was full, by at most the
 * time in which it can have been. Of a state that is new (no mark) that is the upper bound only: it
 * may have inherited a debt.
 */
static double bytes_used(const struct sync *sync, const struct sync_sight *sight,
			 const struct mark *mark, uint64_t packets)
{
	double guess = (double)packets * sight->frame, most, least, idle;
	double ns = (double)sight->rule->interval_ns + sight->rule->interval_frac / 4294967296.0;
	uint64_t from = mark && mark->word > sync->before_ns ? mark->word : sync->before_ns;

	if (sight->rule->algorithm != ALGO_TOKEN_BUCKET || (mark && mark->word & STATE_BANNED) ||
	    sight->state.word & STATE_BANNED || sight->state.word < from)
		return guess;
	most = (double)(sight->state.word - from) / ns;
	if (guess > most)
		guess = most;
	if (!mark)
		return guess;
	idle = from < sync->now_ns ? (double)(sync->now_ns - from) / ns : 0;
	least = most - idle - (double)mark->charged;
	return guess < least ? least : guess;
}

/*
 * A count that went back is another state's: the source was displaced and came again. So is one
 * under another key; both began at 0. What a displaced state had used is lost.
 */
static uint64_t tokens_used(const struct sync *sync, const struct sync_sight *sight)
{
	const struct mark *mark = &sync->marks[sight->place];
	bool known = mark->limit == sight->rule->id && same_key(&mark->key, &sight->key) &&
		     mark->passed <= sight->passed;
	uint64_t packets = known ? sight->passed - mark->passed : sight->passed;
	double tokens = (double)packets;

	if (!packets)
		return 0;
	if (sight->rule->flags & LIMIT_BYTES)
		tokens = bytes_used(sync, sight, known ? mark : NULL, packets);
	if (tokens < 1)
		return 0;
	return tokens < (double)TOKENS_MOST ? (uint64_t)tokens : TOKENS_MOST;
}

/* ---- the hottest ---- */

static void sift_up(struct hot *heap, size_t at, struct hot moved)
{
	for (; at && heap[(at - 1) / 2].share > moved.share; at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = moved;
}

static void sift_down(struct hot *heap, size_t count, struct hot moved)
{
	size_t at = 0, child;

	for (; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && heap[child + 1].share < heap[child].share)
			child++;
		if (heap[child].share >= moved.share)
			break;
		heap[at] = heap[child];
	}
	heap[at] = moved;
}

static void keep_hottest(struct sync *sync, const struct hot *hot)
{
	if (sync->count < sync->top) {
		sift_up(sync->hot, sync->count, *hot);
		sync->count++;
		return;
	}
	sync->left++;
	if (sync->top && hot->share > sync->hot[0].share)
		sift_down(sync->hot, sync->count, *hot);
}

void sync_see(struct sync *sync, const struct sync_sight *sight)
{
	struct mark *mark;
	uint64_t tokens;

	if (sight->place >= sync->places)
		return;
	mark = &sync->marks[sight->place];
	tokens = sync->before_ns ? tokens_used(sync, sight) : 0;
	*mark = (struct mark){ .key = sight->key,
			       .limit = sight->rule->id,
			       .passed = sight->passed,
			       .word = sight->state.word };
	if (tokens) {
		struct hot hot = { (double)tokens / (double)sight->rule->burst,
				   { sight->policy, sight->limit, sight->key, tokens } };

		keep_hottest(sync, &hot);
	}
}

const struct sync_use *sync_uses(const struct sync *sync, size_t *count, size_t *left)
{
	for (size_t i = 0; i < sync->count; i++)
		sync->uses[i] = sync->hot[i].use;
	*count = sync->count;
	*left = sync->left;
	return sync->uses;
}

void sync_charged(struct sync *sync, uint64_t place, const struct key *key, uint64_t tokens)
{
	if (place < sync->places && same_key(&sync->marks[place].key, key))
		sync->marks[place].charged += tokens;
}

/* ---- as text ---- */

static const char *unit_name(const struct limit *rule)
{
	return rule->flags & LIMIT_BYTES ? "bytes" : "packets";
}

int sync_write(const struct image *image, const struct sync_use *uses, size_t count, char **text,
	       size_t *length)
{
	FILE *out = open_memstream(text, length);
	int err = 0;

	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct image_policy *policy = &image->policies[uses[i].policy];
		const struct limit *rule = &policy->policy.limits[uses[i].limit];
		struct prefix source = limit_source(rule, &uses[i].key);
		char address[PREFIX_TEXT];

		fprintf(out, "%s %s %s %" PRIu64 " %s\n", policy->name,
			policy->specs[uses[i].limit]->name,
			units_prefix_text(&source, address, sizeof(address)), uses[i].tokens,
			unit_name(rule));
	}
	if (fclose(out)) {
		free(*text);
		err = -ENOMEM;
	}
	return err;
}

enum {
	LINE_WORDS = 5,
	LINE_MOST = 2 * (NAME_LENGTH_MAX + 1) + PREFIX_TEXT + 32,
};

/* Exactly LINE_WORDS words with one space between; `line` is cut into them. */
static bool split(char *line, char *words[LINE_WORDS])
{
	for (int i = 0; i < LINE_WORDS; i++) {
		words[i] = strsep(&line, " ");
		if (!words[i] || !*words[i])
			return false;
	}
	return !line;
}

static bool read_tokens(const char *word, uint64_t *tokens)
{
	char *end;

	if (strspn(word, "0123456789") != strlen(word) || strlen(word) > 10)
		return false;
	*tokens = strtoull(word, &end, 10);
	return *tokens && *tokens <= TOKENS_MOST;
}

/* Where the names lead to; use->policy is where to look first, lines of a policy come together. */
static bool find_limit(const struct image *image, const char *policy, const char *limit,
		       struct sync_use *use)
{
	for (size_t i = 0; i < image->policy_count; i++) {
		size_t at = (use->policy + i) % image->policy_count;
		const struct image_policy *found = &image->policies[at];

		if (strcmp(found->name, policy))
			continue;
		use->policy = (uint32_t)at;
		for (uint32_t j = 0; j < found->policy.count; j++) {
			use->limit = j;
			if (!strcmp(found->specs[j]->name, limit))
				return true;
		}
		return false;
	}
	return false;
}

/* A source that is told by another key length says nothing of this limit's states. */
static bool fits(const struct limit *rule, const struct prefix *source, const char *unit)
{
	return !(rule->flags & LIMIT_SHARED) && !strcmp(unit, unit_name(rule)) &&
	       source->len == (source->family == 4 ? rule->ipv4_len : rule->ipv6_len);
}

/* *use is what this line and those before it said. */
static bool read_line(const struct image *image, char *line, struct sync_use *use,
		      struct sync_heard *heard)
{
	const struct limit *rule;
	struct prefix source;
	char *words[LINE_WORDS];

	if (!split(line, words) || units_prefix(words[2], &source, NULL) ||
	    !read_tokens(words[3], &use->tokens)) {
		heard->bad++;
		return false;
	}
	if (!find_limit(image, words[0], words[1], use)) {
		heard->unknown++;
		return false;
	}
	rule = &image->policies[use->policy].policy.limits[use->limit];
	if (!fits(rule, &source, words[4])) {
		heard->unknown++;
		return false;
	}
	use->key = limit_key(rule, &source);
	heard->known++;
	return true;
}

int sync_parse(const struct image *image, const char *text, size_t length,
	       int (*visit)(const struct sync_use *use, void *context), void *context,
	       struct sync_heard *heard)
{
	struct sync_use use = { 0 };
	int err = 0;

	for (size_t at = 0, size; at < length && !err; at += size + 1) {
		const char *end = memchr(text + at, '\n', length - at);
		char line[LINE_MOST];

		size = end ? (size_t)(end - text) - at : length - at;
		if (size >= sizeof(line)) {
			heard->bad++;
			continue;
		}
		memcpy(line, text + at, size);
		line[size] = '\0';
		if (read_line(image, line, &use, heard))
			err = visit(&use, context);
	}
	return err;
}

uint64_t sync_debt_ns(size_t nodes, uint64_t interval_ns)
{
	if (interval_ns && nodes > DEBT_MOST / interval_ns)
		return DEBT_MOST;
	return nodes * interval_ns;
}
