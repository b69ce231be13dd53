/* SPDX-License-Identifier: GPL-2.0-only */
/* What is done about it: pass, drop, observe, ban. */
#include <stddef.h>

#include "row.h"

#define DNS	    "services: {dns: [udp/53]}\n"
#define BAN(limits) ALL("{name: hard, rate: 1/s, burst: 2, ban: 60s}" limits)

#define OBSERVING(limits)                                                                      \
	"policies: [{name: all, sources: [0.0.0.0/0, '::/0'], mode: observe, limits: [" limits \
	"]}]\n"

const struct row rows_action[] = {
	{ "a drop policy drops, a pass policy passes, and neither remembers anybody",
	  { "policies:\n"
	    "- {name: bad, sources: [203.0.113.0/24, '2001:db8:bad::/48'], action: drop}\n"
	    "- {name: good, sources: [198.51.100.0/24], action: pass}\n"
	    "- {name: rest, sources: [0.0.0.0/0], limits: [{rate: 1/hour, burst: 5}]}\n" },
	  {
		  "10 x 203.0.113.7 udp -> blocked:bad",
		  "10 x 2001:db8:bad::1 tcp -> blocked:bad",
		  "10 x 198.51.100.7 udp -> allowed:good",
		  "states 0",
		  "6 x 10.0.0.1 udp -> 5 granted:rest, 1 limit:rest",
	  } },
	{ "an observed limit counts what it would drop, and passes it",
	  { OBSERVING("{rate: 1/hour, burst: 5}") },
	  {
		  "10 x 10.0.0.1 udp -> 5 granted:all, 5 observed:all/packets",
		  "10.0.0.2 udp -> granted",
	  } },
	{ "an observed drop policy",
	  { "policies: [{name: all, sources: [0.0.0.0/0], mode: observe, action: drop}]\n" },
	  {
		  "5 x 10.0.0.1 udp -> observed:all",
	  } },
	{ "an observed refusal takes nothing, as if it were enforced",
	  { DNS OBSERVING(
		  "{name: any, rate: 1/hour, burst: 10}, {service: dns, rate: 1/hour, burst: 2}") },
	  {
		  "20 x 10.0.0.1 udp/53 -> 2 granted, 18 observed:all/dns",
		  "10 x 10.0.0.1 udp -> 8 granted, 2 observed:all/any",
	  } },
	{ "an observed ban",
	  { OBSERVING("{name: hard, rate: 1/s, burst: 2, ban: 60s}") },
	  {
		  "9 x 10.0.0.1 udp -> 2 granted, 7 observed:all/hard",
		  "@59s 10.0.0.1 udp -> observed",
		  "@60s 10.0.0.1 udp -> granted",
	  } },
	{ "a ban begins with a refusal and ends exactly",
	  { BAN("") },
	  {
		  "3 x 10.0.0.1 udp -> 2 granted, 1 limit:all/hard",
		  "5 x 10.0.0.1 udp -> ban:all/hard",
		  "@59999ms 10.0.0.1 udp -> ban",
		  "@60s 3 x 10.0.0.1 udp -> 2 granted, 1 limit",
		  "10.0.0.1 udp -> ban",
	  } },
	{ "a ban is the source's own",
	  { BAN("") },
	  {
		  "4 x 10.0.0.1 udp -> 2 granted, 1 limit, 1 ban",
		  "2 x 10.0.0.2 udp -> granted",
	  } },
	{ "packets during a ban do not prolong it",
	  { BAN("") },
	  {
		  "3 x 10.0.0.1 udp -> 2 granted, 1 limit",
		  "60 x 10.0.0.1 udp every 1s -> 60 ban",
		  "10.0.0.1 udp -> granted",
	  } },
	{ "a ban in one service leaves the others alone",
	  { DNS ALL("{service: dns, rate: 1/s, burst: 2, ban: 60s}") },
	  {
		  "4 x 10.0.0.1 udp/53 -> 2 granted, 1 limit, 1 ban",
		  "10 x 10.0.0.1 udp/54 -> granted",
		  "10.0.0.1 udp/53 -> ban",
	  } },
	{ "what is banned takes nothing from other limits",
	  { DNS ALL("{name: any, rate: 1/hour, burst: 10}, {service: dns, rate: 1/s, burst: 2, "
		    "ban: 60s}") },
	  {
		  "20 x 10.0.0.1 udp/53 -> 2 granted, 1 limit:all/dns, 17 ban:all/dns",
		  "10 x 10.0.0.1 udp -> 8 granted, 2 limit:all/any",
	  } },
	{ "a limit refuses, and no other's ban begins",
	  { DNS ALL("{name: any, rate: 1/hour, burst: 3}, {service: dns, rate: 1/s, burst: 5, ban: "
		    "60s}") },
	  {
		  "9 x 10.0.0.1 udp/53 -> 3 granted, 6 limit:all/any",
		  "10.0.0.1 udp/53 -> limit:all/any",
	  } },
	{ "a ban on a fixed window",
	  { ALL("{algorithm: fixed-window, rate: 2/s, ban: 10s}") },
	  {
		  "4 x 10.0.0.1 udp -> 2 granted, 1 limit, 1 ban",
		  "@9999ms 10.0.0.1 udp -> ban",
		  "@10s 3 x 10.0.0.1 udp -> 2 granted, 1 limit",
	  } },
	{ "a ban on a sliding window",
	  { ALL("{algorithm: sliding-window, rate: 2/s, ban: 10s}") },
	  {
		  "4 x 10.0.0.1 udp -> 2 granted, 1 limit, 1 ban",
		  "@9999ms 10.0.0.1 udp -> ban",
		  "@10s 3 x 10.0.0.1 udp -> 2 granted, 1 limit",
	  } },
	{ "a ban on a sliding log",
	  { ALL("{algorithm: sliding-log, rate: 2/s, ban: 10s}") },
	  {
		  "4 x 10.0.0.1 udp -> 2 granted, 1 limit, 1 ban",
		  "@9999ms 10.0.0.1 udp -> ban",
		  "@10s 3 x 10.0.0.1 udp -> 2 granted, 1 limit",
	  } },
	{ "forgotten, a source starts anew, its ban gone",
	  { BAN("") },
	  {
		  "4 x 10.0.0.1 udp -> 2 granted, 1 limit, 1 ban",
		  "10.0.0.2 udp -> granted",
		  "forget 10.0.0.1",
		  "3 x 10.0.0.1 udp -> 2 granted, 1 limit",
		  "2 x 10.0.0.2 udp -> 1 granted, 1 limit",
	  } },
	{ "forgotten, a sliding log is empty",
	  { ALL("{algorithm: sliding-log, rate: 3/hour}") },
	  {
		  "4 x 10.0.0.1 udp -> 3 granted, 1 limit",
		  "forget 10.0.0.1",
		  "4 x 10.0.0.1 udp -> 3 granted, 1 limit",
	  } },
	{ "what is remembered of a source: passed and dropped, under the lock and without",
	  { FIVE },
	  {
		  "50 x 10.0.0.1 udp -> 5 granted, 45 limit",
		  "source 10.0.0.1 packets 5 passed 45 dropped",
		  "@1h 10 x 10.0.0.1 udp -> 1 granted, 9 limit",
		  "source 10.0.0.1 packets 6 passed 54 dropped",
		  "3 x 2001:db8::1 udp -> granted",
		  "source 2001:db8::1 packets 3 passed 0 dropped",
	  } },
	{ "drops of more sources than a CPU counts by itself",
	  { ALL("{rate: 1/hour, burst: 1}") },
	  {
		  "150 x 10.0.0.1+ udp -> granted",
		  "150 x 10.0.0.1+ udp -> limit",
		  "100 x 10.0.0.9 udp -> limit",
		  "150 x 10.0.0.1+ udp -> limit",
		  "150 x 10.0.0.1+ udp -> limit",
		  "source 10.0.0.1 packets 1 passed 3 dropped",
		  "source 10.0.0.9 packets 1 passed 103 dropped",
		  "source 10.0.0.77 packets 1 passed 3 dropped",
		  "source 10.0.0.150 packets 1 passed 3 dropped",
	  } },
	{ "drops by a ban are the source's, too",
	  { BAN("") },
	  {
		  "20 x 10.0.0.1 udp -> 2 granted, 1 limit, 17 ban",
		  "source 10.0.0.1 hard 2 passed 18 dropped",
	  } },
	{ "a packet that another limit refused is none of this one's",
	  { DNS ALL(
		  "{name: any, rate: 1/hour, burst: 10}, {service: dns, rate: 1/hour, burst: 2}") },
	  {
		  "50 x 10.0.0.1 udp/53 -> 2 granted, 48 limit:all/dns",
		  "source 10.0.0.1 any 2 passed 0 dropped",
		  "source 10.0.0.1 dns 2 passed 48 dropped",
	  } },
	{ 0 },
};
