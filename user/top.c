/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top.h"

enum {
	SOURCES = 200,
	SOURCES_FILTERED = 4096, /* the filter looks at more than fits a screen */
	PAGE = 10,
};

static const struct sort_rule {
	const char *name;
	enum source_order order;
} sort_rules[TOP_SORTS] = {
	[TOP_BY_DROPS] = { "drops/s", ORDER_DROPPED },
	[TOP_BY_DROPPED] = { "dropped", ORDER_DROPPED },
	[TOP_BY_PASSED] = { "passed", ORDER_PASSED },
	[TOP_BY_RETRY] = { "retry", ORDER_DEBT },
};

void top_init(struct top *top, uint64_t interval_ns)
{
	*top = (struct top){ .interval_ns = interval_ns };
}

void top_free(struct top *top)
{
	free(top->shown);
	rates_free(&top->rates);
	*top = (struct top){ 0 };
}

struct top_need top_need(const struct top *top)
{
	return (struct top_need){ sort_rules[top->sort].order,
				  top->filtered ? SOURCES_FILTERED : SOURCES };
}

const char *top_sort_name(enum top_sort sort)
{
	return sort_rules[sort].name;
}

void top_say(struct top *top, bool bad, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(top->notice, sizeof(top->notice), format, args);
	va_end(args);
	top->notice_bad = bad;
}

static int descending(double a, double b)
{
	return (a < b) - (a > b);
}

static double sort_value(const struct source_rates *source, enum top_sort sort)
{
	switch (sort) {
	case TOP_BY_DROPS:
		return source->drops;
	case TOP_BY_PASSED:
		return (double)source->passed;
	case TOP_BY_RETRY:
		return (double)source->debt_ns;
	default:
		return (double)source->dropped;
	}
}

/* Equal rows keep a place of their own from sample to sample: by drops, then by address. */
static int compare_sources(const void *a, const void *b, void *context)
{
	const struct source_rates *one = *(const struct source_rates *const *)a;
	const struct source_rates *two = *(const struct source_rates *const *)b;
	const enum top_sort *sort = context;
	int order = descending(sort_value(one, *sort), sort_value(two, *sort));

	if (!order)
		order = descending((double)one->dropped, (double)two->dropped);
	return order ? order : prefix_compare(&one->source, &two->source);
}

/* A source is shown if it lies in the filter, or, where its key is shorter, holds it. */
static bool fits_filter(const struct top *top, const struct source_rates *source)
{
	return !top->filtered || prefix_contains(&top->filter, &source->source) ||
	       prefix_contains(&source->source, &top->filter);
}

static int arrange(struct top *top)
{
	const struct source_rates **shown =
		calloc(top->rates.source_count + 1, sizeof(*top->shown));
	size_t count = 0;

	if (!shown)
		return -ENOMEM;
	for (size_t i = 0; i < top->rates.source_count; i++)
		if (fits_filter(top, &top->rates.sources[i]))
			shown[count++] = &top->rates.sources[i];
	qsort_r(shown, count, sizeof(*shown), compare_sources, &top->sort);
	free(top->shown);
	top->shown = shown;
	top->shown_count = count;
	if (top->selected >= count)
		top->selected = count ? count - 1 : 0;
	return 0;
}

/* The cursor stays on its source, not on its row: the next key may block it. */
static void follow(struct top *top, const struct source_rates *source)
{
	for (size_t i = 0; i < top->shown_count; i++) {
		if (!prefix_compare(&top->shown[i]->source, &source->source) &&
		    !strcmp(top->shown[i]->policy, source->policy) &&
		    !strcmp(top->shown[i]->limit, source->limit)) {
			top->selected = i;
			return;
		}
	}
}

static void remember(struct top *top, const struct rates *rates)
{
	if (!rates->span_ns)
		return;
	if (top->history == TOP_HISTORY) {
		top->history--;
		memmove(top->passed, top->passed + 1, top->history * sizeof(*top->passed));
		memmove(top->dropped, top->dropped + 1, top->history * sizeof(*top->dropped));
	}
	top->passed[top->history] = rates->passed;
	top->dropped[top->history++] = rates->dropped;
}

static void describe(struct top *top, const struct snapshot *snapshot)
{
	char live[UNIT_TEXT], room[UNIT_TEXT], displaced[UNIT_TEXT];
	size_t used;

	snprintf(top->title, sizeof(top->title), "weir %s", snapshot->instance);
	for (size_t i = 0; i < snapshot->interface_count; i++) {
		const struct attachment *at = &snapshot->interfaces[i];
		const char *how = at->native ? "native" : "generic";

		used = strlen(top->title);
		snprintf(top->title + used, sizeof(top->title) - used, "  %s %s",
			 *at->interface ? at->interface : "?", at->attached ? how : "NOT ATTACHED");
	}
	snprintf(top->table, sizeof(top->table),
		 "table    %s of %s states live, %s displaced; %" PRIu64 " entries by hand",
		 units_human((double)snapshot->table.live, live, sizeof(live)),
		 units_human((double)snapshot->table.capacity, room, sizeof(room)),
		 units_human((double)snapshot->table.displaced, displaced, sizeof(displaced)),
		 snapshot->entry_count);
	top->protecting = snapshot->protecting;
}

int top_feed(struct top *top, const struct snapshot *snapshot, struct rates *rates)
{
	struct source_rates held = { 0 };
	bool hold = top->selected && top->selected < top->shown_count;
	int err;

	remember(top, rates);
	describe(top, snapshot);
	if (top->paused || top->mode == TOP_CONFIRM) {
		rates_free(rates);
		return 0;
	}
	if (hold)
		held = *top->shown[top->selected];
	top->shown_count = 0; /* they point into the rates that go now */
	rates_free(&top->rates);
	top->rates = *rates;
	*rates = (struct rates){ 0 };
	err = arrange(top);
	if (!err && hold)
		follow(top, &held);
	return err;
}

static void move(struct top *top, long by)
{
	long to = (long)top->selected + by;

	if (to >= (long)top->shown_count)
		to = (long)top->shown_count - 1;
	top->selected = to < 0 ? 0 : (size_t)to;
}

static void ask(struct top *top)
{
	if (top->selected >= top->shown_count) {
		top_say(top, true, "no source to block");
		return;
	}
	top->victim = top->shown[top->selected]->source;
	top->mode = TOP_CONFIRM;
}

static void press_cursor(struct top *top, int key)
{
	switch (key) {
	case TOP_KEY_UP:
	case 'k':
		move(top, -1);
		break;
	case TOP_KEY_DOWN:
	case 'j':
		move(top, 1);
		break;
	case TOP_KEY_PAGE_UP:
		move(top, -PAGE);
		break;
	case TOP_KEY_PAGE_DOWN:
		move(top, PAGE);
		break;
	}
}

static struct top_request press_list(struct top *top, int key)
{
	switch (key) {
	case 'q':
		return (struct top_request){ .wish = TOP_QUIT };
	case 's':
		top->sort = (top->sort + 1) % TOP_SORTS;
		top->selected = 0;
		if (arrange(top))
			top_say(top, true, "no memory to sort");
		break;
	case 'f':
	case '/':
		top->mode = TOP_FILTER;
		top->typed[0] = '\0';
		break;
	case 'b':
		ask(top);
		break;
	case 'p':
	case ' ':
		top->paused = !top->paused;
		break;
	case '?':
	case 'h':
		top->mode = TOP_HELP;
		break;
	default:
		press_cursor(top, key);
	}
	return (struct top_request){ .wish = TOP_NOTHING };
}

/* An empty filter shows all; one that can't be read stays to be mended. */
static void accept_filter(struct top *top)
{
	struct message message;

	if (!*top->typed) {
		top->filtered = false;
	} else if (units_prefix(top->typed, &top->filter, &message)) {
		top_say(top, true, "%s", message.text);
		return;
	} else {
		top->filtered = true;
	}
	top->mode = TOP_LIST;
	top->selected = 0;
	if (arrange(top))
		top_say(top, true, "no memory to filter");
}

static void press_filter(struct top *top, int key)
{
	size_t length = strlen(top->typed);

	if (key == TOP_KEY_ENTER)
		accept_filter(top);
	else if (key == TOP_KEY_ESCAPE)
		top->mode = TOP_LIST;
	else if (key == TOP_KEY_BACKSPACE && length)
		top->typed[length - 1] = '\0';
	else if (key > ' ' && key < 0x7f && length + 1 < sizeof(top->typed))
		memcpy(top->typed + length, (char[]){ (char)key, '\0' }, 2);
}

static struct top_request press_confirm(struct top *top, int key)
{
	top->mode = TOP_LIST;
	if (key == 'y' || key == 'Y')
		return (struct top_request){ TOP_BLOCK, top->victim };
	top_say(top, false, "not blocked");
	return (struct top_request){ .wish = TOP_NOTHING };
}

struct top_request top_press(struct top *top, int key)
{
	top->notice[0] = '\0';
	switch (top->mode) {
	case TOP_FILTER:
		press_filter(top, key);
		break;
	case TOP_CONFIRM:
		return press_confirm(top, key);
	case TOP_HELP:
		top->mode = TOP_LIST;
		break;
	default:
		return press_list(top, key);
	}
	return (struct top_request){ .wish = TOP_NOTHING };
}
