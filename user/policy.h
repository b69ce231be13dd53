/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The model of a policy file: what the administrator asked for, in plain
 * structs that own their memory. Knows neither the text nor the kernel.
 */
#ifndef WEIR_POLICY_H
#define WEIR_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../bpf/abi.h"
#include "units.h"

/* Where in the file a thing was written, 1-based; 0: nowhere. */
struct place {
	unsigned int line;
	unsigned int column;
};

enum attach_mode {
	MODE_AUTO,
	MODE_NATIVE,
	MODE_GENERIC,
};

enum per {
	PER_SOURCE, /* the key lengths of the limit, or of the file */
	PER_POLICY,
	PER_INSTANCE,
};

struct limit_spec {
	char *name; /* unique in its policy; given, or made up by policy_complete */
	bool named; /* the file gave the name */
	struct rate rate;
	uint64_t burst; /* tokens; 0 until policy_complete fills the default */
	bool burst_given;
	bool burst_bytes; /* given in bytes; must agree with the rate */
	enum algorithm algorithm;
	enum per per;
	uint8_t ipv4_len; /* 0 until policy_complete takes the file's */
	uint8_t ipv6_len;
	bool len_given;
	int service;	  /* index into ruleset.services, -1: every packet */
	uint64_t ban_ns;  /* 0: none */
	uint64_t sources; /* its own share of the table; 0: an equal one */
	struct place place;
};

struct policy_spec {
	char *name;
	struct prefix *sources;
	struct place *source_places; /* one for each of sources */
	size_t source_count;
	enum action action;
	uint32_t enforced; /* of 65536: 65536 enforce, 0 observe */
	struct limit_spec *limits;
	size_t limit_count;
	struct place place;
};

enum match_kind {
	MATCH_TCP, /* destination ports first..last */
	MATCH_UDP,
	MATCH_PROTO, /* IP protocol numbers first..last, whole protocols */
	MATCH_ICMP,  /* types first..last */
	MATCH_ICMPV6,
	MATCH_SYN,
};

struct service_match {
	enum match_kind kind;
	uint16_t first;
	uint16_t last;
};

struct service_spec {
	char *name;
	struct service_match *matches;
	size_t match_count;
	struct prefix *to; /* destinations; none: any */
	size_t to_count;
	struct place place;
};

/* An entry of `entries:`, as written by dump and taken by apply. */
struct entry_spec {
	enum entry_kind kind;
	struct prefix prefix;
	uint64_t for_ns;	 /* from now; 0: for good */
	struct limit_spec limit; /* ENTRY_LIMIT */
	struct place place;
};

struct ruleset {
	char **interfaces;
	size_t interface_count;
	enum attach_mode mode;
	enum table_kind table;
	uint64_t sources; /* states in all */
	bool lenient;
	uint8_t ipv4_len;
	uint8_t ipv6_len;
	bool malformed_pass;
	struct service_spec *services;
	size_t service_count;
	struct limit_spec *limits; /* the instance's own: behind those of every limiting policy */
	size_t limit_count;
	struct policy_spec *policies;
	size_t policy_count;
	struct entry_spec *entries;
	size_t entry_count;
};

/* A ruleset with the defaults of weir.yaml(5) and nothing in it. NULL: no memory. */
struct ruleset *ruleset_new(void);
void ruleset_free(struct ruleset *ruleset);

/* What is wrong with a ruleset: any number of these, each with its place. */
struct problem {
	struct place place;
	struct message message;
};

struct problems {
	struct problem *list;
	size_t count;
	bool lost; /* there was no memory for one */
};

/* Add one; returns `error`. The PROBLEMS_MAX-th says that the rest is not shown. */
int problems_add(struct problems *problems, struct place place, int error, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
int problems_add_message(struct problems *problems, struct place place, int error,
			 const struct message *message);
/* In the order of the file. */
void problems_sort(struct problems *problems);
void problems_free(struct problems *problems);

enum policy_size {
	PROBLEMS_MAX = 1000,
	NAME_LENGTH_MAX = 63, /* of policies, limits and services */
	FRAME_LEAST = 1514,   /* a full frame without tags: the least burst of a byte limit */
	FRAME_FULL = 1522,    /* with two tags: the least default burst */
};

/* Letters, digits, '.', '_' and '-', the first a letter or digit. */
bool policy_name_valid(const char *name);

/* Index of the service, or -1. */
int ruleset_service(const struct ruleset *ruleset, const char *name);

/*
 * Fill the defaults (names, bursts, key lengths) and check all that concerns more than one
 * word: double names, a prefix in two policies, unknown service, more than LIMITS_MAX limits
 * (the instance's included), burst x interval over 2^62 ns, burst below a full frame, ban
 * shorter than the refill, sliding-log over LOG_SLOTS or in bytes, window quota over 2^32 - 1,
 * more than SERVICES_MAX services. All problems are reported. 0 or -EINVAL.
 */
int ruleset_complete(struct ruleset *ruleset, struct problems *problems);

/* The same for one limit outside a file (weir limit). */
int limit_complete(struct limit_spec *limit, const struct ruleset *ruleset,
		   struct problems *problems);

/* Ban must be no shorter than this: how long an exhausted limit takes to be whole again, ns. */
uint64_t limit_refill_ns(const struct limit_spec *limit);

const char *algorithm_name(enum algorithm algorithm);
const char *table_kind_name(enum table_kind kind);
const char *reason_name(enum reason reason); /* the stable words of the contract */
const char *attach_mode_name(enum attach_mode mode);

#endif
