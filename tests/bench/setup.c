/* SPDX-License-Identifier: GPL-2.0-only */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../user/config.h"
#include "../../user/pins.h"
#include "../../user/running.h"
#include "../../user/snapshot.h"
#include "setup.h"

#define ONE_LIMIT "{name: one, rate: 1000/s, burst: 2000}"

/* Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014. */
static uint64_t splitmix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / NS_PER_SEC;
}

/* IPv6: global unicast, 2000::/3. */
static void address_random(unsigned int family, uint64_t *state, uint8_t address[16])
{
	uint64_t words[2] = { splitmix(state), splitmix(state) };

	memset(address, 0, 16);
	memcpy(address, words, family == 4 ? 4 : 16);
	if (family == 6)
		address[0] = 0x20 | (address[0] & 0x1f);
}

void addresses_random(unsigned int family, struct drive_address *list)
{
	uint64_t state = family;

	for (size_t i = 0; i < DRIVE_LIST; i++)
		address_random(family, &state, (uint8_t *)list[i].word);
}

static void keep_bits(uint8_t address[16], unsigned int len, const uint8_t behind[16])
{
	for (unsigned int i = 0; i < 16; i++) {
		unsigned int left = len > 8 * i ? len - 8 * i : 0;
		uint8_t mask = left >= 8 ? 0xff : (uint8_t)(0xff00 >> left);

		address[i] = (uint8_t)((address[i] & mask) | (behind[i] & ~mask));
	}
}

/* As block lists have them: mostly hosts and small networks, few one within the other. */
static struct prefix prefix_random(unsigned int family, uint64_t *state)
{
	static const uint8_t lens[2][4] = { { 24, 28, 32, 32 }, { 48, 56, 64, 128 } };
	static const uint8_t zeros[16];
	struct prefix prefix = { .family = (uint8_t)family };

	prefix.len = lens[family == 6][splitmix(state) & 3];
	address_random(family, state, prefix.addr);
	keep_bits(prefix.addr, prefix.len, zeros);
	return prefix;
}

static int compare_prefixes(const void *a, const void *b)
{
	return prefix_compare(a, b);
}

/* Sorted and all different; a few are lost to that. */
static size_t prefixes_make(const struct setup *setup, struct prefix *list)
{
	uint64_t state = setup->prefixes;
	size_t count = 0;

	for (size_t i = 0; i < setup->prefixes; i++)
		list[i] = prefix_random(setup->family, &state);
	qsort(list, setup->prefixes, sizeof(*list), compare_prefixes);
	for (size_t i = 0; i < setup->prefixes; i++)
		if (!count || prefix_compare(&list[count - 1], &list[i]))
			list[count++] = list[i];
	return count;
}

static void addresses_inside(const struct prefix *prefixes, size_t count,
			     struct drive_address *list)
{
	uint64_t state = count;

	for (size_t i = 0; i < DRIVE_LIST; i++) {
		const struct prefix *prefix = &prefixes[splitmix(&state) % count];
		uint8_t host[16], address[16];

		address_random(prefix->family, &state, host);
		memcpy(address, prefix->addr, sizeof(address));
		keep_bits(address, prefix->len, host);
		memcpy(list[i].word, address, sizeof(address));
	}
}

static void write_prefixes(FILE *out, const struct prefix *prefixes, size_t count)
{
	char text[PREFIX_TEXT];

	fputs("policies: [{name: bad, action: drop, sources: [", out);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "'%s',\n", units_prefix_text(&prefixes[i], text, sizeof(text)));
	fputs("]}]\n", out);
}

static int write_policy(const struct setup *setup, const struct prefix *prefixes, size_t count,
			char **text, size_t *length)
{
	FILE *out = open_memstream(text, length);

	if (!out)
		return -errno;
	fprintf(out, "table: {kind: %s, sources: %s}\n", setup->kind ? setup->kind : "sets",
		setup->sources ? setup->sources : "64k");
	if (setup->services)
		fprintf(out, "services: %s\n", setup->services);
	if (setup->use == PREFIXES_POLICY)
		write_prefixes(out, prefixes, count);
	else if (setup->use == PREFIXES_ENTRIES) /* the entries are to be all there is */
		fputs("policies: [{name: none, action: pass, sources: [127.0.0.1/32]}]\n", out);
	else if (setup->policy)
		fprintf(out, "policies: %s\n", setup->policy);
	else
		fprintf(out,
			"policies:\n  - name: all\n    sources: [0.0.0.0/0, '::/0']\n"
			"    limits: [%s]\n",
			setup->limits ? setup->limits : ONE_LIMIT);
	return fclose(out) ? -errno : 0;
}

static int read_policy(const struct setup *setup, const struct prefix *prefixes, size_t count,
		       struct made *made, struct ruleset **ruleset, struct message *message)
{
	struct problems problems = { 0 };
	char *text = NULL;
	size_t length;
	int err = write_policy(setup, prefixes, count, &text, &length);

	if (err)
		return message_set(message, err, "no memory for the policy");
	made->parse_s = -seconds();
	err = config_parse(text, length, ruleset, &problems);
	made->parse_s += seconds();
	if (err)
		*message = problems.list[0].message;
	problems_free(&problems);
	free(text);
	return err;
}

static int open_program(const struct instance *instance, struct made *made, struct message *message)
{
	char path[PINS_PATH];

	pins_path(instance->path, "program", path);
	made->program = bpf_obj_get(path);
	if (made->program < 0)
		return message_set(message, -errno, "cannot open %s: %s", path, strerror(errno));
	return 0;
}

static int measure_table(const struct running *running, struct made *made, struct message *message)
{
	struct snapshot snapshot;
	int err = snapshot_read(&running->instance, running->image, false, &snapshot, message);

	if (err)
		return err;
	if (snapshot.table.capacity)
		made->bytes = (double)snapshot.table.bytes / (double)snapshot.table.capacity;
	snapshot_free(&snapshot);
	return 0;
}

static int fill(struct running *running, const struct prefix *prefixes, size_t count,
		struct made *made, struct message *message)
{
	int err = open_program(&running->instance, made, message);

	if (!err)
		err = measure_table(running, made, message);
	if (err || made->setup->use != PREFIXES_ENTRIES)
		return err;
	made->block_s = -seconds();
	err = entries_block(&running->instance, prefixes, count, 0, NULL, message);
	made->block_s += seconds();
	return err;
}

/* The pins keep the instance: what was opened to make it is closed again, there are many. */
static int make(const struct setup *setup, const struct prefix *prefixes, size_t count,
		struct made *made, struct message *message)
{
	struct running running;
	struct ruleset *ruleset;
	char name[INSTANCE_NAME];
	int err = read_policy(setup, prefixes, count, made, &ruleset, message);

	if (err)
		return err;
	snprintf(name, sizeof(name), "bench-%td", setup - setups);
	made->load_s = -seconds();
	err = running_create(name, ruleset, &running, message);
	made->load_s += seconds();
	if (err)
		return err;
	made->setup = setup;
	err = fill(&running, prefixes, count, made, message);
	running_close(&running);
	return err;
}

int setup_make(const struct setup *setup, struct drive_address *list, struct made *made,
	       struct message *message)
{
	struct prefix *prefixes = NULL;
	size_t count = 0;
	int err;

	*made = (struct made){ .program = -1 };
	if (setup->prefixes) {
		prefixes = calloc(setup->prefixes, sizeof(*prefixes));
		if (!prefixes)
			return message_set(message, -ENOMEM, "no memory for prefixes");
		count = prefixes_make(setup, prefixes);
		addresses_inside(prefixes, count, list);
	}
	err = make(setup, prefixes, count, made, message);
	free(prefixes);
	return err;
}

void setup_unmake(struct made *made)
{
	if (made->setup && made->program >= 0)
		close(made->program);
	*made = (struct made){ .program = -1 };
}
