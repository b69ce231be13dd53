/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every map of an instance, and nothing that decides. Sizes given here are
 * placeholders: user space sets those that depend on the policy before load.
 */
#ifndef WEIR_MAPS_H
#define WEIR_MAPS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "abi.h"

/* Set at load, constant afterwards: the verifier removes the code of other tables. */
const volatile __u32 table_kind = TABLE_SETS;
const volatile __u64 secret0 = 0;
const volatile __u64 secret1 = 0;

/* What others may write meanwhile. */
#define READ_ONCE(x) (*(const volatile typeof(x) *)&(x))

struct set {
	struct set_hot hot;
	struct set_cold cold;
	struct bpf_spin_lock lock;
};
_Static_assert(sizeof(struct set) == SET_BYTES, "set");

struct hash_cell {
	struct hash_state state;
	struct bpf_spin_lock lock;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct live);
} live SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct meta);
} meta SEC(".maps");

/* The hash's secret, kept for an upgrade: the program has it in .rodata. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct secret);
} secret SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CELL_GLOBALS);
	__type(key, __u32);
	__type(value, struct counter);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct set);
} sets SEC(".maps");

/* Rings of the sliding-log limits, one for each way of a set. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct log_set);
} logs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct hash_key);
	__type(value, struct hash_cell);
} hash SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct hash_key);
	__type(value, struct log_ring);
} hash_logs SEC(".maps");

/* The kernel refuses a spin lock in per-CPU and LRU maps; none is needed here. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_PERCPU_HASH);
	__uint(max_entries, 1);
	__type(key, struct hash_key);
	__type(value, struct hash_state);
} percpu SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_PERCPU_HASH);
	__uint(max_entries, 1);
	__type(key, struct hash_key);
	__type(value, struct log_ring);
} percpu_logs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tallies);
} tally SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct credit);
} credits SEC(".maps");

/* Two generations and the entries' policies, one region behind the other. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct policy);
} policies SEC(".maps");

/* Two generations of SERVICE_ROWS masks. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * SERVICE_ROWS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u32);
} services SEC(".maps");

/* Where no prefix is: words of bits. Changed in place; a bit too many is no fault. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FILTER_ALL);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u64);
} filter SEC(".maps");

/* Two generations of IPv4's and IPv6's root, and what holds around. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4 * DIRECTORY_ROOT_CELLS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct directory_cell);
} roots SEC(".maps");

/*
 * What has no fixed size is held by outer maps. The kernel makes no call of a lookup in other
 * arrays, which is why roots and filter are not in there. The inner definitions name sizes, not
 * types: libbpf 1.1 takes no BTF there.
 */
/* The cells of the policies' directories; BPF_F_INNER_MAP lets each have its own number. */
struct directory_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_INNER_MAP);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct directory_cell));
};

/* One slot a generation. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct directory_map);
} prefixes4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct directory_map);
} prefixes6 SEC(".maps");

/* Entries set by hand: struct entry. */
struct entry_trie4 {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(key_size, sizeof(struct prefix4_key));
	__uint(value_size, sizeof(struct entry));
};

struct entry_trie6 {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(key_size, sizeof(struct prefix6_key));
	__uint(value_size, sizeof(struct entry));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct entry_trie4);
} entries4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct entry_trie6);
} entries6 SEC(".maps");

/* Destinations of services with `to:`, a mask each; one slot a generation. */
struct destination_trie4 {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(key_size, sizeof(struct prefix4_key));
	__uint(value_size, sizeof(__u32));
};

struct destination_trie6 {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(key_size, sizeof(struct prefix6_key));
	__uint(value_size, sizeof(__u32));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct destination_trie4);
} destinations4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct destination_trie6);
} destinations6 SEC(".maps");

/* Sampled drops, for monitor and capture. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

#endif
