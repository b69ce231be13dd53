/* SPDX-License-Identifier: GPL-2.0-only */
/* weir monitor: sampled drops, a line each, as they happen. */
#include <errno.h>
#include <inttypes.h>

#include "cli.h"
#include "render_sample.h"
#include "watch.h"

enum {
	PER_SECOND = 100, /* on each CPU: as much as a person's terminal takes */
};

/* Each line is out at once: whoever reads wants to see it now. */
static int show(const struct event *event, const struct sample *sample,
		const struct sample_place *place, void *context)
{
	struct command *command = context;

	(void)event;
	if (command->json)
		render_sample_json(sample, place, command->pretty, command->out);
	else
		render_sample_text(sample, place, command->out);
	return fflush(command->out) ? -errno : 0;
}

int cmd_monitor(struct command *command, struct message *message)
{
	struct watch_plan plan = { .instance = command->instance,
				   .per_second = PER_SECOND,
				   .visit = show,
				   .context = command };
	struct watch_result result = { 0 };
	int err;

	err = words_expect(command, 0, 0, message);
	if (!err)
		err = option_count(command, OPT_MAX, 0, &plan.most, message);
	if (!err)
		err = option_duration(command, OPT_SECONDS, 0, &plan.for_ns, message);
	if (err)
		return err;
	err = watch_run(&plan, &result, message);
	if (result.lost)
		log_info("%" PRIu64 " drops shown, %" PRIu64 " more not sampled", result.seen,
			 result.lost);
	return err == -EPIPE ? 0 : err;
}
