/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The counter cells of a rig by name, and the difference between two readings.
 * Must not know frames.
 *
 * A cell's name is its reason, its policy and its limit: "limit:everyone/dns",
 * "granted:everyone", "blocked:entry", "not-ip".
 */
#ifndef WEIR_TEST_COUNTS_H
#define WEIR_TEST_COUNTS_H

#include "rig.h"

enum counts_size {
	CELLS_MOST = 256,
	CELL_NAME = 96,
};

struct cell {
	uint32_t index;
	bool verdict; /* counts frames; else happenings */
	bool passes;
	char name[CELL_NAME];
	struct counter value;
};

struct counts {
	size_t count;
	struct cell cells[CELLS_MOST];
};

/* Name the cells that the rig's policy and its entries use, and read them. */
void counts_start(const struct rig *rig, struct counts *counts);
void counts_read(const struct rig *rig, struct counts *counts);

/* The sum of every verdict cell, named or not. */
struct counter counts_total(const struct rig *rig, const struct counts *counts);

/* "limit" means any limit's, "limit:everyone" any of that policy, or the name in full. */
bool cell_is(const struct cell *cell, const char *name);

/* How often, all CPUs together; 0 for a cell that is not there. */
struct counter cell_read(const struct rig *rig, uint32_t index);

#endif
