/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parser makes of frames, well-formed and not: one row for each kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../../bpf/packet.h"
#include "../../user/limiter.h"
#include "frames.h"
#include "random.h"

enum {
	HOP_BY_HOP = 0,
	ICMP = 1,
	TCP = 6,
	UDP = 17,
	ROUTING = 43,
	FRAGMENT = 44,
	ESP = 50,
	AH = 51,
	ICMPV6 = 58,
	NONE = 59,
	OPTIONS = 60,
	MOBILITY = 135,
	HIP = 139,
	SHIM6 = 140,
	SYN = 2,
	ACK = 16,
};

static int parse(const struct built *frame, struct packet *packet)
{
	/* A copy of its own size, so that a read beyond it is found. */
	uint8_t *bytes = malloc(frame->count ? frame->count : 1);
	int kind;

	assert_non_null(bytes);
	memcpy(bytes, frame->bytes, frame->count);
	kind = limiter_parse(bytes, frame->count, frame->count, packet);
	free(bytes);
	return kind;
}

/* A row: how to build a frame, and what to see in it. */
struct row {
	const char *name;
	void (*build)(struct built *frame);
	int kind;
	uint8_t family, proto;
	int dport; /* -1: no ports */
	int type;  /* -1: none */
	int syn;
};

/* ---- IPv4 ---- */

static void udp4(struct built *f)
{
	frame_ipv4(f, "10.0.0.1", UDP);
	frame_udp(f, 53);
}

static void tcp4_syn(struct built *f)
{
	frame_ipv4(f, "10.0.0.1", TCP);
	frame_tcp(f, 443, SYN);
}

static void tcp4_syn_ack(struct built *f)
{
	frame_ipv4(f, "10.0.0.1", TCP);
	frame_tcp(f, 443, SYN | ACK);
}

static void tcp4_syn_and_all_but_ack(struct built *f)
{
	frame_ipv4(f, "10.0.0.1", TCP);
	frame_tcp(f, 443, 0xff & ~ACK);
}

static void tcp4_ack(struct built *f)
{
	frame_ipv4(f, "10.0.0.1", TCP);
	frame_tcp(f, 443, ACK);
}

/* RFC 1858's tiny fragment: ports, but the flags are in the next: taken for a SYN. */
static void tcp4_8_bytes(struct built *f)
{
	frame_ipv4_with(f, "10.0.0.1", TCP, 0, 0x2000);
	frame_add16(f, 1);
	frame_add16(f, 443);
	frame_fill(f, SYN, 4);
}

/* As it comes from a card: padded to 60 bytes with what looks like a header. */
static void tcp4_8_bytes_padded(struct built *f)
{
	tcp4_8_bytes(f);
	frame_end(f);
	f->family = 0;
	frame_fill(f, ACK, 18);
}

static void udp4_empty_padded(struct built *f)
{
	frame_ipv4(f, "10.0.0.1", UDP);
	frame_end(f);
	f->family = 0;
	frame_fill(f, 53, 26);
}

static void icmp6_empty_padded(struct built *f)
{
	frame_ipv6(f, "2001:db8::1", OPTIONS);
	frame_extension(f, ICMPV6, 0);
	frame_end(f);
	f->family = 0;
	frame_fill(f, 128, 6);
}

static void icmp4_echo(struct built *f)
{
	frame_ipv4(f, "10.0.0.1", ICMP);
	frame_icmp(f, 8);
}

static void icmp4_without_bytes(struct built *f)
{
	frame_ipv4(f, "10.0.0.1", ICMP);
}

static void icmpv6_in_ipv4(struct built *f)
{
	frame_ipv4(f, "10.0.0.1", ICMPV6);
	frame_icmp(f, 128);
}

static void gre4(struct built *f)
{
	frame_ipv4(f, "10.0.0.1", 47);
	frame_fill(f, 0, 8);
}

static void reserved4(struct built *f)
{
	frame_ipv4(f, "10.0.0.1", 255);
}

static void udp4_options(struct built *f)
{
	frame_ipv4_with(f, "10.0.0.1", UDP, 40, 0);
	frame_udp(f, 53);
}

static void udp4_truncated(struct built *f)
{
	frame_ipv4(f, "10.0.0.1", UDP);
	frame_add16(f, 1);
	frame_add16(f, 53);
}

static void udp4_3_bytes(struct built *f)
{
	frame_ipv4(f, "10.0.0.1", UDP);
	frame_fill(f, 0, 3);
}

static void fragment4_first(struct built *f)
{
	frame_ipv4_with(f, "10.0.0.1", UDP, 0, 0x2000);
	frame_udp(f, 53);
}

static void fragment4_later(struct built *f)
{
	frame_ipv4_with(f, "10.0.0.1", UDP, 0, 185);
	frame_udp(f, 53);
}

static void fragment4_later_more(struct built *f)
{
	frame_ipv4_with(f, "10.0.0.1", UDP, 0, 0x2000 | 1);
	frame_udp(f, 53);
}

static void dont_fragment4(struct built *f)
{
	frame_ipv4_with(f, "10.0.0.1", UDP, 0, 0x4000);
	frame_udp(f, 53);
}

/* ---- IPv6 ---- */

static void udp6(struct built *f)
{
	frame_ipv6(f, "2001:db8::1", UDP);
	frame_udp(f, 53);
}

static void tcp6_syn(struct built *f)
{
	frame_ipv6(f, "2001:db8::1", TCP);
	frame_tcp(f, 443, SYN);
}

static void icmp6_echo(struct built *f)
{
	frame_ipv6(f, "2001:db8::1", ICMPV6);
	frame_icmp(f, 128);
}

static void icmp4_in_ipv6(struct built *f)
{
	frame_ipv6(f, "2001:db8::1", ICMP);
	frame_icmp(f, 8);
}

static void hop_by_hop_udp(struct built *f)
{
	frame_ipv6(f, "2001:db8::1", HOP_BY_HOP);
	frame_extension(f, UDP, 3);
	frame_udp(f, 53);
}

static void options_tcp(struct built *f)
{
	frame_ipv6(f, "2001:db8::1", OPTIONS);
	frame_extension(f, TCP, 0);
	frame_tcp(f, 443, SYN);
}

static void routing_udp(struct built *f)
{
	frame_ipv6(f, "2001:db8::1", ROUTING);
	frame_extension(f, UDP, 2);
	frame_udp(f, 53);
}

static void ah_hop_by_hop_tcp(struct built *f)
{
	frame_ipv6(f, "2001:db8::1", AH);
	frame_ah(f, HOP_BY_HOP);
	frame_extension(f, TCP, 0);
	frame_tcp(f, 443, SYN);
}

static void mobility_hip_shim6_udp(struct built *f)
{
	frame_ipv6(f, "2001:db8::1", MOBILITY);
	frame_extension(f, HIP, 0);
	frame_extension(f, SHIM6, 1);
	frame_extension(f, UDP, 0);
	frame_udp(f, 53);
}

static void fragment6_first(struct built *f)
{
	frame_ipv6(f, "2001:db8::1", FRAGMENT);
	frame_fragment6(f, UDP, 0, 1);
	frame_udp(f, 53);
}

static void fragment6_later(struct built *f)
{
	frame_ipv6(f, "2001:db8::1", FRAGMENT);
	frame_fragment6(f, UDP, 185, 0);
	frame_udp(f, 53);
}

/* Behind a later fragment's header there is no header, whatever it names. */
static void fragment6_later_of_options(struct built *f)
{
	frame_ipv6(f, "2001:db8::1", HOP_BY_HOP);
	frame_extension(f, FRAGMENT, 0);
	frame_fragment6(f, OPTIONS, 1, 1);
	frame_fill(f, 0xff, 8);
}

static void sctp6(struct built *f)
{
	frame_ipv6(f, "2001:db8::1", 132);
	frame_fill(f, 0, 12);
}

static void esp6(struct built *f)
{
	frame_ipv6(f, "2001:db8::1", ESP);
	frame_fill(f, 0, 8);
}

static void none6(struct built *f)
{
	frame_ipv6(f, "2001:db8::1", NONE);
}

static void extensions(struct built *f, int count)
{
	frame_ipv6(f, "2001:db8::1", OPTIONS);
	for (int i = 1; i < count; i++)
		frame_extension(f, OPTIONS, 0);
	frame_extension(f, UDP, 0);
	frame_udp(f, 53);
}

static void eight_extensions(struct built *f)
{
	extensions(f, 8);
}

static void nine_extensions(struct built *f)
{
	extensions(f, 9);
}

static void extension_past_the_frame(struct built *f)
{
	frame_ipv6(f, "2001:db8::1", HOP_BY_HOP);
	frame_extension(f, UDP, 0);
	f->bytes[f->count - 7] = 200;
	frame_udp(f, 53);
}

static void extension_cut_short(struct built *f)
{
	frame_ipv6(f, "2001:db8::1", OPTIONS);
	frame_fill(f, UDP, 3);
}

static void extension_missing(struct built *f)
{
	frame_ipv6(f, "2001:db8::1", OPTIONS);
}

/* RFC 2675 and super-packets: no payload length. */
static void payload_length_0(struct built *f)
{
	udp6(f);
	f->family = 0;
}

static void discovery(struct built *f, uint8_t type, uint8_t hops, uint8_t code)
{
	frame_ipv6(f, "fe80::1", ICMPV6);
	f->bytes[f->ip + 7] = hops;
	frame_icmp(f, type);
	f->bytes[f->count - 7] = code;
}

static void solicitation(struct built *f)
{
	discovery(f, 135, 255, 0);
}

static void router_solicitation(struct built *f)
{
	discovery(f, 133, 255, 0);
}

static void redirect(struct built *f)
{
	discovery(f, 137, 255, 0);
}

static void routed_solicitation(struct built *f)
{
	discovery(f, 135, 254, 0);
}

static void solicitation_code_1(struct built *f)
{
	discovery(f, 135, 255, 1);
}

static void echo_hop_limit_255(struct built *f)
{
	discovery(f, 128, 255, 0);
}

static void type_138(struct built *f)
{
	discovery(f, 138, 255, 0);
}

/* RFC 6980: never fragmented, so behind a fragment header it is no discovery. */
static void fragmented_solicitation(struct built *f)
{
	frame_ipv6(f, "fe80::1", FRAGMENT);
	f->bytes[f->ip + 7] = 255;
	frame_fragment6(f, ICMPV6, 0, 0);
	frame_icmp(f, 135);
}

/* ---- tags ---- */

static void one_tag(struct built *f)
{
	frame_tag(f, 0x8100);
	udp4(f);
}

static void four_tags(struct built *f)
{
	frame_tag(f, 0x88a8);
	frame_tag(f, 0x9100);
	frame_tag(f, 0x8100);
	frame_tag(f, 0x8100);
	udp6(f);
}

static void five_tags(struct built *f)
{
	frame_tag(f, 0x8100);
	frame_tag(f, 0x88a8);
	frame_tag(f, 0x9100);
	frame_tag(f, 0x8100);
	frame_tag(f, 0x8100);
	udp4(f);
}

static void tagged_arp(struct built *f)
{
	frame_tag(f, 0x8100);
	frame_add16(f, 0x0806);
	frame_fill(f, 0, 28);
}

static void empty_tag(struct built *f)
{
	frame_tag(f, 0x8100);
}

static void tag_without_vlan(struct built *f)
{
	frame_add16(f, 0x8100);
}

/* ---- not IP, and malformed ---- */

static void arp(struct built *f)
{
	frame_add16(f, 0x0806);
	frame_fill(f, 0, 28);
}

static void llc(struct built *f)
{
	frame_add16(f, 38);
	frame_fill(f, 0x42, 38);
}

static void nothing_but_addresses(struct built *f)
{
	(void)f;
}

static void ipv4_empty(struct built *f)
{
	frame_add16(f, 0x0800);
}

static void ipv4_10_bytes(struct built *f)
{
	frame_add16(f, 0x0800);
	frame_fill(f, 0x45, 10);
}

static void ipv4_ihl_4(struct built *f)
{
	udp4(f);
	f->bytes[f->ip] = 0x44;
}

static void ipv4_options_past_the_frame(struct built *f)
{
	frame_ipv4(f, "10.0.0.1", UDP);
	f->bytes[f->ip] = 0x4f;
}

static void version_6_in_0800(struct built *f)
{
	udp4(f);
	f->bytes[f->ip] = 0x65;
}

static void version_4_in_86dd(struct built *f)
{
	udp6(f);
	f->bytes[f->ip] = 0x45;
}

static void total_length_over_frame(struct built *f)
{
	udp4(f);
	frame_set16(f, f->ip + 2, 29);
	f->family = 0;
}

static void total_length_under_header(struct built *f)
{
	udp4(f);
	frame_set16(f, f->ip + 2, 19);
	f->family = 0;
}

static void total_length_0(struct built *f)
{
	udp4(f);
	frame_set16(f, f->ip + 2, 0);
	f->family = 0;
}

static void ipv6_39_bytes(struct built *f)
{
	frame_add16(f, 0x86dd);
	frame_fill(f, 0x60, 39);
}

static void payload_length_over_frame(struct built *f)
{
	udp6(f);
	frame_set16(f, f->ip + 4, 9);
	f->family = 0;
}

/* Ethernet pads to 60 bytes: behind the packet is no packet. */
static void udp4_padded(struct built *f)
{
	udp4(f);
	frame_end(f);
	f->family = 0;
	frame_fill(f, 0, 18);
}

#define ROW(build, ...)                    \
	{                                  \
#build, build, __VA_ARGS__ \
	}
#define MALFORMED(build)                                         \
	{                                                        \
#build, build, PACKET_MALFORMED, 0, 0, -1, -1, 0 \
	}

static const struct row rows[] = {
	ROW(udp4, PACKET_IP, 4, UDP, 53, -1, 0),
	ROW(udp4_padded, PACKET_IP, 4, UDP, 53, -1, 0),
	ROW(udp4_options, PACKET_IP, 4, UDP, 53, -1, 0),
	ROW(udp4_truncated, PACKET_IP, 4, UDP, 53, -1, 0),
	ROW(udp4_3_bytes, PACKET_IP, 4, UDP, -1, -1, 0),
	ROW(tcp4_syn, PACKET_IP, 4, TCP, 443, -1, 1),
	ROW(tcp4_syn_ack, PACKET_IP, 4, TCP, 443, -1, 0),
	ROW(tcp4_syn_and_all_but_ack, PACKET_IP, 4, TCP, 443, -1, 1),
	ROW(tcp4_ack, PACKET_IP, 4, TCP, 443, -1, 0),
	ROW(tcp4_8_bytes, PACKET_IP, 4, TCP, 443, -1, 1),
	ROW(tcp4_8_bytes_padded, PACKET_IP, 4, TCP, 443, -1, 1),
	ROW(udp4_empty_padded, PACKET_IP, 4, UDP, -1, -1, 0),
	ROW(icmp6_empty_padded, PACKET_IP, 6, ICMPV6, -1, -1, 0),
	ROW(icmp4_echo, PACKET_IP, 4, ICMP, -1, 8, 0),
	ROW(icmp4_without_bytes, PACKET_IP, 4, ICMP, -1, -1, 0),
	ROW(icmpv6_in_ipv4, PACKET_IP, 4, ICMPV6, -1, 128, 0),
	ROW(gre4, PACKET_IP, 4, 47, -1, -1, 0),
	ROW(reserved4, PACKET_IP, 4, 255, -1, -1, 0),
	ROW(fragment4_first, PACKET_IP, 4, UDP, 53, -1, 0),
	ROW(fragment4_later, PACKET_IP, 4, UDP, -1, -1, 0),
	ROW(fragment4_later_more, PACKET_IP, 4, UDP, -1, -1, 0),
	ROW(dont_fragment4, PACKET_IP, 4, UDP, 53, -1, 0),
	ROW(udp6, PACKET_IP, 6, UDP, 53, -1, 0),
	ROW(tcp6_syn, PACKET_IP, 6, TCP, 443, -1, 1),
	ROW(icmp6_echo, PACKET_IP, 6, ICMPV6, -1, 128, 0),
	ROW(icmp4_in_ipv6, PACKET_IP, 6, ICMP, -1, 8, 0),
	ROW(hop_by_hop_udp, PACKET_IP, 6, UDP, 53, -1, 0),
	ROW(options_tcp, PACKET_IP, 6, TCP, 443, -1, 1),
	ROW(routing_udp, PACKET_IP, 6, UDP, 53, -1, 0),
	ROW(ah_hop_by_hop_tcp, PACKET_IP, 6, TCP, 443, -1, 1),
	ROW(mobility_hip_shim6_udp, PACKET_IP, 6, UDP, 53, -1, 0),
	ROW(fragment6_first, PACKET_IP, 6, UDP, 53, -1, 0),
	ROW(fragment6_later, PACKET_IP, 6, UDP, -1, -1, 0),
	ROW(fragment6_later_of_options, PACKET_IP, 6, OPTIONS, -1, -1, 0),
	ROW(sctp6, PACKET_IP, 6, 132, -1, -1, 0),
	ROW(esp6, PACKET_IP, 6, ESP, -1, -1, 0),
	ROW(none6, PACKET_IP, 6, NONE, -1, -1, 0),
	ROW(eight_extensions, PACKET_IP, 6, UDP, 53, -1, 0),
	ROW(payload_length_0, PACKET_IP, 6, UDP, 53, -1, 0),
	ROW(routed_solicitation, PACKET_IP, 6, ICMPV6, -1, 135, 0),
	ROW(solicitation_code_1, PACKET_IP, 6, ICMPV6, -1, 135, 0),
	ROW(echo_hop_limit_255, PACKET_IP, 6, ICMPV6, -1, 128, 0),
	ROW(type_138, PACKET_IP, 6, ICMPV6, -1, 138, 0),
	ROW(fragmented_solicitation, PACKET_IP, 6, ICMPV6, -1, 135, 0),
	ROW(solicitation, PACKET_NEIGHBOUR_DISCOVERY, 6, 0, -1, -1, 0),
	ROW(router_solicitation, PACKET_NEIGHBOUR_DISCOVERY, 6, 0, -1, -1, 0),
	ROW(redirect, PACKET_NEIGHBOUR_DISCOVERY, 6, 0, -1, -1, 0),
	ROW(one_tag, PACKET_IP, 4, UDP, 53, -1, 0),
	ROW(four_tags, PACKET_IP, 6, UDP, 53, -1, 0),
	ROW(tagged_arp, PACKET_NOT_IP, 0, 0, -1, -1, 0),
	ROW(arp, PACKET_NOT_IP, 0, 0, -1, -1, 0),
	ROW(llc, PACKET_NOT_IP, 0, 0, -1, -1, 0),
	ROW(nothing_but_addresses, PACKET_NOT_IP, 0, 0, -1, -1, 0),
	MALFORMED(five_tags),
	MALFORMED(empty_tag),
	MALFORMED(tag_without_vlan),
	MALFORMED(ipv4_empty),
	MALFORMED(ipv4_10_bytes),
	MALFORMED(ipv4_ihl_4),
	MALFORMED(ipv4_options_past_the_frame),
	MALFORMED(version_6_in_0800),
	MALFORMED(version_4_in_86dd),
	MALFORMED(total_length_over_frame),
	MALFORMED(total_length_under_header),
	MALFORMED(total_length_0),
	MALFORMED(ipv6_39_bytes),
	MALFORMED(payload_length_over_frame),
	MALFORMED(nine_extensions),
	MALFORMED(extension_past_the_frame),
	MALFORMED(extension_cut_short),
	MALFORMED(extension_missing),
};

static int row_matches(const struct row *row, int kind, const struct packet *packet)
{
	if (kind != row->kind)
		return 0;
	if (kind != PACKET_IP)
		return 1;
	return packet->family == row->family && packet->proto == row->proto &&
	       packet->has_ports == (row->dport >= 0) && packet->has_type == (row->type >= 0) &&
	       (row->dport < 0 || packet->dport == row->dport) &&
	       (row->type < 0 || packet->type == row->type) && packet->syn == row->syn;
}

static void every_row(void **unused)
{
	int failed = 0;

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct built frame;
		struct packet packet;
		int kind;

		frame_begin(&frame);
		rows[i].build(&frame);
		frame_end(&frame);
		kind = parse(&frame, &packet);
		if (row_matches(&rows[i], kind, &packet))
			continue;
		failed++;
		print_message("# %s: kind %d family %u proto %u ports %u %u type %u %u syn %u\n",
			      rows[i].name, kind, packet.family, packet.proto, packet.has_ports,
			      packet.dport, packet.has_type, packet.type, packet.syn);
	}
	assert_int_equal(failed, 0);
}

static void addresses_and_length_are_taken(void **unused)
{
	const uint8_t source4[16] = { 10, 0, 0, 1 }, destination4[16] = { 192, 0, 2, 53 };
	const uint8_t source6[16] = { 0x20, 1, 0x0d, 0xb8, [15] = 1 };
	struct packet packet;
	struct built frame;

	(void)unused;
	frame_u4(&frame, "10.0.0.1");
	assert_int_equal(parse(&frame, &packet), PACKET_IP);
	assert_int_equal(packet.length, 42);
	assert_memory_equal(packet.source, source4, 16);
	assert_memory_equal(packet.destination, destination4, 16);
	frame_u6(&frame, "2001:db8::1");
	assert_int_equal(parse(&frame, &packet), PACKET_IP);
	assert_int_equal(packet.length, 62);
	assert_memory_equal(packet.source, source6, 16);
	assert_int_equal(packet.destination[15], 0x53);
}

/* A capture keeps the first bytes only: the length is that of the frame on the wire. */
static void cut_captures_count_whole(void **unused)
{
	struct packet packet;
	struct built frame;

	(void)unused;
	frame_begin(&frame);
	frame_ipv4(&frame, "10.0.0.1", UDP);
	frame_udp(&frame, 53);
	frame_fill(&frame, 0, 1472);
	frame_end(&frame);
	assert_int_equal(limiter_parse(frame.bytes, 64, frame.count, &packet), PACKET_IP);
	assert_int_equal(packet.length, 1514);
	assert_int_equal(packet.dport, 53);
	assert_int_equal(limiter_parse(frame.bytes, 34, frame.count, &packet), PACKET_IP);
	assert_int_equal(packet.has_ports, 0);
	assert_int_equal(limiter_parse(frame.bytes, 33, frame.count, &packet), PACKET_MALFORMED);
}

/* BIG TCP: an IPv4 super-packet has no total length. */
static void super_packets_have_no_total_length(void **unused)
{
	struct packet packet;
	struct built frame;

	(void)unused;
	frame_begin(&frame);
	tcp4_ack(&frame);
	assert_int_equal(limiter_parse(frame.bytes, frame.count, 100000, &packet), PACKET_IP);
	assert_int_equal(packet.length, 100000);
	assert_int_equal(packet.dport, 443);
}

/* Any bytes and any cut: some kind, and no read beyond the frame (the sanitizer's part). */
static void any_bytes_are_some_kind(void **unused)
{
	struct random random = { 8 };
	unsigned int kinds[4] = { 0 };

	(void)unused;
	for (int i = 0; i < 200000; i++) {
		const struct row *row =
			&rows[random_below(&random, sizeof(rows) / sizeof(rows[0]))];
		struct packet packet;
		struct built frame;
		int kind;

		frame_begin(&frame);
		row->build(&frame);
		frame_end(&frame);
		for (uint64_t n = random_below(&random, 4); n; n--)
			frame.bytes[12 + random_below(&random, frame.count)] =
				(uint8_t)random_next(&random);
		if (random_below(&random, 2))
			frame.count = (uint32_t)random_below(&random, frame.count + 1);
		kind = parse(&frame, &packet);
		assert_in_range(kind, PACKET_IP, PACKET_NEIGHBOUR_DISCOVERY);
		kinds[kind]++;
		if (kind == PACKET_IP)
			assert_true(packet.family == 4 || packet.family == 6);
	}
	for (int i = 0; i < 4; i++)
		assert_true(kinds[i] > 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row),
		cmocka_unit_test(addresses_and_length_are_taken),
		cmocka_unit_test(cut_captures_count_whole),
		cmocka_unit_test(super_packets_have_no_total_length),
		cmocka_unit_test(any_bytes_are_some_kind),
	};

	return cmocka_run_group_tests_name("parse", tests, NULL, NULL);
}
