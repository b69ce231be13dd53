/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Time of one program for one packet, by BPF_PROG_TEST_RUN through a driver that
 * changes the source, on one CPU or on several at once. Must not know rows or
 * policies.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "drive.h"

enum drive_kind {
	DRIVE_IPV4,
	DRIVE_IPV6,
	DRIVE_LIST4, /* IPv4, from a list of addresses */
	DRIVE_LIST6,
	DRIVE_KINDS,
};

enum measure_size {
	MEASURE_CPUS = 2,
};

struct bench_driver;
struct bench_reference;

struct bench {
	struct bench_driver *driver;
	struct bench_reference *reference;
	struct drive_address *lists; /* of DRIVE_LIST addresses each */
	unsigned int list_count;
};

/* One measurement: which program, which sources. */
struct run {
	int program;
	enum drive_kind kind;
	unsigned int cpus;
	struct drive drive[MEASURE_CPUS];
};

/* 0 or -errno. bench_close takes a half-open one. */
int bench_open(struct bench *bench, unsigned int lists);
void bench_close(struct bench *bench);

/* A program of reference.bpf.c or driver.bpf.c by its name; -ENOENT. */
int bench_program(const struct bench *bench, const char *name);

/*
 * Hand `packets` packets to the program on each CPU. *ns: time of a packet on a CPU, the driver's
 * included, the mean of the CPUs; *verdict: of the last packet. The drives go on where they were.
 */
int bench_measure(const struct bench *bench, struct run *run, uint32_t packets, double *ns,
		  uint32_t *verdict);

#endif
