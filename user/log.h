/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Words to people, on stderr. Libraries below the command layer do not print:
 * they fill a struct message and return -errno.
 */
#ifndef WEIR_LOG_H
#define WEIR_LOG_H

#include <stdarg.h>

enum log_level {
	LOG_QUIET,
	LOG_NORMAL,
	LOG_VERBOSE,
};

extern enum log_level log_level;

/* What went wrong and what to do about it: one line each, no final full stop. Hint may be empty. */
struct message {
	char text[512];
	char hint[512];
};

/*
 * Fill *message (may be NULL) and return `error`, a negative errno, so that
 * `return message_set(m, -EINVAL, "...")` reads as one step. message_hint adds the remedy.
 */
int message_set(struct message *message, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int message_hint(struct message *message, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same with a va_list. Control characters, which may come from a file, are made '?'. */
int message_vset(struct message *message, int error, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
