#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What README.md tells a newcomer to type works as written.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

# The commands under "First use", but the build, on this sandbox's interface.
first_use() {
	sed -n '/^## First use/,/^## What/s/^    //p' "$root/README.md" | grep weir |
		grep -v 'make install' | sed 's/^sudo //; s/ *#.*//; s/eth0/wan0/'
}

test_first_use() {
	network
	cd "$scratch"
	local line commands
	mapfile -t commands < <(first_use)
	within commands "${#commands[@]}" 8 12
	for line in "${commands[@]}"; do
		echo "+ $line"
		bash -ec "$line"
		case $line in
		*observe*) send_flood --count 100000 ;;
		*confirm) same observed "$(reason limit)" 0 ;;
		esac
	done
	same program "$(program_id)" none
}

run_tests "$@"
