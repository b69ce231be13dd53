/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes the instances that rows.h lists, as weir itself makes them, and the
 * address lists that go with their prefixes. Must not know how time is taken.
 */
#ifndef BENCH_SETUP_H
#define BENCH_SETUP_H

#include "../../user/log.h"
#include "rows.h"

/* A setup as it stands. */
struct made {
	const struct setup *setup;
	int program;
	double parse_s;	 /* the policy's text */
	double load_s;	 /* program and maps, the policy in force */
	double block_s;	 /* the entries, if any, in one swap */
	double bytes;	 /* of table a state */
	uint32_t inside; /* place of its list of addresses */
};

/*
 * 0, or -errno with *message. `list`: room for DRIVE_LIST addresses under its prefixes, where it
 * has any. setup_unmake takes a zeroed one.
 */
int setup_make(const struct setup *setup, struct drive_address *list, struct made *made,
	       struct message *message);
void setup_unmake(struct made *made);

/* DRIVE_LIST random addresses of a family. */
void addresses_random(unsigned int family, struct drive_address *list);

#endif
