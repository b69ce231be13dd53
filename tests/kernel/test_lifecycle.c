/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lifecycle of an instance on a real kernel: what is made, attached,
 * found again and removed, and what is left after failures.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>
#include <linux/if_link.h>
#include <net/if.h>

#include "../../user/kernel.h"

#define NAME "kernel-t"

static const struct capacity small_room = {
	.table = TABLE_SETS,
	.sets = 64,
	.log_sets = 1,
	.cells = 256,
	.policies = 8,
	.entry_policies = 4,
	.credits = 2,
};

static void run(const char *command)
{
	if (system(command))
		fail_msg("failed: %s", command);
}

/* A veth pair whose peer is in the same namespace: nothing else is needed to attach. */
static int make_interfaces(void **state)
{
	(void)state;
	run("mount -t sysfs sysfs /sys");
	run("ip link add kt0 type veth peer name kt1 && ip link set kt0 up && ip link set kt1 up");
	return 0;
}

static int remove_interfaces(void **state)
{
	(void)state;
	instance_destroy(NAME, NULL);
	run("ip link del kt0");
	return 0;
}

static struct message message;

static void create(struct instance *instance)
{
	if (instance_create(NAME, &small_room, instance, &message))
		fail_msg("%s (%s)", message.text, message.hint);
}

static void put_rules(struct instance *instance)
{
	if (instance_rules_write(instance, "yaml\n", 5, "own\n", 4, &message))
		fail_msg("%s", message.text);
}

static bool attach(struct instance *instance, const char *interface, enum attach_mode mode)
{
	bool already;

	if (instance_attach(instance, interface, mode, false, &already, &message))
		fail_msg("%s (%s)", message.text, message.hint);
	return already;
}

/* An interface's program: 0 if it has none. */
static uint32_t program_on(const char *interface)
{
	__u32 id = 0;

	assert_int_equal(bpf_xdp_query_id(if_nametoindex(interface), 0, &id), 0);
	return id;
}

static void instance_is_found_again_and_leaves_nothing(void **state)
{
	struct instance instance, again;
	char *yaml, *own;
	size_t yaml_length, own_length;

	(void)state;
	assert_false(instance_exists(NAME));
	create(&instance);
	assert_false(instance_exists(NAME));
	put_rules(&instance);
	assert_true(instance_exists(NAME));
	instance_close(&instance);
	if (instance_open(NAME, false, &again, &message))
		fail_msg("%s (%s)", message.text, message.hint);
	assert_int_equal(again.meta.sets, small_room.sets);
	assert_int_equal(
		instance_rules_read(&again, &yaml, &yaml_length, &own, &own_length, &message), 0);
	assert_string_equal(yaml, "yaml\n");
	assert_string_equal(own, "own\n");
	free(yaml);
	free(own);
	instance_close(&again);
	assert_int_equal(instance_destroy(NAME, &message), 0);
	assert_int_equal(access("/sys/fs/bpf/weir", F_OK), -1);
	assert_int_equal(instance_open(NAME, true, &again, &message), -ENOENT);
}

static void attach_is_idempotent_and_detach_frees(void **state)
{
	struct instance instance;
	struct attachment *list;
	size_t count;

	(void)state;
	create(&instance);
	assert_false(attach(&instance, "kt0", MODE_AUTO));
	assert_string_equal(message.text, "");
	assert_int_not_equal(program_on("kt0"), 0);
	assert_true(attach(&instance, "kt0", MODE_AUTO));
	assert_int_equal(instance_attachments(&instance, &list, &count, &message), 0);
	assert_int_equal(count, 1);
	assert_string_equal(list[0].interface, "kt0");
	assert_true(list[0].attached && list[0].native && list[0].frags);
	assert_int_equal(list[0].program_id, program_on("kt0"));
	free(list);
	assert_int_equal(instance_detach(&instance, "kt0", &message), 0);
	assert_int_equal(program_on("kt0"), 0);
	assert_int_equal(instance_detach(&instance, "kt0", &message), -ENOENT);
	instance_close(&instance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instance_is_found_again_and_leaves_nothing),
		cmocka_unit_test(attach_is_idempotent_and_detach_frees),
	};

	return cmocka_run_group_tests_name("lifecycle", tests, make_interfaces, remove_interfaces);
}
