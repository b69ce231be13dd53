/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A snapshot as Prometheus reads it: the text format 0.0.4 or OpenMetrics 1.0.
 * No label ever holds an address. Must not know sockets or the kernel.
 */
#ifndef WEIR_RENDER_PROM_H
#define WEIR_RENDER_PROM_H

#include <stdio.h>

#include "snapshot.h"

/* What one scrape shows. */
struct prom_page {
	const struct snapshot *snapshot; /* NULL: no such instance runs */
	const uint64_t *top_dropped;	 /* drops of the worst sources, worst first */
	size_t top_count;
	bool openmetrics;
};

/* 0 or -errno of the stream. */
int render_prom(const struct prom_page *page, FILE *out);

/* By the Accept header (may be NULL): does the client like OpenMetrics better? */
bool prom_wants_openmetrics(const char *accept);
const char *prom_content_type(bool openmetrics);

#endif
