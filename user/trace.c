/* SPDX-License-Identifier: GPL-2.0-only */
#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <pcap/pcap.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "trace.h"

#define NS_A_SECOND 1000000000ULL

enum {
	HEADER = 14,
	OUTGOING = 4, /* packet type of LINUX_SLL: sent by this host */
};

/* Where a link type keeps what an Ethernet header says. */
struct link {
	int type;
	uint32_t bytes;	  /* of its header */
	int protocol_at;  /* -1: told by the IP version */
	int direction_at; /* 16 bits; -2: 8 bits at 10 (SLL2); -1: not told */
};

static const struct link links[] = {
	{ DLT_EN10MB, 0, -1, -1 },    { DLT_RAW, 0, -1, -1 },	     { DLT_IPV4, 0, -1, -1 },
	{ DLT_IPV6, 0, -1, -1 },      { DLT_NULL, 4, -1, -1 },	     { DLT_LOOP, 4, -1, -1 },
	{ DLT_LINUX_SLL, 16, 14, 0 }, { DLT_LINUX_SLL2, 20, 0, -2 },
};

struct trace {
	pcap_t *pcap;
	const char *path;
	const struct link *link;
	uint8_t *made; /* a frame with its header made up */
	uint64_t number;
	uint64_t outgoing;
	off_t size; /* 0: not known */
};

static const struct link *link_of(int type)
{
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++)
		if (links[i].type == type)
			return &links[i];
	return NULL;
}

static off_t file_size(pcap_t *pcap)
{
	struct stat status;

	if (fstat(fileno(pcap_file(pcap)), &status) || !S_ISREG(status.st_mode))
		return 0;
	return status.st_size;
}

static int set_filter(struct trace *trace, const char *expression, struct message *message)
{
	struct bpf_program program;
	int err = 0;

	if (pcap_compile(trace->pcap, &program, expression, 1, PCAP_NETMASK_UNKNOWN)) {
		message_set(message, -EINVAL, "filter '%s': %s", expression,
			    pcap_geterr(trace->pcap));
		return message_hint(message, -EINVAL, "pcap-filter(7) describes the language");
	}
	if (pcap_setfilter(trace->pcap, &program))
		err = message_set(message, -EINVAL, "filter '%s': %s", expression,
				  pcap_geterr(trace->pcap));
	pcap_freecode(&program);
	return err;
}

static int trace_prepare(struct trace *trace, const char *expression, struct message *message)
{
	int type = pcap_datalink(trace->pcap);
	const char *name = pcap_datalink_val_to_name(type);

	trace->link = link_of(type);
	if (!trace->link) {
		message_set(message, -ENOTSUP, "%s: link type %s is not one of IP frames",
			    trace->path, name ? name : "unknown");
		return message_hint(message, -ENOTSUP,
				    "capture on an Ethernet interface, or on `any`");
	}
	trace->size = file_size(trace->pcap);
	trace->made = malloc(HEADER + (size_t)pcap_snapshot(trace->pcap));
	if (!trace->made)
		return message_set(message, -ENOMEM, "no memory for a frame");
	return expression ? set_filter(trace, expression, message) : 0;
}

int trace_open(const char *path, const char *expression, struct trace **trace,
	       struct message *message)
{
	char error[PCAP_ERRBUF_SIZE] = "";
	struct trace *made = calloc(1, sizeof(*made));
	int err;

	if (!made)
		return message_set(message, -ENOMEM, "no memory to read %s", path);
	made->path = path;
	made->pcap =
		pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, error);
	if (made->pcap)
		err = trace_prepare(made, expression, message);
	else
		err = message_set(message, -EINVAL, "cannot read the capture: %s%s%s",
				  strstr(error, path) ? "" : path, strstr(error, path) ? "" : ": ",
				  error);
	if (err) {
		trace_close(made);
		return err;
	}
	*trace = made;
	return 0;
}

void trace_close(struct trace *trace)
{
	if (!trace)
		return;
	if (trace->pcap)
		pcap_close(trace->pcap);
	free(trace->made);
	free(trace);
}

/* The EtherType that the frame would have had; 0: not told. */
static uint16_t protocol_of(const struct link *link, const uint8_t *bytes, uint32_t captured)
{
	if (link->protocol_at >= 0)
		return (uint16_t)(bytes[link->protocol_at] << 8 | bytes[link->protocol_at + 1]);
	if (captured <= link->bytes)
		return 0;
	switch (bytes[link->bytes] >> 4) {
	case 4:
		return ETHERTYPE_IP;
	case 6:
		return ETHERTYPE_IPV6;
	}
	return 0;
}

static bool is_outgoing(const struct link *link, const uint8_t *bytes)
{
	if (link->direction_at == -2)
		return bytes[10] == OUTGOING;
	return link->direction_at >= 0 && bytes[link->direction_at] == 0 &&
	       bytes[link->direction_at + 1] == OUTGOING;
}

static void make_frame(struct trace *trace, const uint8_t *bytes, struct trace_frame *frame)
{
	const struct link *link = trace->link;
	uint16_t protocol = protocol_of(link, bytes, frame->captured);

	memset(trace->made, 0, HEADER - 2);
	trace->made[HEADER - 2] = (uint8_t)(protocol >> 8);
	trace->made[HEADER - 1] = (uint8_t)protocol;
	memcpy(trace->made + HEADER, bytes + link->bytes, frame->captured - link->bytes);
	frame->captured += HEADER - link->bytes;
	frame->length += HEADER - link->bytes;
	frame->bytes = trace->made;
}

static int read_next(struct trace *trace, struct trace_frame *frame, struct message *message)
{
	struct pcap_pkthdr *head;
	const u_char *bytes;
	int got = pcap_next_ex(trace->pcap, &head, &bytes);

	if (got == PCAP_ERROR_BREAK)
		return 0;
	if (got < 0)
		return message_set(message, -EIO, "%s, after packet %llu: %s", trace->path,
				   (unsigned long long)trace->number, pcap_geterr(trace->pcap));
	*frame = (struct trace_frame){
		.number = ++trace->number,
		.time_ns = (uint64_t)head->ts.tv_sec * NS_A_SECOND + (uint64_t)head->ts.tv_usec,
		.length = head->len,
		.captured = head->caplen < head->len ? head->caplen : head->len,
		.bytes = bytes,
	};
	return 1;
}

int trace_next(struct trace *trace, struct trace_frame *frame, struct message *message)
{
	int got;

	while ((got = read_next(trace, frame, message)) == 1) {
		if (trace->link->type == DLT_EN10MB)
			return 1;
		if (frame->captured < trace->link->bytes)
			continue; /* not even the made-up header of the capture */
		if (!is_outgoing(trace->link, frame->bytes)) {
			make_frame(trace, frame->bytes, frame);
			return 1;
		}
		trace->outgoing++;
	}
	return got;
}

uint64_t trace_outgoing(const struct trace *trace)
{
	return trace->outgoing;
}

unsigned int trace_progress(const struct trace *trace)
{
	off_t at = trace->size ? ftello(pcap_file(trace->pcap)) : 0;

	return at > 0 ? (unsigned int)((double)at / (double)trace->size * 65536) : 0;
}
