/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits for what a packet asks for. */
#include <stddef.h>

#include "row.h"

#define SERVICE(list) "services: {it: [" list "]}\n" ALL("{service: it, rate: 1/hour, burst: 2}")

#define TO                                                                       \
	"services: {it: {match: [udp/53], to: [192.0.2.53/32, 198.51.100.0/24, " \
	"'2001:db8:53::/48']}}\n" ALL("{service: it, rate: 1/hour, burst: 2}")

#define NESTED_TO                                               \
	"services:\n"                                           \
	"  net:  {match: [udp/53], to: [192.0.2.0/24]}\n"       \
	"  host: {match: [udp/53], to: [192.0.2.53/32]}\n" ALL( \
		"{service: net, rate: 1/hour, burst: 3}, {service: host, rate: 1/hour, burst: 1}")

const struct row rows_service[] = {
	{ "a service's limit is for its packets only",
	  { SERVICE("udp/53, tcp/53") },
	  {
		  "3 x 10.0.0.1 udp/53 -> 2 granted, 1 limit:all/it",
		  "10 x 10.0.0.1 udp/54 -> granted",
		  "10.0.0.1 tcp/53 -> limit",
		  "10 x 10.0.0.1 tcp/54 -> granted",
		  "10.0.0.1 proto/132 -> granted",
		  "10.0.0.1 icmp/8 -> granted",
	  } },
	{ "its ports are destination ports of its protocol",
	  { SERVICE("udp/53") },
	  {
		  "2 x 10.0.0.1 udp/53 -> granted",
		  "3 x 10.0.0.1 tcp/53 -> granted",
		  "10.0.0.1 udp/1024 -> granted",
		  "10.0.0.1 udp/53 -> limit",
	  } },
	{ "a range of ports, edges included",
	  { SERVICE("udp/27000-27100") },
	  {
		  "3 x 10.0.0.1 udp/26999 -> granted",
		  "10.0.0.1 udp/27000 -> granted",
		  "10.0.0.1 udp/27100 -> granted",
		  "10.0.0.1 udp/27050 -> limit",
		  "3 x 10.0.0.1 udp/27101 -> granted",
	  } },
	{ "the first and the last port there is",
	  { SERVICE("udp/0, tcp/65535") },
	  {
		  "10.0.0.1 udp/0 -> granted",
		  "10.0.0.1 tcp/65535 -> granted",
		  "10.0.0.1 udp/0 -> limit",
		  "10.0.0.1 tcp/65535 -> limit",
		  "10.0.0.1 udp/65535 -> granted",
		  "10.0.0.1 tcp/0 -> granted",
	  } },
	{ "all ports of a protocol",
	  { SERVICE("udp/0-65535") },
	  {
		  "10.0.0.1 udp/1 -> granted",
		  "10.0.0.1 udp/65535 -> granted",
		  "10.0.0.1 udp/0 -> limit",
		  "10.0.0.1 tcp/1 -> granted",
	  } },
	{ "handshakes: SYN set and ACK clear",
	  { SERVICE("tcp/syn") },
	  {
		  "3 x 10.0.0.1 syn/80 -> 2 granted, 1 limit",
		  "10.0.0.1 syn/443 -> limit",
		  "5 x 10.0.0.1 synack/80 -> granted",
		  "5 x 10.0.0.1 tcp/80 -> granted",
		  "5 x 10.0.0.1 udp/80 -> granted",
		  "2001:db8::1 syn/22 -> granted",
	  } },
	{ "ping of both families",
	  { SERVICE("icmp/echo-request, icmpv6/echo-request") },
	  {
		  "3 x 10.0.0.1 icmp/8 -> 2 granted, 1 limit",
		  "3 x 10.0.0.1 icmp/0 -> granted",
		  "3 x 2001:db8::1 icmp6/128 -> 2 granted, 1 limit",
		  "3 x 2001:db8::1 icmp6/129 -> granted",
		  "3 x 2001:db8::1 icmp6/8 -> granted",
		  "3 x 10.0.0.1 icmp/128 -> granted",
	  } },
	{ "an ICMP type in an IPv6 packet is of another protocol",
	  { SERVICE("icmp/echo-request") },
	  {
		  "3 x 2001:db8::1 icmp6/8 -> granted",
		  "3 x 2001:db8::1 icmp/8 -> 2 granted, 1 limit",
	  } },
	{ "ICMP types by number and range",
	  { SERVICE("icmp/13-14, icmp/17") },
	  {
		  "10.0.0.1 icmp/13 -> granted",
		  "10.0.0.1 icmp/14 -> granted",
		  "10.0.0.1 icmp/17 -> limit",
		  "10.0.0.1 icmp/15 -> granted",
	  } },
	{ "a whole protocol, by name",
	  { SERVICE("gre, sctp") },
	  {
		  "10.0.0.1 proto/47 -> granted",
		  "10.0.0.1 proto/132 -> granted",
		  "10.0.0.1 proto/47 -> limit",
		  "2 x 2001:db8::1 dstopt proto/132 -> granted",
		  "2001:db8::1 proto/47 -> limit",
		  "5 x 10.0.0.1 udp -> granted",
	  } },
	{ "a whole protocol has its fragments and short headers, ports have not",
	  { "services: {any: [udp], dns: [udp/53]}\n" ALL(
		  "{service: dns, rate: 1/hour, burst: 1}, {service: any, rate: 1/hour, burst: "
		  "5}") },
	  {
		  "10.0.0.1 udp/53 -> granted",
		  "10.0.0.1 udp/53 -> limit:all/dns",
		  "10.0.0.1 offset=7 udp/53 -> granted",
		  "10.0.0.1 udp/53 l4=3 -> granted",
		  "2 x 10.0.0.1 udp/9 -> granted",
		  "10.0.0.1 udp/9 -> limit:all/any",
		  "10.0.0.1 offset=7 udp -> limit:all/any",
	  } },
	{ "T22: later fragments have no ports",
	  { SERVICE("udp/53, tcp/22") },
	  {
		  "10.0.0.1 mf udp/53 -> granted",
		  "20 x 10.0.0.1 offset=185 udp/53 -> granted",
		  "20 x 10.0.0.1 offset=185 tcp/22 -> granted",
		  "20 x 10.0.0.1 offset=1 udp/53 -> granted",
		  "10.0.0.1 mf tcp/22 -> granted",
		  "10.0.0.1 mf udp/53 -> limit",
	  } },
	{ "T22: later fragments of IPv6 have no ports",
	  { SERVICE("udp/53") },
	  {
		  "2001:db8::1 fragment udp/53 -> granted",
		  "20 x 2001:db8::1 fragment=185 udp/53 -> granted",
		  "20 x 2001:db8::1 fragment=1 udp/53 -> granted",
		  "2001:db8::1 fragment udp/53 -> granted",
		  "2001:db8::1 fragment udp/53 -> limit",
	  } },
	{ "a header cut before the ports has none",
	  { SERVICE("udp/53, tcp/53") },
	  {
		  "5 x 10.0.0.1 udp/53 l4=3 -> granted",
		  "5 x 10.0.0.1 tcp/53 l4=3 -> granted",
		  "10.0.0.1 udp/53 l4=4 -> granted",
		  "10.0.0.1 tcp/53 l4=4 -> granted",
		  "10.0.0.1 udp/53 l4=4 -> limit",
	  } },
	{ "a TCP header cut before its flags may be a SYN",
	  { SERVICE("tcp/syn") },
	  {
		  "10.0.0.1 tcp/80 l4=13 -> granted",
		  "10.0.0.1 syn/80 l4=14 -> granted",
		  "10.0.0.1 tcp/80 l4=4 -> limit",
		  "5 x 10.0.0.1 tcp/80 l4=14 -> granted",
		  "5 x 10.0.0.1 syn/80 l4=3 -> granted",
	  } },
	{ "padding behind the IP packet is no header",
	  { SERVICE("udp/53, tcp/syn, icmp/echo-request") },
	  {
		  "5 x 10.0.0.1 udp/53 total=23 -> granted",
		  "5 x 10.0.0.1 icmp/8 total=20 -> granted",
		  "5 x 2001:db8::1 udp/53 payload=3 -> granted",
		  "5 x 2001:db8::1 hbh udp/53 payload=8 -> granted",
		  "2 x 10.0.0.1 udp/53 total=24 -> granted",
		  "10.0.0.1 udp/53 -> limit",
	  } },
	{ "ports behind options, tags and extension headers",
	  { SERVICE("udp/53, tcp/53") },
	  {
		  "8100 88a8 10.0.0.1 options=40 udp/53 -> granted",
		  "10.0.0.1 options=12 tcp/53 -> granted",
		  "10.0.0.1 udp/53 -> limit",
		  "2001:db8::1 hbh=3 dstopt routing=2 udp/53 -> granted",
		  "2001:db8::1 ah=4 hbh tcp/53 -> granted",
		  "8100 2001:db8::1 mobility udp/53 -> limit",
	  } },
	{ "ports behind eight extension headers",
	  { SERVICE("udp/53") },
	  {
		  "2001:db8::1 hbh dstopt routing fragment ah dstopt mobility shim6 udp/53 -> "
		  "granted",
		  "2001:db8::1 udp/53 -> granted",
		  "2001:db8::1 udp/53 -> limit",
	  } },
	{ "an unknown next header has no ports",
	  { SERVICE("udp/53") },
	  {
		  "5 x 2001:db8::1 proto/253 udp/53 -> granted",
		  "5 x 2001:db8::1 proto/50 udp/53 -> granted",
	  } },
	{ "allowances of services do not merge",
	  { "services: {dns: [udp/53], web: [tcp/80]}\n" ALL(
		  "{service: dns, rate: 1/hour, burst: 2}, {service: web, rate: 1/hour, burst: "
		  "3}") },
	  {
		  "3 x 10.0.0.1 udp/53 -> 2 granted, 1 limit:all/dns",
		  "4 x 10.0.0.1 tcp/80 -> 3 granted, 1 limit:all/web",
		  "10.0.0.1 udp/53 -> limit:all/dns",
	  } },
	{ "a packet of two services needs both",
	  { "services: {web: [tcp/80], handshakes: [tcp/syn]}\n" ALL(
		  "{service: web, rate: 1/hour, burst: 4}, {service: handshakes, rate: 1/hour, "
		  "burst: 2}") },
	  {
		  "3 x 10.0.0.1 syn/80 -> 2 granted, 1 limit:all/handshakes",
		  "3 x 10.0.0.1 tcp/80 -> 2 granted, 1 limit:all/web",
		  "10.0.0.1 syn/22 -> limit:all/handshakes",
	  } },
	{ "a service that no limit names changes nothing",
	  { "services: {dns: [udp/53]}\n" FIVE },
	  {
		  "6 x 10.0.0.1 udp/53 -> 5 granted, 1 limit",
	  } },
	{ "the thirty-second service",
	  { "services: {s1: [udp/1], s2: [udp/2], s3: [udp/3], s4: [udp/4], s5: [udp/5], s6: "
	    "[udp/6],\n"
	    " s7: [udp/7], s8: [udp/8], s9: [udp/9], s10: [udp/10], s11: [udp/11], s12: [udp/12],\n"
	    " s13: [udp/13], s14: [udp/14], s15: [udp/15], s16: [udp/16], s17: [udp/17], s18: "
	    "[udp/18],\n"
	    " s19: [udp/19], s20: [udp/20], s21: [udp/21], s22: [udp/22], s23: [udp/23], s24: "
	    "[udp/24],\n"
	    " s25: [udp/25], s26: [udp/26], s27: [udp/27], s28: [udp/28], s29: [udp/29], s30: "
	    "[udp/30],\n"
	    " s31: [udp/31], s32: [udp/32]}\n" ALL("{service: s32, rate: 1/hour, burst: 2}, "
						   "{service: s1, rate: 1/hour, burst: 1}") },
	  {
		  "3 x 10.0.0.1 udp/32 -> 2 granted, 1 limit:all/s32",
		  "2 x 10.0.0.1 udp/1 -> 1 granted, 1 limit:all/s1",
		  "5 x 10.0.0.1 udp/31 -> granted",
	  } },
	{ "to: only packets to these destinations",
	  { TO },
	  {
		  "3 x 10.0.0.1>192.0.2.53 udp/53 -> 2 granted, 1 limit",
		  "5 x 10.0.0.1>192.0.2.54 udp/53 -> granted",
		  "10.0.0.1>198.51.100.255 udp/53 -> limit",
		  "5 x 10.0.0.1>198.51.101.0 udp/53 -> granted",
		  "5 x 10.0.0.1>192.0.2.53 udp/54 -> granted",
	  } },
	{ "to: IPv6 destinations",
	  { TO },
	  {
		  "3 x 2001:db8::1>2001:db8:53::1 udp/53 -> 2 granted, 1 limit",
		  "5 x 2001:db8::1>2001:db8:54::1 udp/53 -> granted",
	  } },
	{ "to: prefixes of two services, one within the other",
	  { NESTED_TO },
	  {
		  "2 x 10.0.0.1>192.0.2.53 udp/53 -> 1 granted, 1 limit:all/host",
		  "3 x 10.0.0.1>192.0.2.1 udp/53 -> 2 granted, 1 limit:all/net",
		  "5 x 10.0.0.1>192.0.3.1 udp/53 -> granted",
	  } },
	{ 0 },
};
