/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <grp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../bpf/algo.h"
#include "cells.h"
#include "entries.h"
#include "kernel_maps.h"
#include "pins.h"
#include "states.h"

static void add(struct counter *to, const struct counter *counter)
{
	to->packets += counter->packets;
	to->bytes += counter->bytes;
}

static bool reason_drops(enum reason reason, bool malformed_pass)
{
	if (reason == REASON_MALFORMED)
		return !malformed_pass;
	return reason >= REASON_LIMIT;
}

/* ---- counters ---- */

static int read_limit(const struct counter *cells, const char *name, struct snapshot_policy *policy,
		      struct snapshot_limit *limit)
{
	limit->name = strdup(name);
	if (!limit->name)
		return -ENOMEM;
	memcpy(limit->cells, cells, sizeof(limit->cells));
	for (unsigned int i = 0; i < CELL_LIMIT_COUNT; i++) {
		int reason = cell_reason_limit(i);

		if (reason >= 0)
			add(&policy->reasons[reason], &cells[i]);
		if (reason >= 0 && reason_drops(reason, false))
			add(&limit->refused, &cells[i]);
	}
	return 0;
}

static void sum_policy(struct snapshot *snapshot, struct snapshot_policy *policy)
{
	for (int i = 0; i < REASON_COUNT; i++) {
		add(reason_drops(i, false) ? &policy->dropped : &policy->passed,
		    &policy->reasons[i]);
		add(&snapshot->reasons[i], &policy->reasons[i]);
	}
	policy->observed = policy->reasons[REASON_OBSERVED];
}

static int read_policy(struct snapshot *snapshot, const struct image_policy *image,
		       const struct counter *cells, struct snapshot_policy *policy)
{
	uint32_t count = image->policy.count;
	int err = 0;

	policy->name = strdup(image->name);
	policy->limits = calloc(count + 1, sizeof(*policy->limits));
	if (!policy->name || !policy->limits)
		return -ENOMEM;
	policy->limit_count = count;
	for (unsigned int i = 0; i < CELL_POLICY_COUNT; i++)
		add(&policy->reasons[cell_reason_policy(image->policy.action, i)],
		    &cells[image->cells + i]);
	for (uint32_t i = 0; i < count && !err; i++)
		err = read_limit(&cells[image->limits[i].cells], image->specs[i]->name, policy,
				 &policy->limits[i]);
	sum_policy(snapshot, policy);
	return err;
}

/* Limits set by hand count in cells of their own, under no policy's name. */
static void add_entry(struct snapshot *snapshot, const struct policy *policy,
		      const struct counter *cells)
{
	for (unsigned int i = 0; i < CELL_POLICY_COUNT; i++)
		add(&snapshot->reasons[cell_reason_policy(policy->action, i)],
		    &cells[policy->cells + i]);
	for (unsigned int i = 0; i < CELL_LIMIT_COUNT; i++) {
		int reason = cell_reason_limit(i);

		if (reason >= 0)
			add(&snapshot->reasons[reason], &cells[policy->limits[0].cells + i]);
	}
}

static int read_policies(const struct image *image, const struct counter *cells,
			 struct snapshot *snapshot)
{
	int err = 0;

	snapshot->policies = calloc(image->policy_count + 1, sizeof(*snapshot->policies));
	if (!snapshot->policies)
		return -ENOMEM;
	snapshot->policy_count = image->policy_count;
	for (size_t i = 0; i < image->policy_count && !err; i++)
		err = read_policy(snapshot, &image->policies[i], cells, &snapshot->policies[i]);
	return err;
}

static void sum_all(struct snapshot *snapshot, const struct counter *cells)
{
	for (unsigned int i = 0; i < CELL_GLOBALS; i++) {
		int reason = cell_reason_global(i);

		if (reason >= 0)
			add(&snapshot->reasons[reason], &cells[i]);
	}
	for (int i = 0; i < REASON_COUNT; i++)
		add(reason_drops(i, snapshot->malformed_pass) ? &snapshot->dropped
							      : &snapshot->passed,
		    &snapshot->reasons[i]);
	snapshot->events_lost = cells[CELL_EVENTS_LOST].packets;
	snapshot->table.displaced = cells[CELL_RETIRED_DISPLACED].packets;
	for (size_t i = 0; i < snapshot->policy_count; i++)
		for (size_t j = 0; j < snapshot->policies[i].limit_count; j++)
			snapshot->table.displaced +=
				snapshot->policies[i].limits[j].cells[CELL_LIMIT_DISPLACED].packets;
	snapshot->table.refused_full = snapshot->reasons[REASON_TABLE_FULL].packets;
}

static int read_counters(const struct instance *instance, const struct image *image,
			 struct snapshot *snapshot)
{
	struct counter *cells;
	struct policy *held;
	uint32_t count;
	int err = cells_read(instance, &cells);

	if (err)
		return err;
	err = read_policies(image, cells, snapshot);
	if (!err)
		err = entry_policies_read(instance, &held, &count);
	if (!err) {
		for (uint32_t i = 0; i < count; i++)
			if (held[i].count) {
				add_entry(snapshot, &held[i], cells);
				snapshot->table.displaced +=
					cells[held[i].limits[0].cells + CELL_LIMIT_DISPLACED]
						.packets;
			}
		free(held);
		sum_all(snapshot, cells);
	}
	free(cells);
	return err;
}

/* ---- the table ---- */

struct counting {
	uint64_t now, live;
};

static int visit_live(const struct found *found, void *context)
{
	struct counting *counting = context;

	counting->live += state_live(&found->owner->rule, found->state.word, counting->now);
	return 0;
}

static double packets_per_second(const struct limit_spec *spec)
{
	return (double)spec->rate.amount * NS_PER_SEC / spec->rate.window_ns;
}

/*
 * What forged sources can get through one policy: the tightest of its packet limits that every
 * packet meets. 0: none of them binds.
 */
static double policy_bound(const struct image_policy *policy)
{
	double bound = 0;

	for (uint32_t i = 0; i < policy->policy.count; i++) {
		const struct limit *limit = &policy->policy.limits[i];
		uint64_t ways = limit->flags & LIMIT_WIDE ? SET_WAYS_WIDE : SET_WAYS;
		double rate = packets_per_second(policy->specs[i]);

		if (limit->services || (limit->flags & LIMIT_BYTES))
			continue;
		if (!(limit->flags & LIMIT_SHARED))
			rate *= ((double)limit->slice_mask + 1) * ways;
		if (!bound || rate < bound)
			bound = rate;
	}
	return bound;
}

static double forged_rate(const struct image *image)
{
	double sum = 0;

	if (image->ruleset->table != TABLE_SETS || image->ruleset->lenient)
		return 0;
	for (size_t i = 0; i < image->policy_count; i++) {
		const struct image_policy *policy = &image->policies[i];
		double bound = policy_bound(policy);

		if (policy->policy.action != ACTION_LIMIT)
			continue;
		if (!bound || policy->policy.enforced < 65536)
			return 0;
		sum += bound;
	}
	return sum;
}

static int read_table(const struct instance *instance, const struct image *image, bool live_states,
		      struct snapshot *snapshot)
{
	struct counting counting = { .now = snapshot->time_ns };
	struct snapshot_table *table = &snapshot->table;
	struct owners owners;
	int err = owners_read(instance, image, NULL, &owners);

	if (err)
		return err;
	table->kind = instance->meta.table;
	table->bytes = maps_table_bytes(&instance->meta, kernel_cpus());
	table->lenient = image->ruleset->lenient;
	table->forged_rate = forged_rate(image);
	table->capacity = table->kind == TABLE_SETS ? 0 : instance->meta.states;
	for (size_t i = 0; i < owners.count; i++)
		table->capacity += owner_capacity(instance, &owners.list[i]);
	if (live_states)
		err = states_walk(instance, &owners, visit_live, &counting);
	table->live = counting.live;
	owners_free(&owners);
	return err;
}

/* ---- warnings ---- */

static int warn(struct snapshot *snapshot, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int warn(struct snapshot *snapshot, const char *format, ...)
{
	size_t size = (snapshot->warning_count + 1) * sizeof(*snapshot->warnings);
	char **warnings = realloc(snapshot->warnings, size);
	va_list args;
	int length;

	if (!warnings)
		return -ENOMEM;
	snapshot->warnings = warnings;
	va_start(args, format);
	length = vasprintf(&warnings[snapshot->warning_count], format, args);
	va_end(args);
	if (length < 0)
		return -ENOMEM;
	snapshot->warning_count++;
	return 0;
}

static int warn_interface(struct snapshot *snapshot, const struct attachment *at)
{
	int err = 0;

	if (!at->attached && at->interface[0])
		return warn(snapshot,
			    "%s is not attached: the interface was deleted or moved away "
			    "(weir attach %s)",
			    at->interface, at->interface);
	if (!at->attached)
		return warn(snapshot, "the interface with index %u is gone", at->ifindex);
	if (!at->native)
		err = warn(snapshot,
			   "%s is attached in generic mode: there a packet may be a super-packet "
			   "of up to 64 KiB that the card has put together from many",
			   at->interface);
	if (!err && !at->frags)
		err = warn(snapshot,
			   "%s: this kernel does not let the program take frames of several "
			   "buffers: a large MTU may rule native mode out",
			   at->interface);
	return err;
}

static int warn_interfaces(struct snapshot *snapshot)
{
	int err = 0;

	if (!snapshot->interface_count)
		return warn(snapshot, "no interface is attached (weir attach IFACE)");
	for (size_t i = 0; i < snapshot->interface_count && !err; i++)
		err = warn_interface(snapshot, &snapshot->interfaces[i]);
	return err;
}

static bool judges(const struct image_policy *policy)
{
	return policy->policy.action == ACTION_DROP ||
	       (policy->policy.action == ACTION_LIMIT && policy->policy.count);
}

static int warn_policies(struct snapshot *snapshot, const struct image *image)
{
	bool any = false;
	int err = 0;

	for (size_t i = 0; i < image->policy_count; i++)
		any |= judges(&image->policies[i]);
	if (!any)
		return warn(snapshot, "no policy in force limits or drops anything");
	for (size_t i = 0; i < image->policy_count && !err; i++) {
		const struct image_policy *policy = &image->policies[i];
		uint32_t enforced = policy->policy.enforced;

		if (!judges(policy) || enforced >= 65536)
			continue;
		if (!enforced)
			err = warn(snapshot, "policy %s only observes: it drops nothing",
				   policy->name);
		else
			err = warn(snapshot, "policy %s is enforced for %.4g%% of the sources",
				   policy->name, enforced * 100.0 / 65536);
	}
	return err;
}

static int warn_table(struct snapshot *snapshot)
{
	const struct snapshot_table *table = &snapshot->table;

	if (table->kind == TABLE_PERCPU)
		return warn(
			snapshot,
			"table percpu: each CPU has a budget of its own, a source whose packets "
			"come in on several may get up to %u times its limit",
			kernel_cpus());
	if (table->kind == TABLE_HASH && table->refused_full + table->displaced)
		return warn(snapshot,
			    "table hash was full: packets of sources it has no room for were %s "
			    "(weir source forget --all empties it)",
			    table->lenient ? "let through" : "dropped");
	if (table->displaced)
		return warn(snapshot,
			    "%llu states were displaced: more sources at once than the table holds",
			    (unsigned long long)table->displaced);
	return 0;
}

/* Pins live as long as their mount: one of a private mount namespace goes with it. */
static bool mount_is_private(void)
{
	struct stat own, first;

	return !stat("/proc/self/ns/mnt", &own) && !stat("/proc/1/ns/mnt", &first) &&
	       (own.st_ino != first.st_ino || own.st_dev != first.st_dev);
}

static bool readers_are_shut_out(void)
{
	struct group *group = getgrnam("weir");
	struct stat root;

	if (!group || stat(PINS_MOUNT, &root))
		return false;
	return !(root.st_mode & S_IXOTH) &&
	       !(root.st_gid == group->gr_gid && root.st_mode & S_IXGRP);
}

static int warn_pins(struct snapshot *snapshot)
{
	int err = 0;

	if (mount_is_private())
		err = warn(snapshot, "bpffs is mounted in a private mount namespace: the instance "
				     "is lost with it");
	if (!err && readers_are_shut_out())
		err = warn(snapshot,
			   "the group weir cannot reach the pins (chmod o+x " PINS_MOUNT ")");
	return err;
}

static int warn_version(struct snapshot *snapshot, const struct instance *instance)
{
	if (instance_is_current(instance))
		return 0;
	return warn(snapshot,
		    "the program in the kernel is that of another weir (%.*s): weir attach "
		    "replaces it in place",
		    INSTANCE_NAME, instance->meta.version);
}

static int read_warnings(struct snapshot *snapshot, const struct instance *instance,
			 const struct image *image)
{
	int err = warn_interfaces(snapshot);

	if (!err)
		err = warn_policies(snapshot, image);
	if (!err)
		err = warn_table(snapshot);
	if (!err)
		err = warn_pins(snapshot);
	if (!err)
		err = warn_version(snapshot, instance);
	return err;
}

static bool is_protecting(const struct snapshot *snapshot, const struct image *image)
{
	bool enforced = false;

	for (size_t i = 0; i < snapshot->interface_count; i++)
		if (!snapshot->interfaces[i].attached)
			return false;
	for (size_t i = 0; i < image->policy_count; i++)
		enforced |= judges(&image->policies[i]) && image->policies[i].policy.enforced;
	return snapshot->interface_count && enforced;
}

/* ---- the whole ---- */

static int read_all(const struct instance *instance, const struct image *image, bool live_states,
		    struct snapshot *snapshot)
{
	struct live live;
	int err = live_read(instance, &live);

	if (err)
		return err;
	snapshot->generation = live.generation;
	snapshot->entry_count = live.entries;
	snapshot->malformed_pass = live.malformed_pass;
	err = read_counters(instance, image, snapshot);
	if (!err)
		err = read_table(instance, image, live_states, snapshot);
	if (!err)
		err = read_warnings(snapshot, instance, image);
	snapshot->protecting = !err && is_protecting(snapshot, image);
	return err;
}

int snapshot_read(const struct instance *instance, const struct image *image, bool live_states,
		  struct snapshot *snapshot, struct message *message)
{
	int err;

	*snapshot =
		(struct snapshot){ .time_ns = kernel_now_ns(), .layout = instance->meta.layout };
	snprintf(snapshot->instance, sizeof(snapshot->instance), "%s", instance->name);
	err = instance_attachments(instance, &snapshot->interfaces, &snapshot->interface_count,
				   message);
	if (err)
		return err;
	err = read_all(instance, image, live_states, snapshot);
	if (!err)
		return 0;
	snapshot_free(snapshot);
	return message_set(message, err, "cannot read the instance %s: %s", instance->name,
			   strerror(-err));
}

void snapshot_free(struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->policy_count; i++) {
		for (size_t j = 0; j < snapshot->policies[i].limit_count; j++)
			free(snapshot->policies[i].limits[j].name);
		free(snapshot->policies[i].limits);
		free(snapshot->policies[i].name);
	}
	for (size_t i = 0; i < snapshot->warning_count; i++)
		free(snapshot->warnings[i]);
	free(snapshot->policies);
	free(snapshot->warnings);
	free(snapshot->interfaces);
	*snapshot = (struct snapshot){};
}
