#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The demo shows what it says: the loud one is cut, the quiet ones are not, the forged ones
# are blocked, and nothing stays.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

shown() { # ROW COLUMN: of the last table; columns: sent passed dropped
	grep "^  10.*$1" "$scratch/shown" | tail -n 1 | sed 's/^.*\(loud\|quiet\|forged\) *//' |
		awk -v column="$2" '{ print $column }'
}

test_the_demo_shows_what_it_says() {
	DEMO_SECONDS=2 "$here/demo.sh" >"$scratch/shown"
	within "loud, dropped" "$(shown ' loud' 3)" 1 1000000
	within "quiet, passed" "$(shown ' quiet' 2)" 1 1000
	same "quiet, dropped" "$(shown ' quiet' 3)" 0
	within "forged, dropped" "$(shown ' forged' 3)" 1 1000000
	grep -q 'weir detach --all' "$scratch/shown"
	same "sandboxes left" "$(ip netns list | wc -l)" 0
}

run_tests "$@"
