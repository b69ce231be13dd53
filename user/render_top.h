/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The live screen as a grid of cells, and the same numbers as JSON. Must not
 * know the terminal or where the numbers come from.
 */
#ifndef WEIR_RENDER_TOP_H
#define WEIR_RENDER_TOP_H

#include <stdio.h>

#include "screen.h"
#include "top.h"

/* ascii: the terminal can't show block characters. */
void render_top_screen(const struct top *top, bool ascii, struct screen *screen);

/* One document and a line end. 0 or -errno. */
int render_top_json(const struct rates *rates, const char *instance, bool pretty, FILE *out);

#endif
