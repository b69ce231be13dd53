/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <string.h>

#include "pcapng.h"

enum block_type {
	BLOCK_SECTION = 0x0a0d0d0a,
	BLOCK_INTERFACE = 1,
	BLOCK_PACKET = 6,
};

enum option_code {
	OPTION_END = 0,
	OPTION_COMMENT = 1,
	OPTION_INTERFACE_NAME = 2,
	OPTION_APPLICATION = 4,
	OPTION_RESOLUTION = 9,
};

enum block_size {
	FRAMING = 12, /* type, length before and length behind */
	OPTION_HEAD = 4,
	OPTION_MOST = 65535,
};

enum {
	LINK_ETHERNET = 1,
	BYTE_ORDER_MAGIC = 0x1a2b3c4d,
	NANOSECONDS = 9, /* times count in 10^-9 s */
};

struct section {
	uint32_t magic;
	uint16_t major;
	uint16_t minor;
	int64_t length; /* -1: not stated */
} __attribute__((packed));

struct interface {
	uint16_t link;
	uint16_t reserved;
	uint32_t snap_length;
};

struct packet_head {
	uint32_t interface;
	uint32_t time_high;
	uint32_t time_low;
	uint32_t captured;
	uint32_t length;
};

static size_t padded(size_t size)
{
	return (size + 3) & ~(size_t)3;
}

static void put_padded(FILE *out, const void *bytes, size_t size)
{
	static const uint8_t zeros[3];

	if (size)
		fwrite(bytes, 1, size, out);
	fwrite(zeros, 1, padded(size) - size, out);
}

static void put_option(FILE *out, uint16_t code, const void *value, size_t size)
{
	uint16_t head[2] = { code, (uint16_t)size };

	fwrite(head, 1, sizeof(head), out);
	put_padded(out, value, size);
}

static size_t option_size(size_t size)
{
	return OPTION_HEAD + padded(size);
}

static size_t text_length(const char *text)
{
	return strnlen(text, OPTION_MOST);
}

static void put_words(FILE *out, uint32_t first, uint32_t second)
{
	uint32_t words[2] = { first, second };

	fwrite(words, 1, sizeof(words), out);
}

/* The block's length stands at its end too, so that readers can go backwards. */
static int put_end(FILE *out, uint32_t length)
{
	put_option(out, OPTION_END, NULL, 0);
	fwrite(&length, 1, sizeof(length), out);
	return ferror(out) ? (errno ? -errno : -EIO) : 0;
}

int pcapng_begin(struct pcapng *file, FILE *out, const char *application)
{
	struct section section = { BYTE_ORDER_MAGIC, 1, 0, -1 };
	size_t name = text_length(application);
	uint32_t length = FRAMING + sizeof(section) + option_size(name) + option_size(0);

	*file = (struct pcapng){ .out = out };
	put_words(out, BLOCK_SECTION, length);
	fwrite(&section, 1, sizeof(section), out);
	put_option(out, OPTION_APPLICATION, application, name);
	return put_end(out, length);
}

int pcapng_interface(struct pcapng *file, const char *name, uint32_t snap_length, uint32_t *number)
{
	struct interface interface = { LINK_ETHERNET, 0, snap_length };
	uint8_t resolution = NANOSECONDS;
	size_t size = text_length(name);
	uint32_t length =
		FRAMING + sizeof(interface) + option_size(size) + option_size(1) + option_size(0);
	int err;

	put_words(file->out, BLOCK_INTERFACE, length);
	fwrite(&interface, 1, sizeof(interface), file->out);
	put_option(file->out, OPTION_INTERFACE_NAME, name, size);
	put_option(file->out, OPTION_RESOLUTION, &resolution, 1);
	err = put_end(file->out, length);
	if (!err)
		*number = file->interfaces++;
	return err;
}

int pcapng_packet_write(struct pcapng *file, const struct pcapng_packet *packet)
{
	struct packet_head head = { packet->interface, (uint32_t)(packet->time_ns >> 32),
				    (uint32_t)packet->time_ns, packet->captured, packet->length };
	size_t comment = packet->comment ? text_length(packet->comment) : 0;
	uint32_t length = FRAMING + sizeof(head) + padded(packet->captured) + option_size(0);

	if (packet->interface >= file->interfaces)
		return -EINVAL;
	if (comment)
		length += option_size(comment);
	put_words(file->out, BLOCK_PACKET, length);
	fwrite(&head, 1, sizeof(head), file->out);
	put_padded(file->out, packet->bytes, packet->captured);
	if (comment)
		put_option(file->out, OPTION_COMMENT, packet->comment, comment);
	return put_end(file->out, length);
}
