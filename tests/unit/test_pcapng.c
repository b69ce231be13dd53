/* SPDX-License-Identifier: GPL-2.0-only */
/* pcapng files as libpcap reads them, and the comment it does not show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <cmocka.h>
#include <pcap/pcap.h>

#include "../../user/pcapng.h"

static const uint8_t frame[61] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45 };

#define TIME_NS 1764543210123456789ULL

static FILE *written(const char *comment, size_t packets)
{
	FILE *out = tmpfile();
	struct pcapng file;
	uint32_t number;

	assert_non_null(out);
	assert_int_equal(pcapng_begin(&file, out, "weir test"), 0);
	assert_int_equal(pcapng_interface(&file, "lo", 128, &number), 0);
	assert_int_equal(number, 0);
	assert_int_equal(pcapng_interface(&file, "eth0", 128, &number), 0);
	assert_int_equal(number, 1);
	for (size_t i = 0; i < packets; i++) {
		struct pcapng_packet packet = { i % 2, TIME_NS + i, 1514, sizeof(frame) - i,
						frame, comment };

		assert_int_equal(pcapng_packet_write(&file, &packet), 0);
	}
	rewind(out);
	return out;
}

static void libpcap_reads_what_was_written(void **state)
{
	char error[PCAP_ERRBUF_SIZE];
	pcap_t *pcap = pcap_fopen_offline_with_tstamp_precision(written("limit: everyone/dns", 4),
								PCAP_TSTAMP_PRECISION_NANO, error);
	struct pcap_pkthdr *head;
	const u_char *bytes;

	(void)state;
	assert_non_null(pcap);
	assert_int_equal(pcap_datalink(pcap), DLT_EN10MB);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pcap_next_ex(pcap, &head, &bytes), 1);
		assert_int_equal(head->len, 1514);
		assert_int_equal(head->caplen, sizeof(frame) - i);
		assert_int_equal(head->ts.tv_sec, TIME_NS / 1000000000);
		assert_int_equal(head->ts.tv_usec, TIME_NS % 1000000000 + i);
		assert_memory_equal(bytes, frame, head->caplen);
	}
	assert_int_equal(pcap_next_ex(pcap, &head, &bytes), PCAP_ERROR_BREAK);
	pcap_close(pcap);
}

/* Every block states its length twice and is a multiple of four bytes long. */
static void blocks_close_themselves(void **state)
{
	FILE *in = written("reason", 3);
	uint32_t head[2], tail;
	int blocks = 0;

	(void)state;
	while (fread(head, sizeof(head), 1, in) == 1) {
		assert_int_equal(head[1] % 4, 0);
		fseek(in, head[1] - 12, SEEK_CUR);
		assert_int_equal(fread(&tail, sizeof(tail), 1, in), 1);
		assert_int_equal(tail, head[1]);
		blocks++;
	}
	assert_int_equal(blocks, 1 + 2 + 3);
	fclose(in);
}

static void comment_is_an_option_of_the_packet(void **state)
{
	FILE *in = written("ban", 1);
	uint8_t all[1024];
	size_t size = fread(all, 1, sizeof(all), in);
	/* opt_comment, 3 bytes and one of padding, opt_endofopt, the block's length */
	const uint8_t want[] = { 1, 0, 3, 0, 'b', 'a', 'n', 0, 0, 0, 0, 0, 108, 0, 0, 0 };

	(void)state;
	assert_true(size > sizeof(want));
	assert_memory_equal(all + size - sizeof(want), want, sizeof(want));
	fclose(in);
}

static void packet_without_comment(void **state)
{
	FILE *in = written(NULL, 1);
	char error[PCAP_ERRBUF_SIZE];
	pcap_t *pcap = pcap_fopen_offline(in, error);
	struct pcap_pkthdr *head;
	const u_char *bytes;

	(void)state;
	assert_non_null(pcap);
	assert_int_equal(pcap_next_ex(pcap, &head, &bytes), 1);
	pcap_close(pcap);
}

static void interface_must_be_described_first(void **state)
{
	struct pcapng file = { .out = stdout, .interfaces = 1 };
	struct pcapng_packet packet = { .interface = 1 };

	(void)state;
	assert_int_equal(pcapng_packet_write(&file, &packet), -EINVAL);
}

static void full_disk_is_reported(void **state)
{
	FILE *out = fopen("/dev/full", "w");
	struct pcapng file;

	(void)state;
	assert_non_null(out);
	setvbuf(out, NULL, _IONBF, 0);
	assert_int_equal(pcapng_begin(&file, out, "weir"), -ENOSPC);
	fclose(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(libpcap_reads_what_was_written),
		cmocka_unit_test(blocks_close_themselves),
		cmocka_unit_test(comment_is_an_option_of_the_packet),
		cmocka_unit_test(packet_without_comment),
		cmocka_unit_test(interface_must_be_described_first),
		cmocka_unit_test(full_disk_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
