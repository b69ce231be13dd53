/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "limiter.h"

struct frame;
static int frame_load(const struct frame *frame, uint32_t offset, void *to, uint32_t size);

#include "../bpf/key.h"
#include "../bpf/parse.h"

/* ---- frames in memory ---- */

struct captured {
	const uint8_t *bytes;
	uint32_t count; /* may be less than the frame was long */
};

static int frame_load(const struct frame *frame, uint32_t offset, void *to, uint32_t size)
{
	const struct captured *captured = frame->context;

	if ((uint64_t)offset + size > captured->count)
		return -1;
	memcpy(to, captured->bytes + offset, size);
	return 0;
}

int limiter_parse(const uint8_t *frame, uint32_t captured, uint32_t length, struct packet *packet)
{
	struct captured bytes = { frame, captured < length ? captured : length };
	struct frame whole = { &bytes, length };

	memset(packet, 0, sizeof(*packet));
	return parse_frame(&whole, packet);
}

/* ---- the table: every state there ever was, open addressing ---- */

struct slot {
	struct key key;
	uint32_t limit; /* limit.id */
	bool used;
	struct state state;
	struct log_ring *ring; /* sliding-log only */
};

struct table {
	struct slot *slots;
	size_t size; /* power of two */
	size_t used;
};

enum table_size {
	TABLE_FIRST = 1024,
};

static struct slot *table_find(const struct table *table, const struct key *key, uint32_t limit,
			       const uint64_t secret[2])
{
	size_t at = key_hash(key, secret[0] ^ limit, secret[1]);

	for (;; at++) {
		struct slot *slot = &table->slots[at & (table->size - 1)];

		if (!slot->used || (slot->limit == limit && slot->key.hi == key->hi &&
				    slot->key.lo == key->lo && slot->key.family == key->family))
			return slot;
	}
}

/* Room for the states that one packet may add; slots found before move. */
static int table_reserve(struct table *table, const uint64_t secret[2])
{
	struct table wider = { .size = table->size ? 2 * table->size : TABLE_FIRST };

	if ((table->used + LIMITS_MAX) * 4 <= table->size * 3)
		return 0;
	wider.slots = calloc(wider.size, sizeof(*wider.slots));
	if (!wider.slots)
		return -ENOMEM;
	wider.used = table->used;
	for (size_t i = 0; i < table->size; i++)
		if (table->slots[i].used)
			*table_find(&wider, &table->slots[i].key, table->slots[i].limit, secret) =
				table->slots[i];
	free(table->slots);
	*table = wider;
	return 0;
}

static struct slot *table_state(struct table *table, const struct key *key,
				const struct limit *limit, const uint64_t secret[2])
{
	struct slot *slot = table_find(table, key, limit->id, secret);

	if (slot->used)
		return slot;
	if (limit->algorithm == ALGO_SLIDING_LOG) {
		slot->ring = calloc(1, sizeof(*slot->ring));
		if (!slot->ring)
			return NULL;
	}
	slot->key = *key;
	slot->limit = limit->id;
	slot->used = true;
	table->used++;
	return slot;
}

static void table_free(struct table *table)
{
	for (size_t i = 0; i < table->size; i++)
		free(table->slots[i].ring);
	free(table->slots);
}

/* ---- the limiter ---- */

/* An entry of the ruleset; those that cover it are a chain of parents. */
struct limiter_entry {
	struct prefix prefix; /* first: prefix_compare sorts these */
	enum entry_kind kind;
	uint64_t for_ns; /* from the first packet; 0: for good */
	int32_t parent;
	struct policy policy;
};

struct limiter {
	const struct ruleset *ruleset;
	struct image *image;
	struct limiter_entry *entries;
	size_t entry_count;
	struct table table;
	uint64_t secret[2];
	uint64_t first; /* time of the first packet, 0: none yet */
	uint64_t last;
	uint64_t end; /* times from here on are refused */
};

#define TIME_END (1ULL << 62)

static int check_limits(const struct limit_spec *limits, size_t count, struct message *message)
{
	for (size_t i = 0; i < count; i++) {
		const char *name = limits[i].name ? limits[i].name : "";

		if (!limits[i].rate.window_ns || !limits[i].rate.amount)
			return message_set(message, -EINVAL, "limit '%s' has no window or no rate",
					   name);
		if (!limits[i].burst && limits[i].algorithm == ALGO_TOKEN_BUCKET)
			return message_set(message, -EINVAL, "limit '%s' has no burst", name);
	}
	return 0;
}

static int check_ruleset(const struct ruleset *ruleset, struct message *message)
{
	int err = check_limits(ruleset->limits, ruleset->limit_count, message);

	if (!ruleset->policy_count)
		return message_set(message, -EINVAL, "there is no policy to judge by");
	for (size_t i = 0; !err && i < ruleset->policy_count; i++)
		err = check_limits(ruleset->policies[i].limits, ruleset->policies[i].limit_count,
				   message);
	for (size_t i = 0; !err && i < ruleset->entry_count; i++)
		if (ruleset->entries[i].kind == ENTRY_LIMIT)
			err = check_limits(&ruleset->entries[i].limit, 1, message);
	return err;
}

/* Ids of entries' limits lie above those of the file's. */
#define ENTRY_ID (1U << 31)

static void entry_fill(const struct limiter *limiter, const struct entry_spec *spec,
		       struct limiter_entry *entry, uint32_t number)
{
	const struct allocation own = { .id = ENTRY_ID + number, .credit = UINT32_MAX };

	*entry = (struct limiter_entry){ spec->prefix, spec->kind, spec->for_ns, -1, { 0 } };
	if (spec->kind != ENTRY_LIMIT)
		return;
	entry->policy = (struct policy){ .action = ACTION_LIMIT, .count = 1, .enforced = 65536 };
	limit_compile(&spec->limit, &own, limiter->ruleset->lenient, false, 1,
		      &entry->policy.limits[0]);
}

static int add_entries(struct limiter *limiter)
{
	const struct ruleset *ruleset = limiter->ruleset;
	struct limiter_entry *list = calloc(ruleset->entry_count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < ruleset->entry_count; i++)
		entry_fill(limiter, &ruleset->entries[i], &list[i], (uint32_t)i);
	qsort(list, ruleset->entry_count, sizeof(*list), prefix_compare);
	for (size_t i = 0; i < ruleset->entry_count; i++) {
		int32_t outer = (int32_t)i - 1;

		while (outer >= 0 && !prefix_contains(&list[outer].prefix, &list[i].prefix))
			outer = list[outer].parent;
		list[i].parent = outer;
	}
	limiter->entries = list;
	limiter->entry_count = ruleset->entry_count;
	return 0;
}

/* A window's number has 31 bits of a state's word. */
static uint64_t time_end(const struct limiter *limiter)
{
	uint64_t end = TIME_END;

	for (size_t i = 0; i < limiter->image->policy_count; i++) {
		const struct policy *policy = &limiter->image->policies[i].policy;

		for (uint32_t j = 0; j < policy->count; j++) {
			const struct limit *limit = &policy->limits[j];
			bool window = limit->algorithm == ALGO_FIXED_WINDOW ||
				      limit->algorithm == ALGO_SLIDING_WINDOW;

			if (window && limit->interval_ns < end >> 31)
				end = limit->interval_ns << 31;
		}
	}
	return end;
}

int limiter_new(const struct ruleset *ruleset, const uint64_t secret[2], struct limiter **limiter,
		struct message *message)
{
	struct limiter *new;
	struct capacity room;
	int err = check_ruleset(ruleset, message);

	if (err)
		return err;
	new = calloc(1, sizeof(*new));
	if (!new)
		return message_set(message, -ENOMEM, "out of memory");
	new->ruleset = ruleset;
	memcpy(new->secret, secret, sizeof(new->secret));
	err = image_first(ruleset, 1, &room, &new->image, message);
	if (!err && (add_entries(new) || table_reserve(&new->table, new->secret)))
		err = message_set(message, -ENOMEM, "out of memory");
	if (err) {
		limiter_free(new);
		return err;
	}
	new->end = time_end(new);
	*limiter = new;
	return 0;
}

void limiter_free(struct limiter *limiter)
{
	if (!limiter)
		return;
	table_free(&limiter->table);
	image_free(limiter->image);
	free(limiter->entries);
	free(limiter);
}

const struct image *limiter_image(const struct limiter *limiter)
{
	return limiter->image;
}

/* ---- the judgement, in the program's order ---- */

/* A limit that concerns the packet, and what it charges where. */
struct charge {
	const struct limit *limit;
	struct slot *slot;
	uint64_t cost;
	int index; /* within the policy */
};

struct account {
	struct charge charges[LIMITS_MAX];
	unsigned int count;
	uint64_t now;
};

static int account_fill(struct limiter *limiter, const struct policy *policy,
			const struct packet *packet, const struct prefix *source,
			struct account *account)
{
	uint32_t services = image_services(limiter->image, packet);

	for (uint32_t i = 0; i < policy->count; i++) {
		const struct limit *limit = &policy->limits[i];
		struct key key = limit_key(limit, source);
		struct slot *slot;

		if (limit->services && !(limit->services & services))
			continue;
		slot = table_state(&limiter->table, &key, limit, limiter->secret);
		if (!slot)
			return -ENOMEM;
		account->charges[account->count++] =
			(struct charge){ limit, slot,
					 limit->flags & LIMIT_BYTES ? packet->length : 1, (int)i };
	}
	return 0;
}

/* The look that comes first, at every limit: is a refusal certain? A new ban has to be written. */
static bool charge_refused(const struct charge *charge, uint64_t now, enum reason *reason)
{
	uint64_t word = charge->slot->state.word;

	if (state_banned(word, now)) {
		*reason = REASON_BAN;
		return true;
	}
	*reason = REASON_LIMIT;
	return !(word & STATE_BANNED) && !charge->limit->ban_ns &&
	       word_refuses(charge->limit, word, now, charge->cost);
}

/* A packet that could never pass says nothing of a rate: it begins no ban. */
static bool charge_take(const struct charge *charge, uint64_t now, enum reason *reason)
{
	const struct limit *limit = charge->limit;
	struct slot *slot = charge->slot;

	if (state_take(limit, &slot->state, slot->ring, now, charge->cost))
		return true;
	*reason = state_banned(slot->state.word, now) ? REASON_BAN : REASON_LIMIT;
	if (*reason == REASON_LIMIT && limit->ban_ns && charge->cost <= limit->burst)
		state_ban(limit, &slot->state, now);
	return false;
}

static void account_judge(const struct account *account, struct decision *decision)
{
	for (unsigned int i = 0; i < account->count; i++) {
		const struct charge *charge = &account->charges[i];

		decision->limit = charge->index;
		if (charge_refused(charge, account->now, &decision->reason))
			return;
	}
	for (unsigned int i = 0; i < account->count; i++) {
		const struct charge *charge = &account->charges[i];

		decision->limit = charge->index;
		if (charge_take(charge, account->now, &decision->reason))
			continue;
		while (i--) {
			charge = &account->charges[i];
			state_give_back(charge->limit, &charge->slot->state, charge->slot->ring,
					charge->cost);
		}
		return;
	}
	decision->granted = true;
	decision->reason = REASON_GRANTED;
	decision->limit = -1;
}

/* What is left, and how long to wait: the same packet needs all limits. */
static void account_outlook(const struct account *account, struct decision *decision)
{
	for (unsigned int i = 0; i < account->count; i++) {
		const struct charge *charge = &account->charges[i];
		const struct slot *slot = charge->slot;
		uint64_t left =
			state_remaining(charge->limit, &slot->state, slot->ring, account->now);
		uint64_t wait = state_retry_ns(charge->limit, &slot->state, slot->ring,
					       account->now, charge->cost);

		if (!(charge->limit->flags & LIMIT_BYTES) && left < decision->remaining)
			decision->remaining = left;
		if (!decision->granted && wait > decision->retry_after_ns)
			decision->retry_after_ns = wait;
	}
}

static bool is_enforced(const struct limiter *limiter, const struct policy *policy,
			const struct packet *packet)
{
	struct key key = packet->family == 4 ? key_ipv4(packet->source, policy->ipv4_len)
					     : key_ipv6(packet->source, policy->ipv6_len);

	return key_hash(&key, limiter->secret[0], limiter->secret[1]) >> 48 < policy->enforced;
}

static int judge_policy(struct limiter *limiter, const struct policy *policy,
			const struct packet *packet, const struct prefix *source,
			struct decision *decision)
{
	struct account account = { .now = limiter->last };
	int err;

	switch (policy->action) {
	case ACTION_PASS:
		decision->granted = true;
		decision->reason = REASON_ALLOWED;
		return 0;
	case ACTION_DROP:
		decision->reason = REASON_BLOCKED;
		decision->retry_after_ns = UINT64_MAX;
		break;
	default:
		err = account_fill(limiter, policy, packet, source, &account);
		if (err)
			return err;
		account_judge(&account, decision);
		account_outlook(&account, decision);
	}
	if (!decision->granted && !is_enforced(limiter, policy, packet)) {
		decision->granted = true;
		decision->reason = REASON_OBSERVED;
		decision->retry_after_ns = 0;
	}
	return 0;
}

static uint64_t entry_left_ns(const struct limiter *limiter, const struct limiter_entry *entry)
{
	uint64_t gone = limiter->last - limiter->first;

	if (!entry->for_ns)
		return UINT64_MAX;
	return gone < entry->for_ns ? entry->for_ns - gone : 0;
}

/* The longest entry over the source that has not expired. */
static const struct limiter_entry *entry_of(const struct limiter *limiter,
					    const struct prefix *source)
{
	const struct limiter_entry *list = limiter->entries;
	int32_t at = prefix_last(list, limiter->entry_count, sizeof(*list), source);

	for (; at >= 0; at = list[at].parent)
		if (prefix_contains(&list[at].prefix, source) && entry_left_ns(limiter, &list[at]))
			return &list[at];
	return NULL;
}

static int judge_entry(struct limiter *limiter, const struct limiter_entry *entry,
		       const struct packet *packet, const struct prefix *source,
		       struct decision *decision)
{
	switch (entry->kind) {
	case ENTRY_BLOCK:
		decision->reason = REASON_BLOCKED;
		decision->retry_after_ns = entry_left_ns(limiter, entry);
		return 0;
	case ENTRY_ALLOW:
		decision->granted = true;
		decision->reason = REASON_ALLOWED;
		return 0;
	case ENTRY_LIMIT:
		break;
	}
	return judge_policy(limiter, &entry->policy, packet, source, decision);
}

/* An entry outranks a policy whose prefix is the same or shorter. */
static int judge_source(struct limiter *limiter, const struct packet *packet,
			const struct prefix *source, struct decision *decision)
{
	const struct limiter_entry *entry = entry_of(limiter, source);
	uint8_t len = 0;
	int policy = image_match(limiter->image, source, &len);

	if (entry && (policy < 0 || entry->prefix.len >= len))
		return judge_entry(limiter, entry, packet, source, decision);
	decision->policy = policy;
	if (policy >= 0)
		return judge_policy(limiter, &limiter->image->policies[policy].policy, packet,
				    source, decision);
	decision->granted = true;
	decision->reason = REASON_UNMATCHED;
	return 0;
}

/* Take a time in; one before the last counts as the last. */
static int limiter_tick(struct limiter *limiter, uint64_t now)
{
	if (!now || now >= limiter->end)
		return -EINVAL;
	if (!limiter->first)
		limiter->first = now;
	if (now > limiter->last)
		limiter->last = now;
	return table_reserve(&limiter->table, limiter->secret);
}

static const struct decision undecided = { .policy = -1, .limit = -1, .remaining = UINT64_MAX };

int limiter_allow(struct limiter *limiter, const struct packet *packet, uint64_t now,
		  struct decision *decision)
{
	struct prefix source = { .family = packet->family, .len = packet->family == 4 ? 32 : 128 };
	struct decision made = undecided;
	int err;

	if (packet->family != 4 && packet->family != 6)
		return -EINVAL;
	err = limiter_tick(limiter, now);
	if (err)
		return err;
	memcpy(source.addr, packet->source, packet->family == 4 ? 4 : 16);
	err = judge_source(limiter, packet, &source, &made);
	if (!err)
		*decision = made;
	return err;
}

int limiter_allow_frame(struct limiter *limiter, const uint8_t *frame, uint32_t captured,
			uint32_t length, uint64_t now, struct decision *decision)
{
	struct packet packet;
	int kind = limiter_parse(frame, captured, length, &packet), err;

	if (kind == PACKET_IP)
		return limiter_allow(limiter, &packet, now, decision);
	err = limiter_tick(limiter, now);
	if (err)
		return err;
	*decision = undecided;
	decision->granted = kind != PACKET_MALFORMED || limiter->ruleset->malformed_pass;
	decision->reason = kind == PACKET_MALFORMED ? REASON_MALFORMED
			   : kind == PACKET_NOT_IP  ? REASON_NOT_IP
						    : REASON_NEIGHBOUR_DISCOVERY;
	return 0;
}
