/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Words that people type: whole or abbreviated without doubt, and the word
 * that was meant where one is mistyped. Knows no command.
 */
#ifndef WEIR_WORDS_H
#define WEIR_WORDS_H

#include <stddef.h>

#include "log.h"

/*
 * The index of the one name that `word` is or abbreviates, or -EINVAL with *message: `what`
 * ("command", "option") says what kind of word was expected, the hint which one was meant.
 */
int word_find(const char *word, const char *const *names, size_t count, const char *what,
	      struct message *message);

/* The same for words that are never abbreviated: the keys and values of a file. */
int word_find_whole(const char *word, const char *const *names, size_t count, const char *what,
		    struct message *message);

#endif
