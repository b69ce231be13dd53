/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a sampled drop tells: who sent what to whom, and which limit of which
 * policy refused it. Pure: the names come from the image in force. Must not
 * know how it is shown.
 */
#ifndef WEIR_SAMPLE_H
#define WEIR_SAMPLE_H

#include "compile.h"

struct sample {
	uint64_t time_ns; /* monotonic */
	uint32_t ifindex;
	uint32_t length;
	struct prefix source; /* family 0: not IP, or malformed before the address */
	struct prefix destination;
	uint8_t proto;
	bool has_ports;
	uint16_t sport, dport;
	bool has_type;
	uint8_t type;
	bool syn;
	const char *policy; /* NULL: none */
	const char *limit;  /* NULL: none */
	enum reason reason;
	bool observed; /* passed all the same */
};

/* What the sample itself does not know. */
struct sample_place {
	const char *interface;
	uint64_t time_ns; /* since 1970 */
};

/* `policies`: of one generation, as in struct meta. Borrows names of the image. */
void sample_read(const struct event *event, const struct image *image, uint32_t policies,
		 struct sample *sample);

/* "udp", "icmpv6", or the number. `to` holds UNIT_TEXT bytes. */
const char *sample_protocol(const struct sample *sample, char *to, size_t size);

#endif
