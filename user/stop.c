/* SPDX-License-Identifier: GPL-2.0-only */
#include "stop.h"

volatile sig_atomic_t stop_asked;

static void ask(int signal)
{
	(void)signal;
	stop_asked = 1;
}

void stop_on_signals(void)
{
	struct sigaction action = { .sa_handler = ask };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	action.sa_handler = SIG_IGN; /* a closed pipe is seen when it is written to */
	sigaction(SIGPIPE, &action, NULL);
}
