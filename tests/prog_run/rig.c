/* SPDX-License-Identifier: GPL-2.0-only */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../user/config.h"
#include "../../user/kernel_maps.h"
#include "empty.h"
#include "rig.h"
#include "tap.h"
#include "weir_clock.skel.h"

/* Where the clock of a rig starts: at midnight, long after zero. */
#define EPOCH_NS (1000 * 86400 * NS_PER_SEC)

/* The coarse clock's, as with CONFIG_HZ=100. */
#define TICK_NS 10000000

const uint64_t rig_secret[2] = { 0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL };

void rig_pin_cpu(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		tap_bail("CPU %u: %m", cpu);
}

void rig_prepare(void)
{
	if (geteuid())
		tap_bail("BPF_PROG_TEST_RUN needs root");
	rig_pin_cpu(0);
}

static int parse(const char *policy, struct ruleset **ruleset, struct message *message)
{
	struct problems problems = { 0 };
	int error = config_parse(policy, strlen(policy), ruleset, &problems);

	if (error)
		message_set(message, error, "policy, line %u: %s", problems.list[0].place.line,
			    problems.list[0].message.text);
	problems_free(&problems);
	return error;
}

static struct meta meta_of(const struct capacity *room)
{
	return (struct meta){
		.layout = ABI_LAYOUT,
		.table = room->table,
		.sets = room->sets,
		.log_sets = room->log_sets,
		.cells = room->cells,
		.policies = room->policies,
		.entry_policies = room->entry_policies,
		.credits = room->credits,
		.states = room->states,
		.loaded_at_ns = kernel_now_ns(),
	};
}

/* The program's maps as large as instance_create makes them. */
static void size_maps(struct rig *rig)
{
	for (int i = 0; i < MAP_COUNT; i++) {
		const struct map_shape *shape = map_shape(i);

		if (!shape->user)
			bpf_map__set_max_entries(
				bpf_object__find_map_by_name(rig->skeleton->obj, shape->name),
				map_elements(i, &rig->instance.meta));
	}
}

static int load(struct rig *rig, struct message *message)
{
	struct weir_clock *skeleton = weir_clock__open();

	if (!skeleton)
		return message_set(message, -errno, "opening the program: %m");
	rig->skeleton = skeleton;
	size_maps(rig);
	skeleton->rodata->table_kind = rig->room.table;
	skeleton->rodata->secret0 = rig_secret[0];
	skeleton->rodata->secret1 = rig_secret[1];
	skeleton->rodata->tick_ns = TICK_NS;
	if (weir_clock__load(skeleton))
		return message_set(message, -errno, "loading the program: %m");
	rig->time = &skeleton->bss->test_time;
	rig->records = mmap(NULL, RECORDS * sizeof(struct record), PROT_READ | PROT_WRITE,
			    MAP_SHARED, bpf_map__fd(skeleton->maps.records), 0);
	if (rig->records == MAP_FAILED)
		return message_set(message, -errno, "records: %m");
	return 0;
}

/* The entries' tries are held by the outer maps from the start. */
static int hold_entries(struct rig *rig, enum map_index outer, enum map_index trie)
{
	uint32_t slot = 0;

	return bpf_map_update_elem(rig_map(rig, outer), &slot, &rig->instance.maps[trie], 0);
}

/* For readers that look for a source where its hash says. */
static int tell_secret(struct rig *rig)
{
	struct secret secret = { { rig_secret[0], rig_secret[1] } };
	uint32_t zero = 0;

	return bpf_map_update_elem(rig_map(rig, MAP_SECRET), &zero, &secret, 0);
}

/* An instance without pins: nothing of the system's is touched. */
static int make_instance(struct rig *rig, struct message *message)
{
	struct instance *instance = &rig->instance;
	int error;

	snprintf(instance->name, sizeof(instance->name), "prog_run");
	for (int i = 0; i < MAP_COUNT; i++) {
		const struct map_shape *shape = map_shape(i);

		instance->maps[i] =
			shape->user
				? map_make(i, &instance->meta)
				: bpf_object__find_map_fd_by_name(rig->skeleton->obj, shape->name);
		if (instance->maps[i] < 0)
			return message_set(message, instance->maps[i], "map %s", shape->name);
	}
	instance->maintain = bpf_program__fd(rig->skeleton->progs.weir_maintain);
	error = hold_entries(rig, MAP_ENTRIES4, MAP_ENTRY_TRIE4);
	if (!error)
		error = hold_entries(rig, MAP_ENTRIES6, MAP_ENTRY_TRIE6);
	if (!error)
		error = tell_secret(rig);
	return error ? message_set(message, error, "entries: %s", strerror(-error)) : 0;
}

/* The clock of the rig opened last, for user space's own reading. */
static const struct test_time *shared_time;

/* Linked in the place of kernel_now_ns: what user space does to states and entries happens at the
 * same time as the packets. */
uint64_t __wrap_kernel_now_ns(void);
uint64_t __wrap_kernel_now_ns(void)
{
	return shared_time ? shared_time->now_ns : EPOCH_NS;
}

static void start_clock(struct rig *rig)
{
	rig->epoch_ns = EPOCH_NS;
	rig->time->now_ns = rig->epoch_ns;
	rig->time->tick_ns = TICK_NS;
	shared_time = rig->time;
}

static int put_in_force(struct rig *rig, struct message *message)
{
	start_clock(rig);
	return apply_image(&rig->instance, NULL, rig->image, false, message);
}

int rig_open(struct rig *rig, const char *policy, struct message *message)
{
	int error;

	*rig = (struct rig){ .instance = { .lock = -1, .maintain = -1 } };
	memset(rig->instance.maps, -1, sizeof(rig->instance.maps));
	error = parse(policy, &rig->ruleset, message);
	if (!error)
		error = image_first(rig->ruleset, kernel_cpus(), &rig->room, &rig->image, message);
	rig->instance.meta = meta_of(&rig->room);
	if (!error)
		error = load(rig, message);
	if (!error)
		error = make_instance(rig, message);
	return error ? error : put_in_force(rig, message);
}

static void empty(struct rig *rig)
{
	static const enum map_index maps[] = {
		MAP_LIVE,      MAP_COUNTERS,	MAP_SETS,	 MAP_LOGS,  MAP_HASH,
		MAP_HASH_LOGS, MAP_PERCPU,	MAP_PERCPU_LOGS, MAP_TALLY, MAP_CREDITS,
		MAP_POLICIES,  MAP_ENTRY_TRIE4, MAP_ENTRY_TRIE6,
	};

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		empty_map(rig_map(rig, maps[i]));
	empty_map(bpf_map__fd(rig->skeleton->maps.desks));
	empty_map(bpf_map__fd(rig->skeleton->maps.kept_pages));
}

static bool fits(const struct capacity *need, const struct capacity *room)
{
	return need->table == room->table && need->sets <= room->sets &&
	       need->log_sets <= room->log_sets && need->states <= room->states &&
	       need->cells <= room->cells && need->policies <= room->policies &&
	       need->entry_policies <= room->entry_policies && need->credits <= room->credits;
}

int rig_renew(struct rig *rig, const char *policy, struct message *message)
{
	struct ruleset *ruleset = NULL;
	struct capacity need;
	int error = parse(policy, &ruleset, message);

	if (error)
		return error;
	image_free(rig->image);
	ruleset_free(rig->ruleset);
	rig->image = NULL;
	rig->ruleset = ruleset;
	error = image_first(ruleset, kernel_cpus(), &need, &rig->image, message);
	if (error)
		return error;
	if (!fits(&need, &rig->room))
		return message_set(message, -ENOSPC, "larger than the maps made before");
	empty(rig);
	return put_in_force(rig, message);
}

void rig_close(struct rig *rig)
{
	if (rig->records && rig->records != MAP_FAILED)
		munmap(rig->records, RECORDS * sizeof(struct record));
	for (int i = 0; i < MAP_COUNT; i++)
		if (map_shape(i)->user && rig->instance.maps[i] >= 0)
			close(rig->instance.maps[i]);
	shared_time = NULL;
	weir_clock__destroy(rig->skeleton);
	image_free(rig->image);
	ruleset_free(rig->ruleset);
}

int rig_apply(struct rig *rig, const char *policy, bool flush, struct message *message)
{
	struct ruleset *ruleset = NULL;
	struct image *image = NULL;
	int error = parse(policy, &ruleset, message);

	if (!error)
		error = image_next(ruleset, kernel_cpus(), &rig->room, rig->image, flush, &image,
				   message);
	if (!error)
		error = apply_image(&rig->instance, rig->image, image, flush, message);
	if (error) {
		image_free(image);
		ruleset_free(ruleset);
		return error;
	}
	image_free(rig->image);
	ruleset_free(rig->ruleset);
	rig->image = image;
	rig->ruleset = ruleset;
	return 0;
}

static int program_fd(const struct rig *rig, enum rig_program program)
{
	switch (program) {
	case RIG_REPLAY:
		return bpf_program__fd(rig->skeleton->progs.replay);
	case RIG_PACED:
		return bpf_program__fd(rig->skeleton->progs.paced);
	case RIG_MAINTAIN:
		return rig->instance.maintain;
	default:
		return bpf_program__fd(rig->skeleton->progs.weir);
	}
}

int rig_run(const struct rig *rig, enum rig_program program, const struct frame_bytes *frame,
	    uint32_t times, uint32_t *verdict)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame->data, .data_size_in = frame->length,
		    .repeat = times);
	int error = bpf_prog_test_run_opts(program_fd(rig, program), &run);

	if (!error)
		*verdict = run.retval;
	return error;
}

int rig_run_split(const struct rig *rig, const struct frame_bytes *frame, uint32_t linear,
		  uint32_t *verdict)
{
	struct xdp_md context = { .data_end = linear };
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame->data, .data_size_in = frame->length,
		    .ctx_in = &context, .ctx_size_in = sizeof(context), .repeat = 1);
	int error = bpf_prog_test_run_opts(program_fd(rig, RIG_WEIR), &run);

	if (!error)
		*verdict = run.retval;
	return error;
}

void rig_record(struct rig *rig, uint32_t index, const struct frame_bytes *frame, uint64_t now_ns,
		uint32_t cell)
{
	struct record *record = &rig->records[index];
	uint32_t stored = frame->length < RECORD_FRAME ? frame->length : RECORD_FRAME;

	record->now_ns = now_ns;
	record->length = frame->length;
	record->cell = cell;
	record->verdict = XDP_ABORTED;
	record->counted = 0;
	memcpy(record->frame, frame->data, stored);
}

int rig_replay(struct rig *rig, uint32_t count)
{
	static const struct frame_bytes blank = { .length = RECORD_FRAME };
	uint32_t verdict;

	rig->time->cursor = 0;
	return rig_run(rig, RIG_REPLAY, &blank, count, &verdict);
}

int rig_map(const struct rig *rig, enum map_index map)
{
	return rig->instance.maps[map];
}

uint32_t rig_policy_index(const struct rig *rig, uint32_t policy)
{
	uint32_t zero = 0;
	struct live live;

	if (bpf_map_lookup_elem(rig_map(rig, MAP_LIVE), &zero, &live))
		tap_bail("live: %m");
	return (live.generation & 1) * rig->room.policies + policy;
}
