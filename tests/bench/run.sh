#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# make bench: the table to stdout, all figures to program.json.
set -eu -o pipefail
cd "$(dirname "$0")"
out=${BUILD:-$PWD/../../build}/bench
options=(--json "$out/program.json")
[ -z "${BENCH_QUICK:-}" ] || options+=(--quick)
[ -z "${BENCH_ONLY:-}" ] || options+=(--only "$BENCH_ONLY")

if [ "$(id -u)" != 0 ]; then
	echo "make bench loads programs and makes network namespaces: run it as root" >&2
	exit 1
fi
printf '%s, %s CPUs, Linux %s, load %s\n\n' \
	"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)" "$(nproc)" "$(uname -r)" \
	"$(cut -d' ' -f1 /proc/loadavg)"
"$out/bench" "${options[@]}"
printf '\nall figures: %s\n' "$out/program.json"
