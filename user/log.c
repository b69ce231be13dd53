/* SPDX-License-Identifier: GPL-2.0-only */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#include "log.h"

enum log_level log_level = LOG_NORMAL;

int message_vset(struct message *message, int error, const char *format, va_list args)
{
	if (!message)
		return error;
	message->hint[0] = '\0';
	vsnprintf(message->text, sizeof(message->text), format, args);
	for (char *c = message->text; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	return error;
}

int message_set(struct message *message, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	message_vset(message, error, format, args);
	va_end(args);
	return error;
}

int message_hint(struct message *message, int error, const char *format, ...)
{
	va_list args;

	if (!message)
		return error;
	va_start(args, format);
	vsnprintf(message->hint, sizeof(message->hint), format, args);
	va_end(args);
	return error;
}

static void print(enum log_level least, const char *prefix, const char *format, va_list args)
{
	if (log_level < least)
		return;
	fputs(prefix, stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

void log_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(LOG_QUIET, "weir: warning: ", format, args);
	va_end(args);
}

void log_info(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(LOG_NORMAL, "", format, args);
	va_end(args);
}

void log_debug(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(LOG_VERBOSE, "weir: ", format, args);
	va_end(args);
}
