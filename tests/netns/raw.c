/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sends frames as they are written: each line of stdin is a count and a frame
 * in hexadecimal. For what no socket would send: tags, odd headers, fragments.
 */
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	FRAME_MOST = 9216,
	LINE_MOST = 2 * FRAME_MOST + 32,
};

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* Length of the frame, or -EINVAL. */
static ssize_t hex_decode(const char *text, unsigned char *bytes, size_t room)
{
	size_t length = 0;

	for (; *text && *text != '\n'; text += 2) {
		int high = hex_digit(text[0]), low = high < 0 ? -1 : hex_digit(text[1]);

		if (low < 0 || length == room)
			return -EINVAL;
		bytes[length++] = (unsigned char)(high << 4 | low);
	}
	return (ssize_t)length;
}

static int send_line(int fd, const struct sockaddr_ll *to, const char *line)
{
	unsigned char frame[FRAME_MOST];
	char *hex;
	unsigned long count = strtoul(line, &hex, 10);
	ssize_t length = hex_decode(*hex == ' ' ? hex + 1 : "?", frame, sizeof(frame));

	if (length < 0)
		return (int)length;
	while (count--) {
		if (sendto(fd, frame, (size_t)length, 0, (const struct sockaddr *)to,
			   sizeof(*to)) != length)
			return -errno;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET };
	char line[LINE_MOST];
	int fd, error = 0;

	if (argc != 2) {
		fputs("usage: raw INTERFACE <<< \"COUNT HEX\"\n", stderr);
		return 2;
	}
	to.sll_ifindex = (int)if_nametoindex(argv[1]);
	fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (fd < 0 || !to.sll_ifindex)
		error = -errno;
	while (!error && fgets(line, sizeof(line), stdin))
		error = send_line(fd, &to, line);
	if (error)
		fprintf(stderr, "raw: %s: %s\n", argv[1], strerror(-error));
	if (fd >= 0)
		close(fd);
	return error ? 1 : 0;
}
