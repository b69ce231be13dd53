/* SPDX-License-Identifier: GPL-2.0-only */
/* The keyed hash against another implementation, and the keys it is made of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "../../bpf/key.h"

struct row {
	uint64_t secret[2];
	struct key key;
	uint64_t hash;
};

/*
 * The first and second row of the first key are the published vectors of 9 and 17 bytes
 * (0, 1, 2...) of the authors' reference code; all are what OpenSSL 3.0 says:
 * openssl mac -macopt c-rounds:1 -macopt d-rounds:3 -macopt size:8 -macopt hexkey:... SIPHASH
 */
#define PUBLISHED                                            \
	{                                                    \
		0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL \
	}
#define OTHER                                                \
	{                                                    \
		0x8899aabbccddeeffULL, 0x0011223344556677ULL \
	}

static const struct row rows[] = {
	{ PUBLISHED, { 0x0706050403020100ULL, 0, 8, 0 }, 0x25a48eb36c063de4ULL },
	{ PUBLISHED,
	  { 0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL, 16, 0 },
	  0x9cf2689063dbd80cULL },
	{ PUBLISHED, { 0x000000040a000001ULL, 0, 4, 0 }, 0xa2dcc2d079f24248ULL },
	{ PUBLISHED, { 0x20010db800000001ULL, 0, 6, 0 }, 0x822ac539db14d621ULL },
	{ PUBLISHED, { 0x20010db800000001ULL, 1, 6, 0 }, 0x74cee8ad19fea932ULL },
	{ PUBLISHED, { 0, 0, 1, 0 }, 0xbf5ac990a904b197ULL },
	{ PUBLISHED, { UINT64_MAX, UINT64_MAX, 6, 0 }, 0x32a39bc58a7b0c3aULL },
	{ OTHER, { 0x0706050403020100ULL, 0, 8, 0 }, 0x4f0d7e69c6ba97d5ULL },
	{ OTHER, { 0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL, 16, 0 }, 0x5ea00feec9f4c42fULL },
	{ OTHER, { 0x000000040a000001ULL, 0, 4, 0 }, 0x57df55b87020dae7ULL },
	{ OTHER, { 0x20010db800000001ULL, 0, 6, 0 }, 0x8154aa2490fdd36dULL },
	{ OTHER, { 0x20010db800000001ULL, 1, 6, 0 }, 0xc3bd1ea711b367c6ULL },
	{ OTHER, { 0, 0, 1, 0 }, 0xea7be22b376b4611ULL },
	{ OTHER, { UINT64_MAX, UINT64_MAX, 6, 0 }, 0x6e994769a10dc30dULL },
};

static void hash_equals_openssl(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(key_hash(&rows[i].key, rows[i].secret[0], rows[i].secret[1]),
				 rows[i].hash);
}

/* An attacker who knows the hash but not the secret learns nothing of another secret's. */
static void every_bit_matters(void **unused)
{
	const struct key key = { 0x40a000001, 0, 4, 0 };
	uint64_t hash = key_hash(&key, 1, 2);

	(void)unused;
	for (int bit = 0; bit < 64; bit++) {
		struct key other = key;

		other.hi ^= 1ULL << bit;
		assert_int_not_equal(key_hash(&other, 1, 2), hash);
		other = key;
		other.lo ^= 1ULL << bit;
		assert_int_not_equal(key_hash(&other, 1, 2), hash);
		assert_int_not_equal(key_hash(&key, 1 ^ 1ULL << bit, 2), hash);
		assert_int_not_equal(key_hash(&key, 1, 2 ^ 1ULL << bit), hash);
	}
}

/* Each set of a power of two gets its share, whatever pattern the addresses have. */
static void sequential_addresses_spread(void **unused)
{
	unsigned int sets[64] = { 0 };

	(void)unused;
	for (uint32_t i = 0; i < 64000; i++) {
		const uint8_t address[4] = { 10, (uint8_t)(i >> 16), (uint8_t)(i >> 8),
					     (uint8_t)i };
		struct key key = key_ipv4(address, 32);

		sets[key_hash(&key, 3, 4) & 63]++;
	}
	for (int i = 0; i < 64; i++)
		assert_in_range(sets[i], 1000 - 150, 1000 + 150); /* 4.7 standard deviations */
}

static void ipv4_is_cut_to_its_length(void **unused)
{
	const uint8_t address[4] = { 192, 0, 2, 255 };

	(void)unused;
	assert_int_equal(key_ipv4(address, 32).hi, KEY_IPV4 | 0xc00002ff);
	assert_int_equal(key_ipv4(address, 31).hi, KEY_IPV4 | 0xc00002fe);
	assert_int_equal(key_ipv4(address, 24).hi, KEY_IPV4 | 0xc0000200);
	assert_int_equal(key_ipv4(address, 1).hi, KEY_IPV4 | 0x80000000);
	assert_int_equal(key_ipv4(address, 0).hi, KEY_IPV4);
	assert_int_equal(key_ipv4(address, 32).lo, 0);
}

static void ipv6_is_cut_to_its_length(void **unused)
{
	uint8_t address[16];

	(void)unused;
	memset(address, 0xff, sizeof(address));
	for (uint32_t bits = 0; bits <= 128; bits++) {
		struct key key = key_ipv6(address, bits);

		assert_int_equal(__builtin_popcountll(key.hi) + __builtin_popcountll(key.lo), bits);
		if (bits > 0)
			assert_true(key.hi >> 63);
		if (bits <= 64)
			assert_int_equal(key.lo, 0);
	}
}

/* T13: an IPv4 source and IPv6 addresses that embed it have different keys, at any length. */
static void families_never_collide(void **unused)
{
	const uint8_t ipv4[4] = { 10, 0, 0, 1 };
	const uint8_t mapped[16] = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1 };
	const uint8_t compatible[16] = { [12] = 10, [15] = 1 };
	const uint8_t same_bits[16] = { [3] = 4, [4] = 10, [7] = 1 };
	const uint8_t *const others[] = { mapped, compatible, same_bits };

	(void)unused;
	for (size_t i = 0; i < 3; i++)
		for (uint32_t bits = 0; bits <= 128; bits++) {
			struct key key = key_ipv6(others[i], bits);

			assert_false(key.hi == key_ipv4(ipv4, 32).hi && key.lo == 0);
			assert_int_not_equal(key.family, key_ipv4(ipv4, 32).family);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash_equals_openssl),
		cmocka_unit_test(every_bit_matters),
		cmocka_unit_test(sequential_addresses_spread),
		cmocka_unit_test(ipv4_is_cut_to_its_length),
		cmocka_unit_test(ipv6_is_cut_to_its_length),
		cmocka_unit_test(families_never_collide),
	};

	return cmocka_run_group_tests_name("siphash", tests, NULL, NULL);
}
