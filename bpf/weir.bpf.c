// SPDX-License-Identifier: GPL-2.0-only
/*
 * A packet's way:
 *
 *   bytes --parse.h--> packet --classify.h--> policy + services --account.h-->
 *   judgement --here--> verdict + reason --> XDP_PASS or XDP_DROP
 */
#include <stddef.h>

#include "clock.h"
#include "maps.h"

#define PARSE_FRAME	  struct xdp_md
#define PARSE_STEP	  __noinline
#define frame_length(ctx) bpf_xdp_get_buff_len(ctx)

static __always_inline int frame_load(struct xdp_md *ctx, __u32 offset, void *to, __u32 size);

#include "account.h"
#include "classify.h"
#include "maintain.h"
#include "watch.h"

/*
 * Packet pointers may be moved by at most 16 bits; beyond, and where a fragment holds the bytes,
 * the helper. The frame need not lie aligned: the compiler, told that it does, copies words instead
 * of bytes, and the verifier refuses the program where the machine could not load them.
 */
static __always_inline int frame_load(struct xdp_md *ctx, __u32 offset, void *to, __u32 size)
{
	__u32 near = offset;
	void *from;

	/* The compiler would prove the mask away; the verifier of Linux 6.1 needs to see it. */
	barrier_var(near);
	from = (void *)(long)ctx->data + (near & 0x3fff);
	if (offset <= 0x3fff && from + size <= (void *)(long)ctx->data_end) {
		__builtin_memcpy(to, __builtin_assume_aligned(from, 4), size);
		return 0;
	}
	return bpf_xdp_load_bytes(ctx, offset, to, size);
}

/* All the shapes a frame may have, proven once. */
__noinline int parse_any(struct xdp_md *ctx, struct packet *packet)
{
	return packet ? parse_frame(ctx, packet) : PACKET_NOT_IP;
}

/* Most packets are IPv4 without a tag, and worth a way without a call. */
static __always_inline int parse(struct xdp_md *ctx, struct packet *packet)
{
	__be16 type;

	packet->length = frame_length(ctx);
	if (frame_load(ctx, ETH_HLEN - 2, &type, 2) || type != bpf_htons(ETH_P_IP))
		return parse_any(ctx, packet);
	return parse_ipv4(ctx, ETH_HLEN, packet);
}

/* Is the policy enforced for this source, or only observed? Stable for a source: by its hash. */
static __always_inline int is_enforced(const struct policy *policy, const struct packet *packet)
{
	struct key key;

	if (policy->enforced == 0 || policy->enforced >= 65536)
		return policy->enforced != 0;
	key = source_key(packet, policy->ipv4_len, policy->ipv6_len);
	return source_hash(&key) >> 48 < policy->enforced;
}

/* The drop, or where the policy is only observed for the source, a pass counted in `observed`. */
static __always_inline struct verdict enforce(const struct policy *policy,
					      const struct packet *packet, struct verdict verdict,
					      __u32 observed)
{
	if (is_enforced(policy, packet))
		return verdict;
	verdict.drop = 0;
	verdict.observed = 1;
	verdict.cell = observed;
	return verdict;
}

static __always_inline struct verdict
refused_by(const struct policy *policy, const struct packet *packet, struct judgement judgement)
{
	__u32 limit = judgement.limit & (LIMITS_MAX - 1);
	__u32 cells = policy->limits[limit].cells;
	struct verdict verdict;

	switch (judgement.outcome) {
	case OUTCOME_BANNED:
		verdict = drop_as(REASON_BAN, cells + CELL_LIMIT_BANNED);
		break;
	case OUTCOME_FULL:
		verdict = drop_as(REASON_TABLE_FULL, cells + CELL_LIMIT_TABLE_FULL);
		break;
	default:
		verdict = drop_as(REASON_LIMIT, cells + CELL_LIMIT_REFUSED);
	}
	verdict.limit = limit;
	return enforce(policy, packet, verdict, cells + CELL_LIMIT_OBSERVED);
}

static __always_inline struct verdict drop_policy(const struct policy *policy,
						  const struct packet *packet)
{
	struct verdict verdict = drop_as(REASON_BLOCKED, policy->cells + CELL_POLICY_VERDICT);

	return enforce(policy, packet, verdict, policy->cells + CELL_POLICY_OBSERVED);
}

static __always_inline struct verdict limit_policy(const struct policy *policy, struct desk *desk)
{
	__u32 asks = policy->services ? services_of(policy, &desk->packet) : 0;

	account_packet(policy, desk, asks);
	if (desk->judgement.outcome == OUTCOME_GRANTED)
		return pass_as(REASON_GRANTED, policy->cells + CELL_POLICY_VERDICT);
	return refused_by(policy, &desk->packet, desk->judgement);
}

static __always_inline struct verdict by_policy(const struct policy *policy, struct desk *desk)
{
	switch (policy->action) {
	case ACTION_PASS:
		return pass_as(REASON_ALLOWED, policy->cells + CELL_POLICY_VERDICT);
	case ACTION_DROP:
		desk->judgement.until = ~0ULL;
		return drop_policy(policy, &desk->packet);
	default:
		return limit_policy(policy, desk);
	}
}

/* desk->judgement.until: how long the verdict holds for the source, if it is a drop. */
static __always_inline struct verdict by_ruling(struct desk *desk, const struct ruling *ruling)
{
	__u32 index = ruling->policy;
	const struct policy *policy;
	struct verdict verdict;

	desk->judgement.until = 0;
	if (ruling->entry == ENTRY_BLOCK) {
		desk->judgement.until = ~0ULL;
		return drop_as(REASON_BLOCKED, CELL_ENTRY_BLOCKED);
	}
	if (ruling->entry == ENTRY_ALLOW)
		return pass_as(REASON_ALLOWED, CELL_ENTRY_ALLOWED);
	policy = bpf_map_lookup_elem(&policies, &index);
	if (!policy)
		return pass_as(REASON_UNMATCHED, CELL_UNMATCHED);
	verdict = by_policy(policy, desk);
	verdict.policy = index;
	return verdict;
}

/*
 * Keep in mind what lasts: a drop of all that the source may send. Not in an odd epoch: user space
 * is changing what told it.
 */
static __always_inline void note(struct desk *desk, __u64 ruling_until, __u32 epoch,
				 const struct verdict *verdict)
{
	const struct charge *charge = &desk->charges[0];
	__u64 until = desk->judgement.until;
	struct memo *memo;

	if (!verdict->drop || !until || (epoch & 1))
		return;
	memo = memo_begin(desk->memos, &desk->packet);
	memo->until = until < ruling_until ? until : ruling_until;
	memo->verdict = *verdict;
	memo->epoch = epoch;
	memo->set = NO_STATE;
	memo->length = 0;
	if (verdict->limit == NO_LIMIT)
		return;
	memo->word = charge->word;
	memo->set = charge->set;
	memo->way = charge->way;
	memo->tally = charge->tally;
	memo->length = charge->cost;
}

static __always_inline struct verdict judge_ip(struct desk *desk, const struct live *config)
{
	__u32 epoch = READ_ONCE(config->epoch);
	const struct verdict *kept = memo_recall(desk->memos, &desk->packet, epoch, &desk->time);
	struct verdict verdict;
	struct ruling ruling;

	if (kept)
		return *kept;
	ruling = ruling_of(&desk->packet, config, epoch, &desk->time);
	verdict = by_ruling(desk, &ruling);
	note(desk, ruling.until, epoch, &verdict);
	return verdict;
}

static __always_inline void watch(struct xdp_md *ctx, const struct live *config,
				  const struct verdict *verdict, __u32 length)
{
	struct drop drop = {
		.time_ns = WEIR_CLOCK(),
		.length = length,
		.policy = verdict->policy,
		.reason = verdict->reason,
		.limit = verdict->limit,
		.observed = verdict->observed,
	};

	watch_drop(ctx, config, &drop);
}

static __always_inline int judge_frame(struct xdp_md *ctx)
{
	const struct live *config;
	struct verdict verdict;
	struct packet *packet;
	struct desk *desk;
	__u32 zero = 0;

	config = bpf_map_lookup_elem(&live, &zero);
	desk = bpf_map_lookup_elem(&desks, &zero);
	if (!config || !desk)
		return XDP_PASS;
	packet = &desk->packet;
	*packet = (struct packet){};
	desk->time.now = 0;
	switch (parse(ctx, packet)) {
	case PACKET_NOT_IP:
		verdict = pass_as(REASON_NOT_IP, CELL_NOT_IP);
		break;
	case PACKET_NEIGHBOUR_DISCOVERY:
		verdict = pass_as(REASON_NEIGHBOUR_DISCOVERY, CELL_NEIGHBOUR_DISCOVERY);
		break;
	case PACKET_MALFORMED:
		verdict = drop_as(REASON_MALFORMED, CELL_MALFORMED);
		verdict.drop = !config->malformed_pass;
		break;
	default:
		verdict = judge_ip(desk, config);
	}
	count(verdict.cell, packet->length);
	if ((verdict.drop || verdict.observed) && config->watch_until_ns)
		watch(ctx, config, &verdict, packet->length);
	return verdict.drop ? XDP_DROP : XDP_PASS;
}

SEC("xdp.frags")
int weir(struct xdp_md *ctx)
{
	return judge_frame(ctx);
}

SEC("xdp")
int weir_maintain(struct xdp_md *ctx)
{
	struct maintain *command = (void *)(long)ctx->data;

	if ((void *)(command + 1) > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	return maintain_run(command);
}

char LICENSE[] SEC("license") = "GPL";
