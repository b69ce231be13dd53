/* SPDX-License-Identifier: GPL-2.0-only */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "traffic.h"

#define SOURCE4 "203.0.113.99"
#define SOURCE6 "2001:db8:9999::99"

/* SOURCE4 and SOURCE6 are replaced by a random source. */
static const char *const shapes[] = {
	SOURCE4 " udp/53",
	SOURCE4 " udp/53 len=512",
	SOURCE4 " udp/9",
	SOURCE4 " udp/27015 len=1514",
	SOURCE4 ">192.0.2.53 udp/53",
	SOURCE4 " tcp/80 len=1514",
	SOURCE4 " tcp/443",
	SOURCE4 " syn/80",
	SOURCE4 " syn/22",
	SOURCE4 " synack/80",
	SOURCE4 " icmp/8",
	SOURCE4 " icmp/0",
	SOURCE4 " proto/47",
	SOURCE4 " options=20 udp/53",
	SOURCE4 " mf udp/53 len=1514",
	SOURCE4 " offset=185 udp/53",
	SOURCE4 " udp/53 l4=3",
	SOURCE4 " trailer=20",
	"8100 " SOURCE4 " udp/53",
	"88a8 8100 " SOURCE4 " syn/443",
	SOURCE6 " udp/53",
	SOURCE6 " tcp/80 len=1514",
	SOURCE6 " syn/443",
	SOURCE6 " icmp6/128",
	SOURCE6 " hbh dstopt udp/53",
	SOURCE6 " fragment syn/80",
	SOURCE6 " fragment=100 udp/53",
	SOURCE6 ">2001:db8:53::1 udp/53",
	SOURCE6 " proto/132",
	"8100 9100 " SOURCE6 " ah udp/9",
	/* seldom ones, at the end */
	SOURCE6 " icmp6/135 hop=255",
	SOURCE4 " udp/53 total=2000",
	SOURCE6 " udp payload=999",
	"8100 8100 8100 8100 8100 " SOURCE4 " udp",
	"arp",
	"88a8 lldp",
};

enum traffic_size {
	SHAPES = sizeof(shapes) / sizeof(*shapes),
	SHAPES_COMMON = SHAPES - 6,
	SOURCES_HALVINGS = 9, /* 2^9 sources, half of the packets from the first few */
};

struct shape {
	struct frame_bytes frame;
	uint8_t *source; /* NULL: none */
	bool ipv6;
};

struct traffic {
	struct random random;
	uint64_t now_ns;
	struct shape shapes[SHAPES];
};

/* Where the shape has its source. */
static void find_source(struct shape *shape)
{
	uint8_t address4[4], address6[16];
	size_t length = shape->frame.length;

	inet_pton(AF_INET, SOURCE4, address4);
	inet_pton(AF_INET6, SOURCE6, address6);
	shape->source = memmem(shape->frame.data, length, address4, sizeof(address4));
	if (shape->source)
		return;
	shape->source = memmem(shape->frame.data, length, address6, sizeof(address6));
	shape->ipv6 = shape->source != NULL;
}

struct traffic *traffic_new(uint64_t seed, uint64_t start_ns)
{
	struct traffic *traffic = calloc(1, sizeof(*traffic));

	if (!traffic)
		tap_bail("memory");
	traffic->random.state = seed * 2 + 1;
	traffic->now_ns = start_ns;
	for (int i = 0; i < SHAPES; i++) {
		if (frame_build(shapes[i], 0, &traffic->shapes[i].frame))
			tap_bail("%s", shapes[i]);
		find_source(&traffic->shapes[i]);
	}
	return traffic;
}

void traffic_free(struct traffic *traffic)
{
	free(traffic);
}

/* A number below 2^SOURCES_HALVINGS, the lower the likelier. */
static uint32_t pick_source(struct random *random)
{
	uint64_t bits = random_next(random) >> 16;
	unsigned int scale = 1 + bits % SOURCES_HALVINGS;

	return (bits >> 8) & ((1U << scale) - 1);
}

/* Sources lie in a few networks, 64 in each /24, eight /64s in each /48 and two
 * hosts in each /64. */
static void put_source(struct traffic *traffic, struct shape *shape)
{
	uint32_t source = pick_source(&traffic->random);
	uint8_t ipv4[4] = { 10, source >> 14, source >> 6, source & 63 };
	uint8_t ipv6[16] = { 0x20, 0x01, 0x0d, 0xb8, source >> 11, source >> 3, 0, source & 7 };

	if (!shape->source)
		return;
	ipv6[15] = random_below(&traffic->random, 2);
	memcpy(shape->source, shape->ipv6 ? ipv6 : ipv4, shape->ipv6 ? 16 : 4);
}

#define MS 1000000ULL

/* Mostly bursts and short gaps; now and then a pause, and the edge of a window to the ns. */
static void pass_time(struct traffic *traffic)
{
	uint64_t kind = random_below(&traffic->random, 1000);
	uint64_t to_edge = 1000 * MS - traffic->now_ns % (1000 * MS);

	if (kind < 400)
		return;
	if (kind < 980)
		traffic->now_ns += random_below(&traffic->random, MS / 5);
	else if (kind < 997)
		traffic->now_ns += random_below(&traffic->random, 4 * MS);
	else if (kind < 999)
		traffic->now_ns += to_edge - random_below(&traffic->random, 2);
	else
		traffic->now_ns += random_below(&traffic->random, 3000 * MS);
}

const struct frame_bytes *traffic_next(struct traffic *traffic, uint64_t *now_ns)
{
	bool seldom = random_below(&traffic->random, 50) == 0;
	uint64_t number = random_below(&traffic->random, seldom ? SHAPES : SHAPES_COMMON);
	struct shape *shape = &traffic->shapes[number];

	put_source(traffic, shape);
	*now_ns = traffic->now_ns;
	pass_time(traffic);
	return &shape->frame;
}
