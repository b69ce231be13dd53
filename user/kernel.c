/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kernel_attach.h"
#include "kernel_explain.h"
#include "kernel_maps.h"
#include "pins.h"
#include "weir.skel.h"

#define PIN_PROGRAM  "program"
#define PIN_MAINTAIN "maintain"
#define PIN_RULES    "rules"

uint64_t kernel_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_SEC + now.tv_nsec;
}

/* The coarse clock moves once a jiffy. */
uint32_t kernel_tick_ns(void)
{
	struct timespec tick;

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	return tick.tv_nsec;
}

unsigned int kernel_cpus(void)
{
	int cpus = libbpf_num_possible_cpus();

	return cpus > 0 ? cpus : 1;
}

/* libbpf's words and the verifier's log are for who asked for them. */
static int print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	if (log_level < LOG_VERBOSE || level == LIBBPF_DEBUG)
		return 0;
	return vfprintf(stderr, format, args);
}

struct capacity instance_capacity(const struct instance *instance)
{
	const struct meta *meta = &instance->meta;

	return (struct capacity){
		.table = meta->table,
		.sets = meta->sets,
		.log_sets = meta->log_sets,
		.states = meta->states,
		.cells = meta->cells,
		.policies = meta->policies,
		.entry_policies = meta->entry_policies,
		.credits = meta->credits,
	};
}

bool instance_exists(const char *name)
{
	char path[PINS_PATH];

	pins_instance_path(name, path);
	return pins_exists(path, PIN_RULES);
}

static void instance_init(struct instance *instance, const char *name, bool readonly)
{
	*instance = (struct instance){ .readonly = readonly, .maintain = -1, .lock = -1 };
	snprintf(instance->name, sizeof(instance->name), "%s", name);
	snprintf(instance->path, sizeof(instance->path), PINS_ROOT "/%s", instance->name);
	for (int i = 0; i < MAP_COUNT; i++)
		instance->maps[i] = -1;
}

void instance_close(struct instance *instance)
{
	for (int i = 0; i < MAP_COUNT; i++)
		if (instance->maps[i] >= 0)
			close(instance->maps[i]);
	if (instance->maintain >= 0)
		close(instance->maintain);
	if (instance->lock >= 0)
		close(instance->lock);
	instance_init(instance, "", true);
}

/* The skeleton's maps, by the name of their pin; user space's own have none. */
static struct bpf_map *skeleton_map(struct weir *skeleton, enum map_index index)
{
	const struct map_shape *shape = map_shape(index);

	return shape->user ? NULL : bpf_object__find_map_by_name(skeleton->obj, shape->name);
}

static int size_maps(struct weir *skeleton, const struct meta *meta)
{
	for (int i = 0; i < MAP_COUNT; i++) {
		struct bpf_map *map = skeleton_map(skeleton, i);
		int err = 0;

		if (map)
			err = bpf_map__set_max_entries(map, map_elements(i, meta));
		else if (!map_shape(i)->user)
			err = -ENOENT;
		if (err)
			return err;
	}
	return 0;
}

static int reuse_maps(struct weir *skeleton, const struct instance *instance)
{
	for (int i = 0; i < MAP_COUNT; i++) {
		struct bpf_map *map = skeleton_map(skeleton, i);
		int err = map ? bpf_map__reuse_fd(map, instance->maps[i]) : 0;

		if (err)
			return err;
	}
	return 0;
}

/* Open, set sizes (or, for an upgrade, the pinned maps), load. */
static int load_once(struct instance *instance, const struct secret *secret, bool reuse,
		     struct weir **loaded)
{
	struct weir *skeleton = weir__open();
	int err;

	if (!skeleton)
		return -errno;
	skeleton->rodata->table_kind = instance->meta.table;
	skeleton->rodata->secret0 = secret->word[0];
	skeleton->rodata->secret1 = secret->word[1];
	skeleton->rodata->tick_ns = kernel_tick_ns();
	err = size_maps(skeleton, &instance->meta);
	if (!err && reuse)
		err = reuse_maps(skeleton, instance);
	if (!err)
		err = weir__load(skeleton);
	if (err) {
		weir__destroy(skeleton);
		return err;
	}
	*loaded = skeleton;
	return 0;
}

/* By the section's name libbpf asks for frames of several buffers: let it mean plain XDP. */
static int load_without_frags(struct instance *instance, const struct secret *secret, bool reuse,
			      struct weir **loaded)
{
	int handler = libbpf_register_prog_handler("xdp.frags", BPF_PROG_TYPE_XDP, BPF_XDP, NULL);
	int err;

	if (handler < 0)
		return handler;
	err = load_once(instance, secret, reuse, loaded);
	libbpf_unregister_prog_handler(handler);
	return err;
}

/* Only EINVAL can be about the flag: a second try costs nothing where it was not. */
static int load(struct instance *instance, const struct secret *secret, bool reuse,
		struct weir **loaded, struct message *message)
{
	int err;

	libbpf_set_print(print_libbpf);
	if (!reuse && !memory_suffices(maps_bytes(&instance->meta, kernel_cpus())))
		return explain_too_large(-ENOMEM, &instance->meta, message);
	err = load_once(instance, secret, reuse, loaded);
	instance->meta.frags = err != -EINVAL;
	if (err == -EINVAL)
		err = load_without_frags(instance, secret, reuse, loaded);
	return err ? explain_load(err, &instance->meta, message) : 0;
}

static int pin_program(const struct bpf_program *program, const char *directory, const char *pin,
		       struct message *message)
{
	return pins_put(bpf_program__fd(program), directory, pin, PINS_GROUP, message);
}

/* All maps into instance->maps: the program's, duplicated, and those of user space alone. */
static int take_maps(struct instance *instance, struct weir *skeleton, struct message *message)
{
	for (int i = 0; i < MAP_COUNT; i++) {
		struct bpf_map *map = skeleton_map(skeleton, i);

		instance->maps[i] = map ? dup(bpf_map__fd(map)) : map_make(i, &instance->meta);
		if (instance->maps[i] < 0)
			return message_set(message, map ? -errno : instance->maps[i],
					   "cannot make the map %s: %s", map_shape(i)->name,
					   strerror(map ? errno : -instance->maps[i]));
	}
	return 0;
}

static int write_one(int fd, const void *value)
{
	uint32_t zero = 0;

	return bpf_map_update_elem(fd, &zero, value, BPF_ANY) ? -errno : 0;
}

/* What is the same whatever the policy: who the maps are for, and the tries of entries. */
static int fill_fixed(const struct instance *instance, const struct secret *secret,
		      struct message *message)
{
	const int *maps = instance->maps;
	int err = write_one(maps[MAP_META], &instance->meta);

	if (!err)
		err = write_one(maps[MAP_SECRET], secret);
	if (!err)
		err = write_one(maps[MAP_ENTRIES4], &maps[MAP_ENTRY_TRIE4]);
	if (!err)
		err = write_one(maps[MAP_ENTRIES6], &maps[MAP_ENTRY_TRIE6]);
	if (err)
		return message_set(message, err, "cannot fill the maps: %s", strerror(-err));
	return 0;
}

static int pin_all(const struct instance *instance, const struct weir *skeleton,
		   const char *directory, struct message *message)
{
	int err = 0;

	for (int i = 0; i < MAP_COUNT && !err; i++)
		err = pins_put(instance->maps[i], directory, map_shape(i)->name,
			       i == MAP_SECRET ? PINS_PRIVATE : PINS_GROUP, message);
	if (!err)
		err = pin_program(skeleton->progs.weir_maintain, directory, PIN_MAINTAIN, message);
	if (!err)
		err = pin_program(skeleton->progs.weir, directory, PIN_PROGRAM, message);
	return err;
}

/* The version, and which build of the program: an FNV-1a hash of its object file. */
static void program_version(char to[INSTANCE_NAME])
{
	uint32_t hash = 2166136261u;
	const unsigned char *bytes;
	size_t size;

	bytes = weir__elf_bytes(&size);
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 16777619u;
	snprintf(to, INSTANCE_NAME, "%s+%08x", WEIR_VERSION, hash);
}

bool instance_is_current(const struct instance *instance)
{
	char version[INSTANCE_NAME];

	program_version(version);
	return !strncmp(instance->meta.version, version, sizeof(version));
}

static struct meta meta_for(const struct capacity *room, const char *name)
{
	struct meta meta = {
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

	snprintf(meta.instance, sizeof(meta.instance), "%s", name);
	program_version(meta.version);
	return meta;
}

static int load_and_pin(struct instance *instance, const char *directory, struct message *message)
{
	struct weir *skeleton = NULL;
	struct secret secret;
	int err;

	if (getrandom(&secret, sizeof(secret), 0) != sizeof(secret))
		return message_set(message, -EIO, "no random bytes for the secret");
	err = load(instance, &secret, false, &skeleton, message);
	if (err)
		return err;
	err = take_maps(instance, skeleton, message);
	if (!err)
		err = fill_fixed(instance, &secret, message);
	if (!err)
		err = pin_all(instance, skeleton, directory, message);
	if (!err)
		instance->maintain = dup(bpf_program__fd(skeleton->progs.weir_maintain));
	weir__destroy(skeleton);
	return err;
}

/*
 * Under the root's lock, so what bears the mark of a half-made directory has no maker any more;
 * the same holds for one in its place that has no rules, if nobody has its lock.
 */
static int make_room(const struct instance *instance, const char *half_made,
		     struct message *message)
{
	int lock, err;

	err = pins_remove_directory(half_made);
	if (err)
		return message_set(message, err, "cannot remove %s: %s", half_made, strerror(-err));
	if (instance_exists(instance->name)) {
		message_set(message, -EEXIST, "the instance %s runs already", instance->name);
		return message_hint(message, -EEXIST, "weir apply changes its policy");
	}
	if (!pins_exists(PINS_ROOT, instance->name))
		return 0;
	lock = pins_lock(instance->path, message);
	if (lock < 0)
		return lock;
	err = attach_remove_all(instance->path);
	if (!err)
		err = pins_remove_directory(instance->path);
	close(lock);
	if (err)
		return message_set(message, err, "cannot remove the rest of %s: %s", instance->path,
				   strerror(-err));
	return 0;
}

static int create_in(struct instance *instance, const char *half_made, struct message *message)
{
	int err = make_room(instance, half_made, message);

	if (!err)
		err = pins_make_directory(half_made, message);
	if (err)
		return err;
	instance->lock = pins_lock(half_made, message);
	err = instance->lock < 0 ? instance->lock : load_and_pin(instance, half_made, message);
	if (!err && rename(half_made, instance->path))
		err = message_set(message, -errno, "cannot make %s: %s", instance->path,
				  strerror(errno));
	if (err)
		pins_remove_directory(half_made);
	return err;
}

int instance_create(const char *name, const struct capacity *room, struct instance *instance,
		    struct message *message)
{
	char half_made[PINS_PATH];
	struct pins_root root;
	int err;

	err = pins_check_name(name, message);
	if (err)
		return err;
	instance_init(instance, name, false);
	instance->meta = meta_for(room, name);
	snprintf(half_made, sizeof(half_made), "%s~", instance->path);
	err = pins_root_open(&root, message);
	if (err)
		return err;
	err = create_in(instance, half_made, message);
	if (!err) {
		pins_root_close(&root);
		return 0;
	}
	instance_close(instance);
	pins_root_undo(&root);
	return err;
}

static int open_pin(const struct instance *instance, const char *pin)
{
	LIBBPF_OPTS(bpf_obj_get_opts, options, .file_flags = instance->readonly ? BPF_F_RDONLY : 0);
	char path[PINS_PATH];

	pins_path(instance->path, pin, path);
	return bpf_obj_get_opts(path, &options);
}

static int explain_open(const struct instance *instance, int err, struct message *message)
{
	if (err == -ENOENT) {
		message_set(message, err, "the instance %s does not run", instance->name);
		return message_hint(message, err, "weir attach IFACE starts it");
	}
	message_set(message, err, "cannot open %s: %s", instance->path, strerror(-err));
	if (err != -EACCES && err != -EPERM)
		return err;
	return message_hint(
		message, err, "%s",
		instance->readonly ? "run as root, or as a member of the group weir (which must be "
				     "able to search " PINS_MOUNT ")"
				   : "run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON");
}

/* A map of another layout may have a value of any size: ask before reading. */
static int read_meta(struct instance *instance, struct message *message)
{
	struct bpf_map_info info = {};
	__u32 size = sizeof(info), zero = 0, layout = 0;
	int fd = instance->maps[MAP_META];

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return explain_open(instance, -errno, message);
	if (info.value_size == sizeof(instance->meta) &&
	    bpf_map_lookup_elem(fd, &zero, &instance->meta))
		return explain_open(instance, -errno, message);
	layout = instance->meta.layout;
	if (layout == ABI_LAYOUT && !strcmp(instance->meta.instance, instance->name))
		return 0;
	if (layout == ABI_LAYOUT)
		message_set(message, -EPROTO, "the pins of %s were made for the instance %.*s",
			    instance->name, INSTANCE_NAME, instance->meta.instance);
	else if (info.value_size == sizeof(instance->meta))
		message_set(message, -EPROTO,
			    "the instance %s has maps of layout %u, this weir (" WEIR_VERSION
			    ") needs layout %d",
			    instance->name, layout, ABI_LAYOUT);
	else
		message_set(message, -EPROTO,
			    "the instance %s has maps of another layout than this weir's "
			    "(" WEIR_VERSION ", layout %d)",
			    instance->name, ABI_LAYOUT);
	return message_hint(message, -EPROTO,
			    "weir detach --all and attach again (states and counters start anew)");
}

static int open_maps(struct instance *instance, struct message *message)
{
	int err = 0;

	for (int i = 0; i < MAP_COUNT && !err; i++) {
		if (i == MAP_META || (i == MAP_SECRET && instance->readonly))
			continue;
		instance->maps[i] = open_pin(instance, map_shape(i)->name);
		if (instance->maps[i] < 0)
			return explain_open(instance, -errno, message);
		err = map_check(i, instance->maps[i], &instance->meta, message);
	}
	return err;
}

/*
 * A writer killed between a new trie's pin and its swap leaves two of them: the pin counts, that
 * is what the next change starts from.
 */
static int settle_entries(const struct instance *instance, struct message *message)
{
	static const enum map_index pairs[][2] = { { MAP_ENTRIES4, MAP_ENTRY_TRIE4 },
						   { MAP_ENTRIES6, MAP_ENTRY_TRIE6 } };

	for (int i = 0; i < 2; i++) {
		int outer = instance->maps[pairs[i][0]], trie = instance->maps[pairs[i][1]];
		struct bpf_map_info info = {};
		__u32 size = sizeof(info), zero = 0, id;

		if (bpf_obj_get_info_by_fd(trie, &info, &size) ||
		    (!bpf_map_lookup_elem(outer, &zero, &id) && id == info.id))
			continue;
		if (write_one(outer, &trie))
			return explain_open(instance, -errno, message);
	}
	return 0;
}

static int open_for_writing(struct instance *instance, struct message *message)
{
	instance->maintain = open_pin(instance, PIN_MAINTAIN);
	if (instance->maintain < 0)
		return explain_open(instance, -errno, message);
	return settle_entries(instance, message);
}

int instance_open(const char *name, bool readonly, struct instance *instance,
		  struct message *message)
{
	int err = pins_check_name(name, message);

	if (err)
		return err;
	instance_init(instance, name, readonly);
	if (!readonly && pins_exists(PINS_ROOT, name)) {
		instance->lock = pins_lock(instance->path, message);
		if (instance->lock < 0)
			return instance->lock;
	}
	instance->maps[MAP_META] = open_pin(instance, map_shape(MAP_META)->name);
	err = instance->maps[MAP_META] < 0 ? explain_open(instance, -errno, message)
					   : read_meta(instance, message);
	if (!err)
		err = open_maps(instance, message);
	if (!err && !readonly)
		err = open_for_writing(instance, message);
	if (err)
		instance_close(instance);
	return err;
}

/* Links first, then the programs' pins: a packet is judged by the old program or the new one. */
static int switch_program(const struct instance *instance, const struct weir *skeleton,
			  struct message *message)
{
	int old = open_pin(instance, PIN_PROGRAM), new = bpf_program__fd(skeleton->progs.weir);
	int err;

	if (old < 0)
		return explain_open(instance, -errno, message);
	err = attach_update_all(instance->path, new, message);
	if (!err)
		err = pin_program(skeleton->progs.weir, instance->path, PIN_PROGRAM, message);
	if (err)
		attach_update_all(instance->path, old, NULL);
	close(old);
	return err;
}

int instance_upgrade(struct instance *instance, struct message *message)
{
	struct weir *skeleton = NULL;
	struct secret secret;
	uint32_t zero = 0;
	int err;

	if (bpf_map_lookup_elem(instance->maps[MAP_SECRET], &zero, &secret))
		return message_set(message, -errno, "cannot read the secret: %s", strerror(errno));
	err = load(instance, &secret, true, &skeleton, message);
	if (err)
		return err;
	err = switch_program(instance, skeleton, message);
	if (!err)
		err = pin_program(skeleton->progs.weir_maintain, instance->path, PIN_MAINTAIN,
				  message);
	if (!err) {
		close(instance->maintain);
		instance->maintain = dup(bpf_program__fd(skeleton->progs.weir_maintain));
		program_version(instance->meta.version);
		write_one(instance->maps[MAP_META], &instance->meta);
	}
	weir__destroy(skeleton);
	return err;
}

/* The rules go first: without them what is left counts as half-made, whenever this ends. */
static int destroy_locked(const char *path, struct message *message)
{
	int lock = pins_lock(path, message);
	int err;

	if (lock < 0)
		return lock;
	err = attach_remove_all(path);
	if (!err) {
		pins_remove(path, PIN_RULES);
		err = pins_remove_directory(path);
	}
	close(lock);
	if (err)
		return message_set(message, err, "cannot remove %s: %s", path, strerror(-err));
	return 0;
}

int instance_destroy(const char *name, struct message *message)
{
	char path[PINS_PATH], half_made[PINS_PATH + 1];
	struct instance none;
	int root, err;

	err = pins_check_name(name, message);
	if (err)
		return err;
	instance_init(&none, name, false);
	pins_instance_path(name, path);
	snprintf(half_made, sizeof(half_made), "%s~", path);
	if (!pins_exists(PINS_ROOT, name) && access(half_made, F_OK))
		return explain_open(&none, geteuid() && errno == EACCES ? -EACCES : -ENOENT,
				    message);
	root = pins_lock(PINS_ROOT, message);
	if (root < 0)
		return root;
	pins_remove_directory(half_made);
	err = access(path, F_OK) ? 0 : destroy_locked(path, message);
	rmdir(PINS_ROOT);
	close(root);
	return err;
}
