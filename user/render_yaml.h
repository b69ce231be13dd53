/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * YAML text as a JSON document of the same shape: mappings, lists, and scalars as
 * the strings they are. Must not know the schema.
 */
#ifndef WEIR_RENDER_YAML_H
#define WEIR_RENDER_YAML_H

#include <jansson.h>

#include "log.h"

/* 0 and *document, or -EINVAL where the text is no YAML, or -ENOMEM. */
int json_of_yaml(const char *text, size_t length, json_t **document, struct message *message);

#endif
