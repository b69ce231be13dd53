/* SPDX-License-Identifier: GPL-2.0-only */
/* Several limits on one packet: all must grant it, and a refused one costs nothing. */
#include <stddef.h>

#include "row.h"

#define DNS "services: {dns: [udp/53]}\n"

#define EIGHT                                                                             \
	"{name: one, rate: 1/hour, burst: 20}, {name: two, rate: 1/hour, burst: 19}, "    \
	"{name: three, rate: 1/hour, burst: 18}, {name: four, rate: 1/hour, burst: 17}, " \
	"{name: five, rate: 1/hour, burst: 16}, {name: six, rate: 1/hour, burst: 15}, "   \
	"{name: seven, rate: 1/hour, burst: 14}, {name: eight, rate: 1/hour, burst: 3}"

#define TOGETHER "{name: together, per: policy, rate: 1/hour, burst: 5}"

#define TWO_POLICIES(limits)                                                            \
	"policies:\n"                                                                   \
	"- {name: low, sources: [10.0.0.0/8, '2001:db8::/32'], limits: [" limits "]}\n" \
	"- {name: high, sources: [192.0.2.0/24, '2001:db9::/32'], limits: [" limits "]}\n"

const struct row rows_nested[] = {
	{ "a refused packet takes nothing from the limits before",
	  { DNS ALL(
		  "{name: any, rate: 1/hour, burst: 10}, {service: dns, rate: 1/hour, burst: 2}") },
	  {
		  "50 x 10.0.0.1 udp/53 -> 2 granted, 48 limit:all/dns",
		  "20 x 10.0.0.1 udp/80 -> 8 granted, 12 limit:all/any",
	  } },
	{ "a refused packet takes nothing from the limits behind",
	  { DNS ALL(
		  "{service: dns, rate: 1/hour, burst: 2}, {name: any, rate: 1/hour, burst: 10}") },
	  {
		  "50 x 10.0.0.1 udp/53 -> 2 granted, 48 limit:all/dns",
		  "20 x 10.0.0.1 udp/80 -> 8 granted, 12 limit:all/any",
	  } },
	{ "a limit that is asked in vain by another's refusals stays whole",
	  { ALL("{name: fast, rate: 1/s, burst: 2}, {name: slow, rate: 1/hour, burst: 5}") },
	  {
		  "20 x 10.0.0.1 udp -> 2 granted, 18 limit:all/fast",
		  "@10s 20 x 10.0.0.1 udp -> 2 granted, 18 limit:all/fast",
		  "@20s 20 x 10.0.0.1 udp -> 1 granted, 19 limit:all/slow",
	  } },
	{ "the same for a fixed window",
	  { DNS ALL("{name: any, algorithm: fixed-window, rate: 10/hour}, "
		    "{service: dns, algorithm: fixed-window, rate: 2/hour}") },
	  {
		  "50 x 10.0.0.1 udp/53 -> 2 granted, 48 limit:all/dns",
		  "20 x 10.0.0.1 udp/80 -> 8 granted, 12 limit:all/any",
	  } },
	{ "the same for a sliding window",
	  { DNS ALL("{name: any, algorithm: sliding-window, rate: 10/hour}, "
		    "{service: dns, algorithm: sliding-window, rate: 2/hour}") },
	  {
		  "50 x 10.0.0.1 udp/53 -> 2 granted, 48 limit:all/dns",
		  "20 x 10.0.0.1 udp/80 -> 8 granted, 12 limit:all/any",
	  } },
	{ "the same for a sliding log",
	  { DNS ALL("{name: any, algorithm: sliding-log, rate: 10/hour}, "
		    "{service: dns, algorithm: sliding-log, rate: 2/hour}") },
	  {
		  "50 x 10.0.0.1 udp/53 -> 2 granted, 48 limit:all/dns",
		  "20 x 10.0.0.1 udp/80 -> 8 granted, 12 limit:all/any",
	  } },
	{ "packets and bytes together",
	  { ALL("{name: packets, rate: 1/hour, burst: 10}, {name: bytes, rate: 1kB/hour, burst: "
		"3028B}") },
	  {
		  "3 x 10.0.0.1 udp len=1514 -> 2 granted, 1 limit:all/bytes",
		  "10.0.0.1 udp -> limit:all/bytes",
		  "10 x 10.0.0.2 udp -> granted",
		  "10.0.0.2 udp -> limit:all/packets",
	  } },
	{ "eight limits, the last of them the narrowest",
	  { ALL(EIGHT) },
	  {
		  "10 x 10.0.0.1 udp -> 3 granted, 7 limit:all/eight",
		  "4 x 2001:db8::1 udp -> 3 granted, 1 limit:all/eight",
	  } },
	{ "two limits alike are two limits",
	  { DNS ALL("{name: a, service: dns, rate: 1/hour, burst: 3}, {name: b, service: dns, "
		    "rate: 1/hour, burst: 3}") },
	  {
		  "4 x 10.0.0.1 udp/53 -> 3 granted, 1 limit:all/a",
	  } },
	{ "a subnet together",
	  { ALL("{name: host, rate: 1/hour, burst: 3}, "
		"{name: net, per: {ipv4: 24, ipv6: 48}, rate: 1/hour, burst: 5}") },
	  {
		  "4 x 10.0.0.1 udp -> 3 granted, 1 limit:all/host",
		  "3 x 10.0.0.2 udp -> 2 granted, 1 limit:all/net",
		  "10.0.0.77 udp -> limit:all/net",
		  "10.0.1.1 udp -> granted",
		  "4 x 2001:db8:1:1::1 udp -> 3 granted, 1 limit:all/host",
		  "3 x 2001:db8:1:2::1 udp -> 2 granted, 1 limit:all/net",
		  "2001:db8:2::1 udp -> granted",
	  } },
	{ "a host that its subnet refuses keeps its budget",
	  { ALL("{name: host, rate: 1/day, burst: 3}, {name: net, per: {ipv4: 24}, rate: 1/hour, "
		"burst: 1}") },
	  {
		  "5 x 10.0.0.1 udp -> 1 granted, 4 limit:all/net",
		  "5 x 10.0.0.2 udp -> limit:all/net",
		  "@1h 2 x 10.0.0.2 udp -> 1 granted, 1 limit:all/net",
		  "@2h 10.0.0.2 udp -> granted",
		  "@3h 10.0.0.2 udp -> granted",
		  "@4h 10.0.0.2 udp -> limit:all/host",
	  } },
	{ "all sources of a policy together, of both families",
	  { ALL(TOGETHER) },
	  {
		  "3 x 10.0.0.1 udp -> granted",
		  "2 x 2001:db8::1 udp -> granted",
		  "10.0.0.2 udp -> limit:all/together",
		  "2001:db8:1::1 udp -> limit:all/together",
		  "@1h 10.9.9.9 udp -> granted",
		  "10.9.9.9 udp -> limit:all/together",
	  } },
	{ "what a policy's sources have together is not another policy's",
	  { TWO_POLICIES(TOGETHER) },
	  {
		  "6 x 10.0.0.1+ udp -> 5 granted:low, 1 limit:low/together",
		  "6 x 192.0.2.1+ udp -> 5 granted:high, 1 limit:high/together",
	  } },
	{ "the whole instance together, behind the limits of each policy",
	  { TWO_POLICIES(
		  "{name: each, rate: 1/hour, burst: 2}") "limits: [{name: everything, per: "
							  "instance, rate: 1/hour, burst: 5}]\n" },
	  {
		  "3 x 10.0.0.1 udp -> 2 granted:low, 1 limit:low/each",
		  "2 x 192.0.2.1 udp -> granted:high",
		  "10.0.0.2 udp -> granted:low",
		  "10.0.0.2 udp -> limit",
		  "192.0.2.2 udp -> limit",
		  "172.16.0.1 udp -> unmatched",
		  "@1h 192.0.2.2 udp -> granted:high",
	  } },
	{ "at a fast rate a policy's sources get no more together than alone",
	  { ALL("{name: together, per: policy, rate: 100k/s, burst: 1000}") },
	  {
		  "1500 x 10.0.0.0+ udp => 1000 granted, 500 limit",
		  "@1ms 200 x 10.0.0.0+ udp => 100 granted, 100 limit",
	  } },
	{ "one service of a policy's sources together",
	  { DNS ALL("{name: together, per: policy, service: dns, rate: 1/hour, burst: 3}") },
	  {
		  "2 x 10.0.0.1 udp/53 -> granted",
		  "2 x 10.0.0.2 udp/53 -> 1 granted, 1 limit",
		  "5 x 10.0.0.2 udp/54 -> granted",
	  } },
	{ 0 },
};
