/* SPDX-License-Identifier: GPL-2.0-only */
#include "compile.h"
#include "compile_parts.h"

/* Time in 2^-32 ns, as the program counts it, in one number. */
typedef unsigned __int128 fine_ns;

static fine_ns interval_of(const struct limit_spec *spec)
{
	uint64_t ns;
	uint32_t frac;

	units_interval(&spec->rate, &ns, &frac);
	return (fine_ns)ns << 32 | frac;
}

static fine_ns burst_time(const struct limit_spec *spec)
{
	return interval_of(spec) * spec->burst;
}

static uint64_t rate_tokens(const struct rate *rate)
{
	return rate->bits ? rate->amount / 8 : rate->amount;
}

/*
 * Tokens that a CPU draws from a shared limit at a time: those of a millisecond, but all CPUs
 * together hold at most a sixteenth of the burst. Bytes are drawn in units of a full frame.
 */
static uint32_t batch_of(const struct limit_spec *spec, unsigned int cpus)
{
	const uint64_t unit = spec->rate.bytes ? 1522 : 1;
	uint64_t batch = (fine_ns)rate_tokens(&spec->rate) * 1000000 / spec->rate.window_ns;
	uint64_t most = spec->burst / (16 * (uint64_t)(cpus ? cpus : 1));

	if (batch > most)
		batch = most;
	batch /= unit;
	if (batch > 64)
		batch = 64;
	return batch > 1 ? (uint32_t)(batch * unit) : 0;
}

static uint8_t limit_flags(const struct limit_spec *spec, bool lenient, bool wide)
{
	return (spec->rate.bytes ? LIMIT_BYTES : 0) | (lenient ? LIMIT_LENIENT : 0) |
	       (spec->per != PER_SOURCE ? LIMIT_SHARED : 0) | (wide ? LIMIT_WIDE : 0);
}

void limit_compile(const struct limit_spec *spec, const struct allocation *own, bool lenient,
		   bool wide, unsigned int cpus, struct limit *limit)
{
	fine_ns interval = interval_of(spec), burst = burst_time(spec);
	bool bucket = spec->algorithm == ALGO_TOKEN_BUCKET;

	*limit = (struct limit){
		.interval_ns = bucket ? (uint64_t)(interval >> 32) : spec->rate.window_ns,
		.interval_frac = bucket ? (uint32_t)interval : 0,
		.burst_ns = bucket ? (uint64_t)(burst >> 32) : 0,
		.burst_frac = bucket ? (uint32_t)burst : 0,
		.burst = bucket ? spec->burst : rate_tokens(&spec->rate),
		.ban_ns = spec->ban_ns,
		.id = own->id,
		.services = spec->service >= 0 ? 1U << spec->service : 0,
		.slice_base = own->slice_base,
		.slice_mask = own->slice_sets ? own->slice_sets - 1 : 0,
		.log_base = own->log_base,
		.cells = own->cells,
		.batch = bucket && spec->per != PER_SOURCE && own->credit != NO_CREDIT
				 ? batch_of(spec, cpus)
				 : 0,
		.credit = own->credit != NO_CREDIT ? own->credit : 0,
		.algorithm = spec->algorithm,
		.flags = limit_flags(spec, lenient, wide),
		.ipv4_len = spec->ipv4_len,
		.ipv6_len = spec->ipv6_len,
	};
}

void policy_sum_limits(struct policy *policy, uint32_t anywhere)
{
	policy->services = 0;
	for (uint32_t i = 0; i < policy->count; i++)
		policy->services |= policy->limits[i].services;
	policy->services_anywhere = policy->services & anywhere;
	policy->flags = policy->services & ~anywhere ? POLICY_TO : 0;
}

static bool same_key(const struct limit_spec *old, const struct limit_spec *new)
{
	if (old->per != new->per)
		return false;
	return new->per != PER_SOURCE ||
	       (old->ipv4_len == new->ipv4_len && old->ipv6_len == new->ipv6_len);
}

/* A bucket's debt is a time, whatever the token; a window's count is of its tokens. */
bool limit_states_carry(const struct limit_spec *old, const struct limit_spec *new)
{
	if (!same_key(old, new) || old->algorithm != new->algorithm)
		return false;
	return new->algorithm == ALGO_TOKEN_BUCKET ||
	       (old->rate.window_ns == new->rate.window_ns && old->rate.bytes == new->rate.bytes);
}

bool limit_burst_shrinks(const struct limit_spec *old, const struct limit_spec *new)
{
	return new->algorithm == ALGO_TOKEN_BUCKET &&burst_time(new) < burst_time(old);
}
