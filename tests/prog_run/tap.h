/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Test results in the Test Anything Protocol, for prove. Knows nothing of what
 * is tested.
 */
#ifndef WEIR_TEST_TAP_H
#define WEIR_TEST_TAP_H

#include <stdbool.h>

/* One result line; returns `good`. Lines of `tap_note` before it explain a failure. */
bool tap_ok(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tap_skip(const char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tap_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Nothing more can be tested: prove reports the file as failed. */
_Noreturn void tap_bail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The plan, and main's return value. */
int tap_done(void);

#endif
