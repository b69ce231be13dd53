/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prefix_list.h"

/* Lists of a million lines are usual: room for every line is made at once. */
static size_t count_lines(const char *text, size_t length)
{
	size_t lines = 1;

	for (size_t i = 0; i < length; i++)
		lines += text[i] == '\n';
	return lines;
}

static void parse_line(const char *line, size_t length, unsigned int number, struct prefix *list,
		       size_t *count, struct problems *problems)
{
	const char *hash = memchr(line, '#', length);
	size_t end = hash ? (size_t)(hash - line) : length, start = 0;
	struct message message;
	char word[PREFIX_TEXT];

	while (start < end && strchr(" \t\r", line[start]))
		start++;
	while (end > start && strchr(" \t\r", line[end - 1]))
		end--;
	if (start == end)
		return;
	snprintf(word, sizeof(word), "%.*s", (int)(end - start), line + start);
	if (units_prefix(word, &list[*count], &message))
		problems_add_message(problems, (struct place){ number, (unsigned int)start + 1 },
				     -EINVAL, &message);
	else
		(*count)++;
}

int prefix_list_parse(const char *text, size_t length, struct prefix **list, size_t *count,
		      struct problems *problems)
{
	struct prefix *prefixes = calloc(count_lines(text, length), sizeof(*prefixes));
	unsigned int number = 1;
	size_t found = 0;

	if (!prefixes)
		return -ENOMEM;
	for (size_t at = 0; at < length; number++) {
		const char *end = memchr(text + at, '\n', length - at);
		size_t line = end ? (size_t)(end - (text + at)) : length - at;

		parse_line(text + at, line, number, prefixes, &found, problems);
		at += line + 1;
	}
	if (problems->count) {
		free(prefixes);
		return -EINVAL;
	}
	*list = prefixes;
	*count = found;
	return 0;
}
