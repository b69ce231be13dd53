/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A packet described in words: ADDR [proto P] [dport N] [type N] [to ADDR]
 * [len N] [syn]. Knows no policy.
 */
#ifndef WEIR_PACKET_WORDS_H
#define WEIR_PACKET_WORDS_H

#include "log.h"
#include "../bpf/packet.h"

/* 0, or -EINVAL with *message. The length is that of a least frame where none is given. */
int packet_read_words(int argc, char **argv, struct packet *packet, struct message *message);

#endif
