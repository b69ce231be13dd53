#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Attaching and detaching: modes, foreign programs, and what is missing or goes away.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

five_an_hour() {
	policy <<-'YAML'
		policies:
		  - name: everyone
		    sources: [0.0.0.0/0, "::/0"]
		    limits: [{rate: 1/hour, burst: 5}]
	YAML
}

attach() { # OPTIONS...
	five_an_hour
	weir attach wan0 --policy "$scratch/policy.yaml" "$@"
}

# Beside the kernel's own two files in every bpffs.
pins() {
	find /sys/fs/bpf -mindepth 1 ! -name '*.debug' | wc -l
}

test_native_attach_and_detach_leave_nothing() {
	network
	attach
	same mode "$(xdp_mode)" 1
	weir status >/dev/null
	weir detach --all
	same program "$(program_id)" none
	same pins "$(pins)" 0
}

test_the_embedded_policy_needs_no_file() {
	network
	weir attach wan0
	same policy "$(stats '.policies[0].name')" everyone
	same protecting "$(weir status -j | jq .protecting)" true
}

test_generic_mode_limits_too() {
	network
	add_sources 10.2.0.1
	attach --mode generic
	same mode "$(xdp_mode)" 2
	local before
	before=$(stack_packets)
	same sent "$(on_peer talk udp 10.2.0.1 10.0.0.1 9 40)" 40
	wait_until test "$(reason limit)" = 35
	same "reached the stack" "$(($(stack_packets) - before))" 5
}

test_jumbo_frames_native_and_counted_whole() {
	network 9000
	add_sources 10.2.0.1
	attach --mode native
	same mode "$(xdp_mode)" 1
	on_peer talk udp 10.2.0.1 10.0.0.1 9 10 0 8000
	same bytes "$(stats '[.reasons[] | select(.reason == "limit" or .reason == "granted") | .bytes] | add')" \
		$((10 * 8042))
	same granted "$(reason granted)" 5
}

test_attach_twice_is_one() {
	network
	attach
	local id
	id=$(program_id)
	weir attach wan0
	same program "$(program_id)" "$id"
}

foreign() { # native|generic
	local how=xdpdrv
	[ "$1" = native ] || how=xdpgeneric
	ip link set dev wan0 "$how" obj "$BUILD/netns/foreign.bpf.o" sec xdp
}

refuses_the_foreign_one() { # native|generic
	network
	foreign "$1"
	local id
	id=$(program_id)
	fails 1 weir attach wan0
	says "$id"
	says "$1"
	says '--replace'
	same "their program" "$(program_id)" "$id"
	weir attach wan0 --replace
	[ "$(program_id)" != "$id" ]
	same protecting "$(weir status -j | jq .protecting)" true
}

test_foreign_native_program_is_refused_and_replaced_on_demand() {
	refuses_the_foreign_one native
}

test_foreign_generic_program_is_refused_and_replaced_on_demand() {
	refuses_the_foreign_one generic
}

test_killed_loaders_leave_something_to_attach_to() {
	network
	five_an_hour
	local delay loader
	for delay in 0.005 0.02 0.05 0.1 0.2 0.3; do
		weir attach wan0 --policy "$scratch/policy.yaml" &
		loader=$!
		sleep "$delay"
		kill -9 "$loader" 2>/dev/null || true
		wait "$loader" || true
	done 2>/dev/null
	weir attach wan0 --policy "$scratch/policy.yaml"
	send_flood --count 100
	same granted "$(reason granted)" 5
	weir detach --all
	same program "$(program_id)" none
	same pins "$(pins)" 0
}

test_two_interfaces_share_one_budget() {
	network
	wire wan1 peer1
	on_peer bash -c 'echo 1 >/proc/sys/net/ipv6/conf/peer1/disable_ipv6' # no multicast reports
	ip link set wan1 up
	on_peer ip link set peer1 up
	five_an_hour
	weir attach wan0 wan1 --policy "$scratch/policy.yaml"
	local frame
	frame=$(ethernet 0800 "$(ipv4 10.1.0.9 17 "$(udp 9)")")
	send_raw 3 "$frame"
	raw_interface=peer1 send_raw 10 "$frame"
	send_raw 3 "$frame"
	same granted "$(reason granted)" 5
	weir detach wan1
	send_raw 4 "$frame"
	same refused "$(reason limit)" 15
	same "program on wan0" "$(xdp_mode wan0)" 1
	same "program on wan1" "$(xdp_mode wan1)" none
}

test_bpffs_that_is_not_mounted_is_mounted() {
	network
	umount /sys/fs/bpf
	attach
	mountpoint -q /sys/fs/bpf
	same mode "$(xdp_mode)" 1
}

test_unknown_interface_is_named_and_leaves_nothing() {
	fails 1 weir attach nosuch0
	says nosuch0
	within "lines, one may be a hint" "$(wc -l <<<"$said")" 1 2
	same pins "$(pins)" 0
}

test_missing_rights_are_named() {
	network
	fails 1 setpriv --bounding-set=-all --inh-caps=-all --reuid=65534 --regid=65534 \
		--clear-groups "$BUILD/weir" attach wan0
	says 'CAP_|root|right|permission|privilege'
	same program "$(program_id)" none
}

test_status_notices_a_new_interface_of_the_old_name() {
	network
	attach
	weir status >/dev/null
	ip link del wan0
	wire
	fails 3 weir status
	says wan0
	says 'not attached|gone|detached'
	same protecting "$(weir status -j | jq .protecting)" false
	weir attach wan0
	weir status >/dev/null
}

test_status_without_an_instance_is_not_ok() {
	network
	fails 3 weir status
	weir attach wan0
	weir status >/dev/null
	weir detach wan0
	fails 3 weir status
}

run_tests "$@"
