/* SPDX-License-Identifier: GPL-2.0-only */
/* Quantities as people write them: what is taken, what is refused and why, and back to text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../user/units.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MINUTE_NS    (60 * NS_PER_SEC)
#define HOUR_NS	     (3600 * NS_PER_SEC)
#define DAY_NS	     (86400 * NS_PER_SEC)

struct refusal {
	const char *text;
	const char *why; /* part of the message or its hint */
};

static void assert_says(const struct message *message, const struct refusal *refusal)
{
	if (!strstr(message->text, refusal->why) && !strstr(message->hint, refusal->why))
		fail_msg("'%s': got '%s' (%s), wanted '%s'", refusal->text, message->text,
			 message->hint, refusal->why);
}

static void rates_are_read(void **state)
{
	static const struct {
		const char *text;
		struct rate rate;
		const char *canonical;
	} rows[] = {
		{ "1000pps", { 1000, NS_PER_SEC, false, false }, "1k/s" },
		{ "10kpps", { 10000, NS_PER_SEC, false, false }, "10k/s" },
		{ "10k/s", { 10000, NS_PER_SEC, false, false }, "10k/s" },
		{ "1M/s", { 1000000, NS_PER_SEC, false, false }, "1M/s" },
		{ "20000/s", { 20000, NS_PER_SEC, false, false }, "20k/s" },
		{ "1.5k/s", { 1500, NS_PER_SEC, false, false }, "1500/s" },
		{ "5 packets/s", { 5, NS_PER_SEC, false, false }, "5/s" },
		{ "3/min", { 3, MINUTE_NS, false, false }, "3/min" },
		{ "3 /min", { 3, MINUTE_NS, false, false }, "3/min" },
		{ "7/hour", { 7, HOUR_NS, false, false }, "7/hour" },
		{ "7/h", { 7, HOUR_NS, false, false }, "7/hour" },
		{ "1/day", { 1, DAY_NS, false, false }, "1/day" },
		{ "1Mbit/s", { 1000000, NS_PER_SEC, true, true }, "1Mbit/s" },
		{ "1mbit", { 1000000, NS_PER_SEC, true, true }, "1Mbit/s" },
		{ "10Mbit", { 10000000, NS_PER_SEC, true, true }, "10Mbit/s" },
		{ "64kbit/s", { 64000, NS_PER_SEC, true, true }, "64kbit/s" },
		{ "800 bit/s", { 800, NS_PER_SEC, true, true }, "800bit/s" },
		{ "10gbit", { 10000000000, NS_PER_SEC, true, true }, "10Gbit/s" },
		{ "40gbit", { 40000000000, NS_PER_SEC, true, true }, "40Gbit/s" },
		{ "100gbit", { 100000000000, NS_PER_SEC, true, true }, "100Gbit/s" },
		{ "100Gbit/s", { 100000000000, NS_PER_SEC, true, true }, "100Gbit/s" },
		{ "100 B/s", { 100, NS_PER_SEC, true, false }, "100B/s" },
		{ "1kB/s", { 1000, NS_PER_SEC, true, false }, "1kB/s" },
		{ "1MB/s", { 1000000, NS_PER_SEC, true, false }, "1MB/s" },
		{ "12.5GB/s", { 12500000000, NS_PER_SEC, true, false }, "12500MB/s" },
		{ "1KiB/s", { 1024, NS_PER_SEC, true, false }, "1KiB/s" },
		{ "1MiB/s", { 1048576, NS_PER_SEC, true, false }, "1MiB/s" },
		{ "100GB/day", { 100000000000, DAY_NS, true, false }, "100GB/day" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct message message = {};
		struct rate rate = {}, again = {};
		char text[UNIT_TEXT];

		if (units_rate(rows[i].text, &rate, &message))
			fail_msg("%s", message.text);
		assert_true(rate.amount == rows[i].rate.amount);
		assert_int_equal(rate.window_ns, rows[i].rate.window_ns);
		assert_int_equal(rate.bytes, rows[i].rate.bytes);
		assert_int_equal(rate.bits, rows[i].rate.bits);
		assert_string_equal(units_rate_text(&rate, text, sizeof(text)), rows[i].canonical);
		assert_int_equal(units_rate(text, &again, &message), 0);
		assert_int_equal(again.amount, rate.amount);
	}
}

/* cases.md T26: a megabit is 125 000 bytes, whoever spells it. */
static void a_megabit_is_125000_bytes(void **state)
{
	static const char *const texts[] = { "1Mbit/s", "1mbit", "125kB/s", "125000B/s" };
	struct rate rate;
	uint64_t ns;
	uint32_t frac;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		assert_int_equal(units_rate(texts[i], &rate, NULL), 0);
		units_interval(&rate, &ns, &frac);
		assert_int_equal(ns, 8000);
		assert_int_equal(frac, 0);
	}
}

static void rates_are_refused(void **state)
{
	static const struct refusal rows[] = {
		{ "", "the rate is empty" },
		{ " ", "does not begin with a number" },
		{ "0", "is 0" },
		{ "0/s", "is 0" },
		{ "0.0Mbit/s", "is 0" },
		{ "-5", "is negative" },
		{ "-5/s", "is negative" },
		{ "+5/s", "does not begin with a number" },
		{ "1e3", "has an exponent" },
		{ "1e3/s", "has an exponent" },
		{ "1E+3/s", "has an exponent" },
		{ "nan", "does not begin with a number" },
		{ "inf/s", "does not begin with a number" },
		{ "unlimited", "does not begin with a number" },
		{ "1.5.2", "is not a number" },
		{ "1./s", "is not a number" },
		{ "0.5/s", "30/min" },
		{ "0.5/s", "is not a whole number" },
		{ "1.0000000001M/s", "too many decimals" },
		{ "18446744073709551616", "is too large" },
		{ "18446744073709551616/s", "is too large" },
		{ "18446744073709551615k/s", "is too large" },
		{ "2T/s", "unknown unit" },
		{ "2000G/s", "is too large" },
		{ "9Tbit/s", "is too large" },
		{ "1000", "has no unit" },
		{ "10k", "does not say per what time" },
		{ "10MB", "does not say per what time" },
		{ "7bit/day", "less than a byte" },
		{ "10 bps", "bits or bytes?" },
		{ "10bps", "write 10bit/s or 10B/s" },
		{ "10mbps", "write 10Mbit/s or 10MB/s" },
		{ "1.5Gbps", "write 1.5Gbit/s or 1.5GB/s" },
		{ "10Mb/s", "case matters" },
		{ "10KB/s", "case matters" },
		{ "10mB/s", "case matters" },
		{ "10/m", "unknown unit" },
		{ "10/fortnight", "unknown unit" },
		{ "10/", "unknown unit" },
		{ "10  /s", "unknown unit" },
		{ "10/s ", "unknown unit" },
		{ "1,000/s", "unknown unit" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct message message = {};
		struct rate rate = { .amount = 42 };

		if (units_rate(rows[i].text, &rate, &message) >= 0)
			fail_msg("'%s' was taken", rows[i].text);
		assert_says(&message, &rows[i]);
		assert_int_equal(rate.amount, 42);
	}
}

static void bursts_are_read(void **state)
{
	static const struct {
		const char *text;
		uint64_t tokens;
		bool bytes;
		const char *canonical;
	} rows[] = {
		{ "1", 1, false, "1" },
		{ "40000", 40000, false, "40k" },
		{ "10k", 10000, false, "10k" },
		{ "2 M", 2000000, false, "2M" },
		{ "2048", 2048, false, "2048" },
		{ "3000B", 3000, true, "3kB" },
		{ "1514 B", 1514, true, "1514B" },
		{ "4MB", 4000000, true, "4MB" },
		{ "1.5MB", 1500000, true, "1500kB" },
		{ "64KiB", 65536, true, "64KiB" },
		{ "18446744073709551615", UINT64_MAX, false, "18446744073709551615" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct message message = {};
		uint64_t tokens = 0;
		char text[UNIT_TEXT];
		bool bytes;

		if (units_burst(rows[i].text, &tokens, &bytes, &message))
			fail_msg("%s", message.text);
		assert_true(tokens == rows[i].tokens);
		assert_int_equal(bytes, rows[i].bytes);
		assert_string_equal(units_burst_text(tokens, bytes, text, sizeof(text)),
				    rows[i].canonical);
	}
}

static void bursts_are_refused(void **state)
{
	static const struct refusal rows[] = {
		{ "", "the burst is empty" },
		{ "0", "is 0" },
		{ "0MB", "is 0" },
		{ "-1", "is negative" },
		{ "1e3", "has an exponent" },
		{ "0.5", "is not a whole number" },
		{ "18446744073709551616", "is too large" },
		{ "18446744073709551615MB", "is too large" },
		{ "4mb", "unknown unit" },
		{ "4Mbit", "unknown unit" },
		{ "10/s", "unknown unit" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct message message = {};
		uint64_t tokens = 42;
		bool bytes = true;

		if (units_burst(rows[i].text, &tokens, &bytes, &message) >= 0)
			fail_msg("'%s' was taken", rows[i].text);
		assert_says(&message, &rows[i]);
		assert_int_equal(tokens, 42);
		assert_true(bytes);
	}
}

static void counts_are_read_or_refused(void **state)
{
	static const struct refusal refused[] = {
		{ "", "is empty" },   { "0", "is 0" },	     { "-1", "is negative" },
		{ "1m", "is not k" }, { "1 M", "is not k" }, { "512kB", "is not k" },
	};
	uint64_t count;

	(void)state;
	assert_int_equal(units_count("1000", &count, NULL), 0);
	assert_int_equal(count, 1000);
	assert_int_equal(units_count("512k", &count, NULL), 0);
	assert_int_equal(count, 512000);
	assert_int_equal(units_count("1M", &count, NULL), 0);
	assert_int_equal(count, 1000000);
	assert_int_equal(units_count("1Mi", &count, NULL), 0);
	assert_int_equal(count, 1048576);
	for (size_t i = 0; i < COUNT(refused); i++) {
		struct message message = {};

		assert_true(units_count(refused[i].text, &count, &message) < 0);
		assert_says(&message, &refused[i]);
		assert_int_equal(count, 1048576);
	}
}

static void durations_are_read(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
		const char *canonical;
	} rows[] = {
		{ "500ms", 500000000, "500ms" },
		{ "60s", MINUTE_NS, "1min" },
		{ "10m", 10 * MINUTE_NS, "10min" },
		{ "10min", 10 * MINUTE_NS, "10min" },
		{ "10 min", 10 * MINUTE_NS, "10min" },
		{ "1h30min", HOUR_NS + 30 * MINUTE_NS, "1h30min" },
		{ "1.5h", HOUR_NS + 30 * MINUTE_NS, "1h30min" },
		{ "24h", DAY_NS, "1d" },
		{ "7d", 7 * DAY_NS, "7d" },
		{ "1d2h3min4s5ms6us7ns", 93784005006007, "1d2h3min4s5ms6us7ns" },
		{ "0h5s", 5 * NS_PER_SEC, "5s" },
		{ "4611686018427387904ns", 1ULL << 62, "53375d23h53min38s427ms387us904ns" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct message message = {};
		char text[UNIT_TEXT];
		uint64_t ns;

		if (units_duration(rows[i].text, &ns, &message))
			fail_msg("%s", message.text);
		assert_true(ns == rows[i].ns);
		assert_string_equal(units_duration_text(ns, text, sizeof(text)), rows[i].canonical);
		assert_int_equal(units_duration(text, &ns, &message), 0);
		assert_true(ns == rows[i].ns);
	}
}

static void durations_are_refused(void **state)
{
	static const struct refusal rows[] = {
		{ "", "the duration is empty" },
		{ "0", "is 0" },
		{ "0s", "is 0" },
		{ "0h0s", "is 0" },
		{ "-1s", "is negative" },
		{ "60", "has no unit" },
		{ "1h30", "has no unit" },
		{ "1y", "unknown unit" },
		{ "1m1h", "out of order" },
		{ "1e3s", "has an exponent" },
		{ "30min1h", "out of order" },
		{ "1s1s", "out of order" },
		{ "1h ", "does not begin with a number" },
		{ "0.5ns", "is not a whole number" },
		{ "200000d", "is too large" },
		{ "53375d23h53min39s", "is too large" },
		{ "18446744073709551616s", "is too large" },
		{ "forever", "does not begin with a number" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct message message = {};
		uint64_t ns = 42;

		if (units_duration(rows[i].text, &ns, &message) >= 0)
			fail_msg("'%s' was taken", rows[i].text);
		assert_says(&message, &rows[i]);
		assert_int_equal(ns, 42);
	}
}

static void prefixes_are_read(void **state)
{
	static const struct {
		const char *text, *canonical, *address;
	} rows[] = {
		{ "0.0.0.0/0", "0.0.0.0/0", "0.0.0.0/0" },
		{ "::/0", "::/0", "::/0" },
		{ "10.0.0.1", "10.0.0.1/32", "10.0.0.1" },
		{ "10.0.0.1/32", "10.0.0.1/32", "10.0.0.1" },
		{ "10.128.0.0/9", "10.128.0.0/9", "10.128.0.0/9" },
		{ "2001:DB8::", "2001:db8::/128", "2001:db8::" },
		{ "2001:db8:0:0::/64", "2001:db8::/64", "2001:db8::/64" },
		{ "::1", "::1/128", "::1" },
		{ "::/96", "::/96", "::/96" },
		/* Wider than the mapped addresses, so it is not one of them. */
		{ "::fffe:0:0/95", "::fffe:0:0/95", "::fffe:0:0/95" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct message message = {};
		struct prefix prefix, again;
		char text[PREFIX_TEXT];

		if (units_prefix(rows[i].text, &prefix, &message))
			fail_msg("%s", message.text);
		assert_string_equal(units_address_text(&prefix, text, sizeof(text)),
				    rows[i].address);
		assert_string_equal(units_prefix_text(&prefix, text, sizeof(text)),
				    rows[i].canonical);
		assert_int_equal(units_prefix(text, &again, &message), 0);
		assert_int_equal(prefix_compare(&prefix, &again), 0);
	}
}

static void prefixes_are_refused(void **state)
{
	static const struct refusal rows[] = {
		{ "", "the prefix is empty" },
		{ "10.0.0.5/8", "10.0.0.0/8 was meant" },
		{ "10.0.0.1/0", "0.0.0.0/0 was meant" },
		{ "10.129.0.0/9", "10.128.0.0/9 was meant" },
		{ "2001:db8::1/64", "2001:db8::/64 was meant" },
		{ "10.0.0.0/33", "at most /32" },
		{ "::/129", "at most /128" },
		{ "10.0.0.0/", "is not a length" },
		{ "10.0.0.0/-1", "is not a length" },
		{ "10.0.0.0/08", "is not a length" },
		{ "10.0.0.0/8/8", "is not a length" },
		{ "10.0.0.0/1111", "is not a length" },
		{ "10.0.0.0/255.0.0.0", "is not a length" },
		{ "10.0.0", "not an IPv4 address" },
		{ "10.0.0.256", "not an IPv4 address" },
		{ "010.0.0.1", "not an IPv4 address" },
		{ "example.org", "not an IPv4 address" },
		{ "/8", "not an IPv4 address" },
		{ "fe80::1%eth0", "not an IPv6 address" },
		{ "1::2::3", "not an IPv6 address" },
		{ "1:2:3:4:5:6:7:8:9:10:11:12:13:14:15:16:17:18:19:20", "not an IPv6 address" },
		{ "::ffff:10.0.0.1", "write 10.0.0.1/32 for IPv4" },
		{ "::ffff:10.0.0.0/104", "write 10.0.0.0/8 for IPv4" },
		{ "::ffff:0:0/96", "write 0.0.0.0/0 for IPv4" },
		{ "10.0.0.\033[2J1", "10.0.0.?[2J1" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct message message = {};
		struct prefix prefix = { .family = 42 };

		if (units_prefix(rows[i].text, &prefix, &message) >= 0)
			fail_msg("'%s' was taken", rows[i].text);
		assert_says(&message, &rows[i]);
		assert_int_equal(prefix.family, 42);
	}
}

static struct prefix prefix_of(const char *text)
{
	struct prefix prefix;

	assert_int_equal(units_prefix(text, &prefix, NULL), 0);
	return prefix;
}

static void prefixes_contain_each_other(void **state)
{
	static const struct {
		const char *outer, *inner;
		bool contains;
	} rows[] = {
		{ "0.0.0.0/0", "10.0.0.1", true },
		{ "10.0.0.0/8", "10.1.0.0/16", true },
		{ "10.0.0.0/8", "10.0.0.0/8", true },
		{ "10.0.0.0/8", "0.0.0.0/0", false },
		{ "10.0.0.0/8", "11.0.0.0/16", false },
		{ "10.128.0.0/9", "10.127.0.0/16", false },
		{ "10.128.0.0/9", "10.255.0.0/16", true },
		{ "::/0", "10.0.0.1", false },
		{ "0.0.0.0/0", "::1", false },
		{ "2001:db8::/33", "2001:db8:7fff::/48", true },
		{ "2001:db8::/33", "2001:db8:8000::/48", false },
		{ "::1", "::1", true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct prefix outer = prefix_of(rows[i].outer), inner = prefix_of(rows[i].inner);

		assert_int_equal(prefix_contains(&outer, &inner), rows[i].contains);
	}
}

static void prefixes_sort_by_family_address_length(void **state)
{
	static const char *const sorted[] = { "0.0.0.0/0", "10.0.0.0/8",   "10.0.0.0/16",
					      "10.0.0.1",  "11.0.0.0/8",   "::/0",
					      "::1",	   "2001:db8::/32" };
	struct prefix prefixes[COUNT(sorted)];
	char text[PREFIX_TEXT];

	(void)state;
	for (size_t i = 0; i < COUNT(sorted); i++)
		prefixes[COUNT(sorted) - 1 - i] = prefix_of(sorted[i]);
	qsort(prefixes, COUNT(sorted), sizeof(prefixes[0]), prefix_compare);
	for (size_t i = 0; i < COUNT(sorted); i++)
		assert_string_equal(units_address_text(&prefixes[i], text, sizeof(text)),
				    sorted[i]);
}

/* The interval is rounded up: tokens are never closer than the rate says, nor 2^-32 ns further. */
static void intervals_are_exact(void **state)
{
	static const struct {
		const char *rate;
		uint64_t ns;
		uint32_t frac;
	} rows[] = {
		{ "1/s", NS_PER_SEC, 0 },
		{ "1/day", DAY_NS, 0 },
		{ "3/s", 333333333, 1431655766 }, /* a third of 2^32, rounded up */
		{ "100Gbit/s", 0, 343597384 },	  /* 0.08 ns a byte */
		{ "700MB/s", 1, 1840700270 },	  /* 10/7 ns a byte */
		{ "1M/s", 1000, 0 },
		{ "8bit/day", DAY_NS, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct rate rate;
		uint64_t ns;
		uint32_t frac;

		assert_int_equal(units_rate(rows[i].rate, &rate, NULL), 0);
		units_interval(&rate, &ns, &frac);
		assert_int_equal(ns, rows[i].ns);
		assert_int_equal(frac, rows[i].frac);
	}
}

static void numbers_for_people(void **state)
{
	static const struct {
		double value;
		const char *text;
	} rows[] = {
		{ 0, "0" },	    { 7, "7" },		  { 0.5, "0.5" },
		{ 999, "999" },	    { 999.96, "1.0k" },	  { 1000, "1.0k" },
		{ 12345, "12.3k" }, { 999949, "999.9k" }, { 999960, "1.0M" },
		{ 4.5e6, "4.5M" },  { 1.2e9, "1.2G" },	  { 1e30, "1000000000000.0E" },
		{ 1e12, "1.0T" },
	};
	char text[UNIT_TEXT];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_string_equal(units_human(rows[i].value, text, sizeof(text)), rows[i].text);
}

static void short_buffers_are_respected(void **state)
{
	struct prefix prefix = prefix_of("2001:db8::/32");
	char text[8] = "........";

	(void)state;
	units_duration_text(93784005006007, text, 6);
	assert_string_equal(text, "1d2h3");
	assert_int_equal(text[6], '.');
	units_prefix_text(&prefix, text, 6);
	assert_string_equal(text, "2001:");
	assert_int_equal(text[6], '.');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_are_read),
		cmocka_unit_test(a_megabit_is_125000_bytes),
		cmocka_unit_test(rates_are_refused),
		cmocka_unit_test(bursts_are_read),
		cmocka_unit_test(bursts_are_refused),
		cmocka_unit_test(counts_are_read_or_refused),
		cmocka_unit_test(durations_are_read),
		cmocka_unit_test(durations_are_refused),
		cmocka_unit_test(prefixes_are_read),
		cmocka_unit_test(prefixes_are_refused),
		cmocka_unit_test(prefixes_contain_each_other),
		cmocka_unit_test(prefixes_sort_by_family_address_length),
		cmocka_unit_test(intervals_are_exact),
		cmocka_unit_test(numbers_for_people),
		cmocka_unit_test(short_buffers_are_respected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
