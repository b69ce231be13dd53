/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "words.h"

enum {
	WORDS_SHOWN = 8,
	WORD_LONGEST = 32, /* longer words are no typing errors of ours */
};

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Optimal string alignment: one edit is a letter more, less, another, or two swapped. */
static size_t edits(const char *a, const char *b)
{
	size_t rows[3][WORD_LONGEST + 1];
	size_t a_length = strlen(a), b_length = strlen(b);

	if (a_length > WORD_LONGEST || b_length > WORD_LONGEST)
		return WORD_LONGEST;
	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t *row = rows[i % 3], *above = rows[(i - 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			row[j] = least(least(above[j], row[j - 1]) + 1,
				       above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], rows[(i - 2) % 3][j - 2] + 1);
		}
	}
	return rows[a_length % 3][b_length];
}

static void list_names(const char *const *names, size_t count, const char *start, char *to,
		       size_t size)
{
	size_t used = 0;

	to[0] = '\0';
	for (size_t i = 0; i < count && used < size; i++)
		if (!strncmp(names[i], start, strlen(start)))
			used += (size_t)snprintf(to + used, size - used, "%s%s", used ? ", " : "",
						 names[i]);
}

static int unknown(const char *word, const char *const *names, size_t count, const char *what,
		   struct message *message)
{
	size_t best = WORD_LONGEST, nearest = 0;
	char list[400];

	for (size_t i = 0; i < count; i++) {
		size_t distance = edits(word, names[i]);

		if (distance < best) {
			best = distance;
			nearest = i;
		}
	}
	message_set(message, -EINVAL, "unknown %s `%s`", what, word);
	if (best <= 2 && best < strlen(word))
		return message_hint(message, -EINVAL, "did you mean `%s`?", names[nearest]);
	if (!count)
		return -EINVAL;
	if (count > WORDS_SHOWN)
		return message_hint(message, -EINVAL,
				    "`weir help` and `weir help COMMAND` list them");
	list_names(names, count, "", list, sizeof(list));
	return message_hint(message, -EINVAL, "known: %s", list);
}

int word_find(const char *word, const char *const *names, size_t count, const char *what,
	      struct message *message)
{
	size_t length = strlen(word), found = 0, matches = 0;
	char list[400];

	for (size_t i = 0; i < count; i++) {
		if (!strcmp(names[i], word))
			return (int)i;
		if (length && !strncmp(names[i], word, length)) {
			found = i;
			matches++;
		}
	}
	if (matches == 1)
		return (int)found;
	if (!matches)
		return unknown(word, names, count, what, message);
	list_names(names, count, word, list, sizeof(list));
	message_set(message, -EINVAL, "`%s` may be several %ss", word, what);
	return message_hint(message, -EINVAL, "did you mean one of: %s?", list);
}

int word_find_whole(const char *word, const char *const *names, size_t count, const char *what,
		    struct message *message)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], word))
			return (int)i;
	return unknown(word, names, count, what, message);
}
