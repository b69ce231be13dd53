/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "apply_states.h"
#include "entries.h"
#include "forget.h"
#include "limiter.h"

/* Where the kernel has the policies of the image in force. */
static int first_policy(const struct instance *instance, uint32_t *first)
{
	struct live live;
	int err = live_read(instance, &live);

	if (!err)
		*first = (live.generation & 1) * instance->meta.policies;
	return err;
}

/* Where the kernel has the policy of an entry's limit. */
static bool entry_policy(const struct entry_state *entries, size_t count,
			 const struct prefix *prefix, uint32_t *policy)
{
	for (size_t i = 0; i < count; i++) {
		if (entries[i].entry.kind != ENTRY_LIMIT ||
		    prefix_compare(&entries[i].prefix, prefix))
			continue;
		*policy = entries[i].entry.policy;
		return true;
	}
	return false;
}

struct forgetting {
	const struct instance *instance;
	const struct image *image;
	const struct prefix *address;
	uint32_t first; /* policy of the image */
	struct entry_state *entries;
	size_t entry_count;
};

static int forget_state(const struct forgetting *job, const struct source_state *state,
			size_t *count)
{
	struct maintain command = { .op = MAINTAIN_FORGET, .limit = state->limit };
	int err;

	if (state->rule.flags & LIMIT_SHARED)
		return 0;
	if (state->policy)
		command.policy = job->first + (uint32_t)(state->policy - job->image->policies);
	else if (!entry_policy(job->entries, job->entry_count, &state->entry, &command.policy))
		return 0;
	command.key = limit_key(&state->rule, job->address);
	err = instance_maintain(job->instance, &command);
	*count += command.done;
	return err;
}

int forget_source(const struct instance *instance, const struct image *image,
		  const struct prefix *address, size_t *count)
{
	struct forgetting job = { .instance = instance, .image = image, .address = address };
	struct source_state *states = NULL;
	size_t found = 0;
	int err;

	*count = 0;
	err = first_policy(instance, &job.first);
	if (!err)
		err = entries_all(instance, &job.entries, &job.entry_count);
	if (!err)
		err = sources_of(instance, image, address, &states, &found);
	for (size_t i = 0; !err && i < found; i++)
		err = forget_state(&job, &states[i], count);
	free(states);
	free(job.entries);
	return err;
}

static int forget_entries(const struct instance *instance)
{
	struct entry_state *entries;
	size_t count;
	int err = entries_all(instance, &entries, &count);

	if (err)
		return err;
	for (size_t i = 0; !err && i < count; i++) {
		uint32_t index = entries[i].entry.policy;
		struct policy policy;

		if (entries[i].entry.kind != ENTRY_LIMIT)
			continue;
		if (bpf_map_lookup_elem(instance->maps[MAP_POLICIES], &index, &policy))
			err = -errno;
		else
			err = states_clear(instance, index, 0, &policy.limits[0]);
	}
	free(entries);
	return err;
}

int forget_all(const struct instance *instance, const struct image *image)
{
	uint32_t first;
	int err = first_policy(instance, &first);

	for (uint32_t i = 0; !err && i < image->policy_count; i++) {
		const struct policy *policy = &image->policies[i].policy;

		for (uint32_t j = 0; !err && j < policy->count; j++)
			err = states_clear(instance, first + i, j, &policy->limits[j]);
	}
	if (!err)
		err = forget_entries(instance);
	return err ? err : states_clear_private(instance);
}
