/* SPDX-License-Identifier: GPL-2.0-only */
#include "cli.h"
#include "packet_words.h"
#include "render_json.h"
#include "render_text.h"
#include "running.h"

int cmd_explain(struct command *command, struct message *message)
{
	struct text_style style = { command->human, command->color };
	struct explanation explanation;
	struct running running;
	struct packet packet;
	int err;

	err = words_expect(command, 1, 12, message);
	if (err)
		return err;
	if (packet_read_words(command->argc, command->argv, &packet, message))
		return VERB_USAGE;
	err = running_open(command->instance, true, &running, message);
	if (err)
		return err;
	err = running_explain(&running, &packet, &explanation, message);
	if (!err && command->json)
		json_print(json_explanation(&explanation), command->pretty, command->out);
	else if (!err)
		text_explanation(&explanation, &style, command->out);
	running_close(&running);
	return err;
}
