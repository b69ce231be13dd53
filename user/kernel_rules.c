/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel.h"
#include "pins.h"

#define PIN_RULES "rules"

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

int instance_rules_write(struct instance *instance, const char *yaml, size_t yaml_length,
			 const char *own, size_t own_length, struct message *message)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	struct rules_head head = { .yaml_length = yaml_length, .own_length = own_length };
	int fd, err;

	err = read_generation(instance, &head.generation);
	if (err)
		return message_set(message, err, "cannot read the generation: %s", strerror(-err));
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rules", sizeof(uint32_t), RULES_CHUNK,
			    chunks_for(sizeof(head) + yaml_length + own_length), &options);
	err = fd < 0 ? -errno : fill_rules(fd, &head, yaml, own);
	if (err)
		message_set(message, err, "cannot keep the policy's text: %s", strerror(-err));
	else
		err = pins_put(fd, instance->path, PIN_RULES, PINS_GROUP, message);
	if (fd >= 0)
		close(fd);
	return err;
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
	free(rules->yaml);
	free(rules->own);
	return -ENOMEM;
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

static int read_rules(const struct instance *instance, struct rules *rules)
{
	LIBBPF_OPTS(bpf_obj_get_opts, options, .file_flags = BPF_F_RDONLY);
	struct bpf_map_info info = {};
	__u32 info_size = sizeof(info);
	char path[PINS_PATH];
	int fd, err;

	pins_path(instance->path, PIN_RULES, path);
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

enum rules_wait {
	RULES_TRIES = 20,
	RULES_PAUSE_NS = 50000000,
};

/* Between the swap and the new text there is a moment, which a reader without a lock may meet. */
int instance_rules_read(const struct instance *instance, char **yaml, size_t *yaml_length,
			char **own, size_t *own_length, struct message *message)
{
	const struct timespec pause = { .tv_nsec = RULES_PAUSE_NS };
	struct rules rules = {};
	uint32_t generation = 0;
	int err;

	for (int i = 0; i < RULES_TRIES; i++) {
		err = read_rules(instance, &rules);
		if (!err)
			err = read_generation(instance, &generation);
		if (err)
			return message_set(message, err, "cannot read the policy in force: %s",
					   strerror(-err));
		if (rules.head.generation == generation) {
			*yaml = rules.yaml;
			*yaml_length = rules.head.yaml_length;
			*own = rules.own;
			*own_length = rules.head.own_length;
			return 0;
		}
		free(rules.yaml);
		free(rules.own);
		if (instance->lock >= 0)
			break;
		nanosleep(&pause, NULL);
	}
	message_set(message, -ESTALE, "the last change of the policy was cut short");
	return message_hint(
		message, -ESTALE,
		"it is in force, but not described: weir detach --all and attach again");
}
