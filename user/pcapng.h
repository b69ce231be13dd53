/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes pcapng files (draft-ietf-opsawg-pcapng): one section, Ethernet
 * interfaces, enhanced packet blocks with a comment. Knows bytes, times and
 * text; must not know what a drop is.
 */
#ifndef WEIR_PCAPNG_H
#define WEIR_PCAPNG_H

#include <stdint.h>
#include <stdio.h>

struct pcapng {
	FILE *out;
	uint32_t interfaces; /* described so far */
};

struct pcapng_packet {
	uint32_t interface; /* as pcapng_interface numbered it */
	uint64_t time_ns;   /* since 1970 */
	uint32_t length;    /* of the frame on the wire */
	uint32_t captured;  /* of it in bytes */
	const uint8_t *bytes;
	const char *comment; /* NULL: none */
};

/* All return 0 or -errno. The stream stays the caller's, who flushes and closes it. */
int pcapng_begin(struct pcapng *file, FILE *out, const char *application);
int pcapng_interface(struct pcapng *file, const char *name, uint32_t snap_length, uint32_t *number);
int pcapng_packet_write(struct pcapng *file, const struct pcapng_packet *packet);

#endif
