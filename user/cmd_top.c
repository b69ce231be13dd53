/* SPDX-License-Identifier: GPL-2.0-only */
/* weir top: the live screen on a terminal, or one JSON document an interval. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "reader.h"
#include "render_top.h"
#include "stop.h"

enum {
	SOURCES_JSON = 20,
	LIVE_EVERY = 10, /* samples */
	COST_SHARE = 4,	 /* a sample may take this part of the time until the next */
	ESCAPE_MS = 25,	 /* an escape alone is a key; with more behind it, another */
	CHARACTER_ESCAPE = 27,
	CHARACTER_DELETE = 127,
};

/* What is asked of the kernel at each sample. */
struct feed {
	struct reader reader;
	struct snapshot before;
	bool has_before;
	unsigned int samples;
	uint64_t interval_ns; /* between samples, as asked */
	uint64_t cost_ns;     /* of the last sample, on the CPU */
};

static void feed_close(struct feed *feed)
{
	if (feed->has_before)
		snapshot_free(&feed->before);
	reader_close(&feed->reader);
}

/*
 * Counting live states reads the whole table once more, for a number that changes slowly: where
 * that is dear, it is not done at each sample.
 */
static int read_snapshot(struct feed *feed, struct snapshot *now, struct message *message)
{
	const struct running *running = &feed->reader.running;
	bool cheap = feed->cost_ns * COST_SHARE < feed->interval_ns / 2;
	bool live = feed->samples++ % LIVE_EVERY == 0 || cheap;
	int err = snapshot_read(&running->instance, running->image, live, now, message);

	if (!err && !live)
		now->table.live = feed->before.table.live;
	return err;
}

static int feed_rates(struct feed *feed, const struct top_need *need, const struct snapshot *now,
		      const struct rates *last, struct rates *rates)
{
	const struct running *running = &feed->reader.running;
	struct rates_sample sample = { .snapshot = now, .sources_ns = kernel_now_ns() };
	struct source_state *sources = NULL;
	int err = sources_top(&running->instance, running->image, need->order, need->sources,
			      &sources, &sample.source_count);

	sample.sources = sources;
	if (!err)
		err = rates_between(feed->has_before ? &feed->before : NULL, &sample, last, rates);
	free(sources);
	return err;
}

/* Of this process: that others want the machine makes a sample no dearer. */
static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

/* The rates since the last sample, in which `last` gives the sources' drops. */
static int feed_read(struct feed *feed, const struct top_need *need, const struct rates *last,
		     struct rates *rates, struct message *message)
{
	uint64_t began_ns = cpu_ns();
	struct snapshot now;
	int err = reader_refresh(&feed->reader, message);

	if (!err)
		err = read_snapshot(feed, &now, message);
	if (err)
		return err;
	err = feed_rates(feed, need, &now, last, rates);
	if (err) {
		snapshot_free(&now);
		return message_set(message, err, "cannot read the table: %s", strerror(-err));
	}
	if (feed->has_before)
		snapshot_free(&feed->before);
	feed->before = now;
	feed->has_before = true;
	feed->cost_ns = cpu_ns() - began_ns;
	return 0;
}

/* Being looked at must not become load: a large table is read less often than asked. */
static uint64_t feed_next_ns(const struct feed *feed)
{
	uint64_t least = feed->cost_ns * COST_SHARE;

	return kernel_now_ns() + (feed->interval_ns > least ? feed->interval_ns : least);
}

/* ---- JSON ---- */

static void wait_until(uint64_t time_ns)
{
	while (!stop_asked) {
		uint64_t now = kernel_now_ns();
		uint64_t left = time_ns > now ? time_ns - now : 0;
		struct timespec pause = { (time_t)(left / NS_PER_SEC), (long)(left % NS_PER_SEC) };

		if (!left || !nanosleep(&pause, NULL))
			return;
	}
}

static int stream(struct command *command, struct feed *feed, uint64_t most,
		  struct message *message)
{
	struct top_need need = { ORDER_DROPPED, SOURCES_JSON };
	struct rates last = { 0 }, rates;
	uint64_t sources;
	int err = option_count(command, OPT_TOP, SOURCES_JSON, &sources, message);

	need.sources = sources;
	if (!err)
		err = feed_read(feed, &need, NULL, &last, message);
	for (uint64_t i = 0; !err && (!most || i < most); i++) {
		wait_until(feed_next_ns(feed));
		if (stop_asked)
			break;
		err = feed_read(feed, &need, &last, &rates, message);
		if (err)
			break;
		err = render_top_json(&rates, command->instance, command->pretty, command->out);
		rates_free(&last);
		last = rates;
	}
	rates_free(&last);
	return err;
}

/* ---- the terminal ---- */

static const short colors[STYLE_COUNT] = {
	[STYLE_GOOD] = COLOR_GREEN,
	[STYLE_BAD] = COLOR_RED,
};

static attr_t attributes(enum style style, bool color)
{
	static const attr_t plain[STYLE_COUNT] = {
		[STYLE_DIM] = A_DIM,	   [STYLE_BOLD] = A_BOLD,	 [STYLE_BAD] = A_BOLD,
		[STYLE_TITLE] = A_REVERSE, [STYLE_SELECTED] = A_REVERSE,
	};

	return color && colors[style] ? (attr_t)COLOR_PAIR(style) : plain[style];
}

static int terminal_open(bool *color)
{
	if (!initscr())
		return -ENOTTY;
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	*color = *color && has_colors();
	if (!*color)
		return 0;
	start_color();
	use_default_colors();
	for (short i = 0; i < STYLE_COUNT; i++)
		if (colors[i])
			init_pair(i, colors[i], -1);
	return 0;
}

static void terminal_show(const struct screen *screen, bool color)
{
	for (int row = 0; row < screen->rows; row++) {
		for (int column = 0; column < screen->columns; column++) {
			const struct cell *cell = &screen->cells[row * screen->columns + column];
			wchar_t text[2] = { cell->character, L'\0' };
			cchar_t character;
			attr_t attribute = attributes(cell->style, color);

			setcchar(&character, text, attribute & ~A_COLOR,
				 (short)PAIR_NUMBER(attribute), NULL);
			mvadd_wch(row, column, &character);
		}
	}
	refresh();
}

static int translate(int key)
{
	switch (key) {
	case KEY_UP:
		return TOP_KEY_UP;
	case KEY_DOWN:
		return TOP_KEY_DOWN;
	case KEY_PPAGE:
		return TOP_KEY_PAGE_UP;
	case KEY_NPAGE:
		return TOP_KEY_PAGE_DOWN;
	case KEY_BACKSPACE:
	case '\b':
	case CHARACTER_DELETE:
		return TOP_KEY_BACKSPACE;
	case KEY_ENTER:
	case '\n':
	case '\r':
		return TOP_KEY_ENTER;
	case CHARACTER_ESCAPE:
		return TOP_KEY_ESCAPE;
	}
	return key;
}

struct desk {
	struct feed feed;
	struct top top;
	struct screen screen;
	uint64_t next_ns; /* when the next sample is due */
	bool color, ascii;
};

static int desk_draw(struct desk *desk)
{
	if (desk->screen.rows != LINES || desk->screen.columns != COLS) {
		int err = screen_resize(&desk->screen, LINES, COLS);

		if (err)
			return err;
		clear();
	}
	render_top_screen(&desk->top, desk->ascii, &desk->screen);
	terminal_show(&desk->screen, desk->color);
	return 0;
}

static void desk_block(struct desk *desk, const char *instance, const struct prefix *prefix)
{
	struct entry_spec entry = { .kind = ENTRY_BLOCK,
				    .prefix = *prefix,
				    .for_ns = TOP_BLOCK_NS };
	struct message message = { 0 };
	struct running running;
	char text[PREFIX_TEXT];
	int err = running_open(instance, false, &running, &message);

	if (!err) {
		err = running_set_entry(&running, &entry, &message);
		running_close(&running);
	}
	if (err)
		top_say(&desk->top, true, "not blocked: %s", message.text);
	else
		top_say(&desk->top, false, "blocked %s for 10 minutes; undo: weir remove %s",
			units_address_text(prefix, text, sizeof(text)), text);
}

static int desk_sample(struct desk *desk, struct message *message)
{
	struct top_need need = top_need(&desk->top);
	struct rates rates;
	int err = feed_read(&desk->feed, &need, &desk->top.rates, &rates, message);

	if (err)
		return err;
	err = top_feed(&desk->top, &desk->feed.before, &rates);
	return err ? message_set(message, err, "no memory for the screen") : 0;
}

/* Waits for a key, at most until the next sample. Returns 1 on quit. */
static int desk_key(struct desk *desk, const char *instance)
{
	uint64_t now = kernel_now_ns();
	struct top_request request;
	int key;

	timeout(desk->next_ns > now ? (int)((desk->next_ns - now) / 1000000) + 1 : 0);
	key = getch();
	if (key == ERR || key == KEY_RESIZE)
		return 0;
	request = top_press(&desk->top, translate(key));
	if (request.wish == TOP_BLOCK)
		desk_block(desk, instance, &request.prefix);
	return request.wish == TOP_QUIT;
}

static int desk_loop(struct desk *desk, const char *instance, struct message *message)
{
	int err = 0;

	while (!err && !stop_asked) {
		if (kernel_now_ns() >= desk->next_ns) {
			err = desk_sample(desk, message);
			desk->next_ns = feed_next_ns(&desk->feed);
		}
		if (!err)
			err = desk_draw(desk);
		if (!err && desk_key(desk, instance))
			break;
	}
	return err;
}

static int show(struct command *command, struct feed *feed, struct message *message)
{
	struct desk desk = { .feed = *feed, .color = command->color };
	int err;

	setlocale(LC_CTYPE, "");
	desk.ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	top_init(&desk.top, feed->interval_ns);
	err = desk_sample(&desk, message); /* what is wrong is said before the screen is taken */
	desk.next_ns = feed_next_ns(&desk.feed);
	if (!err) {
		err = terminal_open(&desk.color);
		if (!err)
			err = desk_loop(&desk, command->instance, message);
		endwin();
	}
	screen_free(&desk.screen);
	top_free(&desk.top);
	*feed = desk.feed;
	return err;
}

int cmd_top(struct command *command, struct message *message)
{
	struct feed feed = { .reader = { .name = command->instance } };
	uint64_t most;
	int err = words_expect(command, 0, 0, message);

	if (!err)
		err = option_duration(command, OPT_INTERVAL, NS_PER_SEC, &feed.interval_ns,
				      message);
	if (!err)
		err = option_count(command, OPT_COUNT, 0, &most, message);
	if (err)
		return err;
	if (!command->json && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))) {
		message_set(message, -ENOTTY, "weir top needs a terminal");
		return message_hint(message, -ENOTTY,
				    "use `weir top -j` for a document each interval, or "
				    "`weir stats`");
	}
	stop_on_signals();
	if (command->json)
		err = stream(command, &feed, most, message);
	else
		err = show(command, &feed, message);
	feed_close(&feed);
	return err;
}
