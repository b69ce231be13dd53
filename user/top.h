/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the live screen shows and what its keys do: rates in, keys in, a state
 * out that render_top draws. What a key asks of the world outside is handed
 * back as a request. Must not know the terminal, the clock or the kernel.
 */
#ifndef WEIR_TOP_H
#define WEIR_TOP_H

#include "rates.h"

#define TOP_BLOCK_NS (600 * NS_PER_SEC)

enum top_size {
	TOP_HISTORY = 60, /* samples kept: a minute, at one a second */
	TOP_TEXT = 192,
};

/* Keys that are no character; the others are themselves. */
enum top_key {
	TOP_KEY_UP = 0x110000,
	TOP_KEY_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_BACKSPACE,
	TOP_KEY_ENTER,
	TOP_KEY_ESCAPE,
};

enum top_wish {
	TOP_NOTHING,
	TOP_QUIT,
	TOP_BLOCK, /* the prefix, for TOP_BLOCK_NS; was confirmed */
};

struct top_request {
	enum top_wish wish;
	struct prefix prefix;
};

/* What the outside is to bring with the next sample. */
struct top_need {
	enum source_order order;
	size_t sources;
};

enum top_mode {
	TOP_LIST,
	TOP_FILTER,  /* a prefix is being typed */
	TOP_CONFIRM, /* block the selected source? */
	TOP_HELP,
};

enum top_sort {
	TOP_BY_DROPS, /* a second */
	TOP_BY_DROPPED,
	TOP_BY_PASSED,
	TOP_BY_RETRY,
	TOP_SORTS,
};

struct top {
	enum top_mode mode;
	enum top_sort sort;
	bool paused;
	uint64_t interval_ns;
	char title[TOP_TEXT]; /* instance and interfaces */
	char table[TOP_TEXT];
	bool protecting;
	struct rates rates;
	const struct source_rates **shown; /* of rates.sources: filtered, sorted */
	size_t shown_count;
	struct speed passed[TOP_HISTORY], dropped[TOP_HISTORY]; /* oldest first */
	size_t history;
	size_t selected; /* index of `shown` */
	bool filtered;
	struct prefix filter;
	char typed[PREFIX_TEXT];
	struct prefix victim; /* of the question in TOP_CONFIRM */
	char notice[TOP_TEXT];
	bool notice_bad;
};

void top_init(struct top *top, uint64_t interval_ns);
void top_free(struct top *top);

struct top_need top_need(const struct top *top);
const char *top_sort_name(enum top_sort sort);

/*
 * A new sample. Takes *rates over and empties it. While paused the lists stand still, but the
 * minute goes on. 0 or -ENOMEM.
 */
int top_feed(struct top *top, const struct snapshot *snapshot, struct rates *rates);
struct top_request top_press(struct top *top, int key);

/* A line at the bottom, until the next key. */
void top_say(struct top *top, bool bad, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
