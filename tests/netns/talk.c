/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ordinary traffic through the kernel's own stack: datagrams, connections and
 * echo requests from a chosen source address, and the service that takes them.
 * Every verb prints one number or one JSON object of what got through.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	CONNECT_MS = 300, /* below the first retransmission of a SYN */
	ECHO_MS = 100,
	DATAGRAM_MOST = 8192,
	RECEIVE_BYTES = 16 << 20,
};

struct address {
	struct sockaddr_storage storage;
	socklen_t length;
};

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end) {
		fprintf(stderr, "talk: not a number: %s\n", text);
		exit(2);
	}
	return value;
}

static struct address parse_address(const char *text, unsigned long port)
{
	struct address address = { 0 };
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)&address.storage;
	struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)&address.storage;

	if (inet_pton(AF_INET, text, &ipv4->sin_addr) == 1) {
		ipv4->sin_family = AF_INET;
		ipv4->sin_port = htons((uint16_t)port);
		address.length = sizeof(*ipv4);
	} else if (inet_pton(AF_INET6, text, &ipv6->sin6_addr) == 1) {
		ipv6->sin6_family = AF_INET6;
		ipv6->sin6_port = htons((uint16_t)port);
		address.length = sizeof(*ipv6);
	} else {
		fprintf(stderr, "talk: not an address: %s\n", text);
		exit(2);
	}
	return address;
}

static int open_from(const char *from, int type, int protocol)
{
	struct address address = parse_address(from, 0);
	int fd = socket(address.storage.ss_family, type, protocol);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address.storage, address.length)) {
		fprintf(stderr, "talk: %s: %s\n", from, strerror(errno));
		exit(1);
	}
	return fd;
}

/* udp FROM TO PORT COUNT [INTERVAL_US [BYTES]] */
static int verb_udp(int argc, char **argv)
{
	struct address to = parse_address(argv[1], number(argv[2]));
	int fd = open_from(argv[0], SOCK_DGRAM, 0);
	unsigned long interval_us = argc > 4 ? number(argv[4]) : 0;
	unsigned long length = argc > 5 ? number(argv[5]) : 1, sent = 0;
	char payload[DATAGRAM_MOST] = { 0 };

	for (unsigned long i = number(argv[3]); i && length <= sizeof(payload); i--) {
		sent += sendto(fd, payload, length, 0, (struct sockaddr *)&to.storage, to.length) >
			0;
		if (interval_us)
			usleep((useconds_t)interval_us);
	}
	close(fd);
	printf("%lu\n", sent);
	return 0;
}

static bool connects(const char *from, const struct address *to)
{
	int fd = open_from(from, SOCK_STREAM | SOCK_NONBLOCK, 0), error = -1;
	struct pollfd poller = { .fd = fd, .events = POLLOUT };
	socklen_t length = sizeof(error);

	if (connect(fd, (const struct sockaddr *)&to->storage, to->length) &&
	    errno == EINPROGRESS && poll(&poller, 1, CONNECT_MS) == 1)
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
	close(fd);
	return error == 0;
}

/* tcp FROM TO PORT COUNT */
static int verb_tcp(int argc, char **argv)
{
	struct address to = parse_address(argv[1], number(argv[2]));
	unsigned long made = 0;

	(void)argc;
	for (unsigned long i = number(argv[3]); i; i--)
		made += connects(argv[0], &to);
	printf("%lu\n", made);
	return 0;
}

static size_t build_echo(bool ipv6, uint16_t sequence, unsigned char *packet)
{
	if (ipv6) {
		struct icmp6_hdr echo = { .icmp6_type = ICMP6_ECHO_REQUEST };

		echo.icmp6_seq = htons(sequence);
		memcpy(packet, &echo, sizeof(echo)); /* the kernel adds the checksum */
		return sizeof(echo);
	}
	struct icmphdr echo = { .type = ICMP_ECHO };

	echo.un.echo.sequence = htons(sequence);
	/* With only the type and the sequence set, the sum is of two words. */
	uint32_t sum = (ICMP_ECHO << 8) + sequence;

	echo.checksum = htons((uint16_t) ~((sum & 0xffff) + (sum >> 16)));
	memcpy(packet, &echo, sizeof(echo));
	return sizeof(echo);
}

static bool is_reply(bool ipv6, uint16_t sequence, const unsigned char *packet, ssize_t length)
{
	struct icmphdr echo;
	size_t offset = ipv6 ? 0 : (size_t)(packet[0] & 15) * 4;

	if (length < (ssize_t)(offset + sizeof(echo)))
		return false;
	memcpy(&echo, packet + offset, sizeof(echo)); /* both families lay it out alike */
	return echo.type == (ipv6 ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY) &&
	       ntohs(echo.un.echo.sequence) == sequence;
}

static bool answered(int fd, bool ipv6, uint16_t sequence)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };
	unsigned char packet[512];

	while (poll(&poller, 1, ECHO_MS) == 1) {
		if (is_reply(ipv6, sequence, packet, recv(fd, packet, sizeof(packet), 0)))
			return true;
	}
	return false;
}

/* ping FROM TO COUNT */
static int verb_ping(int argc, char **argv)
{
	struct address to = parse_address(argv[1], 0);
	bool ipv6 = to.storage.ss_family == AF_INET6;
	int fd = open_from(argv[0], SOCK_RAW, ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
	unsigned long count = number(argv[2]), replies = 0;
	unsigned char packet[64];

	(void)argc;
	for (uint16_t i = 1; i <= count; i++) {
		size_t length = build_echo(ipv6, i, packet);

		sendto(fd, packet, length, 0, (struct sockaddr *)&to.storage, to.length);
		replies += answered(fd, ipv6, i);
	}
	close(fd);
	printf("%lu\n", replies);
	return 0;
}

static int open_service(unsigned long port, int type)
{
	struct address any = parse_address("::", port);
	int fd = socket(AF_INET6, type | SOCK_NONBLOCK, 0), off = 0, room = RECEIVE_BYTES;

	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	if (bind(fd, (struct sockaddr *)&any.storage, any.length) ||
	    (type == SOCK_STREAM && listen(fd, 1024))) {
		fprintf(stderr, "talk: port %lu: %s\n", port, strerror(errno));
		exit(1);
	}
	return fd;
}

static bool take_connection(int fd)
{
	int peer = accept(fd, NULL, NULL);

	if (peer < 0)
		return false;
	close(peer);
	return true;
}

/* serve PORT: takes datagrams and connections until SIGTERM, then prints how many. */
static int verb_serve(int argc, char **argv)
{
	struct pollfd pollers[] = {
		{ .fd = open_service(number(argv[0]), SOCK_DGRAM), .events = POLLIN },
		{ .fd = open_service(number(argv[0]), SOCK_STREAM), .events = POLLIN },
	};
	struct sigaction action = { .sa_handler = on_signal };
	unsigned long datagrams = 0, connections = 0;
	char payload[DATAGRAM_MOST];

	(void)argc;
	sigaction(SIGTERM, &action, NULL);
	while (!stop) {
		poll(pollers, 2, 100);
		while (recv(pollers[0].fd, payload, sizeof(payload), 0) >= 0)
			datagrams++;
		while (take_connection(pollers[1].fd))
			connections++;
	}
	printf("{\"udp\": %lu, \"tcp\": %lu}\n", datagrams, connections);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int words;
		int (*run)(int argc, char **argv);
		const char *usage;
	} verbs[] = {
		{ "udp", 4, verb_udp, "udp FROM TO PORT COUNT [INTERVAL_US [BYTES]]" },
		{ "tcp", 4, verb_tcp, "tcp FROM TO PORT COUNT" },
		{ "ping", 3, verb_ping, "ping FROM TO COUNT" },
		{ "serve", 1, verb_serve, "serve PORT" },
	};

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (argc > 1 && !strcmp(argv[1], verbs[i].name) && argc - 2 >= verbs[i].words)
			return verbs[i].run(argc - 2, argv + 2);
	}
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(stderr, "talk %s\n", verbs[i].usage);
	return 2;
}
