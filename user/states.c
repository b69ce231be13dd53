/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "../bpf/algo.h"
#include "../bpf/key.h"
#include "entries.h"
#include "kernel_maps.h"
#include "pins.h"
#include "states.h"

struct set {
	struct set_hot hot;
	struct set_cold cold;
	uint32_t lock;
};
_Static_assert(sizeof(struct set) == SET_BYTES, "set");

/* ---- owners ---- */

static int by_slice(const void *a, const void *b)
{
	const struct limit *x = &((const struct owner *)a)->rule;
	const struct limit *y = &((const struct owner *)b)->rule;

	return (x->slice_base > y->slice_base) - (x->slice_base < y->slice_base);
}

static int by_id(const void *a, const void *b)
{
	const struct limit *x = &((const struct owner *)a)->rule;
	const struct limit *y = &((const struct owner *)b)->rule;

	return (x->id > y->id) - (x->id < y->id);
}

static int by_id_and_order(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;
	int order = by_id(a, b);

	return order ? order : (x->order > y->order) - (x->order < y->order);
}

static void add_owner(struct owners *owners, struct owner owner)
{
	owner.order = owners->count;
	owners->list[owners->count++] = owner;
}

static void add_policy(struct owners *owners, const struct image_policy *policy)
{
	for (uint32_t i = 0; i < policy->policy.count; i++)
		add_owner(owners, (struct owner){ .policy = policy,
						  .limit = i,
						  .rule = policy->policy.limits[i] });
}

/* Limits of the whole instance come once a policy: the first of them is kept. */
static void drop_doubles(struct owners *owners)
{
	size_t kept = 0;

	for (size_t i = 0; i < owners->count; i++)
		if (!kept || owners->list[kept - 1].rule.id != owners->list[i].rule.id)
			owners->list[kept++] = owners->list[i];
	owners->count = kept;
}

static int entry_limits(const struct instance *instance, struct owners *owners)
{
	struct policy *list;
	uint32_t count;
	int err = entry_policies_read(instance, &list, &count);

	if (err)
		return err;
	for (uint32_t i = 0; i < count; i++) {
		struct entry_words words;

		if (list[i].count &&
		    !bpf_map_lookup_elem(instance->maps[MAP_ENTRY_WORDS], &i, &words))
			add_owner(owners, (struct owner){ .entry = words.prefix,
							  .rule = list[i].limits[0] });
	}
	free(list);
	return 0;
}

int owners_read(const struct instance *instance, const struct image *image,
		const struct image_policy *first, struct owners *owners)
{
	size_t most = (image->policy_count + 1) * LIMITS_MAX + instance->meta.entry_policies;
	int err;

	*owners = (struct owners){ .list = calloc(most, sizeof(*owners->list)) };
	if (!owners->list)
		return -ENOMEM;
	err = entry_limits(instance, owners);
	if (!err && first)
		add_policy(owners, first);
	for (size_t i = 0; i < image->policy_count && !err; i++)
		if (&image->policies[i] != first)
			add_policy(owners, &image->policies[i]);
	if (err) {
		owners_free(owners);
		return err;
	}
	qsort(owners->list, owners->count, sizeof(*owners->list), by_id_and_order);
	drop_doubles(owners);
	if (instance->meta.table == TABLE_SETS)
		qsort(owners->list, owners->count, sizeof(*owners->list), by_slice);
	return 0;
}

void owners_free(struct owners *owners)
{
	free(owners->list);
	*owners = (struct owners){};
}

static unsigned int ways(const struct limit *limit)
{
	return limit->flags & LIMIT_WIDE ? SET_WAYS_WIDE : SET_WAYS;
}

uint64_t owner_capacity(const struct instance *instance, const struct owner *owner)
{
	if (instance->meta.table != TABLE_SETS)
		return 0;
	if (owner->rule.flags & LIMIT_SHARED)
		return 1;
	return ((uint64_t)owner->rule.slice_mask + 1) * ways(&owner->rule);
}

/* ---- drops that CPUs count by themselves ---- */

struct counts {
	struct tally *list; /* sorted by set */
	size_t count;
};

static int by_set(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	return (x->set > y->set) - (x->set < y->set);
}

static int counts_read(const struct instance *instance, struct counts *counts)
{
	size_t cpus = kernel_cpus();
	struct tallies *all = calloc(cpus, sizeof(*all));
	uint32_t zero = 0;

	if (!all)
		return -ENOMEM;
	if (bpf_map_lookup_elem(instance->maps[MAP_TALLY], &zero, all)) {
		free(all);
		return -errno;
	}
	*counts = (struct counts){ all->slot, cpus * TALLY_SLOTS };
	qsort(counts->list, counts->count, sizeof(*counts->list), by_set);
	return 0;
}

static void counts_add(const struct counts *counts, struct found *found)
{
	size_t low = 0, high = counts->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (counts->list[middle].set < found->set)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < counts->count && counts->list[low].set == found->set; low++) {
		const struct tally *slot = &counts->list[low];

		if (slot->way != found->way || slot->key.hi != found->key.hi ||
		    slot->key.lo != found->key.lo)
			continue;
		found->dropped += slot->dropped;
	}
}

/* ---- sets ---- */

static bool way_read(const struct set *set, const struct owner *owner, uint32_t index,
		     unsigned int way, const struct counts *counts, struct found *found)
{
	bool wide = owner->rule.flags & LIMIT_WIDE;

	if (!family_of_way(set->cold.families, way))
		return false;
	*found = (struct found){
		.owner = owner,
		.key = { .hi = set->hot.key[wide ? 2 * way : way],
			 .lo = wide ? set->hot.key[2 * way + 1] : 0,
			 .family = family_of_way(set->cold.families, way) },
		.state = { set->hot.word[way], set->cold.extra[way], 0 },
		.passed = set->cold.passed[way] | (uint64_t)set->cold.passed_high[way] << 32,
		.dropped = set->cold.dropped[way] | (uint64_t)set->cold.dropped_high[way] << 32,
		.set = index,
		.way = way,
	};
	counts_add(counts, found);
	return true;
}

struct set_walk {
	const struct owner *owner;
	const struct counts *counts;
	states_visit visit;
	void *context;
};

static int visit_sets(const void *keys, const void *values, uint32_t count, void *context)
{
	const struct set_walk *walk = context;
	const struct set *set = values;
	const uint32_t *index = keys;
	int err = 0;

	for (uint32_t i = 0; i < count && !err; i++)
		for (unsigned int way = 0; way < ways(&walk->owner->rule) && !err; way++) {
			struct found found;

			if (way_read(&set[i], walk->owner, index[i], way, walk->counts, &found))
				err = walk->visit(&found, walk->context);
		}
	return err;
}

static int walk_sets(const struct instance *instance, const struct owners *owners,
		     states_visit visit, void *context)
{
	const struct map_walk range = { instance->maps[MAP_SETS], sizeof(uint32_t), SET_BYTES, 8192,
					BPF_F_LOCK };
	struct counts counts;
	int err = counts_read(instance, &counts);

	if (err)
		return err;
	for (size_t i = 0; i < owners->count && !err; i++) {
		const struct limit *rule = &owners->list[i].rule;
		struct set_walk walk = { &owners->list[i], &counts, visit, context };

		err = map_walk_range(&range, rule->slice_base, (uint64_t)rule->slice_mask + 1,
				     visit_sets, &walk);
	}
	free(counts.list);
	return err;
}

/* ---- the kernel's hash tables ---- */

/* Each CPU of `percpu` has a state of its own: counts are added up, the deepest debt is shown. */
static void hash_read(const struct instance *instance, const struct owner *owner,
		      const struct hash_key *key, const void *value, struct found *found)
{
	unsigned int copies = instance->meta.table == TABLE_HASH ? 1 : kernel_cpus();
	const struct hash_state *state = value;

	*found = (struct found){ .owner = owner, .key = { key->hi, key->lo, key->family, 0 } };
	for (unsigned int i = 0; i < copies; i++) {
		found->passed += state[i].passed;
		found->dropped += state[i].dropped;
		if (state[i].word >= found->state.word)
			found->state = (struct state){ state[i].word, state[i].extra, 0 };
	}
}

static struct map_walk hash_walk(const struct instance *instance)
{
	bool hash = instance->meta.table == TABLE_HASH;

	return (struct map_walk){
		.fd = instance->maps[hash ? MAP_HASH : MAP_PERCPU],
		.key_size = sizeof(struct hash_key),
		.value_size = hash ? HASH_CELL_BYTES : sizeof(struct hash_state) * kernel_cpus(),
		.batch = 4096,
	};
}

struct hash_visit {
	const struct instance *instance;
	const struct owners *owners;
	size_t value_size;
	states_visit visit;
	void *context;
};

static int visit_hash(const void *keys, const void *values, uint32_t count, void *context)
{
	const struct hash_visit *walk = context;
	const struct hash_key *key = keys;
	const char *value = values;
	int err = 0;

	for (uint32_t i = 0; i < count && !err; i++) {
		const struct owner wanted = { .rule.id = key[i].limit };
		const struct owner *owner = bsearch(&wanted, walk->owners->list,
						    walk->owners->count, sizeof(wanted), by_id);
		struct found found;

		if (!owner)
			continue;
		hash_read(walk->instance, owner, &key[i], value + i * walk->value_size, &found);
		err = walk->visit(&found, walk->context);
	}
	return err;
}

int states_walk(const struct instance *instance, const struct owners *owners, states_visit visit,
		void *context)
{
	struct map_walk walk = hash_walk(instance);
	struct hash_visit hash = { instance, owners, walk.value_size, visit, context };

	if (instance->meta.table == TABLE_SETS)
		return walk_sets(instance, owners, visit, context);
	return map_walk(&walk, visit_hash, &hash);
}

/* ---- one state ---- */

static int find_in_hash(const struct instance *instance, const struct owner *owner,
			const struct key *key, struct found *found)
{
	struct hash_key wanted = { key->hi, key->lo, key->family, owner->rule.id };
	struct map_walk walk = hash_walk(instance);
	void *value = malloc(walk.value_size);
	int err = value ? 0 : -ENOMEM;

	if (!err && bpf_map_lookup_elem(walk.fd, &wanted, value))
		err = errno == ENOENT ? 0 : -errno;
	else if (!err) {
		hash_read(instance, owner, &wanted, value, found);
		err = 1;
	}
	free(value);
	return err;
}

struct search {
	const struct key *key;
	struct found *found;
};

static int visit_search(const struct found *found, void *context)
{
	const struct search *search = context;

	if (found->key.hi != search->key->hi || found->key.lo != search->key->lo ||
	    found->key.family != search->key->family)
		return 0;
	*search->found = *found;
	return 1;
}

bool secret_read(const struct instance *instance, struct secret *secret)
{
	char path[PINS_PATH];
	uint32_t zero = 0;
	bool known;
	int fd;

	pins_path(instance->path, map_shape(MAP_SECRET)->name, path);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return false;
	known = !bpf_map_lookup_elem(fd, &zero, secret);
	close(fd);
	return known;
}

/* The part of the slice where a key must lie: one set for who may read the secret, else all. */
static struct owner narrowed(const struct instance *instance, const struct owner *owner,
			     const struct key *key)
{
	struct owner narrow = *owner;
	struct secret secret;

	if (!(owner->rule.flags & LIMIT_SHARED) && secret_read(instance, &secret)) {
		uint64_t hash = key_hash(key, secret.word[0], secret.word[1]);

		narrow.rule.slice_base += (uint32_t)hash & narrow.rule.slice_mask;
		narrow.rule.slice_mask = 0;
	}
	return narrow;
}

int states_find(const struct instance *instance, const struct owner *owner, const struct key *key,
		struct found *found)
{
	struct search search = { key, found };
	struct owner narrow;
	struct owners one = { &narrow, 1 };
	int err;

	if (instance->meta.table != TABLE_SETS)
		return find_in_hash(instance, owner, key, found);
	narrow = narrowed(instance, owner, key);
	err = walk_sets(instance, &one, visit_search, &search);
	if (err == 1)
		found->owner = owner;
	return err;
}

static int ring_of_set(const struct instance *instance, const struct found *found,
		       struct log_ring *ring)
{
	const struct limit *rule = &found->owner->rule;
	uint32_t index = rule->log_base + found->set - rule->slice_base;
	struct log_set rings;

	if (bpf_map_lookup_elem(instance->maps[MAP_LOGS], &index, &rings))
		return -errno;
	*ring = rings.way[found->way];
	return 0;
}

/* On more CPUs than one, the ring with the newest packet. */
static int ring_of_hash(const struct instance *instance, const struct found *found,
			struct log_ring *ring)
{
	bool hash = instance->meta.table == TABLE_HASH;
	struct hash_key key = { found->key.hi, found->key.lo, found->key.family,
				found->owner->rule.id };
	unsigned int copies = hash ? 1 : kernel_cpus();
	struct log_ring *rings = calloc(copies, sizeof(*rings));
	uint64_t newest = 0;
	int err = rings ? 0 : -ENOMEM;

	if (!err && bpf_map_lookup_elem(instance->maps[hash ? MAP_HASH_LOGS : MAP_PERCPU_LOGS],
					&key, rings))
		err = errno == ENOENT ? 0 : -errno;
	for (unsigned int i = 0; i < copies && !err; i++)
		for (unsigned int j = 0; j < LOG_SLOTS; j++)
			if (rings[i].at[j] > newest) {
				newest = rings[i].at[j];
				*ring = rings[i];
			}
	free(rings);
	return err;
}

int states_ring(const struct instance *instance, const struct found *found, struct log_ring *ring)
{
	memset(ring, 0, sizeof(*ring));
	if (found->owner->rule.algorithm != ALGO_SLIDING_LOG)
		return 0;
	if (instance->meta.table == TABLE_SETS)
		return ring_of_set(instance, found, ring);
	return ring_of_hash(instance, found, ring);
}
