/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables of text whose columns line up. Collects cells first, since the widest
 * decides. Knows nothing of what is in them.
 */
#ifndef WEIR_COLUMNS_H
#define WEIR_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
	COLUMNS_MOST = 12,
};

struct columns {
	const char *titles[COLUMNS_MOST];
	bool right[COLUMNS_MOST]; /* numbers stand at the right */
	size_t count;
	char **cells; /* row by row */
	size_t cell_count;
	bool failed; /* no memory: nothing is printed */
};

/* Titles, at most COLUMNS_MOST, the last NULL; one that begins with `>` is set to the right. */
void columns_start(struct columns *columns, const char *const *titles);
void columns_cell(struct columns *columns, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void columns_blank(struct columns *columns, int count);

/* Prints the table (nothing if it has no rows) and frees the cells. bold: titles stand out. */
void columns_print(struct columns *columns, bool bold, FILE *out);

#endif
