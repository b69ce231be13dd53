/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_match.h"
#include "words.h"

enum {
	NUMBER_DIGITS = 5, /* a port has at most so many */
	NAMES_MAX = 24,
};

struct number_name {
	const char *name;
	uint8_t number;
};

/* IANA's protocol numbers; the first name of a number is the one written. */
static const struct number_name protocols[] = {
	{ "icmp", 1 },	 { "igmp", 2 },	   { "ipip", 4 },      { "tcp", 6 },
	{ "udp", 17 },	 { "6in4", 41 },   { "gre", 47 },      { "esp", 50 },
	{ "ah", 51 },	 { "icmpv6", 58 }, { "ospf", 89 },     { "vrrp", 112 },
	{ "l2tp", 115 }, { "sctp", 132 },  { "udplite", 136 }, {},
};

static const struct number_name icmp_types[] = {
	{ "echo-reply", 0 },
	{ "destination-unreachable", 3 },
	{ "redirect", 5 },
	{ "echo-request", 8 },
	{ "router-advertisement", 9 },
	{ "router-solicitation", 10 },
	{ "time-exceeded", 11 },
	{ "parameter-problem", 12 },
	{ "timestamp-request", 13 },
	{ "timestamp-reply", 14 },
	{},
};

static const struct number_name icmpv6_types[] = {
	{ "destination-unreachable", 1 },
	{ "packet-too-big", 2 },
	{ "time-exceeded", 3 },
	{ "parameter-problem", 4 },
	{ "echo-request", 128 },
	{ "echo-reply", 129 },
	{ "listener-query", 130 },
	{ "listener-report", 131 },
	{ "router-solicitation", 133 },
	{ "router-advertisement", 134 },
	{ "neighbour-solicitation", 135 },
	{ "neighbour-advertisement", 136 },
	{ "redirect", 137 },
	{},
};

static const char *name_of(const struct number_name *names, unsigned int number)
{
	for (; names->name; names++)
		if (names->number == number)
			return names->name;
	return NULL;
}

/* Index into `names`, or -EINVAL with *message. */
static int name_find(const char *word, const struct number_name *names, const char *what,
		     struct message *message)
{
	const char *words[NAMES_MAX];
	size_t count = 0;

	for (; names[count].name; count++)
		words[count] = names[count].name;
	return word_find_whole(word, words, count, what, message);
}

/* Digits up to `end`, at most `most`. */
static int number_read(const char *text, size_t length, unsigned int most, uint16_t *number)
{
	unsigned long value = 0;

	if (!length || length > NUMBER_DIGITS)
		return -EINVAL;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		value = value * 10 + (unsigned long)(text[i] - '0');
	}
	if (value > most)
		return -EINVAL;
	*number = (uint16_t)value;
	return 0;
}

/* "53" or "27000-27100". */
static int range_read(const char *text, const char *range, unsigned int most,
		      struct service_match *match, struct message *message)
{
	size_t length = strcspn(range, "-");
	const char *rest = range[length] ? range + length + 1 : range;

	if (number_read(range, length, most, &match->first) ||
	    number_read(rest, strlen(rest), most, &match->last))
		return message_set(message, -EINVAL,
				   "'%.40s': '%.20s' is not a number or range up to %u", text,
				   range, most);
	if (match->first > match->last)
		return message_set(message, -EINVAL, "'%.40s': the range is empty", text);
	return 0;
}

static int type_read(const char *text, const char *type, const struct number_name *names,
		     struct service_match *match, struct message *message)
{
	int i;

	if (*type >= '0' && *type <= '9')
		return range_read(text, type, 255, match, message);
	i = name_find(type, names, "ICMP type", message);
	if (i < 0)
		return i;
	match->first = match->last = names[i].number;
	return 0;
}

static int protocol_read(const char *text, struct service_match *match, struct message *message)
{
	int i = name_find(text, protocols, "protocol", message);

	if (i < 0)
		return i;
	match->kind = MATCH_PROTO;
	match->first = match->last = protocols[i].number;
	return 0;
}

/* The part behind the slash, for the kind that the part before it names. */
static int detail_read(const char *text, const char *detail, struct service_match *match,
		       struct message *message)
{
	switch (match->kind) {
	case MATCH_SYN:
		match->first = match->last = 0;
		return 0;
	case MATCH_TCP:
	case MATCH_UDP:
		return range_read(text, detail, 65535, match, message);
	case MATCH_ICMP:
		return type_read(text, detail, icmp_types, match, message);
	case MATCH_ICMPV6:
		return type_read(text, detail, icmpv6_types, match, message);
	default:
		return range_read(text, detail, 255, match, message);
	}
}

/* In the order of enum match_kind. */
static const char *const kind_names[] = { "tcp", "udp", "proto", "icmp", "icmpv6" };

int match_read(const char *text, struct service_match *match, struct message *message)
{
	const char *slash = strchr(text, '/');
	struct service_match result = {};
	char kind[16];
	int i;

	if (!slash && !protocol_read(text, &result, message)) {
		*match = result;
		return 0;
	}
	if (!slash)
		return message_hint(
			message, -EINVAL,
			"write udp/53, tcp/80-90, tcp/syn, icmp/echo-request, gre or proto/47");
	snprintf(kind, sizeof(kind), "%.*s", (int)(slash - text), text);
	i = word_find_whole(kind, kind_names, sizeof(kind_names) / sizeof(kind_names[0]),
			    "protocol", message);
	if (i < 0)
		return i;
	result.kind = strcmp(text, "tcp/syn") ? (enum match_kind)i : MATCH_SYN;
	i = detail_read(text, slash + 1, &result, message);
	if (!i)
		*match = result;
	return i;
}

char *match_text(const struct service_match *match, char *to, size_t size)
{
	const char *name = NULL;

	if (match->kind == MATCH_SYN) {
		snprintf(to, size, "tcp/syn");
		return to;
	}
	if (match->first != match->last) {
		snprintf(to, size, "%s/%u-%u", kind_names[match->kind], match->first, match->last);
		return to;
	}
	if (match->kind == MATCH_PROTO)
		name = name_of(protocols, match->first);
	else if (match->kind == MATCH_ICMP)
		name = name_of(icmp_types, match->first);
	else if (match->kind == MATCH_ICMPV6)
		name = name_of(icmpv6_types, match->first);
	if (name && match->kind == MATCH_PROTO)
		snprintf(to, size, "%s", name);
	else if (name)
		snprintf(to, size, "%s/%s", kind_names[match->kind], name);
	else
		snprintf(to, size, "%s/%u", kind_names[match->kind], match->first);
	return to;
}
