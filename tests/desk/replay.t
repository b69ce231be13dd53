#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# weir replay: a capture judged without root, and limits suggested for it.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../netns/lib.sh"

little32() { # NUMBER: as hexadecimal, least byte first
	printf '%02x%02x%02x%02x' $(($1 & 255)) $(($1 >> 8 & 255)) $(($1 >> 16 & 255)) \
		$(($1 >> 24 & 255))
}

capture_begin() {
	xxd -r -p <<<d4c3b2a1020004000000000000000000ffff000001000000 >"$scratch/some.pcap"
}

# COUNT packets a second apart by MICROSECONDS, from SECOND on, to a UDP port.
capture_add() { # SOURCE PORT COUNT SECOND MICROSECONDS
	local frame length at number
	frame=$(ethernet 0800 "$(ipv4 "$1" 17 "$(udp "$2" 00000000)")")
	length=$(little32 $((${#frame} / 2)))
	for ((number = 0; number < $3; number++)); do
		at=$((number * $5))
		echo "$(little32 $((1764500000 + $4 + at / 1000000)))$(little32 $((at % 1000000)))$length$length$frame"
	done | xxd -r -p >>"$scratch/some.pcap"
}

policy_for_dns() {
	policy <<-'YAML'
		services: {dns: [udp/53]}
		policies:
		  - name: everyone
		    sources: [0.0.0.0/0]
		    limits: [{rate: 1000/s, burst: 1000}, {name: names, service: dns, rate: 10/s, burst: 5}]
		  - {name: bad, sources: [203.0.113.0/24], action: drop}
	YAML
}

replay() { # WORDS...
	weir replay "$scratch/some.pcap" --policy "$scratch/policy.yaml" "$@"
}

test_verdicts_by_policy_limit_and_source() {
	policy_for_dns
	capture_begin
	capture_add 10.2.0.1 53 40 0 1000
	capture_add 203.0.113.9 9 3 1 1000
	local json
	json=$(replay -j)
	same dropped "$(jq .totals.dropped.packets <<<"$json")" 38
	same refused "$(jq '.policies[0].limits[1].refused.packets' <<<"$json")" 35
	same granted "$(jq '.policies[0].limits[1].granted_packets' <<<"$json")" 5
	same bad "$(jq '.policies[1].dropped.packets' <<<"$json")" 3
	same worst "$(jq -r '.sources[0] | "\(.source) \(.refused) \(.limit)"' <<<"$json")" \
		"10.2.0.1 35 names"
	same first "$(jq '.sources[0].first_refusal_ns' <<<"$json")" 1764500000005000000
	same last "$(jq '.sources[0].last_refusal_ns' <<<"$json")" 1764500000039000000
	said=$(replay)
	says '^everyone +5 +35 +0'
	says '^10\.2\.0\.1 +35 +5 +everyone/names +0\.005000 +0\.039000'
}

test_a_filter_as_tcpdump_takes_it() {
	policy_for_dns
	capture_begin
	capture_add 10.2.0.1 53 8 0 1000
	capture_add 10.2.0.2 9 2 0 1000
	same passed "$(replay -j host 10.2.0.2 and udp | jq .totals.passed.packets)" 2
	fails 1 replay udp prt 9
	says 'filter .udp prt 9.: .*syntax error'
}

test_works_as_nobody() {
	policy_for_dns
	capture_begin
	capture_add 10.2.0.1 53 8 0 1000
	chmod -R a+rX "$scratch"
	same passed "$(setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs \
		--bounding-set=-all --inh-caps=-all "$BUILD/weir" replay "$scratch/some.pcap" \
		--policy "$scratch/policy.yaml" -j | jq .totals.passed.packets)" 5
}

test_reads_pcapng_and_stdin() {
	policy_for_dns
	capture_begin
	capture_add 10.2.0.1 53 8 0 1000
	editcap -F pcapng "$scratch/some.pcap" "$scratch/some.pcapng"
	same pcapng "$(weir replay "$scratch/some.pcapng" --policy "$scratch/policy.yaml" -j |
		jq .totals.passed.packets)" 5
	same stdin "$(weir replay - --policy "$scratch/policy.yaml" -j <"$scratch/some.pcap" |
		jq .totals.passed.packets)" 5
}

test_a_capture_that_was_cut_off_counts_as_far_as_it_goes() {
	policy_for_dns
	capture_begin
	capture_add 10.2.0.1 53 8 0 1000
	truncate -s -1 "$scratch/some.pcap"
	same passed "$(replay -j 2>"$scratch/said" | jq .totals.dropped.packets)" 2
	said=$(cat "$scratch/said")
	says 'after packet 7.*what came before is counted'
}

test_suggests_what_apply_takes() {
	capture_begin
	local host
	for host in 1 2 3 4 5; do
		capture_add 10.2.0.$host 53 20 0 100000
	done
	capture_add 10.2.0.9 53 40 0 50000
	reordercap "$scratch/some.pcap" "$scratch/ordered.pcap" # by time
	mv "$scratch/ordered.pcap" "$scratch/some.pcap"
	weir replay "$scratch/some.pcap" --suggest >"$scratch/suggested.yaml"
	weir check "$scratch/suggested.yaml"
	same dropped "$(weir replay "$scratch/some.pcap" --policy "$scratch/suggested.yaml" -j |
		jq .totals.dropped.packets)" 0
	# the busiest sent 40 in 2 s, one at a time: 20/s and half as much again
	grep -qE 'rate: 31/s, burst: [0-9]+, service: udp-53' "$scratch/suggested.yaml"
	same series "$(weir replay "$scratch/some.pcap" --suggest -j |
		jq -r '.limits[] | select(.service == "udp-53") | .rate_per_second')" 31
}

test_progress_on_a_terminal_and_none_in_a_pipe() {
	policy_for_dns
	capture_begin
	capture_add 10.2.0.1 53 1000 0 1
	tail -c +25 "$scratch/some.pcap" >"$scratch/thousand"
	local number
	for ((number = 0; number < 150; number++)); do
		cat "$scratch/thousand"
	done >>"$scratch/some.pcap"
	script -qec "weir replay $scratch/some.pcap --policy $scratch/policy.yaml" /dev/null \
		>"$scratch/terminal"
	grep -q 'some.pcap: 131072 packets, 8[67] %' "$scratch/terminal"
	replay >"$scratch/out" 2>"$scratch/said"
	same "in a pipe" "$(cat "$scratch/said")" ''
	grep -q '^151000 packets' "$scratch/out"
}

test_what_is_not_a_capture() {
	policy_for_dns
	fails 1 weir replay "$scratch/policy.yaml"
	says 'policy\.yaml: unknown file format'
	fails 1 weir replay /nonexistent.pcap
	says 'nonexistent\.pcap: No such file'
	fails 2 weir replay
	fails 2 weir replay - --suggest
}

run_tests "$@"
