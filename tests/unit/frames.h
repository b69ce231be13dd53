/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames as bytes, built header by header:
 *     frame_begin(&f); frame_tag(&f, 0x8100); frame_ipv4(&f, "10.0.0.1", 17); frame_udp(&f, 53);
 *     frame_end(&f);
 */
#ifndef TESTS_UNIT_FRAMES_H
#define TESTS_UNIT_FRAMES_H

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

struct built {
	uint8_t bytes[4096];
	uint32_t count;
	uint32_t ip; /* offset of the IP header */
	int family;
};

static inline void frame_add(struct built *frame, const void *bytes, uint32_t count)
{
	memcpy(frame->bytes + frame->count, bytes, count);
	frame->count += count;
}

static inline void frame_add8(struct built *frame, uint8_t value)
{
	frame_add(frame, &value, 1);
}

static inline void frame_add16(struct built *frame, uint16_t value)
{
	frame_add8(frame, (uint8_t)(value >> 8));
	frame_add8(frame, (uint8_t)value);
}

static inline void frame_fill(struct built *frame, uint8_t value, uint32_t count)
{
	memset(frame->bytes + frame->count, value, count);
	frame->count += count;
}

static inline void frame_set16(struct built *frame, uint32_t offset, uint16_t value)
{
	frame->bytes[offset] = (uint8_t)(value >> 8);
	frame->bytes[offset + 1] = (uint8_t)value;
}

/* Two MAC addresses. */
static inline void frame_begin(struct built *frame)
{
	frame->count = 0;
	frame->family = 0;
	frame_fill(frame, 0x02, 12);
}

static inline void frame_tag(struct built *frame, uint16_t type)
{
	frame_add16(frame, type);
	frame_add16(frame, 100);
}

/* With `options` bytes of options; a fragment if the field is not 0. */
static inline void frame_ipv4_with(struct built *frame, const char *source, uint8_t proto,
				   uint32_t options, uint16_t fragment)
{
	uint8_t address[4];

	frame_add16(frame, 0x0800);
	frame->ip = frame->count;
	frame->family = 4;
	frame_add8(frame, (uint8_t)(0x40 | (20 + options) / 4));
	frame_fill(frame, 0, 5);
	frame_add16(frame, fragment);
	frame_add8(frame, 64);
	frame_add8(frame, proto);
	frame_fill(frame, 0, 2);
	inet_pton(AF_INET, source, address);
	frame_add(frame, address, 4);
	inet_pton(AF_INET, "192.0.2.53", address);
	frame_add(frame, address, 4);
	frame_fill(frame, 1, options);
}

static inline void frame_ipv4(struct built *frame, const char *source, uint8_t proto)
{
	frame_ipv4_with(frame, source, proto, 0, 0);
}

static inline void frame_ipv6(struct built *frame, const char *source, uint8_t next)
{
	uint8_t address[16];

	frame_add16(frame, 0x86dd);
	frame->ip = frame->count;
	frame->family = 6;
	frame_add8(frame, 0x60);
	frame_fill(frame, 0, 5);
	frame_add8(frame, next);
	frame_add8(frame, 64);
	inet_pton(AF_INET6, source, address);
	frame_add(frame, address, 16);
	inet_pton(AF_INET6, "2001:db8:ffff::53", address);
	frame_add(frame, address, 16);
}

/* An extension header of 8 x (length + 1) bytes. */
static inline void frame_extension(struct built *frame, uint8_t next, uint8_t length)
{
	frame_add8(frame, next);
	frame_add8(frame, length);
	frame_fill(frame, 0, 8 * (length + 1U) - 2);
}

/* Offset in units of 8 bytes. */
static inline void frame_fragment6(struct built *frame, uint8_t next, uint16_t offset, int more)
{
	frame_add8(frame, next);
	frame_add8(frame, 0xff); /* reserved: no length */
	frame_add16(frame, (uint16_t)(offset << 3 | more));
	frame_fill(frame, 7, 4);
}

/* RFC 4302: length in units of 4 bytes, less 2. */
static inline void frame_ah(struct built *frame, uint8_t next)
{
	frame_add8(frame, next);
	frame_add8(frame, 4);
	frame_fill(frame, 0, 22);
}

static inline void frame_udp(struct built *frame, uint16_t dport)
{
	frame_add16(frame, 4321);
	frame_add16(frame, dport);
	frame_fill(frame, 0, 4);
}

static inline void frame_tcp(struct built *frame, uint16_t dport, uint8_t flags)
{
	frame_add16(frame, 4321);
	frame_add16(frame, dport);
	frame_fill(frame, 0, 8);
	frame_add8(frame, 0x50);
	frame_add8(frame, flags);
	frame_fill(frame, 0, 6);
}

static inline void frame_icmp(struct built *frame, uint8_t type)
{
	frame_add8(frame, type);
	frame_fill(frame, 0, 7);
}

/* Sets the length field of the IP header. */
static inline void frame_end(struct built *frame)
{
	uint32_t length = frame->count - frame->ip;

	if (frame->family == 4)
		frame_set16(frame, frame->ip + 2, (uint16_t)length);
	else if (frame->family == 6)
		frame_set16(frame, frame->ip + 4, (uint16_t)(length - 40));
}

/* U4(source), U6(source): the smallest UDP frames. */
static inline void frame_u4(struct built *frame, const char *source)
{
	frame_begin(frame);
	frame_ipv4(frame, source, 17);
	frame_udp(frame, 9);
	frame_end(frame);
}

static inline void frame_u6(struct built *frame, const char *source)
{
	frame_begin(frame);
	frame_ipv6(frame, source, 17);
	frame_udp(frame, 9);
	frame_end(frame);
}

#endif
