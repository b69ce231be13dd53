/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a replay found, as tables for people or as JSON; and the comments above
 * suggested limits. Must not know files.
 */
#ifndef WEIR_RENDER_REPLAY_H
#define WEIR_RENDER_REPLAY_H

#include <stdio.h>

#include "replay.h"
#include "suggest.h"

struct replay_page {
	const char *capture;
	const char *policy;
	const struct replay *replay;
	const struct replay_refused *worst;
	size_t worst_count;
	uint64_t outgoing; /* frames not judged: the host had sent them */
	bool color;
};

void render_replay_text(const struct replay_page *page, FILE *out);
void render_replay_json(const struct replay_page *page, bool pretty, FILE *out);

/* YAML comments: where the numbers come from, and what they would have refused. */
void render_suggest_comment(const struct suggest *suggest, const struct replay_page *page,
			    FILE *out);
/* The same, with the file itself in `yaml`. */
void render_suggest_json(const struct suggest *suggest, const struct replay_page *page,
			 const char *yaml, bool pretty, FILE *out);

#endif
