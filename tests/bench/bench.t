#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# make bench still builds, loads and judges as its rows say. No time is asserted: ratios of a loaded
# machine prove nothing.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../netns/lib.sh"

test_rows_targets_and_tables() {
	"$BUILD/bench/bench" --quick --rounds 1 --only "1 source" --json "$scratch/out" >"$scratch/text"
	jq -e '[.rows[] | select(.ns == null or .gross_ns <= 0)] == []' "$scratch/out"
	jq -e '[.rows[].row] | index("1 source refused") and index("parse + clock + drop, IPv6")' \
		"$scratch/out"
	jq -e '.targets[] | select(.row == "1 source granted") |
		.against == "parse + clock + drop" and .met == (.ratio <= .at_most)' "$scratch/out"
	jq -e '.setups[] | select(.name == "one") | .bytes_per_state >= 32' "$scratch/out"
	grep -q '^1 source refused ' "$scratch/text"
	same pins "$(find /sys/fs/bpf/weir -mindepth 1 2>/dev/null | wc -l)" 0
}

# Figures made up: medians, ratios and bounds of the packet level.
test_packet_level_ratios() {
	printf '%s\n' 'rate weir 1 100 1' 'rate weir 1 300 1' 'rate weir 1 200 1' 'rate nft 1 50 1' \
		'rate xdp-drop 1 400 1' 'time xdp-drop 1 50' 'time weir 1 250' 'skipped hashlimit 0 0' |
		jq -Rn -f "$root/tests/bench/packets.jq" >"$scratch/out"
	jq -e '.skipped == ["hashlimit"]' "$scratch/out"
	jq -e '.rates[] | select(.name == "weir") |
		.packets_per_s == 200 and .best_packets_per_s == 300' "$scratch/out"
	jq -e '[.targets[] | {what, ratio, met}] == [
		{what: "packets/s, 1 source: weir to nft", ratio: 4, met: true},
		{what: "packets/s, 1 source: weir to XDP_DROP", ratio: 0.5, met: false},
		{what: "in place, 1 source refused: weir to XDP_DROP", ratio: 5, met: false}]' \
		"$scratch/out"
}

run_tests "$@"
