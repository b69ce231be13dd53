/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lifecycle of an instance on a real kernel: what is made, attached,
 * found again and removed, and what is left after failures.
 */
#include "fixture.h"

#include <cap-ng.h>
#include <dlfcn.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/if_link.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "../../user/pins.h"

#define NAME	  "kernel-t"
#define DIRECTORY "/sys/fs/bpf/weir/" NAME

static struct instance instance;

static const struct capacity small_room = {
	.table = TABLE_SETS,
	.sets = 64,
	.log_sets = 1,
	.cells = 256,
	.policies = 8,
	.entry_policies = 4,
	.credits = 2,
};

/* A veth pair in one namespace: nothing else is needed to attach. */
static int make_interfaces(void **state)
{
	(void)state;
	run("mount -t sysfs sysfs /sys");
	run("ip link add kt0 type veth peer name kt1 && ip link set kt0 up && ip link set kt1 up");
	return 0;
}

static int clean(void **state)
{
	(void)state;
	instance_close(&instance);
	instance_destroy(NAME, NULL);
	run("ip link set kt0 xdp off; ip link set kt0 xdpgeneric off");
	return 0;
}

static void create(void)
{
	must(instance_create(NAME, &small_room, &instance, &message));
}

static void next_generation(void)
{
	struct live live;
	uint32_t zero = 0;

	assert_int_equal(bpf_map_lookup_elem(instance.maps[MAP_LIVE], &zero, &live), 0);
	live.generation++;
	assert_int_equal(bpf_map_update_elem(instance.maps[MAP_LIVE], &zero, &live, 0), 0);
}

static void put_rules(void)
{
	must(instance_rules_write(&instance, "yaml\n", 5, "own\n", 4, &message));
	next_generation();
	must(instance_rules_commit(&instance, &message));
}

static bool attach(const char *interface, enum attach_mode mode)
{
	bool already;

	must(instance_attach(&instance, interface, mode, false, &already, &message));
	return already;
}

/* An interface's program: 0 if it has none. */
static uint32_t program_on(const char *interface)
{
	__u32 id = 0;

	assert_int_equal(bpf_xdp_query_id(if_nametoindex(interface), 0, &id), 0);
	return id;
}

static bool bpffs_is_mounted(void)
{
	struct statfs fs;

	return !statfs("/sys/fs/bpf", &fs) && fs.f_type == BPF_FS_MAGIC;
}

static void assert_nothing_is_left(void)
{
	assert_int_equal(access("/sys/fs/bpf/weir", F_OK), -1);
	assert_false(instance_exists(NAME));
}

/* Run as a process of its own, which may drop rights or die. Returns its wait status. */
static int in_child(int (*job)(void))
{
	int status = 0;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (!child)
		_exit(job());
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void an_instance_is_found_again_and_leaves_nothing(void **state)
{
	(void)state;
	assert_false(instance_exists(NAME));
	create();
	assert_false(instance_exists(NAME));
	put_rules();
	assert_true(instance_exists(NAME));
	instance_close(&instance);
	must(instance_open(NAME, false, &instance, &message));
	assert_int_equal(instance.meta.sets, small_room.sets);
	assert_int_equal(mkdir(DIRECTORY "/mark", 0755), 0);
	instance_close(&instance);
	must(instance_destroy(NAME, &message));
	assert_nothing_is_left();
	assert_int_equal(instance_open(NAME, true, &instance, &message), -ENOENT);
	assert_int_equal(instance_destroy(NAME, &message), -ENOENT);
}

static void assert_rules(const char *expected)
{
	char *yaml, *own;
	size_t yaml_length, own_length;

	must(instance_rules_read(&instance, &yaml, &yaml_length, &own, &own_length, &message));
	assert_string_equal(yaml, expected);
	assert_string_equal(own, "own\n");
	free(yaml);
	free(own);
}

/* The swap decides: the text goes with the image whenever the writer dies. */
static void the_text_is_that_of_what_is_in_force(void **state)
{
	(void)state;
	create();
	put_rules();
	must(instance_rules_write(&instance, "new\n", 4, "own\n", 4, &message));
	assert_rules("yaml\n");
	next_generation();
	assert_rules("new\n");
	must(instance_rules_write(&instance, "newer\n", 6, "own\n", 4, &message));
	assert_rules("new\n");
	next_generation();
	must(instance_rules_commit(&instance, &message));
	assert_rules("newer\n");
}

static void attach_is_idempotent_and_detach_frees(void **state)
{
	struct attachment *list;
	size_t count;

	(void)state;
	create();
	assert_false(attach("kt0", MODE_AUTO));
	assert_string_equal(message.text, "");
	assert_int_not_equal(program_on("kt0"), 0);
	assert_true(attach("kt0", MODE_AUTO));
	must(instance_attachments(&instance, &list, &count, &message));
	assert_int_equal(count, 1);
	assert_string_equal(list[0].interface, "kt0");
	assert_true(list[0].attached && list[0].native && list[0].frags);
	assert_int_equal(list[0].program_id, program_on("kt0"));
	free(list);
	must(instance_detach(&instance, "kt0", &message));
	assert_int_equal(program_on("kt0"), 0);
	assert_int_equal(instance_detach(&instance, "kt0", &message), -ENOENT);
}

/* libbpf's calls come by here: a kernel that knows no frames of several buffers. */
static bool without_frags;

long syscall(long number, ...)
{
	static long (*next)(long, ...);
	const union bpf_attr *attr;
	long arguments[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		arguments[i] = va_arg(list, long);
	va_end(list);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "syscall");
	attr = (const union bpf_attr *)arguments[1];
	if (number == SYS_bpf && without_frags && arguments[0] == BPF_PROG_LOAD &&
	    attr->prog_flags & BPF_F_XDP_HAS_FRAGS) {
		errno = EINVAL;
		return -1;
	}
	return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
		    arguments[5]);
}

static void a_kernel_without_frags_gets_the_plain_program(void **state)
{
	struct attachment *list;
	size_t count;

	(void)state;
	without_frags = true;
	create();
	without_frags = false;
	attach("kt0", MODE_AUTO);
	must(instance_attachments(&instance, &list, &count, &message));
	assert_true(list[0].attached && !list[0].frags);
	free(list);
}

/* The loopback interface has no native mode. */
static void auto_mode_says_why_it_is_generic(void **state)
{
	struct attachment *list;
	size_t count;
	bool already;

	(void)state;
	create();
	assert_int_equal(instance_attach(&instance, "lo", MODE_NATIVE, false, &already, &message),
			 -EOPNOTSUPP);
	assert_non_null(strstr(message.hint, "--mode generic"));
	attach("lo", MODE_AUTO);
	assert_non_null(strstr(message.text, "native was refused"));
	must(instance_attachments(&instance, &list, &count, &message));
	assert_true(count == 1 && list[0].attached && !list[0].native);
	free(list);
}

static void the_mode_is_as_asked_for(void **state)
{
	struct attachment *list;
	size_t count;
	bool already;

	(void)state;
	create();
	attach("kt0", MODE_GENERIC);
	must(instance_attachments(&instance, &list, &count, &message));
	assert_true(list[0].attached && !list[0].native);
	free(list);
	assert_true(attach("kt0", MODE_AUTO));
	assert_int_equal(instance_attach(&instance, "kt0", MODE_NATIVE, false, &already, &message),
			 -EBUSY);
	assert_int_equal(
		instance_attach(&instance, "nowhere", MODE_AUTO, false, &already, &message),
		-ENODEV);
	assert_non_null(strstr(message.text, "nowhere"));
}

/* A program that passes everything. Returns its fd. */
static int load_foreign(void)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "foreign", "GPL", code, 2, NULL);

	assert_true(fd >= 0);
	return fd;
}

static void foreign_is_refused_and_replaced(uint32_t flags, const char *mode)
{
	int ifindex = if_nametoindex("kt0"), fd = load_foreign();
	uint32_t id;
	char id_text[32];
	bool already;

	assert_int_equal(bpf_xdp_attach(ifindex, fd, flags, NULL), 0);
	close(fd);
	id = program_on("kt0");
	create();
	assert_int_equal(instance_attach(&instance, "kt0", MODE_AUTO, false, &already, &message),
			 -EBUSY);
	snprintf(id_text, sizeof(id_text), "id %u", id);
	assert_non_null(strstr(message.text, id_text));
	assert_non_null(strstr(message.text, mode));
	assert_non_null(strstr(message.hint, "--replace"));
	assert_int_equal(program_on("kt0"), id);
	must(instance_attach(&instance, "kt0", MODE_AUTO, true, &already, &message));
	assert_false(already);
	assert_int_not_equal(program_on("kt0"), id);
	assert_int_not_equal(program_on("kt0"), 0);
}

static void a_foreign_native_program_is_refused_and_replaced(void **state)
{
	(void)state;
	foreign_is_refused_and_replaced(XDP_FLAGS_DRV_MODE, "native");
}

static void a_foreign_generic_program_is_refused_and_replaced(void **state)
{
	(void)state;
	foreign_is_refused_and_replaced(XDP_FLAGS_SKB_MODE, "generic");
}

static void a_foreign_link_is_never_replaced(void **state)
{
	int fd = load_foreign();
	int link = bpf_link_create(fd, if_nametoindex("kt0"), BPF_XDP, NULL);
	uint32_t id = program_on("kt0");
	bool already;

	(void)state;
	assert_true(link >= 0);
	create();
	assert_int_equal(instance_attach(&instance, "kt0", MODE_AUTO, true, &already, &message),
			 -EBUSY);
	assert_non_null(strstr(message.text, "held by link"));
	assert_int_equal(program_on("kt0"), id);
	close(link);
	close(fd);
}

static int attach_and_die(void)
{
	create();
	put_rules();
	attach("kt0", MODE_AUTO);
	kill(getpid(), SIGKILL);
	return 0;
}

static int create_and_die(void)
{
	create();
	attach("kt0", MODE_AUTO);
	kill(getpid(), SIGKILL);
	return 0;
}

static void the_program_outlives_who_attached_it(void **state)
{
	(void)state;
	assert_true(WIFSIGNALED(in_child(attach_and_die)));
	assert_int_not_equal(program_on("kt0"), 0);
	must(instance_open(NAME, false, &instance, &message));
	assert_true(attach("kt0", MODE_AUTO));
	instance_close(&instance);
	must(instance_destroy(NAME, &message));
	assert_int_equal(program_on("kt0"), 0);
	assert_nothing_is_left();
}

static void what_a_killed_maker_left_is_cleared(void **state)
{
	(void)state;
	assert_true(WIFSIGNALED(in_child(create_and_die)));
	assert_int_equal(rename(DIRECTORY "/live", DIRECTORY "/live~"), 0);
	create();
	assert_false(attach("kt0", MODE_AUTO));
	instance_close(&instance);
	assert_int_equal(rename(DIRECTORY, DIRECTORY "~"), 0);
	create();
	put_rules();
	instance_close(&instance);
	assert_int_equal(mkdir(DIRECTORY "~", 0700), 0);
	must(instance_destroy(NAME, &message));
	assert_nothing_is_left();
}

static void a_deleted_interface_is_noticed(void **state)
{
	struct attachment *list;
	size_t count;

	(void)state;
	run("ip link add kt2 type veth peer name kt3");
	create();
	attach("kt0", MODE_AUTO);
	attach("kt2", MODE_AUTO);
	run("ip link del kt2 && ip link add kt2 type veth peer name kt3");
	must(instance_attachments(&instance, &list, &count, &message));
	assert_int_equal(count, 2);
	assert_true(list[0].attached);
	assert_string_equal(list[1].interface, "kt2");
	assert_false(list[1].attached);
	free(list);
	assert_false(attach("kt2", MODE_AUTO));
	must(instance_attachments(&instance, &list, &count, &message));
	assert_int_equal(count, 2);
	assert_true(list[0].attached && list[1].attached);
	free(list);
	must(instance_detach(&instance, "kt2", &message));
	run("ip link del kt2");
}

static void another_layout_is_refused(void **state)
{
	char needed[32];
	struct meta meta;
	uint32_t zero = 0;

	(void)state;
	create();
	put_rules();
	snprintf(needed, sizeof(needed), "needs layout %d", ABI_LAYOUT);
	meta = instance.meta;
	meta.layout = ABI_LAYOUT + 1;
	assert_int_equal(bpf_map_update_elem(instance.maps[MAP_META], &zero, &meta, 0), 0);
	instance_close(&instance);
	assert_int_equal(instance_open(NAME, false, &instance, &message), -EPROTO);
	assert_non_null(strstr(message.text, needed));
	assert_non_null(strstr(message.hint, "weir detach --all"));
	must(instance_destroy(NAME, &message));
}

static void a_map_of_another_shape_is_refused(void **state)
{
	int other = bpf_map_create(BPF_MAP_TYPE_ARRAY, "live", 4, 8, 1, NULL);

	(void)state;
	create();
	put_rules();
	must(pins_put(other, instance.path, "live", PINS_GROUP, &message));
	close(other);
	instance_close(&instance);
	assert_int_equal(instance_open(NAME, true, &instance, &message), -EPROTO);
	assert_non_null(strstr(message.text, "live"));
	assert_non_null(strstr(message.text, "value 8"));
}

static void an_upgrade_swaps_the_program_in_place(void **state)
{
	struct secret before, after;
	struct attachment *list;
	uint32_t id, zero = 0;
	size_t count;

	(void)state;
	create();
	put_rules();
	assert_true(instance_is_current(&instance));
	instance.meta.version[0] = 'x';
	assert_false(instance_is_current(&instance));
	attach("kt0", MODE_AUTO);
	id = program_on("kt0");
	bpf_map_lookup_elem(instance.maps[MAP_SECRET], &zero, &before);
	must(instance_upgrade(&instance, &message));
	assert_true(instance_is_current(&instance));
	assert_int_not_equal(program_on("kt0"), id);
	instance_close(&instance);
	must(instance_open(NAME, false, &instance, &message));
	bpf_map_lookup_elem(instance.maps[MAP_SECRET], &zero, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_true(before.word[0] || before.word[1]);
	must(instance_attachments(&instance, &list, &count, &message));
	assert_true(count == 1 && list[0].attached);
	assert_int_equal(list[0].program_id, program_on("kt0"));
	free(list);
	assert_true(attach("kt0", MODE_AUTO));
}

/* All that concerns bpf; the rest is needed to mount and to make directories. */
static int create_without_rights(void)
{
	capng_get_caps_process();
	capng_updatev(CAPNG_DROP, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_BPF, CAP_PERFMON,
		      CAP_SYS_ADMIN, -1);
	if (capng_apply(CAPNG_SELECT_CAPS))
		return 1;
	if (instance_create(NAME, &small_room, &instance, &message) != -EPERM)
		return 2;
	if (strchr(message.text, '\n') || !strstr(message.text, "CAP_BPF CAP_PERFMON"))
		return 3;
	return !strstr(message.hint, "CAP_NET_ADMIN") ? 4 : 0;
}

static void missing_rights_are_named(void **state)
{
	(void)state;
	run("mount -t bpf bpf /sys/fs/bpf");
	assert_int_equal(in_child(create_without_rights), 0);
	assert_nothing_is_left();
	run("umount /sys/fs/bpf");
}

/* As in a kernel without bpf(2). */
static int create_without_bpf(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 1;
	if (!instance_create(NAME, &small_room, &instance, &message))
		return 2;
	return !strstr(message.text, "this kernel lacks bpf(2)") ? 3 : 0;
}

static void a_kernel_without_bpf_is_named(void **state)
{
	(void)state;
	assert_int_equal(in_child(create_without_bpf), 0);
	assert_nothing_is_left();
	assert_false(bpffs_is_mounted());
}

static void a_table_too_large_is_refused_at_once(void **state)
{
	struct capacity room = small_room;

	(void)state;
	room.sets = 1U << 31;
	assert_int_equal(instance_create(NAME, &room, &instance, &message), -ENOMEM);
	assert_non_null(strstr(message.text, "262164 MiB"));
	assert_nothing_is_left();
	assert_false(bpffs_is_mounted());
}

static void a_bad_name_is_refused(void **state)
{
	(void)state;
	assert_int_equal(instance_create("../x", &small_room, &instance, &message), -EINVAL);
	assert_int_equal(instance_create("", &small_room, &instance, &message), -EINVAL);
	assert_int_equal(instance_open("a.b", true, &instance, &message), -EINVAL);
	assert_int_equal(instance_destroy("a~", &message), -EINVAL);
}

enum reader_size {
	READER_GROUP = 64321,
	READER_USER = 65534,
};

static int read_without_rights(void)
{
	uint32_t zero = 0;
	struct attachment *list;
	char *yaml, *own;
	size_t length, count;

	if (setgroups(0, NULL) || setgid(READER_GROUP) || setuid(READER_USER))
		return 1;
	if (instance_open(NAME, true, &instance, &message))
		return 2;
	if (instance_rules_read(&instance, &yaml, &length, &own, &length, &message))
		return 3;
	if (instance_attachments(&instance, &list, &count, &message) || count != 1 ||
	    !list[0].attached)
		return 4;
	if (!bpf_map_update_elem(instance.maps[MAP_META], &zero, &instance.meta, 0))
		return 5;
	if (bpf_obj_get(DIRECTORY "/secret") >= 0)
		return 6;
	instance_close(&instance);
	return instance_open(NAME, false, &instance, &message) == -EACCES ? 0 : 7;
}

static int read_as_stranger(void)
{
	if (setgroups(0, NULL) || setgid(READER_USER) || setuid(READER_USER))
		return 1;
	return instance_open(NAME, true, &instance, &message) == -EACCES ? 0 : 2;
}

static void the_group_may_read_and_no_more(void **state)
{
	(void)state;
	run("(cat /etc/group; echo weir:x:64321:) >/tmp/kernel-t.group && "
	    "mount --bind /tmp/kernel-t.group /etc/group");
	create();
	put_rules();
	attach("kt0", MODE_AUTO);
	instance_close(&instance);
	assert_int_equal(in_child(read_without_rights), 0);
	assert_int_equal(in_child(read_as_stranger), 0);
	run("umount /etc/group && rm /tmp/kernel-t.group");
}

int main(void)
{
	/* the first ones also see that bpffs is not left mounted */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(missing_rights_are_named),
		cmocka_unit_test(a_kernel_without_bpf_is_named),
		cmocka_unit_test(a_table_too_large_is_refused_at_once),
		cmocka_unit_test_teardown(an_instance_is_found_again_and_leaves_nothing, clean),
		cmocka_unit_test_teardown(the_text_is_that_of_what_is_in_force, clean),
		cmocka_unit_test_teardown(attach_is_idempotent_and_detach_frees, clean),
		cmocka_unit_test_teardown(a_kernel_without_frags_gets_the_plain_program, clean),
		cmocka_unit_test_teardown(auto_mode_says_why_it_is_generic, clean),
		cmocka_unit_test_teardown(the_mode_is_as_asked_for, clean),
		cmocka_unit_test_teardown(a_foreign_native_program_is_refused_and_replaced, clean),
		cmocka_unit_test_teardown(a_foreign_generic_program_is_refused_and_replaced, clean),
		cmocka_unit_test_teardown(a_foreign_link_is_never_replaced, clean),
		cmocka_unit_test_teardown(the_program_outlives_who_attached_it, clean),
		cmocka_unit_test_teardown(what_a_killed_maker_left_is_cleared, clean),
		cmocka_unit_test_teardown(a_deleted_interface_is_noticed, clean),
		cmocka_unit_test_teardown(another_layout_is_refused, clean),
		cmocka_unit_test_teardown(a_map_of_another_shape_is_refused, clean),
		cmocka_unit_test_teardown(an_upgrade_swaps_the_program_in_place, clean),
		cmocka_unit_test_teardown(the_group_may_read_and_no_more, clean),
		cmocka_unit_test_teardown(a_bad_name_is_refused, clean),
	};

	return cmocka_run_group_tests_name("lifecycle", tests, make_interfaces, NULL);
}
