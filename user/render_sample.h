/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sampled drop as a line for people, a line of JSON, or a comment to a
 * captured packet. Must not know where samples come from.
 */
#ifndef WEIR_RENDER_SAMPLE_H
#define WEIR_RENDER_SAMPLE_H

#include <stdio.h>

#include "sample.h"

enum sample_size {
	SAMPLE_COMMENT = 256,
};

void render_sample_text(const struct sample *sample, const struct sample_place *place, FILE *out);
void render_sample_json(const struct sample *sample, const struct sample_place *place, bool pretty,
			FILE *out);
/* "drop: limit everyone/dns"; `to` holds SAMPLE_COMMENT bytes. */
char *render_sample_comment(const struct sample *sample, char *to, size_t size);

#endif
