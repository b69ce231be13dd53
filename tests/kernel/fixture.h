/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of the kernel side share: an instance made from policy text,
 * frames run through its program, failures that name the message. Included by
 * one test program each.
 */
#ifndef WEIR_TESTS_FIXTURE_H
#define WEIR_TESTS_FIXTURE_H

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>
#include <linux/bpf.h>

#include "../../user/apply.h"
#include "../../user/config.h"
#include "../../user/limiter.h"
#include "../../user/snapshot.h"

#define FIXTURE __attribute__((unused)) static

static struct message message;

#define must(call)                                                                             \
	do {                                                                                   \
		message.text[0] = message.hint[0] = '\0';                                      \
		int must_ = (call);                                                            \
		if (must_)                                                                     \
			fail_msg("%s: %d: %s (%s)", #call, must_, message.text, message.hint); \
	} while (0)

FIXTURE void run(const char *command)
{
	if (system(command))
		fail_msg("failed: %s", command);
}

/* A running instance and what is in force there. */
struct fixture {
	const char *name;
	struct instance instance;
	struct ruleset *ruleset;
	struct image *image;
	int program;
};

FIXTURE struct ruleset *parse(const char *text)
{
	struct problems problems = {};
	struct ruleset *ruleset;

	if (config_parse(text, strlen(text), &ruleset, &problems))
		fail_msg("%u: %s", problems.list[0].place.line, problems.list[0].message.text);
	return ruleset;
}

/* As running.c puts an image in force. */
FIXTURE int fixture_swap(struct fixture *fixture, const struct image *image, bool flush)
{
	int err;

	must(instance_rules_write(&fixture->instance, "", 0, "", 0, &message));
	err = apply_image(&fixture->instance, fixture->image, image, flush, &message);
	if (!err)
		must(instance_rules_commit(&fixture->instance, &message));
	return err;
}

FIXTURE void fixture_create(struct fixture *fixture, const char *name, const char *text)
{
	struct capacity room;
	struct image *image;
	char path[256];

	fixture->name = name;
	fixture->ruleset = parse(text);
	fixture->image = NULL;
	must(image_first(fixture->ruleset, kernel_cpus(), &room, &image, &message));
	must(instance_create(name, &room, &fixture->instance, &message));
	must(fixture_swap(fixture, image, false));
	fixture->image = image;
	snprintf(path, sizeof(path), "%s/program", fixture->instance.path);
	fixture->program = bpf_obj_get(path);
	assert_true(fixture->program >= 0);
}

/* 0 or the error of the compiler or of apply_image; the old image is then still in force. */
FIXTURE int fixture_apply(struct fixture *fixture, const char *text, bool flush)
{
	struct capacity room = instance_capacity(&fixture->instance);
	struct ruleset *ruleset = parse(text);
	struct image *image;
	int err;

	err = image_next(ruleset, kernel_cpus(), &room, fixture->image, flush, &image, &message);
	if (!err)
		err = fixture_swap(fixture, image, flush);
	if (err) {
		ruleset_free(ruleset);
		return err;
	}
	image_free(fixture->image);
	ruleset_free(fixture->ruleset);
	fixture->image = image;
	fixture->ruleset = ruleset;
	return 0;
}

FIXTURE void fixture_destroy(struct fixture *fixture)
{
	close(fixture->program);
	image_free(fixture->image);
	ruleset_free(fixture->ruleset);
	instance_close(&fixture->instance);
	must(instance_destroy(fixture->name, &message));
}

/* Setup of a group in a network namespace of its own: /sys has to show that one. */
FIXTURE int mount_sysfs(void **state)
{
	(void)state;
	run("mount -t sysfs sysfs /sys");
	return 0;
}

/* After a test, whether it reached its fixture_destroy or failed before. */
FIXTURE int fixture_clean(struct fixture *fixture, const char *name)
{
	instance_close(&fixture->instance);
	instance_destroy(name, NULL);
	return 0;
}

struct test_frame {
	uint8_t bytes[64];
	uint32_t length;
};

/* UDP from `source` (text of either family) to a port. */
FIXTURE struct test_frame udp_frame(const char *source, uint16_t dport)
{
	struct test_frame frame = {};
	uint8_t *ip = frame.bytes + 14;

	if (strchr(source, ':')) {
		frame.length = 62;
		memcpy(frame.bytes + 12, "\x86\xdd", 2);
		ip[0] = 0x60;
		ip[5] = 8;
		ip[6] = 17;
		ip[7] = 64;
		inet_pton(AF_INET6, source, ip + 8);
		ip += 40;
	} else {
		frame.length = 42;
		memcpy(frame.bytes + 12, "\x08\x00", 2);
		ip[0] = 0x45;
		ip[3] = 28;
		ip[8] = 64;
		ip[9] = 17;
		inet_pton(AF_INET, source, ip + 12);
		ip += 20;
	}
	ip[2] = dport >> 8;
	ip[3] = dport & 0xff;
	ip[5] = 8;
	return frame;
}

/* How many of `count` packets pass. */
FIXTURE unsigned int pass(const struct fixture *fixture, const char *source, uint16_t dport,
			  unsigned int count)
{
	struct test_frame frame = udp_frame(source, dport);
	unsigned int passed = 0;

	for (unsigned int i = 0; i < count; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.bytes,
			    .data_size_in = frame.length, .repeat = 1);

		assert_int_equal(bpf_prog_test_run_opts(fixture->program, &options), 0);
		assert_in_range(options.retval, XDP_DROP, XDP_PASS);
		passed += options.retval == XDP_PASS;
	}
	return passed;
}

FIXTURE struct prefix prefix_from(const char *text)
{
	struct prefix prefix;

	must(units_prefix(text, &prefix, &message));
	return prefix;
}

#endif
