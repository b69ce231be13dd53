/* SPDX-License-Identifier: GPL-2.0-only */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "units.h"

#define KILO 1000ULL
#define MEGA 1000000ULL
#define GIGA 1000000000ULL
#define TERA 1000000000000ULL
#define KIBI (1ULL << 10)
#define MEBI (1ULL << 20)
#define GIBI (1ULL << 30)
#define TEBI (1ULL << 40)

/* Above this an interval keeps less than 22 significant bits of its fraction. */
#define RATE_MAX_PER_SEC TERA
/* Times are kept below 2^62 ns, so that sums of two of them never wrap. */
#define DURATION_MAX_NS (1ULL << 62)

enum quantity {
	PACKETS,
	BITS,
	BYTES,
};

struct unit {
	const char *name;
	uint64_t factor;
	enum quantity quantity;
};

static const struct unit count_units[] = {
	{ "", 1, PACKETS },	 { "k", KILO, PACKETS },
	{ "M", MEGA, PACKETS },	 { "G", GIGA, PACKETS },
	{ "Ki", KIBI, PACKETS }, { "Mi", MEBI, PACKETS },
	{ "Gi", GIBI, PACKETS }, {},
};

static const struct unit byte_units[] = {
	{ "B", 1, BYTES },	{ "kB", KILO, BYTES },
	{ "MB", MEGA, BYTES },	{ "GB", GIGA, BYTES },
	{ "TB", TERA, BYTES },	{ "KiB", KIBI, BYTES },
	{ "MiB", MEBI, BYTES }, { "GiB", GIBI, BYTES },
	{ "TiB", TEBI, BYTES }, {},
};

static const struct unit bit_units[] = {
	{ "bit", 1, BITS },	 { "kbit", KILO, BITS },  { "Mbit", MEGA, BITS },
	{ "Gbit", GIGA, BITS },	 { "Tbit", TERA, BITS },  { "Kibit", KIBI, BITS },
	{ "Mibit", MEBI, BITS }, { "Gibit", GIBI, BITS }, {},
};

static const struct unit packet_units[] = {
	{ "", 1, PACKETS },
	{ "k", KILO, PACKETS },
	{ "M", MEGA, PACKETS },
	{ "G", GIGA, PACKETS },
	{ "packet", 1, PACKETS },
	{ "packets", 1, PACKETS },
	{},
};

/* Whole rates in one word: those of packets, and tc's of bits (in any case). */
static const struct unit pps_units[] = {
	{ "pps", 1, PACKETS },
	{ "kpps", KILO, PACKETS },
	{ "Mpps", MEGA, PACKETS },
	{},
};

static const struct unit tc_units[] = {
	{ "bit", 1, BITS },	{ "kbit", KILO, BITS }, { "mbit", MEGA, BITS },
	{ "gbit", GIGA, BITS }, { "tbit", TERA, BITS }, {},
};

/* The first name of each window is the one written. */
static const struct unit windows[] = {
	{ "s", NS_PER_SEC, 0 },		  { "sec", NS_PER_SEC, 0 },
	{ "second", NS_PER_SEC, 0 },	  { "min", 60 * NS_PER_SEC, 0 },
	{ "minute", 60 * NS_PER_SEC, 0 }, { "hour", 3600 * NS_PER_SEC, 0 },
	{ "h", 3600 * NS_PER_SEC, 0 },	  { "day", 86400 * NS_PER_SEC, 0 },
	{ "d", 86400 * NS_PER_SEC, 0 },	  {},
};

/* Longest first: a duration's parts must come in this order. */
static const struct unit spans[] = {
	{ "d", 86400 * NS_PER_SEC, 0 },
	{ "h", 3600 * NS_PER_SEC, 0 },
	{ "min", 60 * NS_PER_SEC, 0 }, /* the first name is the one written */
	{ "m", 60 * NS_PER_SEC, 0 },
	{ "s", NS_PER_SEC, 0 },
	{ "ms", 1000000, 0 },
	{ "us", 1000, 0 },
	{ "ns", 1, 0 },
	{},
};

/* A decimal number as written, exact: digits x 10^-decimals. */
struct number {
	uint64_t digits;
	unsigned int decimals;
};

enum number_size {
	DECIMALS_MAX = 9,
};

static const struct unit *unit_find(const struct unit *units, const char *name, size_t length)
{
	for (; units->name; units++)
		if (strlen(units->name) == length && !memcmp(units->name, name, length))
			return units;
	return NULL;
}

static int digit_add(uint64_t *digits, char digit)
{
	return __builtin_mul_overflow(*digits, (uint64_t)10, digits) ||
	       __builtin_add_overflow(*digits, (uint64_t)(digit - '0'), digits);
}

/* Why `at`, where a number should begin, is none. */
static int number_missing(const char *what, const char *text, const char *at,
			  struct message *message)
{
	if (!*text)
		return message_set(message, -EINVAL, "the %s is empty", what);
	if (*at == '-' && isdigit((unsigned char)at[1]))
		return message_set(message, -EINVAL, "%s '%.40s' is negative", what, text);
	return message_set(message, -EINVAL, "%s '%.40s' does not begin with a number", what, text);
}

/* Reads the number at *at and moves *at behind it. `text` is the whole, for messages. */
static int number_read(const char *what, const char *text, const char **at, struct number *number,
		       struct message *message)
{
	const char *c = *at;
	struct number result = {};
	int over = 0;

	if (!isdigit((unsigned char)*c))
		return number_missing(what, text, c, message);
	for (; isdigit((unsigned char)*c); c++)
		over |= digit_add(&result.digits, *c);
	if (*c == '.') {
		for (c++; isdigit((unsigned char)*c); c++, result.decimals++)
			over |= digit_add(&result.digits, *c);
		if (!result.decimals || *c == '.')
			return message_set(message, -EINVAL, "%s '%.40s' is not a number", what,
					   text);
	}
	if ((*c == 'e' || *c == 'E') && (isdigit((unsigned char)c[1]) || strchr("+-", c[1])))
		return message_set(
			message, -EINVAL,
			"%s '%.40s' has an exponent: write the number out, or with k or M", what,
			text);
	if (over)
		return message_set(message, -ERANGE, "%s '%.40s' is too large", what, text);
	if (result.decimals > DECIMALS_MAX)
		return message_set(message, -EINVAL, "%s '%.40s' has too many decimals", what,
				   text);
	*number = result;
	*at = c;
	return 0;
}

/* number x factor, which must be whole, above 0 and at most `most`. */
static int number_scale(const char *what, const char *text, struct number number, uint64_t factor,
			uint64_t most, uint64_t *value, struct message *message)
{
	unsigned __int128 product = (unsigned __int128)number.digits * factor;
	uint64_t divisor = 1;

	for (unsigned int i = 0; i < number.decimals; i++)
		divisor *= 10;
	if (!product)
		return message_set(message, -EINVAL, "%s '%.40s' is 0: must be more", what, text);
	if (product % divisor)
		return message_set(message, -EINVAL, "%s '%.40s' is not a whole number", what,
				   text);
	product /= divisor;
	if (product > most)
		return message_set(message, -ERANGE, "%s '%.40s' is too large", what, text);
	*value = product;
	return 0;
}

static const char *space_skip(const char *at)
{
	return *at == ' ' ? at + 1 : at;
}

/* bps, kbps, mbps, gbps: bytes to tc, bits to most people. */
static int bps_refuse(const char *text, const char *unit, struct message *message)
{
	static const char *const scales[] = { "", "k", "M", "G", "T" };
	int digits = strspn(text, "0123456789.");
	size_t i;

	if (strcasecmp(unit + strlen(unit) - 3, "bps"))
		return 0;
	for (i = 0; i < sizeof(scales) / sizeof(scales[0]); i++)
		if (strlen(unit) == strlen(scales[i]) + 3 &&
		    !strncasecmp(unit, scales[i], strlen(scales[i])))
			break;
	if (i == sizeof(scales) / sizeof(scales[0]))
		return 0;
	message_set(message, -EINVAL,
		    "rate '%.40s': bits or bytes? '%.8s' means bytes to tc, bits to most people",
		    text, unit);
	return message_hint(message, -EINVAL, "write %.*s%sbit/s or %.*s%sB/s", digits, text,
			    scales[i], digits, text, scales[i]);
}

static int rate_unit_refuse(const char *text, const char *unit, struct message *message)
{
	size_t length = strcspn(unit, "/");

	if (!*unit)
		message_set(message, -EINVAL, "rate '%.40s' has no unit", text);
	else if (length >= 3 && bps_refuse(text, unit, message))
		return -EINVAL;
	else if (unit_find(byte_units, unit, strlen(unit)) ||
		 unit_find(count_units, unit, strlen(unit)))
		message_set(message, -EINVAL, "rate '%.40s' does not say per what time", text);
	else if (length && tolower((unsigned char)unit[length - 1]) == 'b')
		message_set(message, -EINVAL,
			    "rate '%.40s': unknown unit '%.16s'; case matters: bit or B, k (1000) "
			    "or Ki (1024)",
			    text, unit);
	else
		message_set(message, -EINVAL, "rate '%.40s': unknown unit '%.16s'", text, unit);
	return message_hint(message, -EINVAL,
			    "packets: 100/s, 100/min, 100/hour, 100/day, 100pps; bytes: 10Mbit/s, "
			    "10MB/s, 10MiB/s");
}

/* "Mbit/s", "k/min", "pps", "10mbit": the quantity with its factor, and the window. */
static const struct unit *rate_unit(const char *text, uint64_t *window_ns)
{
	size_t length = strcspn(text, "/");
	const struct unit *window, *unit;

	*window_ns = NS_PER_SEC;
	if (!text[length]) {
		for (unit = tc_units; unit->name; unit++)
			if (!strcasecmp(unit->name, text))
				return unit;
		return unit_find(pps_units, text, length);
	}
	window = unit_find(windows, text + length + 1, strlen(text + length + 1));
	if (!window)
		return NULL;
	*window_ns = window->factor;
	unit = unit_find(packet_units, text, length);
	if (!unit)
		unit = unit_find(bit_units, text, length);
	return unit ? unit : unit_find(byte_units, text, length);
}

static int rate_range(const char *text, const struct rate *rate, struct message *message)
{
	uint64_t seconds = rate->window_ns / NS_PER_SEC;
	uint64_t most = RATE_MAX_PER_SEC * (rate->bits ? 8 : 1);

	if (rate->amount / seconds > most)
		return message_set(
			message, -ERANGE,
			"rate '%.40s' is too large: at most 1T packets or bytes a second", text);
	if (rate->bits && rate->amount < 8)
		return message_set(message, -EINVAL, "rate '%.40s' is less than a byte", text);
	return 0;
}

int units_rate(const char *text, struct rate *rate, struct message *message)
{
	const char *at = text;
	const struct unit *unit;
	struct rate result = {};
	struct number number;
	int err;

	err = number_read("rate", text, &at, &number, message);
	if (err)
		return err;
	at = space_skip(at);
	unit = rate_unit(at, &result.window_ns);
	if (!unit && !number.digits)
		return message_set(message, -EINVAL, "rate '%.40s' is 0: must be more", text);
	if (!unit)
		return rate_unit_refuse(text, at, message);
	err = number_scale("rate", text, number, unit->factor, UINT64_MAX, &result.amount, message);
	if (err)
		return number.digits && number.decimals
			       ? message_hint(message, err,
					      "count over a longer time: 0.5/s is 30/min")
			       : err;
	result.bytes = unit->quantity != PACKETS;
	result.bits = unit->quantity == BITS;
	err = rate_range(text, &result, message);
	if (!err)
		*rate = result;
	return err;
}

int units_burst(const char *text, uint64_t *tokens, bool *bytes, struct message *message)
{
	const char *at = text;
	const struct unit *unit;
	struct number number;
	int err;

	err = number_read("burst", text, &at, &number, message);
	if (err)
		return err;
	at = space_skip(at);
	unit = unit_find(count_units, at, strlen(at));
	if (!unit)
		unit = unit_find(byte_units, at, strlen(at));
	if (!unit) {
		message_set(message, -EINVAL, "burst '%.40s': unknown unit '%.16s'", text, at);
		return message_hint(message, -EINVAL, "packets: 100, 10k; bytes: 64kB, 4MB, 4MiB");
	}
	err = number_scale("burst", text, number, unit->factor, UINT64_MAX, tokens, message);
	if (!err)
		*bytes = unit->quantity == BYTES;
	return err;
}

int units_count(const char *text, uint64_t *count, struct message *message)
{
	const char *at = text;
	const struct unit *unit;
	struct number number;
	int err;

	err = number_read("number", text, &at, &number, message);
	if (err)
		return err;
	unit = unit_find(count_units, at, strlen(at));
	if (!unit) {
		message_set(message, -EINVAL, "number '%.40s': '%.16s' is not k, M or G", text, at);
		return message_hint(message, -EINVAL, "write 1000, 512k, 1M or 1Mi");
	}
	return number_scale("number", text, number, unit->factor, UINT64_MAX, count, message);
}

/* "30min" at *at, its unit shorter than *last's, onto *ns. */
static int span_read(const char *text, const char **at, const struct unit **last, uint64_t *ns,
		     struct message *message)
{
	const struct unit *unit;
	struct number number;
	uint64_t part = 0;
	size_t length;
	int err;

	err = number_read("duration", text, at, &number, message);
	if (err)
		return err;
	*at = space_skip(*at);
	length = strspn(*at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
	unit = unit_find(spans, *at, length);
	if (!unit || unit < *last) {
		if (!number.digits)
			message_set(message, -EINVAL, "duration '%.40s' is 0: must be more", text);
		else if (!length && !**at)
			message_set(message, -EINVAL, "duration '%.40s' has no unit", text);
		else if (unit)
			message_set(message, -EINVAL, "duration '%.40s': '%s' is out of order",
				    text, unit->name);
		else
			message_set(message, -EINVAL, "duration '%.40s': unknown unit '%.16s'",
				    text, *at);
		return message_hint(message, -EINVAL, "write 500ms, 60s, 10min, 1h30min or 7d");
	}
	*at += length;
	*last = unit + 1;
	if (number.digits)
		err = number_scale("duration", text, number, unit->factor, DURATION_MAX_NS, &part,
				   message);
	*ns += part;
	return err;
}

int units_duration(const char *text, uint64_t *ns, struct message *message)
{
	const struct unit *last = spans;
	const char *at = text;
	uint64_t sum = 0;
	int err;

	do {
		err = span_read(text, &at, &last, &sum, message);
		if (err)
			return err;
		if (sum > DURATION_MAX_NS)
			return message_set(message, -ERANGE, "duration '%.40s' is too large", text);
	} while (*at);
	if (!sum)
		return message_set(message, -EINVAL, "duration '%.40s' is 0: must be more", text);
	*ns = sum;
	return 0;
}

static uint8_t address_bits(const struct prefix *prefix)
{
	return prefix->family == 4 ? 32 : 128;
}

/* Zero the bits behind the prefix; true if some were set. */
static bool host_bits_clear(struct prefix *prefix)
{
	bool were_set = false;

	for (unsigned int i = prefix->len / 8; i < sizeof(prefix->addr); i++) {
		uint8_t mask = i == prefix->len / 8U ? 0xff >> prefix->len % 8 : 0xff;

		were_set |= (prefix->addr[i] & mask) != 0;
		prefix->addr[i] &= ~mask;
	}
	return were_set;
}

/* The part behind the slash. */
static int prefix_length(const char *text, const char *length, struct prefix *prefix,
			 struct message *message)
{
	unsigned int len = 0;
	size_t digits = strspn(length, "0123456789");

	if (!digits || digits > 3 || length[digits] || (length[0] == '0' && digits > 1))
		return message_set(message, -EINVAL, "prefix '%.64s': '/%.16s' is not a length",
				   text, length);
	while (*length)
		len = len * 10 + (*length++ - '0');
	if (len > address_bits(prefix))
		return message_set(message, -EINVAL,
				   "prefix '%.64s': an IPv%u prefix is at most /%u", text,
				   prefix->family, address_bits(prefix));
	prefix->len = len;
	return 0;
}

/*
 * ::ffff:0:0/96 looks like IPv4 but matches IPv6 packets that carry such a
 * source, which never is what was meant.
 */
static int mapped_refuse(const char *text, const struct prefix *prefix, struct message *message)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct prefix meant = { .family = 4 };
	char name[PREFIX_TEXT];

	if (prefix->family != 6 || prefix->len < 96 || memcmp(prefix->addr, mapped, sizeof(mapped)))
		return 0;
	meant.len = prefix->len - 96;
	memcpy(meant.addr, prefix->addr + 12, 4);
	host_bits_clear(&meant);
	return message_set(message, -EINVAL,
			   "prefix '%.64s' is IPv4 mapped into IPv6: write %s for IPv4 packets",
			   text, units_prefix_text(&meant, name, sizeof(name)));
}

int units_prefix(const char *text, struct prefix *prefix, struct message *message)
{
	size_t length = strcspn(text, "/");
	char address[INET6_ADDRSTRLEN], meant[PREFIX_TEXT];
	struct prefix result = { .family = memchr(text, ':', length) ? 6 : 4 };
	int err = 0;

	if (!*text)
		return message_set(message, -EINVAL, "the prefix is empty");
	snprintf(address, sizeof(address), "%.*s", (int)length, text);
	if (length >= sizeof(address) ||
	    inet_pton(result.family == 4 ? AF_INET : AF_INET6, address, result.addr) != 1)
		return message_set(message, -EINVAL, "'%.64s' is not an IPv%u address or prefix",
				   text, result.family);
	result.len = address_bits(&result);
	if (text[length] == '/')
		err = prefix_length(text, text + length + 1, &result, message);
	if (!err)
		err = mapped_refuse(text, &result, message);
	if (err)
		return err;
	if (host_bits_clear(&result))
		return message_set(message, -EINVAL,
				   "prefix '%.64s' has host bits set: %s was meant?", text,
				   units_prefix_text(&result, meant, sizeof(meant)));
	*prefix = result;
	return 0;
}

/* The unit of `units` with the largest factor that divides the value. */
static const struct unit *unit_best(const struct unit *units, uint64_t value)
{
	const struct unit *best = units;

	for (; units->name; units++)
		if (value && value % units->factor == 0 && units->factor > best->factor)
			best = units;
	return best;
}

static const char *window_name(uint64_t window_ns)
{
	for (const struct unit *unit = windows; unit->name; unit++)
		if (unit->factor == window_ns)
			return unit->name;
	return "s";
}

char *units_rate_text(const struct rate *rate, char *to, size_t size)
{
	const struct unit *units = rate->bits ? bit_units : rate->bytes ? byte_units : packet_units;
	const struct unit *unit = unit_best(units, rate->amount);

	snprintf(to, size, "%" PRIu64 "%s/%s", rate->amount / unit->factor, unit->name,
		 window_name(rate->window_ns));
	return to;
}

char *units_burst_text(uint64_t tokens, bool bytes, char *to, size_t size)
{
	const struct unit *unit = unit_best(bytes ? byte_units : packet_units, tokens);

	snprintf(to, size, "%" PRIu64 "%s", tokens / unit->factor, unit->name);
	return to;
}

char *units_duration_text(uint64_t ns, char *to, size_t size)
{
	size_t used = 0;

	snprintf(to, size, "0s");
	for (const struct unit *unit = spans; unit->name && used < size; unit++) {
		uint64_t part = ns / unit->factor;

		ns %= unit->factor;
		if (part)
			used += snprintf(to + used, size - used, "%" PRIu64 "%s", part, unit->name);
	}
	return to;
}

static void prefix_write(const struct prefix *prefix, bool full, char *to, size_t size)
{
	char address[INET6_ADDRSTRLEN] = "?";

	inet_ntop(prefix->family == 4 ? AF_INET : AF_INET6, prefix->addr, address, sizeof(address));
	if (!full && prefix->len == address_bits(prefix))
		snprintf(to, size, "%s", address);
	else
		snprintf(to, size, "%s/%u", address, prefix->len);
}

char *units_prefix_text(const struct prefix *prefix, char *to, size_t size)
{
	prefix_write(prefix, true, to, size);
	return to;
}

char *units_address_text(const struct prefix *prefix, char *to, size_t size)
{
	prefix_write(prefix, false, to, size);
	return to;
}

char *units_human(double value, char *to, size_t size)
{
	static const char *const scales[] = { "", "k", "M", "G", "T", "P", "E" };
	const char *const *scale = scales;

	/* From here on %.1f would write 1000.0. */
	while (value >= 999.95 && scale < scales + 6) {
		value /= 1000;
		scale++;
	}
	if (scale == scales && value == (double)(unsigned int)value)
		snprintf(to, size, "%.0f", value);
	else
		snprintf(to, size, "%.1f%s", value, *scale);
	return to;
}

void units_interval(const struct rate *rate, uint64_t *ns, uint32_t *frac)
{
	unsigned __int128 window = (unsigned __int128)rate->window_ns * (rate->bits ? 8 : 1) << 32;
	unsigned __int128 interval = (window + rate->amount - 1) / rate->amount;

	*ns = interval >> 32;
	*frac = (uint32_t)interval;
}

bool prefix_contains(const struct prefix *outer, const struct prefix *inner)
{
	unsigned int whole = outer->len / 8, rest = outer->len % 8;

	if (outer->family != inner->family || outer->len > inner->len)
		return false;
	if (memcmp(outer->addr, inner->addr, whole))
		return false;
	return !rest || (outer->addr[whole] ^ inner->addr[whole]) >> (8 - rest) == 0;
}

int prefix_compare(const void *a, const void *b)
{
	const struct prefix *left = a, *right = b;
	int order;

	if (left->family != right->family)
		return left->family < right->family ? -1 : 1;
	order = memcmp(left->addr, right->addr, sizeof(left->addr));
	if (order)
		return order;
	return (left->len > right->len) - (left->len < right->len);
}
