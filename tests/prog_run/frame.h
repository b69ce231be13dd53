/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames from a line of words, one header after the other, as they lie in the
 * frame. Must not know policies or verdicts.
 *
 *   8100 88a8 9100           a VLAN tag
 *   10.0.0.1[+][>192.0.2.1]  IPv4 from (to); with +, the nth frame is from the nth address on
 *   2001:db8::1[+LEN][>...]  IPv6 likewise; with +64, from the nth /64 on
 *   options=N                N bytes of IPv4 options
 *   mf  offset=N             IPv4 fragment: more follow; lies at N units of 8 bytes
 *   hbh routing dstopt ah mobility hip shim6    an extension header; NAME=N has the length field
 *                            N and is as long as that says, NAME!N says N and is 8 bytes long
 *   fragment[=N]             the IPv6 fragment header, at N units of 8 bytes; fragment!N has N in
 *                            its reserved byte
 *   udp[/P] tcp[/P] syn[/P] synack[/P]          port * differs from frame to frame
 *   icmp/T[/C] icmp6/T[/C]   type and code
 *   proto/N                  some other protocol with 8 bytes of it
 *   l4=N                     cut the last header to N bytes
 *   len=N                    pad the IP packet until the frame has N bytes
 *   trailer=N                N bytes behind the IP packet
 *   hop=N version=N ihl=N total=N payload=N     what the IP header says, true or not
 *   cut=N                    keep the first N bytes of the frame
 *   arp  lldp  type=HEX      no IP
 */
#ifndef WEIR_TEST_FRAME_H
#define WEIR_TEST_FRAME_H

#include <stdint.h>

enum frame_size {
	FRAME_MOST = 32768,
	FRAME_ROOM = FRAME_MOST + 4096,
	FRAME_SHORTEST = 14, /* BPF_PROG_TEST_RUN takes no shorter one */
};

struct frame_bytes {
	uint8_t data[FRAME_ROOM];
	uint32_t length;
};

/* Build the nth frame (from 0) of a line. 0, or -EINVAL for a word that is not known. */
int frame_build(const char *words, unsigned int nth, struct frame_bytes *frame);

#endif
