/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "entry.h"
#include "explain.h"
#include "limiter.h"
#include "../bpf/key.h"
#include "../bpf/packet.h"

enum {
	ALL_SHARES = 65536,
};

static uint64_t banned_for(const struct state *state, uint64_t now)
{
	return state_banned(state->word, now) ? (state->word & ~STATE_BANNED) - now : 0;
}

static void explain_limit(const struct limit *rule, const struct source_state *state,
			  const struct packet *packet, uint32_t services, uint64_t now,
			  struct explained_limit *limit)
{
	static const struct state none;
	static const struct log_ring empty;
	const struct state *words = state ? &state->state : &none;
	const struct log_ring *ring = state ? &state->ring : &empty;
	uint64_t cost = rule->flags & LIMIT_BYTES ? packet->length : 1;

	limit->bytes = rule->flags & LIMIT_BYTES;
	limit->applies = !rule->services || (rule->services & services);
	limit->bans = rule->ban_ns;
	limit->banned_for_ns = banned_for(words, now);
	limit->remaining = state_remaining(rule, words, ring, now);
	limit->retry_after_ns = state_retry_ns(rule, words, ring, now, cost);
	limit->granted = !limit->retry_after_ns;
	limit->passed = state ? state->passed : 0;
	limit->dropped = state ? state->dropped : 0;
}

/* The first limit that refuses is the reason, as in the program. */
static void judge(struct explanation *explanation)
{
	explanation->passes = true;
	explanation->reason = REASON_GRANTED;
	for (size_t i = 0; i < explanation->limit_count; i++) {
		const struct explained_limit *limit = &explanation->limits[i];

		if (!limit->applies || limit->granted)
			continue;
		explanation->passes = false;
		explanation->reason = limit->banned_for_ns ? REASON_BAN : REASON_LIMIT;
		break;
	}
}

static const struct source_state *state_of(const struct evidence *evidence,
					   const struct image_policy *policy, unsigned int limit)
{
	for (size_t i = 0; i < evidence->state_count; i++)
		if (evidence->states[i].policy == policy && evidence->states[i].limit == limit)
			return &evidence->states[i];
	return NULL;
}

/* Is the source among those that a policy with `mode: N%` is enforced for? */
static bool is_enforced(const struct evidence *evidence, const struct policy *policy,
			const struct packet *packet)
{
	struct key key = packet->family == 4 ? key_ipv4(packet->source, policy->ipv4_len)
					     : key_ipv6(packet->source, policy->ipv6_len);

	if (!policy->enforced || !evidence->secret)
		return policy->enforced;
	return key_hash(&key, evidence->secret->word[0], evidence->secret->word[1]) >> 48 <
	       policy->enforced;
}

static void explain_policy(const struct evidence *evidence, const struct image_policy *policy,
			   const struct packet *packet, struct explanation *explanation)
{
	explanation->policy = policy->name;
	explanation->enforced = policy->policy.enforced;
	if (policy->policy.action != ACTION_LIMIT) {
		explanation->passes = policy->policy.action == ACTION_PASS;
		explanation->reason = explanation->passes ? REASON_ALLOWED : REASON_BLOCKED;
	} else {
		for (unsigned int i = 0; i < policy->policy.count; i++) {
			explanation->limits[i].name = policy->specs[i]->name;
			explain_limit(&policy->policy.limits[i], state_of(evidence, policy, i),
				      packet, explanation->services, evidence->now,
				      &explanation->limits[i]);
		}
		explanation->limit_count = policy->policy.count;
		judge(explanation);
	}
	if (!explanation->passes && !is_enforced(evidence, &policy->policy, packet)) {
		explanation->passes = true;
		explanation->reason = REASON_OBSERVED;
	}
}

static const struct source_state *entry_state_of(const struct evidence *evidence,
						 const struct entry_state *entry)
{
	for (size_t i = 0; i < evidence->state_count; i++) {
		const struct source_state *state = &evidence->states[i];

		if (!state->policy && !prefix_compare(&state->entry, &entry->prefix))
			return state;
	}
	return NULL;
}

static int explain_entry_limit(const struct evidence *evidence, const struct entry_state *entry,
			       const struct packet *packet, struct explanation *explanation,
			       struct message *message)
{
	struct entry_spec spec = { .kind = ENTRY_LIMIT, .prefix = entry->prefix };
	struct policy policy;
	int err;

	err = entry_limit_read(entry->text, &entry->prefix, explanation->ruleset, &spec.limit,
			       message);
	if (err)
		return err;
	entry_compile(&spec, evidence->image, &policy);
	explanation->limits[0].name = "entry";
	explanation->limit_count = 1;
	explain_limit(&policy.limits[0], entry_state_of(evidence, entry), packet,
		      explanation->services, evidence->now, &explanation->limits[0]);
	judge(explanation);
	entry_spec_free(&spec);
	return 0;
}

static int explain_entry(const struct evidence *evidence, const struct entry_state *entry,
			 const struct packet *packet, struct explanation *explanation,
			 struct message *message)
{
	explanation->by_entry = true;
	explanation->entry = *entry;
	if (entry->entry.expires_ns)
		explanation->entry_for_ns = entry->entry.expires_ns - evidence->now;
	if (entry->entry.kind == ENTRY_LIMIT)
		return explain_entry_limit(evidence, entry, packet, explanation, message);
	explanation->passes = entry->entry.kind == ENTRY_ALLOW;
	explanation->reason = explanation->passes ? REASON_ALLOWED : REASON_BLOCKED;
	return 0;
}

int explain_packet(const struct evidence *evidence, const struct packet *packet,
		   struct explanation *explanation, struct message *message)
{
	const struct image *image = evidence->image;
	const struct entry_state *entry = evidence->entry;
	int index;
	uint8_t len;

	*explanation = (struct explanation){
		.source = { .family = packet->family, .len = packet->family == 4 ? 32 : 128 },
		.ruleset = image->ruleset,
		.services = image_services(image, packet),
		.enforced = ALL_SHARES,
	};
	memcpy(explanation->source.addr, packet->source, packet->family == 4 ? 4 : 16);
	index = image_match(image, &explanation->source, &len);
	if (entry && (index < 0 || len <= entry->prefix.len))
		return explain_entry(evidence, entry, packet, explanation, message);
	if (index >= 0) {
		explain_policy(evidence, &image->policies[index], packet, explanation);
		return 0;
	}
	explanation->passes = true;
	explanation->reason = REASON_UNMATCHED;
	return 0;
}

void source_view_read(const struct source_state *state, uint64_t now, struct source_view *view)
{
	uint64_t cost = state->rule.flags & LIMIT_BYTES ? 64 : 1;

	*view = (struct source_view){
		.source = state->source,
		.policy = state->policy ? state->policy->name : NULL,
		.entry = state->entry,
		.limit = state->policy ? state->policy->specs[state->limit]->name : "entry",
		.bytes = state->rule.flags & LIMIT_BYTES,
		.remaining = state_remaining(&state->rule, &state->state, &state->ring, now),
		.retry_after_ns =
			state_retry_ns(&state->rule, &state->state, &state->ring, now, cost),
		.banned_for_ns = banned_for(&state->state, now),
		.passed = state->passed,
		.dropped = state->dropped,
	};
}
