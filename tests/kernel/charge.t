#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Instances in a network namespace and on a bpffs of their own: both end with the test.
program="${BUILD:-build}/kernel/test_$(basename "$0" .t)"
if [ "$(id -u)" -ne 0 ]; then
	echo "1..0 # SKIP needs root"
	exit 0
fi
CMOCKA_MESSAGE_OUTPUT=TAP exec unshare --mount --net --propagation private "$program"
