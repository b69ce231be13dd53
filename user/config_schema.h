/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The schema of a policy file: walks a YAML document and fills a ruleset.
 * Knows keys and values; must not know how the document came to be.
 */
#ifndef WEIR_CONFIG_SCHEMA_H
#define WEIR_CONFIG_SCHEMA_H

#include <yaml.h>

#include "policy.h"

/*
 * Fill *ruleset from the document, which has a root and no aliases. What can't be read is
 * reported in *problems and left out. 0 or -ENOMEM.
 */
int schema_read(yaml_document_t *document, struct ruleset *ruleset, struct problems *problems);

/* The place of a mark, as editors count. */
struct place schema_place(yaml_mark_t mark);

#endif
