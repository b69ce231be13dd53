/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile.h"
#include "compile_parts.h"

#define SAVE_HEAD "weir-image 1"

int image_save(const struct image *image, char **text, size_t *length)
{
	FILE *out = open_memstream(text, length);

	if (!out)
		return -ENOMEM;
	fprintf(out, SAVE_HEAD " %zu %u\n", image->policy_count, image->next_id);
	for (size_t i = 0; i < image->policy_count; i++) {
		const struct image_policy *policy = &image->policies[i];

		fprintf(out, "%u %u\n", policy->policy.count, policy->cells);
		for (uint32_t j = 0; j < policy->policy.count; j++) {
			const struct allocation *own = &policy->limits[j];

			fprintf(out, "%u %u %u %u %u %u %u\n", own->id, own->slice_base,
				own->slice_sets, own->log_base, own->cells, own->credit, own->wide);
		}
	}
	if (ferror(out) | fclose(out)) {
		free(*text);
		return -ENOMEM;
	}
	return 0;
}

/* One line of `count` numbers, each up to 2^32 - 1, one space apart. */
static int read_numbers(const char **at, const char *end, uint32_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = 0;
		const char *start = *at;

		for (; *at < end && **at >= '0' && **at <= '9' && value <= UINT32_MAX; (*at)++)
			value = value * 10 + (uint64_t)(**at - '0');
		if (*at == start || value > UINT32_MAX || *at == end ||
		    *(*at)++ != (i + 1 < count ? ' ' : '\n'))
			return -EINVAL;
		numbers[i] = (uint32_t)value;
	}
	return 0;
}

static bool in_room(uint32_t base, uint32_t size, uint32_t total)
{
	return (uint64_t)base + size <= total;
}

/* A power of two, aligned, inside the maps: nothing else may reach the program. */
static bool own_fits(const struct allocation *own, const struct limit_spec *spec,
		     const struct capacity *room)
{
	uint32_t size = own->slice_sets;

	if (!in_room(own->cells, CELL_LIMIT_COUNT, room->cells) ||
	    (own->credit != NO_CREDIT && own->credit >= room->credits))
		return false;
	if (room->table != TABLE_SETS)
		return size == 0;
	if (!size || size & (size - 1) || own->slice_base & (size - 1) ||
	    !in_room(own->slice_base, size, room->sets))
		return false;
	return spec->algorithm != ALGO_SLIDING_LOG || in_room(own->log_base, size, room->log_sets);
}

static int restore_policy(struct image_policy *policy, const struct capacity *room, const char **at,
			  const char *end)
{
	uint32_t numbers[7];

	if (read_numbers(at, end, numbers, 2) || numbers[0] != policy->policy.count ||
	    !in_room(numbers[1], CELL_POLICY_COUNT, room->cells))
		return -EINVAL;
	policy->cells = numbers[1];
	for (uint32_t i = 0; i < policy->policy.count; i++) {
		if (read_numbers(at, end, numbers, 7))
			return -EINVAL;
		policy->limits[i] = (struct allocation){
			.id = numbers[0],
			.slice_base = numbers[1],
			.slice_sets = numbers[2],
			.log_base = numbers[3],
			.cells = numbers[4],
			.credit = numbers[5],
			.wide = numbers[6],
		};
		if (!own_fits(&policy->limits[i], policy->specs[i], room))
			return -EINVAL;
	}
	return 0;
}

static int restore_owners(struct image *image, const struct capacity *room, const char *text,
			  size_t length)
{
	const char *at = text, *end = text + length;
	uint32_t numbers[2];

	if (length < sizeof(SAVE_HEAD) || memcmp(text, SAVE_HEAD " ", sizeof(SAVE_HEAD)))
		return -EINVAL;
	at += sizeof(SAVE_HEAD);
	if (read_numbers(&at, end, numbers, 2) || numbers[0] != image->policy_count ||
	    image->policy_count > room->policies)
		return -EINVAL;
	image->next_id = numbers[1];
	for (size_t i = 0; i < image->policy_count; i++)
		if (restore_policy(&image->policies[i], room, &at, end))
			return -EINVAL;
	return at == end ? 0 : -EINVAL;
}

int image_restore(const struct ruleset *ruleset, const char *text, size_t length,
		  const struct capacity *room, unsigned int cpus, struct image **image)
{
	struct image *new = NULL;
	int err = ruleset->table == room->table ? image_new(ruleset, &new) : -EINVAL;

	if (!err)
		err = restore_owners(new, room, text, length);
	if (err) {
		image_free(new);
		return err;
	}
	new->need.table = room->table;
	image_finish(new, cpus);
	*image = new;
	return 0;
}
