/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All links of a pin directory at once, for the lifecycle in kernel.c; links
 * of one interface are in kernel.h. Must not know maps.
 */
#ifndef WEIR_KERNEL_ATTACH_H
#define WEIR_KERNEL_ATTACH_H

#include "log.h"

/* Detach and unpin each link. 0 or the first -errno; the walk goes on. */
int attach_remove_all(const char *directory);

/* Let each link that still holds an interface run another program. */
int attach_update_all(const char *directory, int program_fd, struct message *message);

#endif
