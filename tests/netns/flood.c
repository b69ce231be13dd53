/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Millions of UDP packets a second into a veth, from one source or many: frames
 * that the kernel's live-frame test run hands to flood.bpf.c, which forges the
 * source and redirects them. Prints {"sent": N, "seconds": S}, from the first
 * frame to the last.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "flood.skel.h"

enum {
	FRAME_MOST = 3000, /* a live frame fits one page with its head */
	BATCH = 64,	   /* below the 256 places of a veth ring */
	CHUNK = 1 << 30,   /* frames in one system call, which costs some 20 ms by itself */
	PACE_NS = 50000000,
	SECOND_NS = 1000000000,
};

struct plan {
	const char *interface;
	struct ether_addr to;
	bool ipv6;
	char source[INET6_ADDRSTRLEN];
	char destination[INET6_ADDRSTRLEN];
	unsigned long mask;
	unsigned long each;
	unsigned long count;
	unsigned long rate; /* 0: as fast as it goes */
	unsigned long length;
	unsigned long port;
	long cpu; /* -1: any */
};

struct frame {
	unsigned char bytes[FRAME_MOST];
	size_t length;
};

static void usage(void)
{
	fputs("usage: flood --interface IF --to MAC [--ipv6] [--source ADDR] [--mask N]\n"
	      "             [--each N] [--count N] [--rate N] [--length N] [--cpu N]\n"
	      "             [--destination ADDR] [--port N]\n"
	      "Sources: the given one and the N next ones (N + 1 a power of two), each\n"
	      "sends --each packets in a row. IPv6 sources differ in their /64.\n",
	      stderr);
	exit(2);
}

static unsigned long number(const char *text, unsigned long most)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 0);
	if (errno || end == text || *end || value > most)
		usage();
	return value;
}

static void parse_option(struct plan *plan, int option, char *argument)
{
	switch (option) {
	case 'i':
		plan->interface = argument;
		break;
	case 't':
		if (!ether_aton_r(argument, &plan->to))
			usage();
		break;
	case '6':
		plan->ipv6 = true;
		break;
	case 's':
		snprintf(plan->source, sizeof(plan->source), "%s", argument);
		break;
	case 'd':
		snprintf(plan->destination, sizeof(plan->destination), "%s", argument);
		break;
	case 'm':
		plan->mask = number(argument, UINT32_MAX);
		break;
	case 'e':
		plan->each = number(argument, UINT32_MAX);
		break;
	case 'n':
		plan->count = number(argument, ULONG_MAX);
		break;
	case 'r':
		plan->rate = number(argument, UINT32_MAX);
		break;
	case 'l':
		plan->length = number(argument, FRAME_MOST);
		break;
	case 'p':
		plan->port = number(argument, UINT16_MAX);
		break;
	case 'c':
		plan->cpu = (long)number(argument, CPU_SETSIZE - 1);
		break;
	default:
		usage();
	}
}

static struct plan parse_plan(int argc, char **argv)
{
	static const struct option options[] = {
		{ "interface", required_argument, NULL, 'i' },
		{ "to", required_argument, NULL, 't' },
		{ "ipv6", no_argument, NULL, '6' },
		{ "source", required_argument, NULL, 's' },
		{ "destination", required_argument, NULL, 'd' },
		{ "mask", required_argument, NULL, 'm' },
		{ "each", required_argument, NULL, 'e' },
		{ "count", required_argument, NULL, 'n' },
		{ "rate", required_argument, NULL, 'r' },
		{ "length", required_argument, NULL, 'l' },
		{ "port", required_argument, NULL, 'p' },
		{ "cpu", required_argument, NULL, 'c' },
		{ 0 },
	};
	struct plan plan = { .each = 1, .count = 1000000, .length = 64, .port = 9, .cpu = -1 };
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		parse_option(&plan, option, optarg);
	if (optind != argc || !plan.interface || !plan.each || plan.mask & (plan.mask + 1))
		usage();
	if (!plan.source[0])
		snprintf(plan.source, sizeof(plan.source), "%s",
			 plan.ipv6 ? "fd00:1::1" : "10.1.0.1");
	if (!plan.destination[0])
		snprintf(plan.destination, sizeof(plan.destination), "%s",
			 plan.ipv6 ? "fd00::1" : "10.0.0.1");
	return plan;
}

static uint32_t sum_words(const void *bytes, size_t length)
{
	const unsigned char *at = bytes;
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < length; i += 2)
		sum += (uint32_t)at[i] << 8 | at[i + 1];
	if (length & 1)
		sum += (uint32_t)at[length - 1] << 8;
	return sum;
}

static uint16_t checksum(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

static void *frame_push(struct frame *frame, size_t length)
{
	void *at = frame->bytes + frame->length;

	frame->length += length;
	return at;
}

static void build_ethernet(const struct plan *plan, struct frame *frame)
{
	struct ethhdr *ethernet = frame_push(frame, sizeof(*ethernet));

	memcpy(ethernet->h_dest, &plan->to, ETH_ALEN);
	ethernet->h_source[0] = 2; /* locally administered */
	ethernet->h_proto = htons(plan->ipv6 ? ETH_P_IPV6 : ETH_P_IP);
}

static int build_ipv4(const struct plan *plan, struct frame *frame)
{
	struct iphdr *ip = frame_push(frame, sizeof(*ip));

	ip->version = 4;
	ip->ihl = sizeof(*ip) / 4;
	ip->ttl = 64;
	ip->protocol = IPPROTO_UDP;
	ip->tot_len = htons((uint16_t)(plan->length - sizeof(struct ethhdr)));
	if (inet_pton(AF_INET, plan->source, &ip->saddr) != 1 ||
	    inet_pton(AF_INET, plan->destination, &ip->daddr) != 1)
		return -EINVAL;
	ip->check = checksum(sum_words(ip, sizeof(*ip)));
	return 0;
}

static int build_ipv6(const struct plan *plan, struct frame *frame)
{
	struct ipv6hdr *ip = frame_push(frame, sizeof(*ip));

	ip->version = 6;
	ip->hop_limit = 64;
	ip->nexthdr = IPPROTO_UDP;
	ip->payload_len = htons((uint16_t)(plan->length - frame->length));
	if (inet_pton(AF_INET6, plan->source, &ip->saddr) != 1 ||
	    inet_pton(AF_INET6, plan->destination, &ip->daddr) != 1)
		return -EINVAL;
	return 0;
}

/* IPv4 does without a checksum; IPv6 must have one, its pseudo header lies just before. */
static void build_udp(const struct plan *plan, struct frame *frame)
{
	struct udphdr *udp = frame_push(frame, sizeof(*udp));
	size_t length = plan->length - (frame->length - sizeof(*udp));
	const unsigned char *addresses = (const unsigned char *)udp - 2 * sizeof(struct in6_addr);

	udp->source = htons(999);
	udp->dest = htons((uint16_t)plan->port);
	udp->len = htons((uint16_t)length);
	if (plan->ipv6)
		udp->check = checksum(sum_words(addresses, 2 * sizeof(struct in6_addr)) +
				      sum_words(udp, length) + IPPROTO_UDP + (uint32_t)length);
	frame->length = plan->length;
}

static int build_frame(const struct plan *plan, struct frame *frame)
{
	size_t least = sizeof(struct ethhdr) + sizeof(struct udphdr) +
		       (plan->ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
	int error;

	if (plan->length < least)
		return -EINVAL;
	build_ethernet(plan, frame);
	error = plan->ipv6 ? build_ipv6(plan, frame) : build_ipv4(plan, frame);
	if (!error)
		build_udp(plan, frame);
	return error;
}

static uint32_t source_base(const struct plan *plan, const struct frame *frame)
{
	size_t offset = sizeof(struct ethhdr) + (plan->ipv6 ? offsetof(struct ipv6hdr, saddr) + 4
							    : offsetof(struct iphdr, saddr));
	uint32_t base;

	memcpy(&base, frame->bytes + offset, sizeof(base));
	return ntohl(base);
}

static struct flood *load(const struct plan *plan, const struct frame *frame)
{
	struct flood *flood = flood__open();

	if (!flood)
		return NULL;
	flood->rodata->out_ifindex = if_nametoindex(plan->interface);
	flood->rodata->source_base = source_base(plan, frame);
	flood->rodata->source_mask = (uint32_t)plan->mask;
	flood->rodata->each = (uint32_t)plan->each;
	if (!flood->rodata->out_ifindex || flood__load(flood)) {
		flood__destroy(flood);
		return NULL;
	}
	return flood;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t at_ns)
{
	struct timespec at = { .tv_sec = (time_t)(at_ns / SECOND_NS),
			       .tv_nsec = (long)(at_ns % SECOND_NS) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

static int send_chunk(int program, struct frame *frame, unsigned long count)
{
	struct xdp_md context = { .data_end = (uint32_t)frame->length };
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame->bytes,
		    .data_size_in = (uint32_t)frame->length, .ctx_in = &context,
		    .ctx_size_in = sizeof(context), .repeat = (int)count,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = BATCH);

	return bpf_prog_test_run_opts(program, &options);
}

/* Paced: what is due by the clock, every PACE_NS. */
static int send_all(const struct plan *plan, int program, struct frame *frame)
{
	uint64_t start_ns = now_ns();
	unsigned long sent = 0;

	while (sent < plan->count) {
		unsigned long chunk = plan->count - sent < CHUNK ? plan->count - sent : CHUNK;
		uint64_t elapsed_ns = now_ns() - start_ns;
		double due = (double)plan->rate * ((double)elapsed_ns / SECOND_NS);
		int error;

		if (plan->rate && due < (double)sent + 1) {
			sleep_until(start_ns + (elapsed_ns / PACE_NS + 1) * PACE_NS);
			continue;
		}
		if (plan->rate && due - (double)sent < (double)chunk)
			chunk = (unsigned long)(due - (double)sent);
		error = send_chunk(program, frame, chunk);
		if (error)
			return error;
		sent += chunk;
	}
	return 0;
}

static int run(const struct plan *plan, struct frame *frame)
{
	struct flood *flood = load(plan, frame);
	struct bpf_program *program;
	int error;

	if (!flood)
		return -EINVAL;
	program = plan->ipv6 ? flood->progs.forge6 : flood->progs.forge4;
	error = send_all(plan, bpf_program__fd(program), frame);
	if (!error)
		printf("{\"sent\": %llu, \"seconds\": %.6f}\n", flood->bss->frames,
		       (double)(flood->bss->last_ns - flood->bss->first_ns) / SECOND_NS);
	flood__destroy(flood);
	return error;
}

static int pin_cpu(long cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return 0;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

int main(int argc, char **argv)
{
	struct plan plan = parse_plan(argc, argv);
	struct frame frame = { 0 };
	int error = build_frame(&plan, &frame);

	if (!error)
		error = pin_cpu(plan.cpu);
	if (!error)
		error = run(&plan, &frame);
	if (error)
		fprintf(stderr, "flood: %s\n", strerror(-error));
	return error ? 1 : 0;
}
