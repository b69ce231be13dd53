/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The wish to end, for verbs that run until they are told to stop: SIGINT,
 * SIGTERM, SIGHUP, and a reader that went away.
 */
#ifndef WEIR_STOP_H
#define WEIR_STOP_H

#include <signal.h>

extern volatile sig_atomic_t stop_asked;

/* From now on these signals set stop_asked and interrupt what waits. */
void stop_on_signals(void);

#endif
