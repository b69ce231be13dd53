/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A grid of cells that a view is drawn to, so that it can be looked at without
 * a terminal. Whoever shows it turns cells into escape sequences. Must not
 * know what is drawn.
 */
#ifndef WEIR_SCREEN_H
#define WEIR_SCREEN_H

#include <stddef.h>
#include <wchar.h>

enum style {
	STYLE_PLAIN,
	STYLE_DIM,
	STYLE_BOLD,
	STYLE_GOOD,
	STYLE_BAD,
	STYLE_TITLE,
	STYLE_SELECTED,
	STYLE_COUNT,
};

struct cell {
	wchar_t character; /* one column wide */
	enum style style;
};

struct screen {
	int rows;
	int columns;
	struct cell *cells;
};

/* Also clears. 0 or -ENOMEM, the screen as it was. */
int screen_resize(struct screen *screen, int rows, int columns);
void screen_clear(struct screen *screen);
void screen_free(struct screen *screen);

/*
 * Write text (in the locale's encoding) from a cell on, cut at the right edge; what is outside
 * the screen is not drawn. Returns the column behind it.
 */
int screen_put(struct screen *screen, int row, int column, enum style style, const char *format,
	       ...) __attribute__((format(printf, 5, 6)));
void screen_set(struct screen *screen, int row, int column, enum style style, wchar_t character);
/* The style of a whole row, whatever is written there. */
void screen_style_row(struct screen *screen, int row, enum style style);

/* A row as text without trailing spaces; `to` holds at least 4 bytes a column and one. */
char *screen_row_text(const struct screen *screen, int row, char *to, size_t size);

#endif
