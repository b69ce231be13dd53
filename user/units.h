/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Text to quantities and back: rates, bursts, durations, counts, prefixes.
 * Knows no policy and no file. Every refusal says why.
 */
#ifndef WEIR_UNITS_H
#define WEIR_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log.h"

#define NS_PER_SEC 1000000000ULL

/* `amount` tokens in `window_ns`. A token is a packet or a byte; bits are kept as written. */
struct rate {
	uint64_t amount;    /* packets, bytes, or bits if `bits` */
	uint64_t window_ns; /* second, minute, hour or day */
	bool bytes;	    /* limits bytes (also set when bits is) */
	bool bits;
};

struct prefix {
	uint8_t family; /* 4 or 6 */
	uint8_t len;
	uint8_t addr[16]; /* network order; IPv4 in the first four, the rest 0 */
};

enum units_size {
	PREFIX_TEXT = 64,
	UNIT_TEXT = 48,
};

/* All return 0 or -EINVAL/-ERANGE with *message filled; outputs are untouched on failure. */
int units_rate(const char *text, struct rate *rate, struct message *message);
int units_burst(const char *text, uint64_t *tokens, bool *bytes, struct message *message);
int units_duration(const char *text, uint64_t *ns, struct message *message);
int units_count(const char *text, uint64_t *count, struct message *message); /* 512k, 1M, 1000 */
int units_prefix(const char *text, struct prefix *prefix, struct message *message);

/*
 * Canonical text that the parser reads back to the same value. Each writes at most `size`
 * bytes (UNIT_TEXT or PREFIX_TEXT are enough) and returns `to`.
 */
char *units_rate_text(const struct rate *rate, char *to, size_t size);
char *units_burst_text(uint64_t tokens, bool bytes, char *to, size_t size);
char *units_duration_text(uint64_t ns, char *to, size_t size);
char *units_prefix_text(const struct prefix *prefix, char *to, size_t size);  /* always with /len */
char *units_address_text(const struct prefix *prefix, char *to, size_t size); /* no /32, /128 */

/* For people: 12.3k, 4.5M; packets or, with bits, bit/s as 1.2 Gbit/s. */
char *units_human(double value, char *to, size_t size);

/* Nanoseconds a token takes: *ns and *frac (2^-32 ns), rounded up so that the rate is never
 * exceeded. */
void units_interval(const struct rate *rate, uint64_t *ns, uint32_t *frac);

bool prefix_contains(const struct prefix *outer, const struct prefix *inner);
int prefix_compare(const void *a, const void *b); /* qsort: family, address, length */

#endif
