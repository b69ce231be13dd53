/* SPDX-License-Identifier: GPL-2.0-only */
/* weir capture: dropped packets to a pcapng file, the reason as a comment to each. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli.h"
#include "pcapng.h"
#include "render_json.h"
#include "render_sample.h"
#include "watch.h"

enum capture_size {
	PER_SECOND = 2000, /* on each CPU */
	INTERFACES = 64,
};

struct capture {
	FILE *out;
	struct pcapng file;
	uint32_t ifindex[INTERFACES]; /* in the order they are numbered in the file */
};

/* An interface is described when its first packet comes. */
static int interface_number(struct capture *capture, uint32_t ifindex, const char *name,
			    uint32_t *number)
{
	for (uint32_t i = 0; i < capture->file.interfaces; i++) {
		if (capture->ifindex[i] == ifindex) {
			*number = i;
			return 0;
		}
	}
	if (capture->file.interfaces == INTERFACES)
		return -E2BIG;
	capture->ifindex[capture->file.interfaces] = ifindex;
	return pcapng_interface(&capture->file, name, EVENT_BYTES, number);
}

static int keep(const struct event *event, const struct sample *sample,
		const struct sample_place *place, void *context)
{
	struct capture *capture = context;
	char comment[SAMPLE_COMMENT];
	struct pcapng_packet packet = {
		.time_ns = place->time_ns,
		.length = event->length,
		.captured = event->captured,
		.bytes = event->bytes,
		.comment = render_sample_comment(sample, comment, sizeof(comment)),
	};
	int err = interface_number(capture, event->ifindex, place->interface, &packet.interface);

	return err ? err : pcapng_packet_write(&capture->file, &packet);
}

static int open_file(const char *path, struct capture *capture, struct message *message)
{
	int err;

	capture->out = strcmp(path, "-") ? fopen(path, "we") : stdout;
	if (!capture->out)
		return message_set(message, -errno, "cannot write %s: %s", path, strerror(errno));
	err = pcapng_begin(&capture->file, capture->out, "weir " WEIR_VERSION);
	return err ? message_set(message, err, "cannot write %s: %s", path, strerror(-err)) : 0;
}

static int close_file(const char *path, struct capture *capture, int err, struct message *message)
{
	if (!capture->out)
		return err;
	if (capture->out == stdout ? fflush(stdout) : fclose(capture->out))
		err = err ? err : -errno;
	if (err && !*message->text)
		message_set(message, err, "cannot write %s: %s", path, strerror(-err));
	return err;
}

static void report(const struct command *command, const struct watch_result *result)
{
	json_t *document;

	if (!command->json) {
		log_info("%" PRIu64 " dropped packets written, %" PRIu64 " more not sampled",
			 result->seen, result->lost);
		return;
	}
	if (!strcmp(command->argv[0], "-"))
		return;
	document = json_pack("{s:s, s:I, s:I}", "file", command->argv[0], "packets",
			     (json_int_t)result->seen, "not_sampled", (json_int_t)result->lost);
	json_print(document, command->pretty, command->out);
}

int cmd_capture(struct command *command, struct message *message)
{
	struct capture capture = { 0 };
	struct watch_plan plan = { .instance = command->instance,
				   .per_second = PER_SECOND,
				   .visit = keep,
				   .context = &capture };
	struct watch_result result = { 0 };
	int err;

	err = words_expect(command, 1, 1, message);
	if (!err)
		err = option_count(command, OPT_MAX, 0, &plan.most, message);
	if (!err)
		err = option_duration(command, OPT_SECONDS, 0, &plan.for_ns, message);
	if (!err)
		err = open_file(command->argv[0], &capture, message);
	if (!err)
		err = watch_run(&plan, &result, message);
	err = close_file(command->argv[0], &capture, err, message);
	if (!err)
		report(command, &result);
	return err;
}
