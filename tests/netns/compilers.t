#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The verifier takes the program from every clang that this machine has, not only the default.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

compilers() {
	compgen -c clang | grep -xE 'clang(-[0-9]+)?' | sort -u
}

test_the_program_loads_from_each_clang() {
	local clang
	local -A seen
	for clang in $(compilers); do
		[ -z "${seen[$(readlink -f "$(command -v "$clang")")]:-}" ] || continue
		seen[$(readlink -f "$(command -v "$clang")")]=yes
		make -s -C "$root" BUILD="$scratch/$clang" CLANG="$clang" "$scratch/$clang/weir.bpf.o"
		bpftool prog loadall "$scratch/$clang/weir.bpf.o" "/sys/fs/bpf/$clang" type xdp
		note "$($clang --version | head -n 1): $(bpftool -j prog show pinned "/sys/fs/bpf/$clang/weir" |
			jq .bytes_xlated) bytes"
		rm -r "/sys/fs/bpf/$clang"
	done
}

run_tests "$@"
