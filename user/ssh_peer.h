/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From where the caller is logged in over SSH. sudo drops SSH_CONNECTION from the
 * environment, so that of the processes above is asked too. Knows no policy.
 */
#ifndef WEIR_SSH_PEER_H
#define WEIR_SSH_PEER_H

#include <stdbool.h>

#include "units.h"

/* The address of the other end; false where there is none. */
bool ssh_peer(struct prefix *address);

#endif
