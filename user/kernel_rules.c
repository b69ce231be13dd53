/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel.h"
#include "pins.h"

#define PIN_RULES "rules"
#define PIN_NEXT  "rules_next" /* of the generation to come */

/* At the start of the map; the YAML and the other text follow, without an end mark. */
struct rules_head {
	uint64_t yaml_length;
	uint64_t own_length;
	uint32_t generation; /* of struct live, which the texts describe */
	uint32_t pad;
};

static int read_generation(const struct instance *instance, uint32_t *generation)
{
	struct live live;
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(instance->maps[MAP_LIVE], &zero, &live))
		return -errno;
	*generation = live.generation;
	return 0;
}

static size_t chunks_for(size_t bytes)
{
	return (bytes + RULES_CHUNK - 1) / RULES_CHUNK;
}

/* The map's memory is one stretch: a chunk is a page. */
static int fill_rules(int fd, const struct rules_head *head, const char *yaml, const char *own)
{
	size_t bytes = sizeof(*head) + head->yaml_length + head->own_length;
	char *memory = mmap(NULL, chunks_for(bytes) * RULES_CHUNK, PROT_READ | PROT_WRITE,
			    MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return -errno;
	memcpy(memory, head, sizeof(*head));
	memcpy(memory + sizeof(*head), yaml, head->yaml_length);
	memcpy(memory + sizeof(*head) + head->yaml_length, own, head->own_length);
	munmap(memory, chunks_for(bytes) * RULES_CHUNK);
	return 0;
}

static char *copy_text(const char *from, size_t length)
{
	char *text = malloc(length + 1);

	if (!text)
		return NULL;
	memcpy(text, from, length);
	text[length] = '\0';
	return text;
}

struct rules {
	struct rules_head head;
	char *yaml;
	char *own;
};

static int copy_rules(const char *memory, size_t size, struct rules *rules)
{
	struct rules_head *head = &rules->head;

	memcpy(head, memory, sizeof(*head));
	if (head->yaml_length > size - sizeof(*head) ||
	    head->own_length > size - sizeof(*head) - head->yaml_length)
		return -EPROTO;
	rules->yaml = copy_text(memory + sizeof(*head), head->yaml_length);
	rules->own = copy_text(memory + sizeof(*head) + head->yaml_length, head->own_length);
	if (rules->yaml && rules->own)
		return 0;
	return -ENOMEM;
}

static void rules_free(struct rules *rules)
{
	free(rules->yaml);
	free(rules->own);
	*rules = (struct rules){};
}

/* A map that was opened read-only cannot be mapped: chunk by chunk. */
static int read_chunks(int fd, uint32_t chunks, struct rules *rules)
{
	char *memory = malloc((size_t)chunks * RULES_CHUNK);
	int err = memory ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < chunks; i++)
		if (bpf_map_lookup_elem(fd, &i, memory + (size_t)i * RULES_CHUNK))
			err = -errno;
	if (!err)
		err = copy_rules(memory, (size_t)chunks * RULES_CHUNK, rules);
	free(memory);
	return err;
}

static int read_rules(const struct instance *instance, const char *pin, struct rules *rules)
{
	LIBBPF_OPTS(bpf_obj_get_opts, options, .file_flags = BPF_F_RDONLY);
	struct bpf_map_info info = {};
	__u32 info_size = sizeof(info);
	char path[PINS_PATH];
	int fd, err;

	pins_path(instance->path, pin, path);
	fd = bpf_obj_get_opts(path, &options);
	if (fd < 0)
		return -errno;
	err = bpf_obj_get_info_by_fd(fd, &info, &info_size) ? -errno : 0;
	if (!err && (info.type != BPF_MAP_TYPE_ARRAY || info.value_size != RULES_CHUNK))
		err = -EPROTO;
	if (!err)
		err = read_chunks(fd, info.max_entries, rules);
	close(fd);
	return err;
}

static int rename_pin(const struct instance *instance, const char *from, const char *to)
{
	char old[PINS_PATH], new[PINS_PATH];

	pins_path(instance->path, from, old);
	pins_path(instance->path, to, new);
	return rename(old, new) ? -errno : 0;
}

int instance_rules_commit(struct instance *instance, struct message *message)
{
	int err = rename_pin(instance, PIN_NEXT, PIN_RULES);

	if (err)
		return message_set(message, err, "cannot keep the policy's text: %s",
				   strerror(-err));
	return 0;
}

/* An apply that was cut short behind its swap: what it wrote is in force. */
static int finish_last(const struct instance *instance, uint32_t generation)
{
	struct rules rules = {};
	int err = read_rules(instance, PIN_NEXT, &rules);

	if (!err && rules.head.generation == generation)
		err = rename_pin(instance, PIN_NEXT, PIN_RULES);
	rules_free(&rules);
	return err == -ENOENT ? 0 : err;
}

static int write_map(struct instance *instance, const struct rules_head *head, const char *yaml,
		     const char *own, struct message *message)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	uint32_t chunks = chunks_for(sizeof(*head) + head->yaml_length + head->own_length);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rules", sizeof(uint32_t), RULES_CHUNK, chunks,
				&options);
	int err = fd < 0 ? -errno : fill_rules(fd, head, yaml, own);

	if (err)
		message_set(message, err, "cannot keep the policy's text: %s", strerror(-err));
	else
		err = pins_put(fd, instance->path, PIN_NEXT, PINS_GROUP, message);
	if (fd >= 0)
		close(fd);
	return err;
}

int instance_rules_write(struct instance *instance, const char *yaml, size_t yaml_length,
			 const char *own, size_t own_length, struct message *message)
{
	struct rules_head head = { .yaml_length = yaml_length, .own_length = own_length };
	int err = read_generation(instance, &head.generation);

	if (!err)
		err = finish_last(instance, head.generation);
	if (err)
		return message_set(message, err, "cannot read the generation: %s", strerror(-err));
	head.generation++;
	return write_map(instance, &head, yaml, own, message);
}

/* Those of the generation in force: 0, -ESTALE where neither is, or -errno. */
static int read_current(const struct instance *instance, struct rules *rules)
{
	static const char *const pins[] = { PIN_RULES, PIN_NEXT };
	uint32_t generation = 0;
	int err = read_generation(instance, &generation);

	for (int i = 0; i < 2 && !err; i++) {
		err = read_rules(instance, pins[i], rules);
		if (!err && rules->head.generation == generation)
			return 0;
		rules_free(rules);
		if (err == -ENOENT && i == 1)
			err = -ESTALE;
	}
	return err ? err : -ESTALE;
}

enum rules_wait {
	RULES_TRIES = 20,
	RULES_PAUSE_NS = 50000000,
};

/* A reader without the lock may look at one pin before and at the other behind a commit. */
int instance_rules_read(const struct instance *instance, char **yaml, size_t *yaml_length,
			char **own, size_t *own_length, struct message *message)
{
	const struct timespec pause = { .tv_nsec = RULES_PAUSE_NS };
	struct rules rules = {};
	int err = read_current(instance, &rules);

	for (int i = 0; err == -ESTALE && i < RULES_TRIES && instance->lock < 0; i++) {
		nanosleep(&pause, NULL);
		err = read_current(instance, &rules);
	}
	if (err)
		return message_set(message, err, "cannot read the policy in force: %s",
				   err == -ESTALE ? "it was written by another weir"
						  : strerror(-err));
	*yaml = rules.yaml;
	*yaml_length = rules.head.yaml_length;
	*own = rules.own;
	*own_length = rules.head.own_length;
	return 0;
}
