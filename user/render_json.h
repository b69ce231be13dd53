/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plain structs -> JSON documents, in the shapes that scripts rely on: counters
 * are integers, times end in _ns, what does not apply is absent. Must not know
 * where the structs come from.
 */
#ifndef WEIR_RENDER_JSON_H
#define WEIR_RENDER_JSON_H

#include <stdio.h>

#include <jansson.h>

#include "apply.h"
#include "explain.h"
#include "snapshot.h"

json_t *json_error(const struct message *message, const char *file,
		   const struct problems *problems);
json_t *json_status(const struct snapshot *snapshot);
json_t *json_stats(const struct snapshot *snapshot);
json_t *json_attachments(const struct attachment *list, size_t count);
json_t *json_source(const struct explanation *explanation);
json_t *json_explanation(const struct explanation *explanation);
json_t *json_entry(const struct entry_spec *entry);

/* JSON has no unsigned 64-bit integers: what is more than 2^63 - 1 stops there. */
json_t *json_unsigned(uint64_t value);
/* A string, whatever its bytes: in one that is no UTF-8 those beyond ASCII become `?`. */
json_t *json_words(const char *text);
json_t *json_prefix(const struct prefix *prefix);
json_t *json_address(const struct prefix *address);

/* The one document that is written piece by piece: there may be millions of sources. */
void json_print_sources(const struct source_view *list, size_t count, bool pretty, FILE *out);

/* One document and a line end; takes the reference. */
void json_print(json_t *document, bool pretty, FILE *out);

#endif
