/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Builds the directories of bpf/directory.h: the cells that answer which
 * prefix is the longest for an address. Pure; must not know maps.
 */
#ifndef WEIR_DIRECTORY_BUILD_H
#define WEIR_DIRECTORY_BUILD_H

#include "compile.h"

enum directory_size {
	DIRECTORY_LARGE = 4096, /* prefixes of a family; from here on the filter is asked first */
};

struct directory {
	struct directory_cell *root; /* DIRECTORY_ROOT_CELLS */
	struct directory_cell *cells;
	size_t count;  /* of cells */
	bool filtered; /* DIRECTORY_FILTER says to ask: the filter must know the prefixes */
};

/*
 * The directory of one family's prefixes, among `prefixes` in the order of prefix_compare.
 * `base` is added to each policy's index. 0; -ENOMEM; -E2BIG where an index or the number of
 * cells outgrows its bits. *directory is untouched on failure.
 */
int directory_build(const struct image_prefix *prefixes, size_t count, unsigned int family,
		    uint32_t base, struct directory *directory);
void directory_free(struct directory *directory);

#endif
