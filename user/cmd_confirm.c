/* SPDX-License-Identifier: GPL-2.0-only */
#include "cli.h"
#include "render_json.h"
#include "rollback.h"

int cmd_confirm(struct command *command, struct message *message)
{
	char left[UNIT_TEXT];
	uint64_t left_ns;
	json_t *document;
	int err;

	err = words_expect(command, 0, 0, message);
	if (err)
		return err;
	err = rollback_confirm(command->instance, &left_ns, message);
	if (err)
		return err;
	if (!command->json) {
		log_info("confirmed, with %s left",
			 units_duration_text(left_ns / 1000000 * 1000000 + 1000000, left,
					     sizeof(left)));
		return 0;
	}
	document = json_object();
	json_object_set_new(document, "confirmed", json_true());
	json_object_set_new(document, "left_ns", json_unsigned(left_ns));
	json_print(document, command->pretty, command->out);
	return 0;
}
