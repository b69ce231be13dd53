#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Every input that the fuzzer was started from, or ever failed on, once more under sanitizers.
cd "$(dirname "$0")/../.." || exit 1
fuzzer=${BUILD:-build}/fuzz/config
said=$(mktemp)
trap 'rm -f "$said"' EXIT
inputs=(tests/fuzz/corpus/* share/examples/*.yaml share/default.yaml)

echo "1..${#inputs[@]}"
number=0
for input in "${inputs[@]}"; do
	number=$((number + 1))
	if "$fuzzer" -timeout=10 "$input" >"$said" 2>&1; then
		echo "ok $number - $input"
	else
		echo "not ok $number - $input"
		sed 's/^/# /' "$said"
	fi
done
