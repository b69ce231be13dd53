/* SPDX-License-Identifier: GPL-2.0-only */
/* Rulesets from the text of a policy file, in tests that are about something else. */
#ifndef TESTS_UNIT_RULES_H
#define TESTS_UNIT_RULES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/config.h"

static inline struct ruleset *rules_read(const char *text)
{
	struct ruleset *ruleset = NULL;
	struct problems problems = { 0 };

	if (config_parse(text, strlen(text), &ruleset, &problems))
		for (size_t i = 0; i < problems.count; i++)
			print_message("# line %u: %s\n", problems.list[i].place.line,
				      problems.list[i].message.text);
	problems_free(&problems);
	assert_non_null(ruleset);
	return ruleset;
}

/* One policy for all sources with these limits (a YAML flow sequence). */
static inline struct ruleset *rules_everyone(const char *limits)
{
	struct ruleset *ruleset;
	char *text = NULL;
	int length = asprintf(&text,
			      "policies:\n"
			      "  - {name: everyone, sources: [0.0.0.0/0, '::/0'], limits: %s}\n",
			      limits);

	assert_true(length > 0);
	ruleset = rules_read(text);
	free(text);
	return ruleset;
}

static inline struct prefix rules_prefix(const char *text)
{
	struct prefix prefix;

	assert_int_equal(units_prefix(text, &prefix, NULL), 0);
	return prefix;
}

#endif
