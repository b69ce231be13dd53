/* SPDX-License-Identifier: GPL-2.0-only */
/* What makes a source, and which policy it falls under. */
#include <stddef.h>

#include "row.h"

#define TWO "limits: [{rate: 1/hour, burst: 2}]"

#define KEY(key, burst) ALL("{rate: 1/hour, burst: " burst "}") "key: " key "\n"

#define NET_10	   "- {name: wide, sources: [10.0.0.0/8], limits: [{rate: 1/hour, burst: 5}]}\n"
#define NET_10_1   "- {name: friend, sources: [10.1.0.0/16], action: pass}\n"
#define NET_10_1_2 "- {name: narrow, sources: [10.1.2.0/24], limits: [{rate: 1/hour, burst: 2}]}\n"
#define HOST	   "- {name: host, sources: [10.1.2.3/32], action: drop}\n"

#define LONGEST_STEPS                                                    \
	"10 x 10.9.9.9 udp -> 5 granted:wide, 5 limit:wide",             \
		"10 x 10.1.9.9 udp -> allowed:friend",                   \
		"10 x 10.1.2.9 udp -> 2 granted:narrow, 8 limit:narrow", \
		"10 x 10.1.2.3 udp -> blocked:host", "10 x 11.0.0.1 udp -> unmatched"

const struct row rows_key[] = {
	{ "T01: a source is limited whatever its ports and protocols",
	  { FIVE },
	  {
		  "50 x 10.0.0.1 udp/* -> 5 granted, 45 limit",
		  "50 x 10.0.0.1 tcp/* -> limit",
		  "10.0.0.2 udp/* -> granted",
	  } },
	{ "each of a hundred sources has a budget of its own",
	  { ALL("{rate: 1/hour, burst: 1}") },
	  {
		  "100 x 10.0.0.1+ udp -> granted",
		  "100 x 10.0.0.1+ udp -> limit",
	  } },
	{ "the destination is no part of the source",
	  { FIVE },
	  {
		  "5 x 10.0.0.1>192.0.2.1 udp -> granted",
		  "10.0.0.1>198.51.100.1 udp -> limit",
	  } },
	{ "T13: IPv6 with a mapped address is IPv6, and shares no budget with IPv4",
	  { "policies:\n"
	    "- {name: v4, sources: [0.0.0.0/0], " TWO "}\n"
	    "- {name: v6, sources: ['::/0'], " TWO "}\n" },
	  {
		  "2 x 10.0.0.1 udp -> granted:v4",
		  "3 x ::ffff:10.0.0.1 udp -> 2 granted:v6, 1 limit:v6",
		  "::a00:1 udp -> limit:v6",
		  "10.0.0.1 udp -> limit:v4",
		  "10.0.0.2 udp -> granted:v4",
	  } },
	{ "T13: draining ::/64 leaves IPv4 untouched under one limit, too",
	  { ALL("{rate: 1/hour, burst: 2}") },
	  {
		  "3 x ::ffff:10.0.0.1 udp -> 2 granted, 1 limit",
		  "3 x 10.0.0.1 udp -> 2 granted, 1 limit",
	  } },
	{ "an IPv6 prefix with the number of an IPv4 address is another source",
	  { ALL("{rate: 1/hour, burst: 2}") },
	  {
		  "3 x 10.0.0.1 udp -> 2 granted, 1 limit",
		  "3 x 0:0:a00:1:: udp -> 2 granted, 1 limit",
		  "3 x a00:1:: udp -> 2 granted, 1 limit",
		  "3 x 0:4:a00:1:: udp -> 2 granted, 1 limit",
	  } },
	{ "the all-zero addresses are sources like others",
	  { ALL("{rate: 1/hour, burst: 2}") },
	  {
		  "3 x 0.0.0.0 udp -> 2 granted, 1 limit",
		  "3 x :: udp -> 2 granted, 1 limit",
		  "10.0.0.1 udp -> granted",
	  } },
	{ "the broadcast address is a source like others",
	  { ALL("{rate: 1/hour, burst: 2}") },
	  {
		  "3 x 255.255.255.255 udp -> 2 granted, 1 limit",
		  "3 x ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff udp -> 2 granted, 1 limit",
	  } },
	{ "IPv6 sources are /64 unless told otherwise",
	  { FIVE },
	  {
		  "5 x 2001:db8::1+ udp -> granted",
		  "2001:db8::ffff:0:0:1 udp -> limit",
		  "2001:db8:0:1::1 udp -> granted",
		  "2001:db9::1 udp -> granted",
	  } },
	{ "key ipv6: 128 makes each address a source",
	  { KEY("{ipv6: 128}", "2") },
	  {
		  "3 x 2001:db8::1 udp -> 2 granted, 1 limit",
		  "3 x 2001:db8::2 udp -> 2 granted, 1 limit",
		  "3 x 2001:db8:0:1::1 udp -> 2 granted, 1 limit",
		  "3 x 10.0.0.1 udp -> 2 granted, 1 limit",
	  } },
	{ "key ipv6: 56 joins the /64s of a /56",
	  { KEY("{ipv6: 56}", "2") },
	  {
		  "2001:db8:0:0::1 udp -> granted",
		  "2001:db8:0:ff::1 udp -> granted",
		  "2001:db8:0:7f::1 udp -> limit",
		  "2001:db8:0:100::1 udp -> granted",
	  } },
	{ "key ipv6: 96 cuts within the lower half",
	  { KEY("{ipv6: 96}", "2") },
	  {
		  "2001:db8::1:0:1 udp -> granted",
		  "2001:db8::1:ffff:ffff udp -> granted",
		  "2001:db8::1:8000:0 udp -> limit",
		  "2001:db8::2:0:1 udp -> granted",
	  } },
	{ "key ipv4: 24 joins the hosts of a /24, and no more",
	  { KEY("{ipv4: 24}", "2") },
	  {
		  "10.0.0.0 udp -> granted",
		  "10.0.0.255 udp -> granted",
		  "10.0.0.128 udp -> limit",
		  "10.0.1.0 udp -> granted",
		  "9.255.255.255 udp -> granted",
	  } },
	{ "key ipv4: 31 joins two hosts",
	  { KEY("{ipv4: 31}", "1") },
	  {
		  "10.0.0.0 udp -> granted",
		  "10.0.0.1 udp -> limit",
		  "10.0.0.2 udp -> granted",
		  "10.0.0.3 udp -> limit",
	  } },
	{ "T17: the longest prefix decides",
	  { "policies:\n" NET_10 NET_10_1 NET_10_1_2 HOST },
	  { LONGEST_STEPS } },
	{ "T17: the longest prefix decides in any order of the file",
	  { "policies:\n" HOST NET_10_1_2 NET_10_1 NET_10 },
	  { LONGEST_STEPS } },
	{ "T17: without the /24 its sources fall under the /16",
	  { "policies:\n" NET_10 NET_10_1 NET_10_1_2 HOST, "policies:\n" NET_10 NET_10_1 HOST },
	  {
		  "3 x 10.1.2.9 udp -> 2 granted:narrow, 1 limit:narrow",
		  "apply 2",
		  "10 x 10.1.2.9 udp -> allowed:friend",
		  "10.1.2.3 udp -> blocked:host",
	  } },
	{ "the longest prefix decides for IPv6",
	  { "policies:\n"
	    "- {name: all, sources: ['::/0'], action: drop}\n"
	    "- {name: site, sources: ['2001:db8::/32'], " TWO "}\n"
	    "- {name: host, sources: ['2001:db8::7/128'], action: pass}\n" },
	  {
		  "2001:db9::1 udp -> blocked:all",
		  "3 x 2001:db8::1 udp -> 2 granted:site, 1 limit:site",
		  "5 x 2001:db8::7 udp -> allowed:host",
		  "2001:db8::8 udp -> limit:site",
	  } },
	{ "the first and the last address of a prefix fall under it, their neighbours do not",
	  { "policies: [{name: net, sources: [10.0.4.0/22], action: drop}]\n" },
	  {
		  "10.0.4.0 udp -> blocked:net",
		  "10.0.7.255 udp -> blocked:net",
		  "10.0.3.255 udp -> unmatched",
		  "10.0.8.0 udp -> unmatched",
	  } },
	{ "a policy of several prefixes, of both families",
	  { "policies: [{name: some, sources: [10.0.0.0/8, 192.0.2.0/24, '2001:db8::/32'], " TWO
	    "}]\n" },
	  {
		  "3 x 10.0.0.1 udp -> 2 granted, 1 limit",
		  "3 x 192.0.2.9 udp -> 2 granted, 1 limit",
		  "3 x 2001:db8::1 udp -> 2 granted, 1 limit",
		  "172.16.0.1 udp -> unmatched",
	  } },
	{ "policies do not share the budgets of a source cut to the same key",
	  { "key: {ipv4: 24}\npolicies:\n"
	    "- {name: low, sources: [10.0.0.0/25], " TWO "}\n"
	    "- {name: high, sources: [10.0.0.128/25], " TWO "}\n" },
	  {
		  "3 x 10.0.0.1 udp -> 2 granted:low, 1 limit:low",
		  "3 x 10.0.0.200 udp -> 2 granted:high, 1 limit:high",
	  } },
	{ "without a policy for it a packet passes, unmatched",
	  { "policies: [{name: v4, sources: [0.0.0.0/0], action: drop}]\n" },
	  {
		  "2001:db8::1 udp -> unmatched",
		  "10.0.0.1 udp -> blocked:v4",
		  "states 0",
	  } },
	{ "T14: forged sources of one packet each share what all may send together",
	  { ALL("{name: each, rate: 100/s, burst: 10}, "
		"{name: together, per: policy, rate: 1/hour, burst: 100}") },
	  {
		  "4000 x 10.0.0.0+ udp => 100 granted, 3900 limit:all/together",
	  } },
	{ 0 },
};
