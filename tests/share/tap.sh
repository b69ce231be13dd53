#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Sourced by the tests here: TAP, a scratch directory that goes away, and the program.
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
WEIR=${WEIR:-$PWD/build/weir}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tests=0

# ok NAME COMMAND...: one test, passed when the command succeeds; its output only when not.
ok()
{
	local name=$1
	shift
	tests=$((tests + 1))
	if "$@" >"$scratch/output" 2>&1; then
		echo "ok $tests - $name"
	else
		echo "not ok $tests - $name"
		sed 's/^/# /' "$scratch/output"
	fi
}

skip()
{
	tests=$((tests + 1))
	echo "ok $tests - $1 # SKIP $2"
}

have()
{
	command -v "$1" >/dev/null
}

# same EXPECTED GOT
same()
{
	[ "$1" = "$2" ] || { diff <(printf '%s\n' "$1") <(printf '%s\n' "$2"); return 1; }
}

finish()
{
	echo "1..$tests"
	exit 0
}
