/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "entries.h"
#include "states.h"
#include "sync_node.h"

#define FRAME_GUESS 512.0 /* bytes, until a policy has granted a frame */

/* ---- a frame of each policy ---- */

static bool counts_bytes(const struct image *image)
{
	for (size_t i = 0; i < image->policy_count; i++)
		for (uint32_t j = 0; j < image->policies[i].policy.count; j++)
			if (image->policies[i].policy.limits[j].flags & LIMIT_BYTES)
				return true;
	return false;
}

static int make_frames(struct sync_node *node)
{
	size_t count = node->reader.running.image->policy_count;

	free(node->granted);
	free(node->frame);
	node->granted = calloc(count + 1, sizeof(*node->granted));
	node->frame = calloc(count + 1, sizeof(*node->frame));
	if (!node->granted || !node->frame)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		node->frame[i] = FRAME_GUESS;
	node->generation = node->reader.generation;
	return 0;
}

static void measure_frame(struct sync_node *node, size_t at, const struct counter *granted)
{
	struct counter *before = &node->granted[at];

	if (granted->packets > before->packets && granted->bytes > before->bytes)
		node->frame[at] = (double)(granted->bytes - before->bytes) /
				  (double)(granted->packets - before->packets);
	*before = *granted;
}

static int measure_frames(struct sync_node *node, struct message *message)
{
	const struct running *running = &node->reader.running;
	struct snapshot snapshot;
	int err = 0;

	if (!node->frame || node->generation != node->reader.generation)
		err = make_frames(node);
	if (err || !counts_bytes(running->image))
		return err;
	err = snapshot_read(&running->instance, running->image, false, &snapshot, message);
	if (err)
		return err;
	for (size_t i = 0; i < snapshot.policy_count && i < running->image->policy_count; i++)
		measure_frame(node, i, &snapshot.policies[i].reasons[REASON_GRANTED]);
	snapshot_free(&snapshot);
	return 0;
}

/* ---- reading ---- */

static int check_instance(const struct instance *instance, struct message *message)
{
	if (instance->meta.table != TABLE_SETS) {
		message_set(message, -EOPNOTSUPP,
			    "states are shared from tables of kind `sets` only, this one is `%s`",
			    table_kind_name(instance->meta.table));
		return message_hint(message, -EOPNOTSUPP,
				    "say `table: {kind: sets}` in the policy file, then "
				    "`weir detach --all` and `weir attach`");
	}
	if (!instance_is_current(instance)) {
		message_set(message, -EPROTO,
			    "the instance was started by another version of weir");
		return message_hint(message, -EPROTO, "`weir attach` brings it up to date");
	}
	return 0;
}

static int follow_instance(struct sync_node *node, struct message *message)
{
	const struct instance *instance = &node->reader.running.instance;
	int err = reader_refresh(&node->reader, message);

	if (err)
		return err;
	err = check_instance(instance, message);
	if (err || (node->sync && node->pins == node->reader.pins))
		return err;
	sync_free(node->sync);
	node->sync = sync_new((uint64_t)instance->meta.sets * SET_WAYS, node->top);
	node->pins = node->reader.pins;
	return node->sync ? 0 : -ENOMEM;
}

static int see(const struct found *found, void *context)
{
	const struct owner *owner = found->owner;
	const struct sync_node *node = context;
	struct sync_sight sight = {
		.place = (uint64_t)found->set * SET_WAYS + found->way,
		.limit = owner->limit,
		.rule = &owner->rule,
		.key = found->key,
		.state = found->state,
		.passed = found->passed,
	};

	/* Entries are set by hand on each node, and a log can't be charged. */
	if (!owner->policy || owner->rule.flags & LIMIT_SHARED ||
	    owner->rule.algorithm == ALGO_SLIDING_LOG)
		return 0;
	sight.policy = (uint32_t)(owner->policy - node->reader.running.image->policies);
	sight.frame = node->frame[sight.policy];
	sync_see(node->sync, &sight);
	return 0;
}

int sync_node_read(struct sync_node *node, struct message *message)
{
	const struct running *running = &node->reader.running;
	struct owners owners;
	int err = follow_instance(node, message);

	if (!err)
		err = measure_frames(node, message);
	if (!err)
		err = owners_read(&running->instance, running->image, NULL, &owners);
	if (err)
		return err;
	sync_begin(node->sync, kernel_now_ns());
	err = states_walk(&running->instance, &owners, see, node);
	owners_free(&owners);
	if (err)
		message_set(message, err, "the states can't be read: %s", strerror(-err));
	return err;
}

/* ---- charging ---- */

static int charge(struct sync_node *node, const struct instance *instance, uint32_t first,
		  const struct sync_use *use, uint64_t debt_ns, size_t *charged)
{
	struct maintain command = {
		.op = MAINTAIN_CHARGE,
		.policy = first + use->policy,
		.limit = use->limit,
		.key = use->key,
		.cost = use->tokens,
		.debt_ns = debt_ns,
	};
	int err = instance_maintain(instance, &command);

	if (err || !command.done)
		return err;
	sync_charged(node->sync, (uint64_t)command.first * SET_WAYS + command.count, &use->key,
		     use->tokens);
	(*charged)++;
	return 0;
}

/* Under the instance's lock: no other policy comes in force between the look and the charges. */
int sync_node_charge(struct sync_node *node, const struct sync_use *uses, size_t count,
		     uint64_t debt_ns, size_t *charged, struct message *message)
{
	struct instance instance;
	struct live live;
	uint32_t first;
	int err;

	*charged = 0;
	if (!count)
		return 0;
	err = instance_open(node->reader.name, false, &instance, message);
	if (err)
		return err;
	err = live_read(&instance, &live);
	if (!err && live.generation == node->reader.generation) {
		first = (live.generation & 1) * instance.meta.policies;
		for (size_t i = 0; i < count && !err; i++)
			err = charge(node, &instance, first, &uses[i], debt_ns, charged);
	}
	instance_close(&instance);
	if (err)
		message_set(message, err, "states can't be charged: %s", strerror(-err));
	return err;
}

void sync_node_close(struct sync_node *node)
{
	reader_close(&node->reader);
	sync_free(node->sync);
	free(node->granted);
	free(node->frame);
	*node = (struct sync_node){ 0 };
}
