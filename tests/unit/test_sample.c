/* SPDX-License-Identifier: GPL-2.0-only */
/* What an event tells: addresses and ports out of its bytes, names out of the image. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "../../user/render_sample.h"

enum {
	POLICIES = 64, /* of one generation */
};

static struct limit_spec dns = { .name = (char *)"names" };
static struct image_policy policies[] = {
	{ .name = "everyone", .specs = { &dns }, .policy = { .count = 1 } },
	{ .name = "bad" },
};
static const struct image image = { .policies = policies, .policy_count = 2 };
static const struct sample_place place = { "eth0", 1764543210123456789ULL };

/* Ethernet, IPv4 with 4 bytes of options, UDP 999 to 53. */
static const uint8_t udp4[] = {
	2,  0, 0, 0,  0, 1, 2, 0,  0, 0, 0, 2, 8, 0, 0x46, 0, 0,   32, 0,  1, 0, 0, 64,
	17, 0, 0, 10, 2, 0, 1, 10, 0, 0, 1, 1, 1, 1, 1,	   3, 231, 0,  53, 0, 8, 0, 0,
};

/* Ethernet, IPv6 with a hop-by-hop header, TCP 40000 to 443, SYN. */
static const uint8_t syn6[] = {
	2, 0, 0,  0, 0,	   1,	 2,    0,   0,	  0, 0, 2,    0x86, 0xdd, 0x60, 0, 0,
	0, 0, 28, 0, 64,   0x20, 1,    0xd, 0xb8, 0, 0, 0,    0,    0,	  0,	0, 0,
	0, 0, 0,  1, 0xfd, 0,	 0,    0,   0,	  0, 0, 0,    0,    0,	  0,	0, 0,
	0, 0, 2,  6, 0,	   1,	 4,    0,   0,	  0, 0, 0x9c, 0x40, 1,	  0xbb, 0, 0,
	0, 0, 0,  0, 0,	   0,	 0x50, 2,   0,	  0, 0, 0,    0,    0,
};

static struct event event_of(const uint8_t *bytes, uint32_t size, uint32_t policy, uint8_t limit)
{
	struct event event = { .length = size,
			       .captured = size,
			       .policy = policy,
			       .limit = limit,
			       .reason = REASON_LIMIT };

	memcpy(event.bytes, bytes, size);
	return event;
}

static char *text_of(const struct sample *sample)
{
	static char text[512];
	FILE *out = fmemopen(text, sizeof(text), "w");

	render_sample_text(sample, &place, out);
	fclose(out);
	return text;
}

static void tells(const struct sample *sample, const char *end)
{
	const char *text = text_of(sample);

	if (strlen(text) < strlen(end) || strcmp(text + strlen(text) - strlen(end), end))
		fail_msg("%s does not end with %s", text, end);
}

static void udp_behind_ip_options(void **state)
{
	struct event event = event_of(udp4, sizeof(udp4), 0, 0);
	struct sample sample;

	(void)state;
	sample_read(&event, &image, POLICIES, &sample);
	assert_int_equal(sample.sport, 999);
	assert_int_equal(sample.dport, 53);
	tells(&sample, ".123456 eth0 10.2.0.1:999 > 10.0.0.1:53 udp 46 "
		       "bytes: limit everyone/names\n");
}

static void tcp_behind_extension_headers(void **state)
{
	struct event event = event_of(syn6, sizeof(syn6), POLICIES + 1, 255);
	struct sample sample;

	(void)state;
	event.reason = REASON_BLOCKED;
	sample_read(&event, &image, POLICIES, &sample); /* the other generation's index */
	tells(&sample, "[2001:db8::1]:40000 > [fd00::2]:443 tcp/syn 82 bytes: blocked bad\n");
}

static void a_limit_set_by_hand(void **state)
{
	struct event event = event_of(udp4, sizeof(udp4), 2 * POLICIES + 3, 0);
	struct sample sample;

	(void)state;
	sample_read(&event, &image, POLICIES, &sample);
	assert_string_equal(sample.policy, "by hand");
	assert_null(sample.limit);
}

/* A policy that the image does not have, as between an apply and the next look. */
static void no_policy_and_unknown_policy(void **state)
{
	struct event event = event_of(udp4, sizeof(udp4), UINT32_MAX, 255);
	struct sample sample;

	(void)state;
	event.reason = REASON_BLOCKED;
	sample_read(&event, &image, POLICIES, &sample);
	assert_null(sample.policy);
	tells(&sample, "bytes: blocked\n");
	event.policy = 5;
	sample_read(&event, &image, POLICIES, &sample);
	assert_null(sample.limit);
}

/* Cut at every length: never a byte beyond, and the address as soon as it is there. */
static void any_cut_of_a_frame(void **state)
{
	(void)state;
	for (uint32_t size = 0; size <= sizeof(syn6); size++) {
		struct event event = event_of(syn6, size, 0, 0);
		struct sample sample;

		event.length = sizeof(syn6);
		sample_read(&event, &image, POLICIES, &sample);
		assert_int_equal(sample.source.family, size >= 54 ? 6 : 0);
		text_of(&sample);
	}
}

static void comment_and_json(void **state)
{
	struct event event = event_of(udp4, sizeof(udp4), 0, 0);
	char comment[SAMPLE_COMMENT], *text = NULL;
	struct sample sample;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *document;

	(void)state;
	event.observed = 1;
	sample_read(&event, &image, POLICIES, &sample);
	assert_string_equal(render_sample_comment(&sample, comment, sizeof(comment)),
			    "would drop: limit everyone/names");
	render_sample_json(&sample, &place, false, out);
	fclose(out);
	document = json_loads(text, 0, NULL);
	assert_int_equal(json_integer_value(json_object_get(document, "time_ns")), place.time_ns);
	assert_int_equal(json_integer_value(json_object_get(document, "destination_port")), 53);
	assert_true(json_is_true(json_object_get(document, "observed")));
	json_decref(document);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(udp_behind_ip_options),
		cmocka_unit_test(tcp_behind_extension_headers),
		cmocka_unit_test(a_limit_set_by_hand),
		cmocka_unit_test(no_policy_and_unknown_policy),
		cmocka_unit_test(any_cut_of_a_frame),
		cmocka_unit_test(comment_and_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
