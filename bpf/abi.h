/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the program and user space agree on: the values of every map, and the
 * words used in them. Knows nothing of packets, helpers or files. A change of
 * any layout here raises ABI_LAYOUT; user space refuses maps of another one.
 */
#ifndef WEIR_ABI_H
#define WEIR_ABI_H

#include <linux/types.h>

enum abi_size {
	ABI_LAYOUT = 4,
	LIMITS_MAX = 8,	   /* limits of one policy */
	SERVICES_MAX = 32, /* bits of a service mask */
	SET_WAYS = 4,	   /* states in a set with narrow keys (at most 64 bits) */
	SET_WAYS_WIDE = 2, /* states in a set with wide keys (IPv6 longer than /64) */
	SET_BYTES = 128,   /* one set: two adjacent cache lines */
	LOG_SLOTS = 64,	   /* most packets a sliding-log limit may allow a window */
	TALLY_SLOTS = 64,  /* per CPU: states whose drops are counted privately */
	ENTRY_NEST = 8,	   /* entries that may cover one address, one within the other */
	EVENT_BYTES = 128, /* of a dropped frame, kept in an event */
	INSTANCE_NAME = 32,
	ENTRY_TEXT = 256,
	RULES_CHUNK = 4096, /* bytes of the policy text in one element of `rules` */
};

/* The time is not later than jiffies say and this: two ticks of CONFIG_HZ=100. */
#define CLOCK_LAG_NS 20000000ULL

enum algorithm {
	ALGO_TOKEN_BUCKET,
	ALGO_FIXED_WINDOW,
	ALGO_SLIDING_WINDOW,
	ALGO_SLIDING_LOG,
	ALGO_COUNT,
};

enum table_kind {
	TABLE_SETS,
	TABLE_HASH,
	TABLE_PERCPU,
	TABLE_COUNT,
};

enum reason {
	/* the packet passes */
	REASON_GRANTED,
	REASON_ALLOWED,
	REASON_UNMATCHED,
	REASON_NOT_IP,
	REASON_NEIGHBOUR_DISCOVERY,
	REASON_OBSERVED,
	/* the packet is dropped */
	REASON_LIMIT,
	REASON_BAN,
	REASON_BLOCKED,
	REASON_TABLE_FULL,
	REASON_MALFORMED, /* passes where the configuration says so */
	REASON_COUNT,
};

enum action {
	ACTION_PASS,
	ACTION_DROP,
	ACTION_LIMIT,
};

/*
 * Counter cells. The first ones belong to the instance; a policy and each of
 * its limits own a block further on (policy.cells, limit.cells). Each frame is
 * counted in exactly one cell of a verdict; DISPLACED and EVENTS_LOST count
 * happenings and are no part of the sum.
 */
enum global_cell {
	CELL_NOT_IP,
	CELL_NEIGHBOUR_DISCOVERY,
	CELL_MALFORMED,
	CELL_UNMATCHED,
	CELL_ENTRY_BLOCKED,
	CELL_ENTRY_ALLOWED,
	CELL_EVENTS_LOST,
	/* By user space only: a cell a reason, what policies and limits that are gone had counted.
	 */
	CELL_RETIRED,
	CELL_RETIRED_DISPLACED = CELL_RETIRED + REASON_COUNT,
	CELL_GLOBALS = 24,
};

enum policy_cell {
	CELL_POLICY_VERDICT,  /* granted, allowed or blocked, by the policy's action */
	CELL_POLICY_OBSERVED, /* a drop policy that only observes */
	CELL_POLICY_COUNT,
};

enum limit_cell {
	CELL_LIMIT_REFUSED,
	CELL_LIMIT_BANNED,
	CELL_LIMIT_TABLE_FULL,
	CELL_LIMIT_OBSERVED,
	CELL_LIMIT_DISPLACED,
	CELL_LIMIT_COUNT,
};

struct counter {
	__u64 packets;
	__u64 bytes;
};

enum limit_flag {
	LIMIT_BYTES = 1,   /* a token is a byte of the frame, else a packet */
	LIMIT_LENIENT = 2, /* on_full: a newcomer starts full */
	LIMIT_SHARED = 4,  /* per: policy or instance; one state, whatever the source */
	LIMIT_WIDE = 8,	   /* keys of 128 bits, SET_WAYS_WIDE states in a set */
};

/* A limit as the program reads it. All divisions were done in user space. */
struct limit {
	__u64 interval_ns;   /* token bucket: ns a token costs; others: the window */
	__u64 burst_ns;	     /* token bucket: burst x interval, at most 2^62 */
	__u64 burst;	     /* tokens; for the window algorithms the quota of a window */
	__u64 ban_ns;	     /* 0: none */
	__u32 interval_frac; /* in 2^-32 ns */
	__u32 burst_frac;    /* in 2^-32 ns */
	__u32 id;	     /* of the limit, stable over apply; part of a hash table's key */
	__u32 services;	     /* mask of services it is for; 0: every packet */
	__u32 slice_base;    /* first set */
	__u32 slice_mask;    /* sets - 1 */
	__u32 log_base;	     /* first log_set (sliding-log only) */
	__u32 cells;	     /* first of CELL_LIMIT_COUNT counter cells */
	__u32 batch;	     /* shared: tokens a CPU draws at a time, 0 = none */
	__u32 credit;	     /* shared: index of the CPU's credit */
	__u8 algorithm;
	__u8 flags;
	__u8 ipv4_len; /* bits of the address that make the key */
	__u8 ipv6_len;
	__u32 pad;
};

enum policy_flag {
	POLICY_TO = 1, /* some service of a limit has destination prefixes */
};

struct policy {
	__u32 action;
	__u32 count;	     /* of limits */
	__u32 cells;	     /* first of CELL_POLICY_COUNT counter cells */
	__u32 enforced;	     /* of 65536 shares of the sources; the others are observed */
	__u32 services;	     /* union of the limits' services; 0: no lookup needed */
	__u32 services_base; /* where this generation's service masks start */
	__u32 generation;    /* slot (0 or 1) of this generation's destinations */
	__u32 flags;
	__u32 services_anywhere; /* of the mask: services without destination prefixes */
	__u32 pad0;
	__u8 ipv4_len; /* the source key for `enforced` */
	__u8 ipv6_len;
	__u8 pad[6];
	struct limit limits[LIMITS_MAX];
};

/* Longest-prefix keys; `len` counts bits of `addr`, which is in network order. */
struct prefix4_key {
	__u32 len;
	__u8 addr[4];
};

struct prefix6_key {
	__u32 len;
	__u8 addr[16];
};

struct prefix_match {
	__u32 policy; /* index into `policies` */
	__u32 len;    /* of the prefix that matched */
};

/*
 * A word of a directory: its type in the upper two bits. DIRECTORY_MATCH: the
 * prefix' length in the next 8, the policy's index below. DIRECTORY_NODE and
 * DIRECTORY_LEAF: the index of a cell. 0: no prefix.
 *
 * A root has a word for each first 16 bits of an address, behind these
 * DIRECTORY_ROOT cells as many again that say what holds around all prefixes
 * that are longer, and then a cell of words that spare most reads of either.
 * Map `roots`: two generations, in each IPv4's and IPv6's.
 */
enum directory_word {
	DIRECTORY_CHILDREN = 16,
	DIRECTORY_ROOT = 65536 / DIRECTORY_CHILDREN,
	DIRECTORY_HEAD = 2 * DIRECTORY_ROOT, /* the cell of words behind the root's */
	DIRECTORY_ALL = 0,		     /* word: holds for every address; 0: ask */
	DIRECTORY_AROUND = 1,		     /* word: holds wherever it is asked for what holds
					      * around; DIRECTORY_NODE: ask there */
	DIRECTORY_FILTER = 2, /* is the filter worth a look before? enum directory_filter */
	DIRECTORY_ROOT_CELLS = DIRECTORY_HEAD + 1,
	DIRECTORY_LEN = 22, /* shift */
	DIRECTORY_POLICY = 0x003fffff,
	DIRECTORY_INDEX = 0x0fffffff,
};
#define DIRECTORY_TYPE	0xc0000000U
#define DIRECTORY_MATCH 0x40000000U
#define DIRECTORY_NODE	0x80000000U
#define DIRECTORY_LEAF	0xc0000000U

enum directory_filter {
	DIRECTORY_ASK = 1,
	DIRECTORY_MANY = 2, /* its deep bits instead of the coarse ones */
};

/* The one prefix left in a part of the address space, and what holds around it. */
struct directory_leaf {
	__be32 address[4]; /* IPv4 in the first */
	__u32 len;
	__u32 inside;  /* words: DIRECTORY_MATCH */
	__u32 outside; /* or 0 */
};

struct directory_cell {
	union {
		__u32 child[DIRECTORY_CHILDREN];
		struct directory_leaf leaf;
	};
};

/*
 * Map `filter`: bits that say where no prefix is, so that nothing needs to be looked up there. A
 * block is the first 24 bits of an IPv4 address, the first 32 of an IPv6 address hashed to 24; its
 * bit is set where an entry, or a policy's prefix longer than 16 bits, covers some of it. The
 * coarse bits, one for each 4 blocks, are asked first, but for many prefixes: they stay in a
 * cache. Of many the deep bits tell more: two for each prefix, hashed from its first bits up to the
 * deep length, or from its blocks if it is much shorter, in the word that the block is hashed to;
 * asked for are both kinds. A bit too many costs time, one too few hides a prefix.
 */
enum filter_size {
	FILTER_BITS = 1 << 24,
	FILTER_WORDS = FILTER_BITS / 64,
	FILTER_COARSE = 2, /* shift */
	FILTER_COARSE_WORDS = FILTER_WORDS >> FILTER_COARSE,
	FILTER_FEW = 1 << 14,  /* prefixes: so few that the coarse bits suffice */
	FILTER_MANY = 1 << 18, /* so many that the coarse bits tell little */
	FILTER_BLOCK4 = 24,
	FILTER_BLOCK6 = 32,
	FILTER_DEEP4 = 28,
	FILTER_DEEP6 = 48,
};

/* In a list: where IPv4's bits of a kind begin; behind them are IPv6's. */
enum filter_word {
	FILTER_COARSE_AT = 0,
	FILTER_FINE_AT = FILTER_COARSE_AT + 2 * FILTER_COARSE_WORDS,
	FILTER_DEEP_AT = FILTER_FINE_AT + 2 * FILTER_WORDS,
	FILTER_LIST_WORDS = FILTER_DEEP_AT + 2 * FILTER_WORDS,
};

/* In the map: where a list begins. */
enum filter_list {
	FILTER_ENTRIES = 0,
	FILTER_POLICIES = FILTER_ENTRIES + FILTER_LIST_WORDS,
	FILTER_ALL = FILTER_POLICIES + FILTER_LIST_WORDS,
};

enum entry_kind {
	ENTRY_BLOCK = 1,
	ENTRY_ALLOW,
	ENTRY_LIMIT,
};

/* Set by hand, outside the policy file. Outranks a policy of no longer prefix. */
struct entry {
	__u64 expires_ns; /* 0: never */
	__u32 policy;	  /* ENTRY_LIMIT: index into `policies` */
	__u8 kind;
	__u8 len;
	__u8 pad[2];
};

/*
 * Service masks of one generation: TCP ports, UDP ports, IP protocols, ICMP
 * types, ICMPv6 types, TCP SYN; the mask of a packet is the union of its rows.
 */
enum service_row {
	SERVICE_TCP = 0,
	SERVICE_UDP = 65536,
	SERVICE_PROTO = 131072,
	SERVICE_ICMP = SERVICE_PROTO + 256,
	SERVICE_ICMPV6 = SERVICE_ICMP + 256,
	SERVICE_SYN = SERVICE_ICMPV6 + 256,
	SERVICE_ROWS = SERVICE_SYN + 256, /* the last 255 stay 0 */
};

/*
 * The key of a state: the source cut to the limit's key length. IPv4: the
 * address as a number in hi. IPv6: the upper 64 bits in hi, the lower in lo.
 */
struct key {
	__u64 hi;
	__u64 lo;
	__u32 family; /* 4 or 6; 1 for the one state of a shared limit */
	__u32 pad;
};

/* What is remembered of one (limit, source key); algo.h says what the words mean. */
struct state {
	__u64 word;
	__u32 extra;
	__u32 pad;
};

struct log_ring {
	__u64 at[LOG_SLOTS];
};

struct log_set {
	struct log_ring way[SET_WAYS];
};

/*
 * A set is set_hot, set_cold and the 4 bytes of the lock, SET_BYTES together.
 * All that tells a refusal is in the first cache line. With wide keys, way i
 * has key[2i] and key[2i + 1]. Counters are 40 bits and stop at the top.
 */
struct set_hot {
	__u64 key[SET_WAYS];
	__u64 word[SET_WAYS];
};

struct set_cold {
	__u32 extra[SET_WAYS];
	__u32 passed[SET_WAYS];
	__u32 dropped[SET_WAYS];
	__u8 passed_high[SET_WAYS];
	__u8 dropped_high[SET_WAYS];
	__u8 families; /* two bits a way, see family_code of key.h; 0: the way is empty */
	__u8 touched;  /* written to fetch the line, never read */
	__u8 pad[2];
};

/* Tables `hash` and `percpu`: key and value (the former with a lock behind). */
struct hash_key {
	__u64 hi;
	__u64 lo;
	__u32 family;
	__u32 limit; /* limit.id */
};

struct hash_state {
	__u64 word;
	__u64 passed;
	__u64 dropped;
	__u32 extra;
	__u32 pad;
};

/*
 * Drops of one state, counted where no other CPU writes. Added to the state
 * when another takes the slot; readers add what is still here.
 */
struct tally {
	struct key key;
	__u32 set;
	__u32 way;
	__u32 key_at; /* where in set_hot.key the key begins */
	__u32 dropped;
	__u32 missed; /* drops of others that met this slot since its last hit */
	__u32 pad;
};

struct tallies {
	struct tally slot[TALLY_SLOTS];
};

/* Tokens a CPU has drawn from a shared limit and not yet spent. */
struct credit {
	__u64 tokens;
	__u32 limit; /* whose: limit.id + 1 */
	__u32 pad;
};

/* Read once a packet. Written by user space only. */
struct live {
	__u64 watch_until_ns;	 /* drops are reported until then */
	__u32 watch_interval_ns; /* at most one event per CPU in this time */
	__u32 watch_burst;	 /* events a CPU may send at once */
	__u32 entries;		 /* how many entries there are, 0: no lookup */
	__u32 malformed_pass;
	__u32 generation; /* of policies, services, roots ...: the half in force is its last bit */
	__u32 nest;	  /* user space: at most so many entries lie one within the other */
	__u32 epoch;	  /* raised when rulings may change; odd: they are changing */
	__u32 pad;
};

/* What the maps of an instance were made for. */
struct meta {
	__u32 layout; /* ABI_LAYOUT */
	__u32 table;  /* enum table_kind */
	__u32 sets;   /* elements of each map, as made */
	__u32 log_sets;
	__u32 cells;
	__u32 policies; /* in one generation; two of them, then the entries' */
	__u32 entry_policies;
	__u32 credits;
	__u32 states;	    /* tables `hash` and `percpu` */
	__u32 frags;	    /* the program takes frames of several buffers */
	__u64 loaded_at_ns; /* monotonic */
	char instance[INSTANCE_NAME];
	char version[INSTANCE_NAME];
};

struct secret {
	__u64 word[2];
};

struct event {
	__u64 time_ns; /* monotonic */
	__u32 ifindex;
	__u32 length;	/* of the frame */
	__u32 captured; /* bytes of it below */
	__u32 policy;	/* index into `policies`; ~0: none */
	__u8 reason;
	__u8 limit;    /* index within the policy; 255: none */
	__u8 observed; /* passed all the same */
	__u8 pad[5];
	__u8 bytes[EVENT_BYTES];
};

/*
 * Maintenance: a command handed to the program weir_maintain as its packet,
 * so that states change under their lock. The limit is read from `policies`.
 */
enum maintain_op {
	MAINTAIN_FORGET, /* the state of one key */
	MAINTAIN_CLAMP,	 /* in sets [first, first + count): no debt beyond the burst */
	MAINTAIN_CLEAR,	 /* in sets [first, first + count): forget all */
	MAINTAIN_CHARGE, /* the state of one key: what its source used on another node */
};

struct maintain {
	__u32 op;
	__u32 policy;
	__u32 limit;
	__u32 first;
	__u32 count; /* at most MAINTAIN_MOST */
	__u32 done;  /* out: states changed */
	struct key key;
	__u64 cost;    /* charge: tokens. Out: first, count are the state's set and way */
	__u64 debt_ns; /* charge: how far a bucket may owe beyond its burst, at most 2^62 */
};

enum maintain_size {
	MAINTAIN_MOST = 4096,
};

_Static_assert(sizeof(struct limit) == 80, "limit");
_Static_assert(sizeof(struct policy) == 48 + 80 * LIMITS_MAX, "policy");
_Static_assert(sizeof(struct prefix4_key) == 8, "prefix4_key");
_Static_assert(sizeof(struct prefix6_key) == 20, "prefix6_key");
_Static_assert(sizeof(struct directory_cell) == 64, "directory_cell");
_Static_assert(sizeof(struct entry) == 16, "entry");
_Static_assert(sizeof(struct key) == 24, "key");
_Static_assert(sizeof(struct set_hot) + sizeof(struct set_cold) + 4 == SET_BYTES, "set");
_Static_assert(sizeof(struct log_set) == SET_WAYS * LOG_SLOTS * 8, "log_set");
_Static_assert(sizeof(struct hash_key) == 24, "hash_key");
_Static_assert(sizeof(struct tally) == 48, "tally");
_Static_assert(sizeof(struct credit) == 16, "credit");
_Static_assert(sizeof(struct live) == 40, "live");
_Static_assert(sizeof(struct meta) == 48 + 2 * INSTANCE_NAME, "meta");
_Static_assert(sizeof(struct event) == 32 + EVENT_BYTES, "event");
_Static_assert(sizeof(struct maintain) == 64, "maintain");

#endif
