#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# weir bench: figures of this machine, and nothing left behind.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../netns/lib.sh"

test_every_kind_of_table() {
	local kind
	for kind in sets hash percpu; do
		weir bench --table "$kind" --sources 4096 --seconds 100ms -j >"$scratch/out"
		jq -e '.runs | length == 1' "$scratch/out"
		jq -e '.runs[0] | .sources == 4096 and .packets >= 100000 and .ns_per_packet > 0 and
			.passed_share >= 0 and .passed_share <= 1' "$scratch/out"
	done
	same pins "$(find /sys/fs/bpf/weir -mindepth 1 2>/dev/null | wc -l)" 0
}

# 1000/s burst 2000: one source passes its burst and some, of all those packets.
test_one_source_is_refused() {
	weir bench --sources 1 --seconds 200ms -j >"$scratch/out"
	jq -e '.runs[0] | .passed_share * .packets >= 1900 and .passed_share * .packets <= 8000' \
		"$scratch/out"
}

test_leaves_a_running_instance_alone() {
	network
	weir attach wan0
	weir bench --sources 1 --seconds 50ms >"$scratch/out"
	grep -qE '^ +1 +[0-9.]+ +[0-9]+ +[0-9.]+ %' "$scratch/out"
	same packets "$(stats '.totals | .passed.packets + .dropped.packets')" 0
	same pins "$(ls /sys/fs/bpf/weir)" default
}

test_interrupted_leaves_nothing() {
	weir bench --seconds 60 &
	wait_until test -e /sys/fs/bpf/weir/weir-bench/program
	sleep 0.5
	kill -INT $!
	wait $! || true
	same pins "$(find /sys/fs/bpf/weir -mindepth 1 2>/dev/null | wc -l)" 0
}

test_a_policy_of_ones_own() {
	policy <<-'YAML'
		policies: [{name: all, sources: [0.0.0.0/0], action: drop}]
	YAML
	same passed "$(weir bench --policy "$scratch/policy.yaml" --sources 16 --seconds 50ms -j |
		jq '.runs[0].passed_share')" 0
	fails 2 weir bench --sources 1000
	says 'power of two'
}

run_tests "$@"
