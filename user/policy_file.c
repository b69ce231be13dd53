/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "policy_file.h"

static int parse(const char *name, const char *text, size_t length, struct ruleset **ruleset,
		 struct problems *problems, struct message *message)
{
	int err = config_parse(text, length, ruleset, problems);

	if (!err)
		return 0;
	if (problems->count == 1)
		return message_set(message, err, "%s: there is 1 error", name);
	return message_set(message, err, "%s: there are %zu errors", name, problems->count);
}

const char *policy_file_name(const char *path)
{
	if (!path)
		return "the built-in policy";
	return strcmp(path, "-") ? path : "stdin";
}

int policy_file_read(const char *path, struct ruleset **ruleset, struct problems *problems,
		     struct message *message)
{
	const char *built_in;
	size_t length;
	char *text;
	int err;

	if (!path) {
		built_in = config_default(&length);
		return parse(policy_file_name(path), built_in, length, ruleset, problems, message);
	}
	err = config_read_text(path, &text, &length, message);
	if (err)
		return err;
	err = parse(policy_file_name(path), text, length, ruleset, problems, message);
	free(text);
	return err;
}

void policy_file_observe(struct ruleset *ruleset)
{
	for (size_t i = 0; i < ruleset->policy_count; i++)
		ruleset->policies[i].enforced = 0;
}
