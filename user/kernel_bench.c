/* SPDX-License-Identifier: GPL-2.0-only */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.skel.h"
#include "kernel_bench.h"
#include "pins.h"

enum bench_size {
	CALIBRATE = 20000, /* packets, to learn how many fill the time */
	PARTS = 5,	   /* the median of which counts: a stall spoils one */
	MOST = 1 << 30,	   /* packets in one call */
};

/* Ethernet, IPv4, UDP to port 9, no payload; the source is the driver's. */
static const uint8_t frame[42] = { 2,	 0, 0,	 0,  0, 1, 2, 0,   0,  0,  0, 2, 8,  0,
				   0x45, 0, 0,	 28, 0, 1, 0, 0,   64, 17, 0, 0, 10, 0,
				   0,	 1, 192, 0,  2, 1, 4, 210, 0,  9,  0, 8, 0,  0 };

/* Of this thread alone: what else the machine does meanwhile must not count. */
static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * NS_PER_SEC + (double)now.tv_nsec;
}

static int timed(int program, uint32_t packets, double *ns)
{
	uint8_t out[sizeof(frame)];
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame, .data_size_in = sizeof(frame),
		    .data_out = out, .data_size_out = sizeof(out), .repeat = (int)packets);
	double began = cpu_ns();

	if (bpf_prog_test_run_opts(program, &options))
		return -errno;
	*ns = (cpu_ns() - began) / packets;
	return options.retval == 0 /* XDP_ABORTED: the call failed */ ? -EINVAL : 0;
}

static int hand_to(const struct bench *bench, int program)
{
	uint32_t zero = 0;

	return bpf_map_update_elem(bpf_map__fd(bench->maps.judge), &zero, &program, BPF_ANY)
		       ? -errno
		       : 0;
}

static int compare_doubles(const void *a, const void *b)
{
	double one = *(const double *)a, two = *(const double *)b;

	return (one > two) - (one < two);
}

static int measure(const struct bench *bench, int program, uint64_t for_ns, uint64_t *packets,
		   double *ns)
{
	int drive = bpf_program__fd(bench->progs.drive);
	double parts[PARTS] = { 0 }, each, count;
	int err = hand_to(bench, program);

	if (!err)
		err = timed(drive, CALIBRATE, &each);
	if (err)
		return err;
	count = (double)for_ns / PARTS / each;
	count = count < CALIBRATE ? CALIBRATE : count > MOST ? MOST : count;
	for (int i = 0; !err && i < PARTS; i++)
		err = timed(drive, (uint32_t)count, &parts[i]);
	qsort(parts, PARTS, sizeof(*parts), compare_doubles);
	*packets = (uint64_t)count * PARTS;
	*ns = parts[PARTS / 2];
	return err;
}

static int open_program(const struct instance *instance)
{
	char path[PINS_PATH];
	int fd;

	pins_path(instance->path, "program", path);
	fd = bpf_obj_get(path);
	return fd < 0 ? -errno : fd;
}

static int measure_both(const struct bench *bench, int program, uint64_t for_ns,
			struct bench_result *result)
{
	uint64_t packets = 0;
	double driver = 0, whole = 0;
	int err = measure(bench, bpf_program__fd(bench->progs.end), for_ns / PARTS, &packets,
			  &driver);

	if (!err)
		err = measure(bench, program, for_ns, &packets, &whole);
	if (!err)
		*result = (struct bench_result){ packets, whole - driver, driver };
	return err;
}

int bench_run(const struct instance *instance, uint32_t sources, uint64_t for_ns,
	      struct bench_result *result, struct message *message)
{
	struct bench *bench;
	int program = open_program(instance), err;

	if (program < 0)
		return message_set(message, program, "cannot open the program of %s: %s",
				   instance->name, strerror(-program));
	bench = bench__open_and_load();
	if (bench) {
		bench->bss->source_mask = sources - 1;
		err = measure_both(bench, program, for_ns, result);
		if (err)
			message_set(message, err, "cannot run the program: %s", strerror(-err));
	} else {
		err = message_set(message, -errno, "cannot load the driver: %s", strerror(errno));
	}
	close(program);
	bench__destroy(bench);
	return err;
}
