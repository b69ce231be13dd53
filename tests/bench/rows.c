/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>

#include "rows.h"

/* The limit that all peers are compared at; what is never refused; what always is. */
#define ONE	"{name: one, rate: 1000/s, burst: 2000}"
#define WIDE(n) "{name: " n ", rate: 1000000k/s, burst: 1000000k}"
#define NEVER	"{name: never, rate: 1/day, burst: 1}"

#define WIDE1 WIDE("a")
#define WIDE2 WIDE1 ", " WIDE("b")
#define WIDE3 WIDE2 ", " WIDE("c")
#define WIDE4 WIDE3 ", " WIDE("d")
#define WIDE7 WIDE4 ", " WIDE("e") ", " WIDE("f") ", " WIDE("g")
#define WIDE8 WIDE7 ", " WIDE("h")

/* Eight services; the frames, UDP to port 9, ask for none of them. */
#define SERVICES                                                                             \
	"{dns: [udp/53, tcp/53], web: [tcp/80, tcp/443, udp/443], game: [udp/27000-27100], " \
	"handshakes: [tcp/syn], ping: [icmp/echo-request, icmpv6/echo-request], "            \
	"ntp: [udp/123], ssh: [tcp/22], mail: [tcp/25, tcp/465, tcp/587]}"
#define FOR(service) ", {service: " service ", rate: 1000/s, burst: 2000}"
#define FOR_SEVEN \
	FOR("dns") FOR("web") FOR("game") FOR("handshakes") FOR("ping") FOR("ntp") FOR("ssh")

/*
 * As share/default.yaml has it, but for the rate of all packets: that of the others, so that nearly
 * all are refused on a slow machine too.
 */
#define SHIPPED_SERVICES "{handshakes: [tcp/syn], ping: [icmp/echo-request, icmpv6/echo-request]}"
#define SHIPPED                                                                    \
	ONE ", {name: handshakes, service: handshakes, rate: 200/s, burst: 400}, " \
	    "{name: ping, service: ping, rate: 50/s, burst: 100}"

#define EVERYBODY "sources: [0.0.0.0/0, '::/0']"

const struct setup setups[] = {
	{ .name = "shipped", .sources = "1M", .services = SHIPPED_SERVICES, .limits = SHIPPED },
	{ .name = "one" },
	{ .name = "64k", .sources = "1M" },
	{ .name = "1M", .sources = "1M" },
	{ .name = "16M", .sources = "1M", .large = true },
	{ .name = "1M six", .sources = "1M" },
	{ .name = "16M six", .sources = "1M", .large = true },
	{ .name = "16M states", .sources = "16M", .large = true },
	{ .name = "all refused", .sources = "2M", .limits = NEVER },
	{ .name = "no limit", .policy = "[{name: all, action: pass, " EVERYBODY "}]" },
	{ .name = "1 wide", .limits = WIDE1 },
	{ .name = "2 wide", .limits = WIDE2 },
	{ .name = "4 wide", .limits = WIDE4 },
	{ .name = "8 wide", .limits = WIDE8 },
	{ .name = "2 narrow", .limits = WIDE1 ", " ONE },
	{ .name = "4 narrow", .limits = WIDE3 ", " ONE },
	{ .name = "8 narrow", .limits = WIDE7 ", " ONE },
	{ .name = "services", .services = SERVICES, .limits = ONE FOR_SEVEN },
	{ .name = "services wide", .services = SERVICES, .limits = WIDE1 FOR_SEVEN },
	{ .name = "ban", .limits = "{name: ban, rate: 1000/s, burst: 2000, ban: 1h}" },
	{ .name = "drop policy", .policy = "[{name: all, action: drop, " EVERYBODY "}]" },
	{ .name = "hash", .kind = "hash", .sources = "1M" },
	{ .name = "percpu", .kind = "percpu", .sources = "1M" },
	{ .name = "fixed", .limits = "{algorithm: fixed-window, rate: 1000/s}" },
	{ .name = "sliding", .limits = "{algorithm: sliding-window, rate: 1000/s}" },
	{ .name = "log", .limits = "{algorithm: sliding-log, rate: 60/s}" },
	{ .name = "fixed wide", .limits = "{algorithm: fixed-window, rate: 1000000k/s}" },
	{ .name = "sliding wide", .limits = "{algorithm: sliding-window, rate: 1000000k/s}" },
	{ .name = "log 64k", .sources = "256k", .limits = "{algorithm: sliding-log, rate: 64/s}" },
	{ .name = "policy 10", .use = PREFIXES_POLICY, .prefixes = 10, .family = 4 },
	{ .name = "policy 10k", .use = PREFIXES_POLICY, .prefixes = 10000, .family = 4 },
	{ .name = "policy 100k", .use = PREFIXES_POLICY, .prefixes = 100000, .family = 4 },
	{ .name = "policy 1M",
	  .use = PREFIXES_POLICY,
	  .prefixes = 1000000,
	  .family = 4,
	  .large = true },
	{ .name = "policy 10 six", .use = PREFIXES_POLICY, .prefixes = 10, .family = 6 },
	{ .name = "policy 100k six", .use = PREFIXES_POLICY, .prefixes = 100000, .family = 6 },
	{ .name = "policy 1M six",
	  .use = PREFIXES_POLICY,
	  .prefixes = 1000000,
	  .family = 6,
	  .large = true },
	{ .name = "block 10", .use = PREFIXES_ENTRIES, .prefixes = 10, .family = 4 },
	{ .name = "block 10k", .use = PREFIXES_ENTRIES, .prefixes = 10000, .family = 4 },
	{ .name = "block 100k", .use = PREFIXES_ENTRIES, .prefixes = 100000, .family = 4 },
	{ .name = "block 1M",
	  .use = PREFIXES_ENTRIES,
	  .prefixes = 1000000,
	  .family = 4,
	  .large = true },
	{ .name = "block 10 six", .use = PREFIXES_ENTRIES, .prefixes = 10, .family = 6 },
	{ .name = "block 100k six", .use = PREFIXES_ENTRIES, .prefixes = 100000, .family = 6 },
	{ .name = "block 1M six",
	  .use = PREFIXES_ENTRIES,
	  .prefixes = 1000000,
	  .family = 6,
	  .large = true },
};
const size_t setup_count = sizeof(setups) / sizeof(*setups);

#define K8  (1U << 13)
#define K64 (1U << 16)
#define M1  (1U << 20)
#define M16 (1U << 24)

/* TITLE UNDER KIND SOURCES VERDICT */
#define ROW(text, setup, drive, count, verdict)                                            \
	{                                                                                  \
		.title = text, .under = setup, .kind = DRIVE_IPV##drive, .sources = count, \
		.cpus = 1, .expect = EXPECT_##verdict                                      \
	}
#define ROW_CPUS(text, setup, own, count, verdict)                                              \
	{                                                                                       \
		.title = text, .under = setup, .kind = DRIVE_IPV4, .sources = count, .cpus = 2, \
		.apart = own, .expect = EXPECT_##verdict                                        \
	}
#define ROW_LISTED(text, setup, family, where, verdict, count)                                   \
	{                                                                                        \
		.title = text, .under = setup, .kind = DRIVE_LIST##family, .list = LIST_##where, \
		.sources = count, .cpus = 1, .expect = EXPECT_##verdict                          \
	}
#define ROW_LIST(text, setup, family, where, verdict) \
	ROW_LISTED(text, setup, family, where, verdict, DRIVE_LIST)
#define ROW_PREFIXES(name, setup, family)                       \
	ROW_LIST(name ", inside", setup, family, INSIDE, DROP), \
		ROW_LIST(name ", random sources", setup, family, OUTSIDE, ANY)

const char *const row_drivers[DRIVE_KINDS] = {
	"bare drop",
	"bare drop, IPv6",
	"bare drop, listed sources",
	"bare drop, listed sources, IPv6",
};

const struct row rows[] = {
	ROW("bare drop", "bare_drop", 4, 1, DROP),
	ROW("bare drop, IPv6", "bare_drop", 6, 1, DROP),
	ROW_LIST("bare drop, listed sources", "bare_drop", 4, OUTSIDE, DROP),
	ROW_LIST("bare drop, listed sources, IPv6", "bare_drop", 6, OUTSIDE, DROP),
	ROW("Ethernet and IPv4 only", "bare_parse", 4, 1, DROP),
	ROW("parse + drop", "parse_drop", 4, 1, DROP),
	ROW("parse + drop, IPv6", "parse_drop", 6, 1, DROP),
	ROW(ROW_BASE4, "parse_clock", 4, 1, DROP),
	ROW(ROW_BASE6, "parse_clock", 6, 1, DROP),

	ROW("floor, 1M sources", "floor_state", 4, M1, DROP),
	ROW("floor, 16M sources", "floor_state", 4, M16, DROP),
	ROW_LIST("floor, a bit of 2 MiB", "floor_bit", 4, OUTSIDE, DROP),
	ROW_LIST("floor, a bit of 2 MiB, IPv6", "floor_bit", 6, OUTSIDE, DROP),
	ROW_LIST("floor, a word of 64 MiB", "floor_word", 4, OUTSIDE, DROP),
	ROW_LIST("floor, a word of 64 MiB, IPv6", "floor_word", 6, OUTSIDE, DROP),

	ROW("LRU hash, 1 source refused", "lru_limit", 4, 1, DROP),
	ROW("LRU hash, 64k sources", "lru_limit", 4, K64, PASS),
	ROW("LRU hash, 1M sources", "lru_limit", 4, M1, PASS),
	ROW("LRU hash, 16M sources", "lru_limit", 4, M16, PASS),

	ROW("as shipped, 1 source refused", "shipped", 4, 1, DROP),
	ROW("as shipped, 1 source refused, IPv6", "shipped", 6, 1, DROP),
	ROW("1 source refused", "one", 4, 1, DROP),
	ROW("1 source refused, IPv6", "one", 6, 1, DROP),
	ROW("1 source granted", "1 wide", 4, 1, PASS),
	ROW("1 source granted, IPv6", "1 wide", 6, 1, PASS),
	ROW("64k sources", "64k", 4, K64, PASS),
	ROW("1M sources", "1M", 4, M1, PASS),
	ROW("1M sources, IPv6", "1M six", 6, M1, PASS),
	ROW("16M forged sources", "16M", 4, M16, PASS),
	ROW("16M forged sources, IPv6", "16M six", 6, M16, PASS),
	ROW("16M sources, 16M states", "16M states", 4, M16, PASS),
	ROW("64k sources, all refused", "all refused", 4, K64, DROP),
	ROW("1M sources, all refused", "all refused", 4, M1, DROP),

	ROW("no limit", "no limit", 4, 1, PASS),
	ROW("2 limits granted", "2 wide", 4, 1, PASS),
	ROW("4 limits granted", "4 wide", 4, 1, PASS),
	ROW("8 limits granted", "8 wide", 4, 1, PASS),
	ROW("2 limits, the last refuses", "2 narrow", 4, 1, DROP),
	ROW("4 limits, the last refuses", "4 narrow", 4, 1, DROP),
	ROW("8 limits, the last refuses", "8 narrow", 4, 1, DROP),
	ROW("8 services, refused", "services", 4, 1, DROP),
	ROW("8 services, granted", "services wide", 4, 1, PASS),
	ROW("banned source", "ban", 4, 1, DROP),
	ROW("blocked by a drop policy", "drop policy", 4, 1, DROP),
	ROW_LISTED("blocked by an entry", "block 10", 4, INSIDE, DROP, 1),

	ROW("table hash, 1 source refused", "hash", 4, 1, DROP),
	ROW("table hash, 1M sources", "hash", 4, M1, ANY),
	ROW("table percpu, 1 source refused", "percpu", 4, 1, DROP),
	ROW("table percpu, 1M sources", "percpu", 4, M1, ANY),
	ROW("fixed-window refused", "fixed", 4, 1, DROP),
	ROW("fixed-window granted", "fixed wide", 4, 1, PASS),
	ROW("sliding-window refused", "sliding", 4, 1, DROP),
	ROW("sliding-window granted", "sliding wide", 4, 1, PASS),
	ROW("sliding-log refused", "log", 4, 1, DROP),
	ROW("sliding-log, 64k sources", "log 64k", 4, K64, ANY),

	ROW_CPUS("2 CPUs, parse + clock + drop", "parse_clock", false, 1, DROP),
	ROW_CPUS("2 CPUs, the same source refused", "one", false, 1, DROP),
	ROW_CPUS("2 CPUs, as shipped, the same source refused", "shipped", false, 1, DROP),
	ROW_CPUS("2 CPUs, the same source granted", "1 wide", false, 1, PASS),
	ROW_CPUS("2 CPUs, a source each, refused", "one", true, 1, DROP),
	ROW_CPUS("2 CPUs, a source each, granted", "1 wide", true, 1, PASS),
	ROW_CPUS("2 CPUs, 64k sources each", "64k", true, K64, PASS),
	ROW_CPUS("2 CPUs, LRU hash, 64k sources each", "lru_limit", true, K64, PASS),

	ROW_PREFIXES("drop policy, 10 prefixes", "policy 10", 4),
	ROW_PREFIXES("drop policy, 10k prefixes", "policy 10k", 4),
	ROW_PREFIXES("drop policy, 100k prefixes", "policy 100k", 4),
	ROW_PREFIXES("drop policy, 1M prefixes", "policy 1M", 4),
	ROW_PREFIXES("drop policy, 10 prefixes, IPv6", "policy 10 six", 6),
	ROW_PREFIXES("drop policy, 100k prefixes, IPv6", "policy 100k six", 6),
	ROW_PREFIXES("drop policy, 1M prefixes, IPv6", "policy 1M six", 6),
	ROW_LISTED("drop policy, 1M prefixes, 8k sources inside", "policy 1M", 4, INSIDE, DROP, K8),
	ROW_PREFIXES("10 block entries", "block 10", 4),
	ROW_PREFIXES("10k block entries", "block 10k", 4),
	ROW_PREFIXES("100k block entries", "block 100k", 4),
	ROW_PREFIXES("1M block entries", "block 1M", 4),
	ROW_LISTED("10 block entries, 8k sources inside", "block 10", 4, INSIDE, DROP, K8),
	ROW_LISTED("100k block entries, 8k sources inside", "block 100k", 4, INSIDE, DROP, K8),
	ROW_LISTED("1M block entries, 8k sources inside", "block 1M", 4, INSIDE, DROP, K8),
	ROW_PREFIXES("10 block entries, IPv6", "block 10 six", 6),
	ROW_PREFIXES("100k block entries, IPv6", "block 100k six", 6),
	ROW_PREFIXES("1M block entries, IPv6", "block 1M six", 6),
};
const size_t row_count = sizeof(rows) / sizeof(*rows);

#define TARGET(title, against, times)                         \
	{                                                     \
		.row = title, .other = against, .most = times \
	}
#define TARGET_PREFIXES(many, few, times, family)                                     \
	{ many ", inside", few ", inside", times, "floor, a word of 64 MiB" family }, \
	{                                                                             \
		many ", random sources", few ", random sources", times,               \
			"floor, a bit of 2 MiB" family                                \
	}

const struct target targets[] = {
	TARGET("as shipped, 1 source refused", NULL, 1.35),
	TARGET("as shipped, 1 source refused, IPv6", NULL, 1.35),
	TARGET("8 services, refused", NULL, 1.35),
	TARGET("2 CPUs, the same source refused", "1 source refused", 1.15),
	TARGET("2 CPUs, as shipped, the same source refused", "as shipped, 1 source refused", 1.15),
	TARGET("1 source granted", NULL, 2),
	TARGET("1 source granted, IPv6", NULL, 2),
	TARGET("2 limits granted", NULL, 2.75),
	TARGET("4 limits granted", NULL, 4.25),
	TARGET("8 limits granted", NULL, 7.25),
	TARGET("banned source", NULL, 1),
	TARGET("blocked by a drop policy", NULL, 1),
	TARGET("blocked by an entry", NULL, 1),
	TARGET("16M forged sources", "1M sources", 1.3),
	TARGET("16M forged sources, IPv6", "1M sources, IPv6", 1.3),
	TARGET("16M sources, 16M states", "1M sources", 1.3),
	{ "16M forged sources", "LRU hash, 16M sources", 1 / 2.5, "floor, 16M sources" },
	{ "1M sources", "LRU hash, 1M sources", 1 / 2.0, "floor, 1M sources" },
	TARGET_PREFIXES("drop policy, 100k prefixes", "drop policy, 10 prefixes", 1.5, ""),
	TARGET_PREFIXES("drop policy, 1M prefixes", "drop policy, 10 prefixes", 2, ""),
	TARGET_PREFIXES("drop policy, 100k prefixes, IPv6", "drop policy, 10 prefixes, IPv6", 1.5,
			", IPv6"),
	TARGET_PREFIXES("drop policy, 1M prefixes, IPv6", "drop policy, 10 prefixes, IPv6", 2,
			", IPv6"),
	TARGET_PREFIXES("100k block entries", "10 block entries", 1.5, ""),
	TARGET_PREFIXES("1M block entries", "10 block entries", 2, ""),
	TARGET_PREFIXES("100k block entries, IPv6", "10 block entries, IPv6", 1.5, ", IPv6"),
	TARGET_PREFIXES("1M block entries, IPv6", "10 block entries, IPv6", 2, ", IPv6"),
};
const size_t target_count = sizeof(targets) / sizeof(*targets);

const struct setup *setup_named(const char *name)
{
	for (size_t i = 0; i < setup_count; i++)
		if (!strcmp(setups[i].name, name))
			return &setups[i];
	return NULL;
}

const struct row *row_titled(const char *title)
{
	for (size_t i = 0; i < row_count; i++)
		if (!strcmp(rows[i].title, title))
			return &rows[i];
	return NULL;
}

const char *row_base(const struct row *row)
{
	return row->kind == DRIVE_IPV6 || row->kind == DRIVE_LIST6 ? ROW_BASE6 : ROW_BASE4;
}

const char *target_other(const struct target *target)
{
	return target->other ? target->other : row_base(row_titled(target->row));
}
