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

/* Packet pointers may be moved by at most 16 bits; beyond, and where a fragment holds the bytes,
 * the helper. */
static __always_inline int frame_load(struct xdp_md *ctx, __u32 offset, void *to, __u32 size)
{
	__u32 near = offset;
	void *from;

	/* The compiler would prove the mask away; the verifier of Linux 6.1 needs to see it. */
	barrier_var(near);
	from = (void *)(long)ctx->data + (near & 0x3fff);
	if (offset <= 0x3fff && from + size <= (void *)(long)ctx->data_end) {
		__builtin_memcpy(to, from, size);
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

struct verdict {
	__u8 drop;
	__u8 observed; /* would be a drop, but for observe mode */
	__u8 reason;
	__u8 limit; /* that refused, NO_LIMIT: none */
	__u32 cell;
	__u32 policy;
};

#define NO_LIMIT 0xff

static __always_inline struct verdict pass_as(enum reason reason, __u32 cell)
{
	return (struct verdict){
		.reason = reason, .limit = NO_LIMIT, .cell = cell, .policy = NO_POLICY
	};
}

static __always_inline struct verdict drop_as(enum reason reason, __u32 cell)
{
	struct verdict verdict = pass_as(reason, cell);

	verdict.drop = 1;
	return verdict;
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

static __always_inline struct verdict judge_ip(struct desk *desk, const struct live *config)
{
	const struct packet *packet = &desk->packet;
	struct ruling ruling = ruling_of(packet, config);
	const struct policy *policy;
	struct verdict verdict;

	if (ruling.entry == ENTRY_BLOCK)
		return drop_as(REASON_BLOCKED, CELL_ENTRY_BLOCKED);
	if (ruling.entry == ENTRY_ALLOW)
		return pass_as(REASON_ALLOWED, CELL_ENTRY_ALLOWED);
	policy = bpf_map_lookup_elem(&policies, &ruling.policy);
	if (!policy)
		return pass_as(REASON_UNMATCHED, CELL_UNMATCHED);
	switch (policy->action) {
	case ACTION_PASS:
		verdict = pass_as(REASON_ALLOWED, policy->cells + CELL_POLICY_VERDICT);
		break;
	case ACTION_DROP:
		verdict = drop_policy(policy, packet);
		break;
	default:
		verdict = limit_policy(policy, desk);
	}
	verdict.policy = ruling.policy;
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
