#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What has to work on every kernel: attach natively, hold a flood, keep the state, detach.
# Also run by tests/kernels, where time is slow: nothing here depends on it.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

slow_policy() { # so slow that no token comes back during the test
	policy <<-'YAML'
		policies:
		  - name: everyone
		    sources: [0.0.0.0/0, "::/0"]
		    limits: [{rate: 1/hour, burst: 50}]
	YAML
}

test_native_attach_holds_a_flood() {
	network
	slow_policy
	weir attach wan0 --mode native --policy "$scratch/policy.yaml"
	same mode "$(xdp_mode)" 1
	local before
	before=$(stack_packets)
	send_flood --count 5000
	send_flood --count 5000 --ipv6
	same "reached the stack" "$(($(stack_packets) - before))" 100
	same granted "$(reason granted)" 100
	# A slow machine loses live frames before they reach the program, where the ring is full.
	within refused "$(reason limit)" 4000 9900
}

test_many_sources_each_have_their_own() {
	network
	slow_policy
	weir attach wan0 --policy "$scratch/policy.yaml"
	send_flood --count 8192 --mask 15 --each 1
	same granted "$(reason granted)" 800
}

test_apply_in_place_and_detach() {
	network
	slow_policy
	weir attach wan0 --policy "$scratch/policy.yaml"
	local id
	id=$(program_id)
	send_flood --count 100
	weir apply "$scratch/policy.yaml"
	send_flood --count 100
	same "program id" "$(program_id)" "$id"
	same granted "$(reason granted)" 50
	weir detach --all
	same "program after detach" "$(program_id)" none
}

run_tests "$@"
