/* SPDX-License-Identifier: GPL-2.0-only */
/* The bounded table: who is remembered when there is no room for all. */
#include <stddef.h>

#include "row.h"

#define TABLE(kind, rest) "table: {kind: " kind ", " rest "}\n"

/* The limit's own share is one set of four states: the fifth source meets a full one. */
#define FOUR(limit) ALL("{sources: 4, " limit "}")
#define STRICT	    TABLE("sets", "sources: 64, on_full: strict")
#define LENIENT	    TABLE("sets", "sources: 64, on_full: lenient")

const struct row rows_table[] = {
	{ "sets: strict, a newcomer to a set of exhausted sources gets nothing",
	  { FOUR("rate: 1/hour, burst: 5") STRICT },
	  {
		  "20 x 10.0.0.1 udp -> 5 granted, 15 limit",
		  "6 x 10.0.0.2 udp -> 5 granted, 1 limit",
		  "6 x 10.0.0.3 udp -> 5 granted, 1 limit",
		  "6 x 10.0.0.4 udp -> 5 granted, 1 limit",
		  "9 x 10.0.0.5 udp -> table-full",
		  "9 x 10.0.0.6+ udp -> table-full",
		  "displaced 0",
		  "states 4",
	  } },
	{ "sets: strict, a newcomer inherits the least debt",
	  { FOUR("rate: 1/hour, burst: 5") STRICT },
	  {
		  "6 x 10.0.0.1 udp -> 5 granted, 1 limit",
		  "4 x 10.0.0.2 udp -> granted",
		  "3 x 10.0.0.3 udp -> granted",
		  "4 x 10.0.0.4 udp -> granted",
		  "@1ms 3 x 10.0.0.5 udp -> 2 granted, 1 limit",
		  "displaced 1",
		  "10.0.0.1 udp -> limit",
	  } },
	{ "sets: strict, a displaced source comes back with at least its debt",
	  { FOUR("rate: 1/hour, burst: 5") STRICT },
	  {
		  "5 x 10.0.0.1 udp -> granted",
		  "5 x 10.0.0.2 udp -> granted",
		  "5 x 10.0.0.3 udp -> granted",
		  "4 x 10.0.0.4 udp -> granted",
		  "@1ms 10.0.0.5 udp -> granted",
		  "displaced 1",
		  "9 x 10.0.0.4 udp -> table-full",
		  "@61min 5 x 10.0.0.4 udp -> 1 granted, 4 limit",
	  } },
	{ "sets: lenient, a newcomer starts full",
	  { FOUR("rate: 1/hour, burst: 5") LENIENT },
	  {
		  "6 x 10.0.0.1 udp -> 5 granted, 1 limit",
		  "6 x 10.0.0.2 udp -> 5 granted, 1 limit",
		  "6 x 10.0.0.3 udp -> 5 granted, 1 limit",
		  "5 x 10.0.0.4 udp -> granted",
		  "6 x 10.0.0.5 udp -> 5 granted, 1 limit",
		  "displaced 1",
	  } },
	{ "sets: lenient, the offender deepest in debt is the last to go",
	  { FOUR("rate: 1/hour, burst: 5") LENIENT },
	  {
		  "6 x 10.0.0.1 udp -> 5 granted, 1 limit",
		  "400 x 10.1.0.0+ udp -> granted",
		  "9 x 10.0.0.1 udp -> limit",
		  "displaced 397",
	  } },
	{ "sets: strict, the offender deepest in debt stays out through a flood",
	  { FOUR("rate: 1/hour, burst: 5") STRICT },
	  {
		  "6 x 10.0.0.1 udp -> 5 granted, 1 limit",
		  "400 x 10.1.0.0+ udp every 1ms => 15 granted, 385 table-full",
		  "9 x 10.0.0.1 udp -> limit",
	  } },
	{ "sets: a source whose bucket is full again loses nothing when its place is taken",
	  { FOUR("rate: 1/s, burst: 5") STRICT },
	  {
		  "5 x 10.0.0.1 udp -> granted",
		  "5 x 10.0.0.2 udp -> granted",
		  "5 x 10.0.0.3 udp -> granted",
		  "5 x 10.0.0.4 udp -> granted",
		  "@5001ms 5 x 10.0.0.5 udp -> granted",
		  "displaced 0",
		  "5 x 10.0.0.1 udp -> granted",
		  "displaced 0",
	  } },
	{ "sets: wide keys, two to a set",
	  { "key: {ipv6: 128}\n" ALL("{rate: 1/hour, burst: 2, sources: 2}")
		    TABLE("sets", "sources: 64") },
	  {
		  "3 x 2001:db8::1 udp -> 2 granted, 1 limit",
		  "3 x 2001:db8::2 udp -> 2 granted, 1 limit",
		  "3 x 2001:db8::3 udp -> table-full",
		  "2001:db8::1 udp -> limit",
		  "2001:db8::2 udp -> limit",
	  } },
	{ "sets: strict, in a set of bans the first to end gives way to an empty bucket",
	  { FOUR("rate: 1/s, burst: 1, ban: 60s") STRICT },
	  {
		  "3 x 10.0.0.1 udp -> 1 granted, 1 limit, 1 ban",
		  "@1s 3 x 10.0.0.2 udp -> 1 granted, 1 limit, 1 ban",
		  "3 x 10.0.0.3 udp -> 1 granted, 1 limit, 1 ban",
		  "3 x 10.0.0.4 udp -> 1 granted, 1 limit, 1 ban",
		  "@2s 10.0.0.5 udp -> table-full",
		  "10.0.0.2 udp -> ban",
		  "10.0.0.1 udp -> table-full",
		  "@60s 10.0.0.4 udp -> ban",
		  "@61s 10.0.0.4 udp -> granted",
	  } },
	{ "sets: strict, a sliding log that is alive is not displaced",
	  { FOUR("algorithm: sliding-log, rate: 2/s") STRICT },
	  {
		  "10.0.0.1 udp -> granted",
		  "10.0.0.2 udp -> granted",
		  "10.0.0.3 udp -> granted",
		  "10.0.0.4 udp -> granted",
		  "10.0.0.5 udp -> table-full",
		  "3 x 10.0.0.1 udp -> 1 granted, 2 limit",
		  "@1s 3 x 10.0.0.5 udp -> 2 granted, 1 limit",
	  } },
	{ "sets: lenient, a displaced sliding log leaves an empty one",
	  { FOUR("algorithm: sliding-log, rate: 2/s") LENIENT },
	  {
		  "2 x 10.0.0.1 udp -> granted",
		  "2 x 10.0.0.2 udp -> granted",
		  "2 x 10.0.0.3 udp -> granted",
		  "2 x 10.0.0.4 udp -> granted",
		  "@1ms 3 x 10.0.0.5 udp -> 2 granted, 1 limit",
		  "displaced 1",
	  } },
	{ "sets: strict, a newcomer's sliding window has the window before spent",
	  { FOUR("algorithm: sliding-window, rate: 4/s") STRICT },
	  {
		  "2 x 10.0.0.1 udp -> granted",
		  "2 x 10.0.0.2 udp -> granted",
		  "2 x 10.0.0.3 udp -> granted",
		  "2 x 10.0.0.4 udp -> granted",
		  "2 x 10.0.0.5 udp -> table-full",
		  "10.0.0.1 udp -> granted",
	  } },
	{ "sets: the limits' slices are apart, a flood on one leaves the others",
	  { "services: {dns: [udp/53]}\n" ALL("{name: any, rate: 1/hour, burst: 9, sources: 4}, "
					      "{service: dns, rate: 1/hour, burst: 2, sources: 4}")
		    TABLE("sets", "sources: 64, on_full: lenient") },
	  {
		  "3 x 10.0.0.1 udp/53 -> 2 granted, 1 limit:all/dns",
		  "200 x 10.1.0.0+ udp/54 -> granted",
		  "10.0.0.1 udp/53 -> limit:all/dns",
	  } },
	{ "hash: strict, a full table refuses newcomers and keeps the known",
	  { FIVE TABLE("hash", "sources: 8") },
	  {
		  "1000 x 10.0.0.1+ udp => some granted, some table-full",
		  "10.0.0.1 udp -> granted",
	  } },
	{ "hash: lenient, a full table lets newcomers pass, counted",
	  { ALL("{rate: 1/hour, burst: 1}") TABLE("hash", "sources: 8, on_full: lenient") },
	  {
		  "1000 x 10.0.0.1+ udp -> granted",
		  "10.0.0.1 udp -> limit",
	  } },
	{ "percpu: a full table forgets whoever was not seen for longest",
	  { ALL("{rate: 1/hour, burst: 1}") TABLE("percpu", "sources: 256") },
	  {
		  "5000 x 10.0.0.1+ udp -> granted",
		  "10.0.0.1 udp -> granted",
	  } },
	{ 0 },
};
