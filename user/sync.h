/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a fleet tells each other: readings of the table -> what each source used
 * since the reading before -> text, and another node's text -> charges. Memory
 * is bounded by the table and the number of sources told of. Pure; must not
 * know the kernel or Redis.
 */
#ifndef WEIR_SYNC_H
#define WEIR_SYNC_H

#include "compile.h"

/* Tokens that a source took from a limit. */
struct sync_use {
	uint32_t policy; /* index into the image */
	uint32_t limit;	 /* index within the policy */
	struct key key;
	uint64_t tokens; /* below 2^32 */
};

/* A state as it was read. */
struct sync_sight {
	uint64_t place; /* in the table, below `places` */
	uint32_t policy, limit;
	const struct limit *rule;
	struct key key;
	struct state state;
	uint64_t passed;
	double frame; /* byte limits: mean length of a granted frame of the policy */
};

struct sync;

/* `places`: states the table holds; `top`: sources told of at most. NULL: no memory. */
struct sync *sync_new(uint64_t places, size_t top);
void sync_free(struct sync *sync);

/* A reading: begin, see each state, then the hottest. The first one tells nothing. */
void sync_begin(struct sync *sync, uint64_t now_ns);
void sync_see(struct sync *sync, const struct sync_sight *sight);

/*
 * Those that used the largest shares of their bursts since the reading before; good until the next
 * one begins. *left: how many more used something.
 */
const struct sync_use *sync_uses(const struct sync *sync, size_t *count, size_t *left);

/* Tokens were charged to the state in `place` since the last reading: they are not its use. */
void sync_charged(struct sync *sync, uint64_t place, const struct key *key, uint64_t tokens);

/* As lines `POLICY LIMIT SOURCE TOKENS packets|bytes`; *text malloc'ed. 0 or -errno. */
int sync_write(const struct image *image, const struct sync_use *uses, size_t count, char **text,
	       size_t *length);

struct sync_heard {
	size_t known;	/* lines that became charges */
	size_t unknown; /* of policies, limits or key lengths that this node has not */
	size_t bad;	/* that are no such line */
};

/*
 * The reverse, for this node's image: visit for each line that means something here. A nonzero
 * return of visit ends the reading and is returned.
 */
int sync_parse(const struct image *image, const char *text, size_t length,
	       int (*visit)(const struct sync_use *use, void *context), void *context,
	       struct sync_heard *heard);

/*
 * How far a bucket may owe beyond its burst: as long as all nodes, each granting at the full rate,
 * may have gone on before they heard of each other.
 */
uint64_t sync_debt_ns(size_t nodes, uint64_t interval_ns);

#endif
