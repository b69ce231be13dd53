/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "packet_words.h"
#include "units.h"
#include "words.h"

enum clause {
	CLAUSE_PROTO,
	CLAUSE_DPORT,
	CLAUSE_TYPE,
	CLAUSE_TO,
	CLAUSE_LEN,
	CLAUSE_SYN,
	CLAUSES,
};

static const char *const clause_names[CLAUSES] = { "proto", "dport", "type", "to", "len", "syn" };

enum {
	ETHERNET_HEADER = 14,
	FRAME_LEAST_LENGTH = 60,    /* of Ethernet, without the checksum */
	FRAME_MOST_LENGTH = 131072, /* beyond any super-packet */
	PROTO_UNKNOWN = 255,	    /* reserved: no service is for it */
};

static int read_number(const char *what, const char *text, unsigned long least, unsigned long most,
		       unsigned long *number, struct message *message)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (!*text || *end || strspn(text, "0123456789") != strlen(text) || errno ||
	    value < least || value > most)
		return message_set(message, -EINVAL, "`%s %s`: a number from %lu to %lu is meant",
				   what, text, least, most);
	*number = value;
	return 0;
}

/* A number, or a name as in /etc/protocols; the usual ones need no such file. */
static int read_proto(const char *text, struct packet *packet, struct message *message)
{
	static const char *const names[] = { "tcp", "udp", "icmp", "icmpv6" };
	static const uint8_t numbers[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP, IPPROTO_ICMPV6 };
	const struct protoent *known;
	unsigned long number;

	known = getprotobyname(text);
	if (known) {
		packet->proto = (uint8_t)known->p_proto;
	} else if (!read_number("proto", text, 0, 255, &number, NULL)) {
		packet->proto = (uint8_t)number;
	} else {
		int found = word_find(text, names, sizeof(numbers), "protocol", message);

		if (found < 0)
			return -EINVAL;
		packet->proto = numbers[found];
	}
	return 0;
}

static int read_address(const char *text, struct prefix *address, struct message *message)
{
	int err = units_prefix(text, address, message);

	if (!err && address->len != (address->family == 4 ? 32 : 128))
		err = message_set(message, -EINVAL, "`%s` is a prefix: one address is meant", text);
	return err;
}

static int read_destination(const char *text, struct packet *packet, struct message *message)
{
	struct prefix address;
	int err = read_address(text, &address, message);

	if (err)
		return err;
	if (address.family != packet->family)
		return message_set(message, -EINVAL, "`to %s`: IPv%u is meant, as the source is",
				   text, packet->family);
	memcpy(packet->destination, address.addr, sizeof(packet->destination));
	return 0;
}

static int read_value(enum clause clause, const char *text, struct packet *packet,
		      struct message *message)
{
	unsigned long number = 0;
	int err = 0;

	switch (clause) {
	case CLAUSE_PROTO:
		return read_proto(text, packet, message);
	case CLAUSE_TO:
		return read_destination(text, packet, message);
	case CLAUSE_DPORT:
		err = read_number("dport", text, 0, 65535, &number, message);
		packet->dport = (uint16_t)number;
		packet->has_ports = 1;
		return err;
	case CLAUSE_TYPE:
		err = read_number("type", text, 0, 255, &number, message);
		packet->type = (uint8_t)number;
		packet->has_type = 1;
		return err;
	default:
		err = read_number("len", text, ETHERNET_HEADER, FRAME_MOST_LENGTH, &number,
				  message);
		packet->length = (uint32_t)number;
		return err;
	}
}

/* What was said must be possible: only TCP has SYN, only some protocols have ports or types. */
static int check(struct packet *packet, struct message *message)
{
	bool ports = packet->proto == IPPROTO_TCP || packet->proto == IPPROTO_UDP;
	bool types = packet->proto == IPPROTO_ICMP || packet->proto == IPPROTO_ICMPV6;

	if (packet->syn && packet->proto == PROTO_UNKNOWN)
		packet->proto = IPPROTO_TCP;
	if (packet->syn && packet->proto != IPPROTO_TCP)
		return message_set(message, -EINVAL, "`syn` needs `proto tcp`");
	if (packet->has_ports && !ports && !packet->syn)
		return message_set(message, -EINVAL, "`dport` needs `proto tcp` or `proto udp`");
	if (packet->has_type && !types)
		return message_set(message, -EINVAL, "`type` needs `proto icmp` or `proto icmpv6`");
	return 0;
}

int packet_read_words(int argc, char **argv, struct packet *packet, struct message *message)
{
	struct packet read = { .length = FRAME_LEAST_LENGTH, .proto = PROTO_UNKNOWN };
	struct prefix source;
	int err;

	err = read_address(argv[0], &source, message);
	read.family = source.family;
	for (int i = 1; !err && i < argc; i++) {
		int clause = word_find(argv[i], clause_names, CLAUSES, "word", message);

		if (clause < 0)
			return -EINVAL;
		if (clause == CLAUSE_SYN)
			read.syn = 1;
		else if (i + 1 == argc)
			return message_set(message, -EINVAL, "`%s` needs a value", argv[i]);
		else
			err = read_value(clause, argv[++i], &read, message);
	}
	if (!err)
		err = check(&read, message);
	if (err)
		return err;
	memcpy(read.source, source.addr, sizeof(read.source));
	*packet = read;
	return 0;
}
