/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>

#include "sample.h"

struct frame;
static int frame_load(const struct frame *frame, __u32 offset, void *to, __u32 size);

#include "../bpf/parse.h"

/* The bytes of an event, and where the last load as long as a pair of ports began. */
struct capture {
	const uint8_t *bytes;
	uint32_t captured;
	uint32_t ports;
};

static int frame_load(const struct frame *frame, __u32 offset, void *to, __u32 size)
{
	struct capture *capture = frame->context;

	if (offset > capture->captured || size > capture->captured - offset)
		return -1;
	memcpy(to, capture->bytes + offset, size);
	if (size == sizeof(struct ports))
		capture->ports = offset;
	return 0;
}

static struct prefix whole_address(uint8_t family, const uint8_t *address)
{
	struct prefix prefix = { .family = family, .len = family == 4 ? 32 : 128 };

	memcpy(prefix.addr, address, family == 4 ? 4 : 16);
	return prefix;
}

/* The program needs no source port. Where a packet has ports, nothing as long is loaded later. */
static void read_packet(const struct event *event, struct sample *sample)
{
	struct capture capture = { event->bytes, event->captured, 0 };
	struct frame frame = { &capture, event->length };
	struct packet packet = { 0 };
	struct ports ports;

	if (parse_frame(&frame, &packet) == PACKET_NOT_IP || !packet.family)
		return;
	sample->source = whole_address(packet.family, packet.source);
	sample->destination = whole_address(packet.family, packet.destination);
	sample->proto = packet.proto;
	sample->has_ports = packet.has_ports;
	sample->dport = packet.dport;
	sample->has_type = packet.has_type;
	sample->type = packet.type;
	sample->syn = packet.syn;
	if (packet.has_ports && !frame_load(&frame, capture.ports, &ports, sizeof(ports)))
		sample->sport = bpf_ntohs(ports.sport);
}

/* Behind the two generations lie the policies of entries, which the image does not name. */
static void read_names(const struct event *event, const struct image *image, uint32_t policies,
		       struct sample *sample)
{
	const struct image_policy *policy;

	if (event->policy >= 2 * policies || event->policy % policies >= image->policy_count) {
		if (event->policy != UINT32_MAX)
			sample->policy = "by hand";
		return;
	}
	policy = &image->policies[event->policy % policies];
	sample->policy = policy->name;
	if (event->limit < policy->policy.count && policy->specs[event->limit])
		sample->limit = policy->specs[event->limit]->name;
}

void sample_read(const struct event *event, const struct image *image, uint32_t policies,
		 struct sample *sample)
{
	*sample = (struct sample){ .time_ns = event->time_ns,
				   .ifindex = event->ifindex,
				   .length = event->length,
				   .reason = event->reason,
				   .observed = event->observed };
	read_packet(event, sample);
	read_names(event, image, policies, sample);
}

const char *sample_protocol(const struct sample *sample, char *to, size_t size)
{
	switch (sample->source.family ? sample->proto : -1) {
	case -1:
		return "-";
	case IPPROTO_TCP:
		return sample->syn ? "tcp/syn" : "tcp";
	case IPPROTO_UDP:
		return "udp";
	case IPPROTO_ICMP:
		return "icmp";
	case IPPROTO_ICMPV6:
		return "icmpv6";
	}
	snprintf(to, size, "proto-%u", sample->proto);
	return to;
}
