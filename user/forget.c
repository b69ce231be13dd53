/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>

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

struct forgetting {
	const struct instance *instance;
	const struct image *image;
	const struct prefix *address;
	uint32_t first; /* policy of the image */
};

static int forget_state(const struct forgetting *job, const struct source_state *state,
			size_t *count)
{
	struct maintain command = { .op = MAINTAIN_FORGET, .limit = state->limit };
	struct entry entry;
	int err;

	if (state->rule.flags & LIMIT_SHARED)
		return 0;
	if (state->policy)
		command.policy = job->first + (uint32_t)(state->policy - job->image->policies);
	else if (entry_at(job->instance, &state->entry, &entry) && entry.kind == ENTRY_LIMIT)
		command.policy = entry.policy;
	else
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
		err = sources_of(instance, image, address, &states, &found);
	for (size_t i = 0; !err && i < found; i++)
		err = forget_state(&job, &states[i], count);
	free(states);
	return err;
}

static int forget_entries(const struct instance *instance)
{
	struct policy *policies;
	uint32_t count;
	int err = entry_policies_read(instance, &policies, &count);

	if (err)
		return err;
	for (uint32_t i = 0; !err && i < count; i++)
		if (policies[i].count)
			err = states_clear(instance, 2 * instance->meta.policies + i, 0,
					   &policies[i].limits[0]);
	free(policies);
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
