/* SPDX-License-Identifier: GPL-2.0-only */
#include <time.h>

#include "cli.h"
#include "render_json.h"
#include "render_text.h"
#include "running.h"

/* Opened anew each time: an apply in between changes names and cells. */
static int print_once(struct command *command, struct message *message)
{
	struct text_style style = { command->human, command->color };
	struct snapshot snapshot;
	struct running running;
	int err;

	err = running_open(command->instance, true, &running, message);
	if (err)
		return err;
	err = snapshot_read(&running.instance, running.image, true, &snapshot, message);
	if (!err) {
		if (command->json)
			json_print(json_stats(&snapshot), command->pretty, command->out);
		else
			text_stats(&snapshot, &style, command->out);
		snapshot_free(&snapshot);
	}
	running_close(&running);
	return err;
}

static void sleep_until(struct timespec *next, uint64_t interval_ns)
{
	uint64_t ns = (uint64_t)next->tv_nsec + interval_ns;

	next->tv_sec += (time_t)(ns / NS_PER_SEC);
	next->tv_nsec = (long)(ns % NS_PER_SEC);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL))
		;
}

/* With an interval and no count it goes on until it is killed or its reader is gone. */
int cmd_stats(struct command *command, struct message *message)
{
	bool repeats = command->option[OPT_INTERVAL] || command->option[OPT_COUNT];
	uint64_t interval_ns, count;
	struct timespec next;
	int err;

	err = words_expect(command, 0, 0, message);
	if (!err)
		err = option_duration(command, OPT_INTERVAL, NS_PER_SEC, &interval_ns, message);
	if (!err)
		err = option_count(command, OPT_COUNT, repeats ? UINT64_MAX : 1, &count, message);
	if (err)
		return err;
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (uint64_t i = 0; i < count; i++) {
		if (i) {
			sleep_until(&next, interval_ns);
			if (!command->json)
				fputc('\n', command->out);
		}
		err = print_once(command, message);
		if (err || fflush(command->out))
			return err;
	}
	return 0;
}
