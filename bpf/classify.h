/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which policy or entry a source falls under, and which services a packet asks
 * for. Reads the packet, never its bytes; must not know limits or states.
 */
#ifndef WEIR_CLASSIFY_H
#define WEIR_CLASSIFY_H

#include "clock.h"
#include "kept.h"
#include "maps.h"
#include "parse.h"
#include "verdict.h"

/* With so many entries the kernel's trie takes longer than what is kept of it. Tests keep more. */
#ifndef KEPT_WORTH
#define KEPT_WORTH 256
#endif

/* What an address fell under: nothing, an entry set by hand, or a policy. */
struct ruling {
	__u32 entry;  /* enum entry_kind, 0: none */
	__u32 policy; /* index into `policies`, NO_POLICY: none */
	__u64 until;  /* when the entry is over; ~0: never */
};

static __always_inline void *trie_of(void *outer, __u32 slot)
{
	return bpf_map_lookup_elem(outer, &slot);
}

static __always_inline void *lookup4(void *outer, __u32 slot, const __u8 *address, __u32 len)
{
	struct prefix4_key key = { .len = len };
	void *trie = trie_of(outer, slot);

	__builtin_memcpy(key.addr, address, sizeof(key.addr));
	return trie ? bpf_map_lookup_elem(trie, &key) : NULL;
}

static __always_inline void *lookup6(void *outer, __u32 slot, const __u8 *address, __u32 len)
{
	struct prefix6_key key = { .len = len };
	void *trie = trie_of(outer, slot);

	__builtin_memcpy(key.addr, address, sizeof(key.addr));
	return trie ? bpf_map_lookup_elem(trie, &key) : NULL;
}

static __always_inline const struct directory_cell *directory_fetch(void *directory, __u32 index)
{
	return bpf_map_lookup_elem(directory, &index);
}

static __always_inline __u64 filter_word(const void *map, __u32 index)
{
	const __u64 *word = bpf_map_lookup_elem((void *)map, &index);

	return word ? *word : ~0ULL;
}

#include "directory.h"
#include "filter.h"

/* Rarer than IPv4, and many steps to prove: a function by itself. */
__noinline __u32 directory_walk6(const struct packet *packet, __u32 generation, __u32 word)
{
	void *directory = trie_of(&prefixes6, generation & 1);

	return packet && directory ? directory_walk(directory, word, packet_source(packet), 128)
				   : 0;
}

static __always_inline __u32 directory_walk4(const struct packet *packet, __u32 generation,
					     __u32 word)
{
	void *directory = trie_of(&prefixes4, generation & 1);

	return directory ? directory_walk(directory, word, packet_source(packet), 32) : 0;
}

/* A word of the root that begins at the cell `first`. */
static __always_inline __u32 root_word(__u32 first, __u32 slot)
{
	__u32 index = first + slot / DIRECTORY_CHILDREN;
	const struct directory_cell *cell = bpf_map_lookup_elem(&roots, &index);

	return cell ? cell->child[slot % DIRECTORY_CHILDREN] : 0;
}

static __always_inline __u32 policy_word(const struct packet *packet, __u32 generation)
{
	__u32 first = ((generation & 1) * 2 + (packet->family == 6)) * DIRECTORY_ROOT_CELLS;
	__u32 head = first + DIRECTORY_HEAD, slot = directory_slot(packet_source(packet)), word;
	const struct directory_cell *spares = bpf_map_lookup_elem(&roots, &head);
	__u32 ask;

	if (!spares)
		return 0;
	word = spares->child[DIRECTORY_ALL];
	if (word)
		return word;
	ask = spares->child[DIRECTORY_FILTER];
	if (ask && !filter_policies(&filter, packet_source(packet), packet->family,
				    ask & DIRECTORY_MANY)) {
		word = spares->child[DIRECTORY_AROUND];
		return directory_ends(word) ? word : root_word(first + DIRECTORY_ROOT, slot);
	}
	word = root_word(first, slot);
	if (directory_ends(word))
		return word;
	return packet->family == 4 ? directory_walk4(packet, generation, word)
				   : directory_walk6(packet, generation, word);
}

static __always_inline struct prefix_match policy_of(const struct packet *packet, __u32 generation)
{
	__u32 word = policy_word(packet, generation);

	return word ? directory_match(word) : (struct prefix_match){ NO_POLICY, 0 };
}

static __always_inline const struct entry *entry_upto(const struct packet *packet, __u32 len)
{
	if (packet->family == 4)
		return lookup4(&entries4, 0, packet_source(packet), len);
	return lookup6(&entries6, 0, packet_source(packet), len);
}

/* Exact to the packet, but the clock is read near the end only. */
static __always_inline int entry_is_over(const struct entry *entry, struct moment *time)
{
	return entry->expires_ns && !clock_before(time, entry->expires_ns);
}

/*
 * The longest entry that has not expired. One that has is there until it is pruned: the look
 * goes on among shorter ones. User space lets at most ENTRY_NEST entries cover one address.
 */
static __always_inline const struct entry *entry_of(const struct packet *packet,
						    struct moment *time)
{
	__u32 len = packet->family == 4 ? 32 : 128;

	for (int i = 0; i < ENTRY_NEST; i++) {
		const struct entry *entry = entry_upto(packet, len);

		if (!entry || !entry_is_over(entry, time))
			return entry;
		if (!entry->len)
			return NULL;
		len = entry->len - 1;
	}
	return NULL;
}

/* An entry outranks a policy whose prefix is the same or shorter. */
static __always_inline void outrank_searched(const struct packet *packet, __u32 policy_len,
					     struct moment *time, struct ruling *ruling)
{
	const struct entry *entry = entry_of(packet, time);

	if (!entry || policy_len > entry->len)
		return;
	ruling->entry = entry->kind;
	ruling->policy = entry->kind == ENTRY_LIMIT ? entry->policy : NO_POLICY;
	ruling->until = entry->expires_ns ? entry->expires_ns : ~0ULL;
}

/* `epoch`: the search's result is kept; odd: it is not. */
__noinline int outrank(const struct packet *packet, __u32 policy_len, struct moment *time,
		       struct ruling *ruling, __u32 epoch)
{
	struct kept_set *set = NULL;
	struct kept *kept = NULL;

	if (!packet || !time || !ruling)
		return 0;
	if (!(epoch & 1))
		set = kept_set_of(packet);
	if (set)
		kept = kept_find(set, packet, epoch);
	if (kept && clock_before(time, kept->until)) {
		ruling->entry = kept->tag & KEPT_TAG_ENTRY;
		ruling->policy = kept->policy;
		ruling->until = kept->until;
		return 0;
	}
	outrank_searched(packet, policy_len, time, ruling);
	if (set)
		kept_fill(set, kept, packet, epoch, ruling->entry, ruling->policy, ruling->until);
	return 0;
}

/*
 * The generation is read once: all that is looked up for a packet belongs to one policy. `epoch`
 * was read before.
 */
static __always_inline struct ruling
ruling_of(const struct packet *packet, const struct live *config, __u32 epoch, struct moment *time)
{
	const struct prefix_match match = policy_of(packet, READ_ONCE(config->generation));
	struct ruling ruling = { 0, match.policy, ~0ULL };
	__u32 entries = config->entries;

	if (entries && filter_entries(&filter, packet_source(packet), packet->family, entries))
		outrank(packet, match.len, time, &ruling, epoch | (entries < KEPT_WORTH));
	return ruling;
}

static __always_inline __u32 service_row(const struct policy *policy, __u32 row)
{
	__u32 index = policy->services_base + row;
	const __u32 *mask = bpf_map_lookup_elem(&services, &index);

	return mask ? *mask : 0;
}

/* Services with destination prefixes count only where the destination falls under them. */
static __always_inline __u32 services_at(const struct policy *policy, const struct packet *packet)
{
	const __u32 *mask;

	if (packet->family == 4)
		mask = lookup4(&destinations4, policy->generation & 1, packet->destination, 32);
	else
		mask = lookup6(&destinations6, policy->generation & 1, packet->destination, 128);
	return policy->services_anywhere | (mask ? *mask : 0);
}

/* The services a packet asks for, as a mask. What has no ports or type matches by protocol only. */
__noinline __u32 services_of(const struct policy *policy, const struct packet *packet)
{
	__u32 mask;

	if (!policy || !packet)
		return 0;
	mask = service_row(policy, SERVICE_PROTO + packet->proto);
	if (packet->has_ports && packet->proto == IPPROTO_TCP)
		mask |= service_row(policy, SERVICE_TCP + packet->dport);
	if (packet->has_ports && packet->proto == IPPROTO_UDP)
		mask |= service_row(policy, SERVICE_UDP + packet->dport);
	if (packet->has_type && packet->proto == IPPROTO_ICMP)
		mask |= service_row(policy, SERVICE_ICMP + packet->type);
	if (packet->has_type && packet->proto == IPPROTO_ICMPV6)
		mask |= service_row(policy, SERVICE_ICMPV6 + packet->type);
	if (packet->syn)
		mask |= service_row(policy, SERVICE_SYN);
	if (policy->flags & POLICY_TO)
		mask &= services_at(policy, packet);
	return mask;
}

#endif
