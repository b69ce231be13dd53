/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "forget.h"
#include "packet_words.h"
#include "render_json.h"
#include "render_text.h"
#include "running.h"
#include "words.h"

enum {
	TOP_DEFAULT = 20,
	TOP_MOST = 1 << 24,
};

static int read_order(const struct command *command, enum source_order *order,
		      struct message *message)
{
	static const char *const names[] = {
		[ORDER_DROPPED] = "dropped",
		[ORDER_PASSED] = "passed",
		[ORDER_DEBT] = "debt",
	};
	int found = ORDER_DROPPED;

	if (command->option[OPT_BY])
		found = word_find(command->option[OPT_BY], names, 3, "order", message);
	if (found < 0)
		return VERB_USAGE;
	*order = (enum source_order)found;
	return 0;
}

static void print_list(struct command *command, const struct source_view *views, size_t count)
{
	struct text_style style = { command->human, command->color };

	if (command->json)
		json_print_sources(views, count, command->pretty, command->out);
	else if (count)
		text_sources(views, count, &style, command->out);
	else
		log_info("no source is remembered");
}

static int list_states(struct command *command, const struct running *running,
		       enum source_order order, size_t top, struct message *message)
{
	uint64_t now = kernel_now_ns();
	struct source_state *states;
	struct source_view *views;
	size_t count;
	int err;

	err = sources_top(&running->instance, running->image, order, top, &states, &count);
	if (err)
		return message_set(message, err, "the states can't be read: %s", strerror(-err));
	views = calloc(count + 1, sizeof(*views));
	for (size_t i = 0; views && i < count; i++)
		source_view_read(&states[i], now, &views[i]);
	if (views)
		print_list(command, views, count);
	free(views);
	free(states);
	return views ? 0 : -ENOMEM;
}

static int source_list(struct command *command, struct message *message)
{
	enum source_order order;
	struct running running;
	uint64_t top = 0;
	int err;

	err = words_expect(command, 1, 1, message);
	if (!err)
		err = option_count(command, OPT_TOP, TOP_DEFAULT, &top, message);
	if (!err)
		err = read_order(command, &order, message);
	if (!err && top > TOP_MOST)
		err = usage(message, "--top: at most %d", TOP_MOST);
	if (err)
		return err;
	err = running_open(command->instance, true, &running, message);
	if (err)
		return err;
	err = list_states(command, &running, order, top, message);
	running_close(&running);
	return err;
}

static int source_show(struct command *command, struct message *message)
{
	struct text_style style = { command->human, command->color };
	struct explanation explanation;
	struct running running;
	struct packet packet;
	int err;

	err = words_expect(command, 2, 2, message);
	if (err)
		return err;
	if (packet_read_words(1, command->argv + 1, &packet, message))
		return VERB_USAGE;
	err = running_open(command->instance, true, &running, message);
	if (err)
		return err;
	err = running_explain(&running, &packet, &explanation, message);
	if (!err && command->json)
		json_print(json_source(&explanation), command->pretty, command->out);
	else if (!err)
		text_source(&explanation, &style, command->out);
	running_close(&running);
	return err;
}

/* NULL: all sources. */
static int forget(struct command *command, const struct prefix *source, size_t *count,
		  struct message *message)
{
	struct running running;
	int err;

	err = running_open(command->instance, false, &running, message);
	if (err)
		return err;
	if (source)
		err = forget_source(&running.instance, running.image, source, count);
	else
		err = forget_all(&running.instance, running.image);
	if (err)
		message_set(message, err, "the states can't be changed: %s", strerror(-err));
	running_close(&running);
	return err;
}

static void print_forgotten(struct command *command, bool all, size_t count)
{
	json_t *document;

	if (!command->json) {
		if (all)
			log_info("all states are forgotten");
		else
			log_info("%zu state%s forgotten", count, count == 1 ? " is" : "s are");
		return;
	}
	document = json_object();
	if (all)
		json_object_set_new(document, "all", json_true());
	else
		json_object_set_new(document, "forgotten", json_unsigned(count));
	json_print(document, command->pretty, command->out);
}

static int source_forget(struct command *command, struct message *message)
{
	bool all = command->option[OPT_ALL];
	struct packet packet;
	struct prefix source;
	size_t count = 0;
	int err;

	err = words_expect(command, all ? 1 : 2, all ? 1 : 2, message);
	if (err)
		return err;
	if (!all && packet_read_words(1, command->argv + 1, &packet, message))
		return VERB_USAGE;
	if (!all && units_prefix(command->argv[1], &source, message))
		return VERB_USAGE;
	err = forget(command, all ? NULL : &source, &count, message);
	if (!err)
		print_forgotten(command, all, count);
	return err;
}

int cmd_source(struct command *command, struct message *message)
{
	static const char *const names[] = { "list", "show", "forget" };
	static int (*const jobs[])(struct command * command,
				   struct message * message) = { source_list, source_show,
								 source_forget };
	int found = 0;

	if (command->argc)
		found = word_find(command->argv[0], names, 3, "word", message);
	else
		return words_expect(command, 1, 2, message);
	return found < 0 ? VERB_USAGE : jobs[found](command, message);
}
