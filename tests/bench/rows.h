/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is measured: instances of weir, rows that drive one of them or a
 * reference program, and the targets. Tables only; README.md says how to read
 * them.
 */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include <stddef.h>

#include "measure.h"

/* What a table's prefixes are for. */
enum prefix_use {
	PREFIXES_NONE,
	PREFIXES_POLICY,  /* sources of a drop policy */
	PREFIXES_ENTRIES, /* weir block --file */
};

/* An instance. Its policies: `policy` as it stands, or one for everybody with `limits`. */
struct setup {
	const char *name;
	const char *kind;     /* table; NULL: sets */
	const char *sources;  /* table; NULL: 64k */
	const char *services; /* YAML */
	const char *limits;   /* YAML, of the one policy */
	const char *policy;   /* YAML, whole */
	enum prefix_use use;
	unsigned int prefixes;
	unsigned int family;
	bool large; /* left out of a quick run */
};

enum row_verdict {
	EXPECT_ANY = -1,
	EXPECT_DROP = 1, /* XDP_DROP */
	EXPECT_PASS = 2,
};

enum row_list {
	LIST_NONE,
	LIST_INSIDE,  /* addresses under the setup's prefixes */
	LIST_OUTSIDE, /* random ones */
};

struct row {
	const char *title;
	const char *under; /* a setup, or a reference program */
	enum drive_kind kind;
	enum row_list list;
	uint32_t sources; /* power of two */
	unsigned int cpus;
	bool apart; /* each CPU has sources of its own */
	enum row_verdict expect;
};

/*
 * The row may take at most `most` times what the other does; other NULL: the base of its family.
 * `floor`: a row of the least that any program must do for it, where that is most of it.
 */
struct target {
	const char *row;
	const char *other;
	double most;
	const char *floor;
};

extern const struct setup setups[];
extern const size_t setup_count;
extern const struct row rows[];
extern const size_t row_count;
extern const struct target targets[];
extern const size_t target_count;

#define ROW_BASE4 "parse + clock + drop"
#define ROW_BASE6 "parse + clock + drop, IPv6"

const struct setup *setup_named(const char *name); /* NULL: none */
const struct row *row_titled(const char *title);
const char *row_base(const struct row *row);
const char *target_other(const struct target *target);

/* Titles of the rows for the drivers alone, by enum drive_kind. */
extern const char *const row_drivers[DRIVE_KINDS];

#endif
