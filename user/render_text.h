/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plain structs -> tables and sentences for people. Must not know where the
 * structs come from, nor whether it is a terminal that it writes to: the style
 * says what is welcome.
 */
#ifndef WEIR_RENDER_TEXT_H
#define WEIR_RENDER_TEXT_H

#include <stdio.h>

#include "explain.h"
#include "snapshot.h"

struct text_style {
	bool human; /* 12.3k; else 12345 */
	bool color;
};

void text_status(const struct snapshot *snapshot, const struct text_style *style, FILE *out);
void text_stats(const struct snapshot *snapshot, const struct text_style *style, FILE *out);
void text_sources(const struct source_view *list, size_t count, const struct text_style *style,
		  FILE *out);
void text_source(const struct explanation *explanation, const struct text_style *style, FILE *out);
void text_explanation(const struct explanation *explanation, const struct text_style *style,
		      FILE *out);

#endif
