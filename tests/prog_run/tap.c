/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tap.h"

static unsigned int results;
static unsigned int failures;

static void print_name(const char *format, va_list arguments)
{
	fputs(" - ", stdout);
	vprintf(format, arguments);
}

bool tap_ok(bool good, const char *format, ...)
{
	va_list arguments;

	results++;
	failures += !good;
	printf("%sok %u", good ? "" : "not ", results);
	va_start(arguments, format);
	print_name(format, arguments);
	va_end(arguments);
	putchar('\n');
	fflush(stdout);
	return good;
}

void tap_skip(const char *why, const char *format, ...)
{
	va_list arguments;

	results++;
	printf("ok %u", results);
	va_start(arguments, format);
	print_name(format, arguments);
	va_end(arguments);
	printf(" # SKIP %s\n", why);
	fflush(stdout);
}

void tap_note(const char *format, ...)
{
	va_list arguments;

	fputs("# ", stdout);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
}

void tap_bail(const char *format, ...)
{
	va_list arguments;

	fputs("Bail out! ", stdout);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	fflush(stdout);
	exit(1);
}

int tap_done(void)
{
	printf("1..%u\n", results);
	return failures ? 1 : 0;
}
