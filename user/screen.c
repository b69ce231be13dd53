/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "screen.h"

enum {
	ROW_TEXT = 1024,
};

int screen_resize(struct screen *screen, int rows, int columns)
{
	struct cell *cells;

	if (rows < 1 || columns < 1)
		return -EINVAL;
	cells = calloc((size_t)rows * (size_t)columns, sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	free(screen->cells);
	screen->rows = rows;
	screen->columns = columns;
	screen->cells = cells;
	screen_clear(screen);
	return 0;
}

void screen_clear(struct screen *screen)
{
	for (int i = 0; i < screen->rows * screen->columns; i++)
		screen->cells[i] = (struct cell){ L' ', STYLE_PLAIN };
}

void screen_free(struct screen *screen)
{
	free(screen->cells);
	*screen = (struct screen){ 0 };
}

void screen_set(struct screen *screen, int row, int column, enum style style, wchar_t character)
{
	if (row < 0 || row >= screen->rows || column < 0 || column >= screen->columns)
		return;
	screen->cells[row * screen->columns + column] = (struct cell){ character, style };
}

/* A name may hold anything: what is not one column wide would shift the rest of the row. */
static wchar_t printable(wchar_t character)
{
	return wcwidth(character) == 1 ? character : L'?';
}

int screen_put(struct screen *screen, int row, int column, enum style style, const char *format,
	       ...)
{
	char text[ROW_TEXT];
	const char *from = text;
	mbstate_t shift = { 0 };
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	while (*from) {
		wchar_t character;
		size_t used = mbrtowc(&character, from, MB_CUR_MAX, &shift);

		if (used == (size_t)-1 || used == (size_t)-2) {
			character = L'?';
			used = 1;
			shift = (mbstate_t){ 0 };
		}
		screen_set(screen, row, column++, style, printable(character));
		from += used;
	}
	return column;
}

void screen_style_row(struct screen *screen, int row, enum style style)
{
	if (row < 0 || row >= screen->rows)
		return;
	for (int i = 0; i < screen->columns; i++)
		screen->cells[row * screen->columns + i].style = style;
}

char *screen_row_text(const struct screen *screen, int row, char *to, size_t size)
{
	mbstate_t shift = { 0 };
	size_t used = 0;
	int last = screen->columns;

	*to = '\0';
	if (row < 0 || row >= screen->rows)
		return to;
	while (last && screen->cells[row * screen->columns + last - 1].character == L' ')
		last--;
	for (int i = 0; i < last && used + MB_CUR_MAX < size; i++) {
		size_t bytes = wcrtomb(to + used,
				       screen->cells[row * screen->columns + i].character, &shift);

		if (bytes == (size_t)-1)
			to[used++] = '?';
		else
			used += bytes;
	}
	to[used] = '\0';
	return to;
}
