#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# weir on other kernels: Debian's cloud kernels boot under qemu's software emulation, run the
# program's fixtures and a short flood over native veth, and power off. Timing means nothing
# there; the verifier, the helpers and the counts are the kernel's own.
set -u
here=$(cd "$(dirname "$0")" && pwd)
BUILD=$(realpath "${BUILD:-$here/../../build}")
export BUILD
cache=$BUILD/kernels
series=(6.1 6.12)
mkdir -p "$cache"

boot() { # KERNEL INITRD LOG
	timeout -k 5 "${GUEST_SECONDS:-600}" nice qemu-system-x86_64 -nodefaults -no-user-config \
		-accel tcg,thread=multi -cpu max -M pc -smp 2 -m 512 -display none -no-reboot \
		-serial "file:$3" -kernel "$1" -initrd "$2" \
		-append "console=ttyS0 panic=-1 oops=panic mitigations=off nokaslr quiet" </dev/null
}

try() { # SERIES
	local folder=$cache/$1 log=$cache/$1.log image=$cache/$1.cpio.gz kernel
	: >"$log"
	"$here/fetch" "$1" "$folder" || return
	"$here/pack" "$folder" "$image" || return
	kernel=$(find "$folder" -name 'vmlinuz*' -type f | head -n 1)
	boot "$kernel" "$image" "$log" || return
	tr -d '\r' <"$log" | grep -q '^guest: done, failed=0$'
}

if [ "$(uname -m)" != x86_64 ]; then
	echo "1..0 # SKIP the kernels are x86-64 ones"
	exit 0
fi
echo "1..${#series[@]}"
failed=0 number=0
for name in "${series[@]}"; do
	number=$((number + 1))
	if try "$name" >"$cache/$name.words" 2>&1; then
		version=$(tr -d '\r' <"$cache/$name.log" | sed -n 's/^guest: \([0-9].*\), .*/\1/p')
		passed=$(tr -d '\r' <"$cache/$name.log" | grep -c '^ok ')
		echo "ok $number - Linux $version: $passed tests passed"
	else
		failed=1
		echo "not ok $number - Linux $name"
		cat "$cache/$name.words" "$cache/$name.log" | tr -d '\r' | tail -n 100 | sed 's/^/# /'
	fi
done
exit "$failed"
