/* SPDX-License-Identifier: GPL-2.0-only */
#include "cli.h"
#include "compile.h"
#include "kernel.h"
#include "policy_file.h"
#include "render_json.h"

static json_t *describe(const char *file, const struct ruleset *ruleset, size_t prefixes,
			size_t limits)
{
	json_t *document = json_object();

	json_object_set_new(document, "file", json_words(file));
	json_object_set_new(document, "valid", json_true());
	json_object_set_new(document, "policies", json_unsigned(ruleset->policy_count));
	json_object_set_new(document, "prefixes", json_unsigned(prefixes));
	json_object_set_new(document, "limits", json_unsigned(limits));
	json_object_set_new(document, "services", json_unsigned(ruleset->service_count));
	json_object_set_new(document, "entries", json_unsigned(ruleset->entry_count));
	return document;
}

/* Up to the image: whether it fits a running instance, only apply can say. */
int cmd_check(struct command *command, struct message *message)
{
	size_t prefixes = 0, limits;
	struct ruleset *ruleset;
	struct capacity room;
	struct image *image;
	int err;

	err = words_expect(command, 1, 1, message);
	if (err)
		return err;
	command->file = policy_file_name(command->argv[0]);
	err = policy_file_read(command->argv[0], &ruleset, &command->problems, message);
	if (err)
		return err;
	err = image_first(ruleset, kernel_cpus(), &room, &image, message);
	if (err) {
		ruleset_free(ruleset);
		return err;
	}
	limits = ruleset->limit_count;
	for (size_t i = 0; i < ruleset->policy_count; i++) {
		prefixes += ruleset->policies[i].source_count;
		limits += ruleset->policies[i].limit_count;
	}
	if (command->json)
		json_print(describe(command->file, ruleset, prefixes, limits), command->pretty,
			   command->out);
	else if (log_level > LOG_QUIET)
		fprintf(command->out,
			"%s is valid; policies: %zu, prefixes: %zu, limits: %zu, services: %zu\n",
			command->file, ruleset->policy_count, prefixes, limits,
			ruleset->service_count);
	image_free(image);
	ruleset_free(ruleset);
	return 0;
}
