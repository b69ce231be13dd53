/* SPDX-License-Identifier: GPL-2.0-only */
#include <bpf/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "tap.h"

struct counter cell_read(const struct rig *rig, uint32_t index)
{
	struct counter values[kernel_cpus()];
	struct counter sum = { 0 };

	if (bpf_map_lookup_elem(rig_map(rig, MAP_COUNTERS), &index, values))
		tap_bail("counter %u: %m", index);
	for (unsigned int cpu = 0; cpu < kernel_cpus(); cpu++) {
		sum.packets += values[cpu].packets;
		sum.bytes += values[cpu].bytes;
	}
	return sum;
}

static bool reason_passes(const struct rig *rig, enum reason reason)
{
	if (reason == REASON_MALFORMED)
		return rig->ruleset->malformed_pass;
	return reason < REASON_LIMIT;
}

static void add(const struct rig *rig, struct counts *counts, uint32_t index, enum reason reason,
		const char *policy, const char *limit)
{
	struct cell *cell = &counts->cells[counts->count];

	for (size_t i = 0; i < counts->count; i++)
		if (counts->cells[i].index == index)
			return; /* a limit of the whole instance: by the first policy's name */
	if (counts->count++ == CELLS_MOST)
		tap_bail("a policy of more than %d cells", CELLS_MOST);
	cell->index = index;
	cell->verdict = true;
	cell->passes = reason_passes(rig, reason);
	snprintf(cell->name, sizeof(cell->name), "%s%s%s%s%s", reason_name(reason),
		 policy ? ":" : "", policy ? policy : "", limit ? "/" : "", limit ? limit : "");
}

static void add_happening(struct counts *counts, uint32_t index, const char *policy,
			  const char *limit)
{
	struct cell *cell = &counts->cells[counts->count];

	if (counts->count++ == CELLS_MOST)
		tap_bail("a policy of more than %d cells", CELLS_MOST);
	cell->index = index;
	cell->verdict = false;
	snprintf(cell->name, sizeof(cell->name), "displaced:%s/%s", policy, limit);
}

static void add_limit(const struct rig *rig, struct counts *counts, uint32_t cells,
		      const char *policy, const char *limit)
{
	add(rig, counts, cells + CELL_LIMIT_REFUSED, REASON_LIMIT, policy, limit);
	add(rig, counts, cells + CELL_LIMIT_BANNED, REASON_BAN, policy, limit);
	add(rig, counts, cells + CELL_LIMIT_TABLE_FULL, REASON_TABLE_FULL, policy, limit);
	add(rig, counts, cells + CELL_LIMIT_OBSERVED, REASON_OBSERVED, policy, limit);
	add_happening(counts, cells + CELL_LIMIT_DISPLACED, policy, limit);
}

static void add_policy(const struct rig *rig, struct counts *counts, uint32_t cells,
		       uint32_t action, const char *policy)
{
	static const enum reason reasons[] = {
		[ACTION_PASS] = REASON_ALLOWED,
		[ACTION_DROP] = REASON_BLOCKED,
		[ACTION_LIMIT] = REASON_GRANTED,
	};

	add(rig, counts, cells + CELL_POLICY_VERDICT, reasons[action], policy, NULL);
	add(rig, counts, cells + CELL_POLICY_OBSERVED, REASON_OBSERVED, policy, NULL);
}

static void add_entries(const struct rig *rig, struct counts *counts)
{
	for (uint32_t i = 0; i < rig->room.entry_policies; i++) {
		uint32_t index = 2 * rig->room.policies + i;
		struct policy policy;

		if (bpf_map_lookup_elem(rig_map(rig, MAP_POLICIES), &index, &policy))
			tap_bail("policy %u: %m", index);
		if (!policy.count)
			continue;
		add_policy(rig, counts, policy.cells, ACTION_LIMIT, "entry");
		add_limit(rig, counts, policy.limits[0].cells, "entry", "limit");
	}
}

static void add_globals(const struct rig *rig, struct counts *counts)
{
	add(rig, counts, CELL_NOT_IP, REASON_NOT_IP, NULL, NULL);
	add(rig, counts, CELL_NEIGHBOUR_DISCOVERY, REASON_NEIGHBOUR_DISCOVERY, NULL, NULL);
	add(rig, counts, CELL_MALFORMED, REASON_MALFORMED, NULL, NULL);
	add(rig, counts, CELL_UNMATCHED, REASON_UNMATCHED, NULL, NULL);
	add(rig, counts, CELL_ENTRY_BLOCKED, REASON_BLOCKED, "entry", NULL);
	add(rig, counts, CELL_ENTRY_ALLOWED, REASON_ALLOWED, "entry", NULL);
}

void counts_start(const struct rig *rig, struct counts *counts)
{
	counts->count = 0;
	add_globals(rig, counts);
	for (size_t i = 0; i < rig->image->policy_count; i++) {
		const struct image_policy *policy = &rig->image->policies[i];

		add_policy(rig, counts, policy->cells, policy->policy.action, policy->name);
		for (uint32_t l = 0; l < policy->policy.count; l++)
			add_limit(rig, counts, policy->limits[l].cells, policy->name,
				  policy->specs[l]->name);
	}
	add_entries(rig, counts);
	counts_read(rig, counts);
}

void counts_read(const struct rig *rig, struct counts *counts)
{
	for (size_t i = 0; i < counts->count; i++)
		counts->cells[i].value = cell_read(rig, counts->cells[i].index);
}

struct counter counts_total(const struct rig *rig, const struct counts *counts)
{
	struct counter total = { 0 };

	for (uint32_t index = 0; index < rig->room.cells; index++) {
		struct counter value = cell_read(rig, index);
		bool verdict = index != CELL_EVENTS_LOST && index != CELL_RETIRED_DISPLACED;

		for (size_t i = 0; i < counts->count; i++)
			verdict &= counts->cells[i].index != index || counts->cells[i].verdict;
		if (verdict) {
			total.packets += value.packets;
			total.bytes += value.bytes;
		}
	}
	return total;
}

bool cell_is(const struct cell *cell, const char *name)
{
	size_t length = strlen(name);

	if (strncmp(cell->name, name, length))
		return false;
	return !cell->name[length] || cell->name[length] == (strchr(name, ':') ? '/' : ':');
}
