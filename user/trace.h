/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames out of a capture file, pcap or pcapng, as the card would have seen
 * them: with an Ethernet header, made up where the capture has none. Must not
 * know what is done with a frame.
 */
#ifndef WEIR_TRACE_H
#define WEIR_TRACE_H

#include <stdint.h>

#include "log.h"

struct trace;

struct trace_frame {
	uint64_t number;  /* in the file, from 1 */
	uint64_t time_ns; /* since 1970 */
	uint32_t length;
	uint32_t captured;
	const uint8_t *bytes; /* until the next one */
};

/*
 * Open a file ("-": stdin). expression: a filter as tcpdump takes it, or NULL. -ENOTSUP: a link
 * type without IP frames. 0 or -errno, with *message.
 */
int trace_open(const char *path, const char *expression, struct trace **trace,
	       struct message *message);
void trace_close(struct trace *trace);

/* 1 and *frame, 0 at the end, or -errno with *message. Frames the host sent itself are skipped. */
int trace_next(struct trace *trace, struct trace_frame *frame, struct message *message);

/* Frames marked as sent by the host itself (LINUX_SLL only). */
uint64_t trace_outgoing(const struct trace *trace);

/* How much of the file was read, in 2^-16; 0 where the size is not known. */
unsigned int trace_progress(const struct trace *trace);

#endif
