/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"

void columns_start(struct columns *columns, const char *const *titles)
{
	*columns = (struct columns){ 0 };
	for (; *titles && columns->count < COLUMNS_MOST; titles++) {
		columns->right[columns->count] = **titles == '>';
		columns->titles[columns->count++] = **titles == '>' ? *titles + 1 : *titles;
	}
}

void columns_cell(struct columns *columns, const char *format, ...)
{
	char **cells, *cell;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&cell, format, args);
	va_end(args);
	if (length < 0) {
		columns->failed = true;
		return;
	}
	cells = reallocarray(columns->cells, columns->cell_count + 1, sizeof(*cells));
	if (!cells) {
		columns->failed = true;
		free(cell);
		return;
	}
	cells[columns->cell_count++] = cell;
	columns->cells = cells;
}

void columns_blank(struct columns *columns, int count)
{
	while (count-- > 0)
		columns_cell(columns, "%s", "");
}

/* Characters of UTF-8: every byte but those that continue one. */
static int width(const char *text)
{
	int count = 0;

	for (; *text; text++)
		count += (*text & 0xc0) != 0x80;
	return count;
}

/* No blanks at the end of a line. */
static void print_cell(const char *text, int wide, bool right, bool last, FILE *out)
{
	int blanks = wide - width(text);

	fprintf(out, "%*s%s", right ? blanks : 0, "", text);
	if (!last)
		fprintf(out, "%*s", (right ? 0 : blanks) + 2, "");
}

static void print_row(const struct columns *columns, const char *const *cells, const int *wide,
		      FILE *out)
{
	size_t count = columns->count;

	while (count > 1 && !*cells[count - 1])
		count--;
	for (size_t i = 0; i < count; i++)
		print_cell(cells[i], wide[i], columns->right[i], i + 1 == count, out);
}

void columns_print(struct columns *columns, bool bold, FILE *out)
{
	const char *const *cells = (const char *const *)columns->cells;
	int wide[COLUMNS_MOST] = { 0 };

	for (size_t i = 0; i < columns->count; i++)
		wide[i] = width(columns->titles[i]);
	for (size_t i = 0; i < columns->cell_count; i++)
		if (width(cells[i]) > wide[i % columns->count])
			wide[i % columns->count] = width(cells[i]);
	if (!columns->failed && columns->cell_count) {
		fputs(bold ? "\033[1m" : "", out);
		print_row(columns, columns->titles, wide, out);
		fputs(bold ? "\033[0m\n" : "\n", out);
		for (size_t i = 0; i < columns->cell_count; i += columns->count) {
			print_row(columns, cells + i, wide, out);
			fputc('\n', out);
		}
	}
	for (size_t i = 0; i < columns->cell_count; i++)
		free(columns->cells[i]);
	free(columns->cells);
	*columns = (struct columns){ 0 };
}
