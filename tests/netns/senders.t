#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The tools that the other tests measure with, measured: what they send arrives, all of it.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

# Live frames enter a veth only where the other end has a program of its own.
passing_network() {
	network
	ip link set dev wan0 xdpdrv obj "$BUILD/netns/foreign.bpf.o" sec xdp
}

test_flood_delivers_each_packet() {
	passing_network
	local before
	before=$(stack_packets)
	send_flood --count 300000 >"$scratch/flood"
	same sent "$(jq .sent "$scratch/flood")" 300000
	same arrived "$(($(stack_packets) - before))" 300000
}

test_flood_forges_valid_packets_of_both_families() {
	passing_network
	talk serve 9 >"$scratch/served" &
	sleep 0.2
	send_flood --count 1000 --mask 255 --each 2
	send_flood --count 1000 --mask 255 --each 2 --ipv6
	sleep 0.2
	kill %1
	wait %1
	same taken "$(jq .udp "$scratch/served")" 2000
}

test_flood_keeps_its_rate() {
	passing_network
	send_flood --count 20000 --rate 20000 >"$scratch/flood"
	within seconds "$(jq .seconds "$scratch/flood")" 0.9 1.5
}

test_two_cpus_lose_nothing() {
	[ "$(nproc)" -ge 2 ] || skip "one CPU only"
	passing_network
	local before
	before=$(stack_packets)
	send_flood --count 200000 --cpu 0 &
	send_flood --count 200000 --cpu 1
	wait
	same arrived "$(($(stack_packets) - before))" 400000
}

test_raw_frames_arrive_as_written() {
	network
	talk serve 9 >"$scratch/served" &
	sleep 0.2
	send_raw 5 "$(ethernet 0800 "$(ipv4 10.1.2.3 17 "$(udp 9)")")"
	sleep 0.2
	kill %1
	wait %1
	same taken "$(jq .udp "$scratch/served")" 5
}

test_talk_gets_through_without_a_limiter() {
	network
	add_sources 10.2.0.1 fd00:2:1::1
	talk serve 7 >/dev/null &
	sleep 0.2
	local address to
	for address in 10.2.0.1 fd00:2:1::1; do
		to=10.0.0.1
		[ "$address" = 10.2.0.1 ] || to=fd00::1
		same datagrams "$(on_peer talk udp "$address" "$to" 7 5)" 5
		same connections "$(on_peer talk tcp "$address" "$to" 7 5)" 5
		same echoes "$(on_peer talk ping "$address" "$to" 5)" 5
	done
	kill %1
}

run_tests "$@"
