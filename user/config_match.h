/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a service matches, as it is written in a policy file: udp/53, tcp/syn,
 * icmp/echo-request, gre. Knows one word, no file.
 */
#ifndef WEIR_CONFIG_MATCH_H
#define WEIR_CONFIG_MATCH_H

#include "policy.h"

enum match_size {
	MATCH_TEXT = 48,
};

/* 0 or -EINVAL with *message; *match is untouched on failure. */
int match_read(const char *text, struct service_match *match, struct message *message);

/* Text that match_read reads back to an equal match; MATCH_TEXT bytes are enough. Returns `to`. */
char *match_text(const struct service_match *match, char *to, size_t size);

#endif
