/* SPDX-License-Identifier: GPL-2.0-only */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"

/* What the IP header is to say in the end; -1: the truth. */
struct claims {
	int version;
	int ihl;
	int total;
	int payload;
	int cut;
	int trailer;
};

struct builder {
	struct frame_bytes *frame;
	unsigned int nth;
	uint8_t *next;	     /* where the header before names the one to come: 1 or 2 bytes */
	bool next_ethertype; /* it is 2 bytes, an ethertype */
	uint32_t ip;	     /* offset of the IP header, 0: none */
	uint32_t header;     /* offset of the last header */
	int family;
	uint8_t nowhere[2]; /* behind a header that names nothing */
	struct claims claims;
	int error;
};

/* The number at `text`, up to its end or a slash. */
static uint32_t number(struct builder *b, const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || (*end && *end != '/') || value > UINT16_MAX)
		b->error = -EINVAL;
	return value;
}

static uint8_t *append(struct builder *b, uint32_t size)
{
	uint8_t *at = b->frame->data + b->frame->length;

	if (b->frame->length + size > FRAME_ROOM)
		return NULL;
	memset(at, 0, size);
	b->header = b->frame->length;
	b->frame->length += size;
	return at;
}

static void name_next(struct builder *b, uint16_t type)
{
	if (b->next_ethertype) {
		b->next[0] = type >> 8;
		b->next[1] = type;
	} else {
		b->next[0] = type;
	}
}

/* The header to come is the last that is named: what follows is its payload. */
static void name_last(struct builder *b, uint16_t type)
{
	name_next(b, type);
	b->next = b->nowhere;
}

static int add_tag(struct builder *b, const char *word)
{
	name_next(b, strtoul(word, NULL, 16));
	b->next = append(b, 4) + 2;
	return 0;
}

/* Add the frame's number to the address, to the 32 bits that end at its bit `len`. */
static void number_address(const struct builder *b, uint8_t *address, uint32_t len)
{
	uint8_t carry[4], *part = address + len / 8 - 4;
	uint32_t sum = ((uint32_t)part[0] << 24 | part[1] << 16 | part[2] << 8 | part[3]) + b->nth;

	for (int i = 0; i < 4; i++)
		carry[i] = sum >> (24 - 8 * i);
	memcpy(part, carry, sizeof(carry));
}

/* Split "SRC[+[LEN]][>DST]". */
static int addresses(struct builder *b, const char *word, int family, void *source, void *to)
{
	const char *destination = family == AF_INET ? "192.0.2.1" : "2001:db8:ffff::1";
	uint32_t bits = family == AF_INET ? 32 : 128;
	char *arrow, *plus, text[128];

	if (snprintf(text, sizeof(text), "%s", word) >= (int)sizeof(text))
		return -EINVAL;
	arrow = strchr(text, '>');
	if (arrow) {
		*arrow = '\0';
		destination = arrow + 1;
	}
	plus = strchr(text, '+');
	if (plus)
		*plus = '\0';
	if (inet_pton(family, text, source) != 1 || inet_pton(family, destination, to) != 1)
		return -EINVAL;
	if (plus)
		number_address(b, source, plus[1] ? number(b, plus + 1) : bits);
	return 0;
}

static int add_ipv4(struct builder *b, const char *word)
{
	struct iphdr ip = { .version = 4, .ihl = 5, .ttl = 64 };
	uint8_t *at;

	if (addresses(b, word, AF_INET, &ip.saddr, &ip.daddr))
		return -EINVAL;
	name_next(b, ETH_P_IP);
	b->ip = b->frame->length;
	b->family = 4;
	at = append(b, sizeof(ip));
	memcpy(at, &ip, sizeof(ip));
	b->next = at + offsetof(struct iphdr, protocol);
	b->next_ethertype = false;
	return 0;
}

static int add_ipv6(struct builder *b, const char *word)
{
	struct ipv6hdr ip = { .version = 6, .hop_limit = 64 };
	uint8_t *at;

	if (addresses(b, word, AF_INET6, &ip.saddr, &ip.daddr))
		return -EINVAL;
	name_next(b, ETH_P_IPV6);
	b->ip = b->frame->length;
	b->family = 6;
	at = append(b, sizeof(ip));
	memcpy(at, &ip, sizeof(ip));
	b->next = at + offsetof(struct ipv6hdr, nexthdr);
	b->next_ethertype = false;
	return 0;
}

static struct iphdr *ipv4(struct builder *b)
{
	return (struct iphdr *)(b->frame->data + b->ip);
}

static int add_options(struct builder *b, const char *argument)
{
	uint32_t size = number(b, argument);

	if (b->family != 4 || size % 4 || size > 40)
		return -EINVAL;
	memset(append(b, size), 1, size); /* no operation */
	ipv4(b)->ihl += size / 4;
	return 0;
}

static int set_fragment(struct builder *b, const char *argument)
{
	uint16_t more = argument ? 0 : 0x2000;

	if (b->family != 4)
		return -EINVAL;
	ipv4(b)->frag_off |= htons(more | (argument ? number(b, argument) : 0));
	return 0;
}

static const struct {
	const char *name;
	uint8_t type;
} extensions[] = {
	{ "hbh", 0 },	  { "routing", 43 },   { "fragment", 44 }, { "ah", 51 },
	{ "dstopt", 60 }, { "mobility", 135 }, { "hip", 139 },	   { "shim6", 140 },
};

/* AH counts in 4 bytes, less 2 (RFC 4302); the others in 8, less 1. */
static uint32_t extension_size(uint8_t type, uint8_t length)
{
	return type == 51 ? (length + 2) * 4 : (length + 1) * 8;
}

/* -ENOENT: no such word. */
static int add_extension(struct builder *b, const char *word)
{
	size_t name = strcspn(word, "=!");
	uint8_t *at;

	for (size_t i = 0; i < sizeof(extensions) / sizeof(*extensions); i++) {
		uint8_t type = extensions[i].type, length;

		if (strncmp(extensions[i].name, word, name) || extensions[i].name[name])
			continue;
		length = word[name] ? number(b, word + name + 1) : 0;
		name_next(b, type);
		at = append(b, type == 44 || word[name] == '!' ? 8 : extension_size(type, length));
		if (!at)
			return -EINVAL;
		b->next = at;
		if (type == 44 && word[name] != '!') {
			at[2] = length >> 5;
			at[3] = length << 3;
		} else {
			at[1] = length;
		}
		return 0;
	}
	return -ENOENT;
}

static uint16_t port(struct builder *b, const char *argument)
{
	if (argument && *argument == '*')
		return 1 + b->nth * 7919 % 65535;
	return argument ? number(b, argument) : 9;
}

static int add_udp(struct builder *b, const char *argument)
{
	struct udphdr udp = { .source = htons(1024 + b->nth % 60000) };

	udp.dest = htons(port(b, argument));
	udp.len = htons(sizeof(udp));
	name_last(b, IPPROTO_UDP);
	memcpy(append(b, sizeof(udp)), &udp, sizeof(udp));
	return 0;
}

static int add_tcp(struct builder *b, const char *argument, bool syn, bool ack)
{
	struct tcphdr tcp = { .source = htons(1024 + b->nth % 60000), .doff = 5 };

	tcp.dest = htons(port(b, argument));
	tcp.syn = syn;
	tcp.ack = ack;
	name_last(b, IPPROTO_TCP);
	memcpy(append(b, sizeof(tcp)), &tcp, sizeof(tcp));
	return 0;
}

static int add_established(struct builder *b, const char *argument)
{
	return add_tcp(b, argument, false, true);
}

static int add_syn(struct builder *b, const char *argument)
{
	return add_tcp(b, argument, true, false);
}

static int add_synack(struct builder *b, const char *argument)
{
	return add_tcp(b, argument, true, true);
}

static int add_icmp_of(struct builder *b, const char *argument, uint8_t proto)
{
	const char *code = argument ? strchr(argument, '/') : NULL;
	uint8_t *at;

	if (!argument)
		return -EINVAL;
	name_last(b, proto);
	at = append(b, 8);
	at[0] = number(b, argument);
	at[1] = code ? number(b, code + 1) : 0;
	return 0;
}

static int add_icmp(struct builder *b, const char *argument)
{
	return add_icmp_of(b, argument, IPPROTO_ICMP);
}

static int add_icmp6(struct builder *b, const char *argument)
{
	return add_icmp_of(b, argument, IPPROTO_ICMPV6);
}

static int add_proto(struct builder *b, const char *argument)
{
	if (!argument)
		return -EINVAL;
	name_last(b, number(b, argument));
	append(b, 8);
	return 0;
}

static int cut_header(struct builder *b, const char *argument)
{
	b->frame->length = b->header + number(b, argument);
	return 0;
}

static int pad_to(struct builder *b, const char *argument)
{
	uint32_t length = number(b, argument);
	uint32_t header = b->header;

	if (length < b->frame->length || length > FRAME_MOST)
		return -EINVAL;
	append(b, length - b->frame->length);
	b->header = header;
	return 0;
}

static int set_hop(struct builder *b, const char *argument)
{
	if (b->family == 4)
		ipv4(b)->ttl = number(b, argument);
	else
		((struct ipv6hdr *)ipv4(b))->hop_limit = number(b, argument);
	return 0;
}

static int set_type(struct builder *b, const char *argument)
{
	name_last(b, strtoul(argument, NULL, 16));
	append(b, 28);
	return 0;
}

static int add_arp(struct builder *b, const char *argument)
{
	(void)argument;
	return set_type(b, "0806");
}

static int add_lldp(struct builder *b, const char *argument)
{
	(void)argument;
	return set_type(b, "88cc");
}

static const struct {
	const char *name;
	bool argument; /* must have one */
	int (*apply)(struct builder *b, const char *argument);
} words_known[] = {
	{ "options", true, add_options },  { "mf", false, set_fragment },
	{ "offset", true, set_fragment },  { "udp", false, add_udp },
	{ "tcp", false, add_established }, { "syn", false, add_syn },
	{ "synack", false, add_synack },   { "icmp", true, add_icmp },
	{ "icmp6", true, add_icmp6 },	   { "proto", true, add_proto },
	{ "l4", true, cut_header },	   { "len", true, pad_to },
	{ "hop", true, set_hop },	   { "arp", false, add_arp },
	{ "lldp", false, add_lldp },	   { "type", true, set_type },
};

static int add_named(struct builder *b, const char *word)
{
	size_t name = strcspn(word, "/=");
	const char *argument = word[name] ? word + name + 1 : NULL;

	for (size_t i = 0; i < sizeof(words_known) / sizeof(*words_known); i++) {
		if (strncmp(words_known[i].name, word, name) || words_known[i].name[name])
			continue;
		if (words_known[i].argument && !argument)
			return -EINVAL;
		return words_known[i].apply(b, argument);
	}
	return -EINVAL;
}

static const struct {
	const char *name;
	size_t offset;
} claim_names[] = {
	{ "version", offsetof(struct claims, version) },
	{ "ihl", offsetof(struct claims, ihl) },
	{ "total", offsetof(struct claims, total) },
	{ "payload", offsetof(struct claims, payload) },
	{ "cut", offsetof(struct claims, cut) },
	{ "trailer", offsetof(struct claims, trailer) },
};

/* -ENOENT: no such word. */
static int add_claim(struct builder *b, const char *word)
{
	size_t name = strcspn(word, "=");

	for (size_t i = 0; i < sizeof(claim_names) / sizeof(*claim_names); i++) {
		if (strncmp(claim_names[i].name, word, name) || claim_names[i].name[name])
			continue;
		if (!word[name])
			return -EINVAL;
		*(int *)((char *)&b->claims + claim_names[i].offset) = number(b, word + name + 1);
		return 0;
	}
	return -ENOENT;
}

static int add_word(struct builder *b, const char *word)
{
	int error;

	if (!strcmp(word, "8100") || !strcmp(word, "88a8") || !strcmp(word, "9100"))
		return add_tag(b, word);
	if (strchr(word, ':'))
		return add_ipv6(b, word);
	if (strchr(word, '.'))
		return add_ipv4(b, word);
	error = add_extension(b, word);
	if (error == -ENOENT)
		error = add_claim(b, word);
	return error == -ENOENT ? add_named(b, word) : error;
}

/* The lengths, then whatever the line claims instead. weir looks at no checksum. */
static void finish(struct builder *b)
{
	struct iphdr *ip = ipv4(b);
	struct ipv6hdr *ip6 = (struct ipv6hdr *)ip;
	int total = b->frame->length - b->ip;
	int payload = total - (int)sizeof(*ip6);

	if (b->family == 4)
		ip->tot_len = htons(b->claims.total >= 0 ? b->claims.total : total);
	if (b->family == 6)
		ip6->payload_len = htons(b->claims.payload >= 0 ? b->claims.payload : payload);
	if (b->family && b->claims.version >= 0)
		ip->version = b->claims.version;
	if (b->family && b->claims.ihl >= 0)
		ip->ihl = b->claims.ihl;
	if (b->claims.trailer > 0)
		append(b, b->claims.trailer);
	if (b->claims.cut >= 0)
		b->frame->length = b->claims.cut;
}

int frame_build(const char *words, unsigned int nth, struct frame_bytes *frame)
{
	struct builder b = { .frame = frame, .nth = nth, .claims = { -1, -1, -1, -1, -1, 0 } };
	char text[512];
	char *save = NULL;

	if (snprintf(text, sizeof(text), "%s", words) >= (int)sizeof(text))
		return -EINVAL;
	frame->length = 0;
	memset(append(&b, ETH_HLEN), 0x02, 2 * ETH_ALEN);
	b.next = frame->data + 2 * ETH_ALEN;
	b.next_ethertype = true;
	for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
		if (add_word(&b, word))
			return -EINVAL;
	finish(&b);
	return frame->length >= FRAME_SHORTEST ? b.error : -EINVAL;
}
