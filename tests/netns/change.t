#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Changing what is in force while packets come: no gap, nothing lost, and back when not confirmed.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

everyone() { # BURST [NAME-OF-FILE]
	policy "${2:-policy}" <<-YAML
		policies:
		  - name: everyone
		    sources: [0.0.0.0/0, "::/0"]
		    limits: [{name: packets, rate: 1/hour, burst: $1}]
	YAML
}

attach() { # BURST
	everyone "$1"
	weir attach wan0 --policy "$scratch/policy.yaml"
}

burst_in_force() {
	weir dump | grep -oE 'burst: *"?[0-9a-zA-Z]+' | head -n 1 | grep -oE '[0-9a-zA-Z]+$'
}

# T29
test_fifty_reloads_under_traffic_without_a_gap() {
	network
	attach 50
	policy other <<-'YAML'
		policies:
		  - {name: guests, sources: [10.9.0.0/16], action: pass}
		  - name: everyone
		    sources: [0.0.0.0/0, "::/0"]
		    limits: [{name: packets, rate: 1/hour, burst: 50}]
	YAML
	local id before sender
	id=$(program_id)
	before=$(stack_packets)
	send_flood --count 2000000 --rate 100000 >/dev/null &
	sender=$!
	sleep 0.3
	for _ in {1..25}; do
		weir apply "$scratch/other.yaml"
		same "program id" "$(program_id)" "$id"
		weir apply "$scratch/policy.yaml"
		same "program id" "$(program_id)" "$id"
	done
	kill -0 "$sender"
	policy bad <<-'YAML'
		# a comment
		policies:
		  - name: everyone
		    sources: [0.0.0.0/0, "::/0"]
		    limits:
		      - {name: packets, rate: 1/hour, burst: 5}
		      - {name: other, rate: [1/hour}
	YAML
	fails 1 weir apply "$scratch/bad.yaml"
	says 'bad\.yaml:7'
	same burst "$(burst_in_force)" 50
	kill "$sender"
	wait "$sender" || true
	same "reached the stack" "$(($(stack_packets) - before))" 50
	same granted "$(reason granted)" 50
}

test_an_unknown_key_is_an_error_and_changes_nothing() {
	network
	attach 50
	sed 's/burst: 50/brust: 5/' "$scratch/policy.yaml" >"$scratch/bad.yaml"
	fails 1 weir apply "$scratch/bad.yaml"
	says 'bad\.yaml:4'
	same burst "$(burst_in_force)" 50
}

# T30
test_a_new_limit_counts_what_was_spent() {
	network
	attach 1000
	send_flood --count 1
	everyone 5
	weir apply "$scratch/policy.yaml"
	send_flood --count 100
	within "granted at 1000, then 5" "$(reason granted)" 1 6
	local before
	before=$(reason granted)
	everyone 1000
	weir apply "$scratch/policy.yaml"
	send_flood --count 5000
	within "granted after 5, then 1000" "$(($(reason granted) - before))" 0 1000
}

test_what_is_drained_stays_drained_until_flushed() {
	network
	attach 5
	send_flood --count 100
	weir apply "$scratch/policy.yaml"
	send_flood --count 100
	same granted "$(reason granted)" 5
	weir apply "$scratch/policy.yaml" --flush
	send_flood --count 100
	same "granted after a flush" "$(reason granted)" 10
}

test_killing_every_process_changes_nothing() {
	network
	attach 5
	weir stats --interval 1 >/dev/null &
	weir export --listen 127.0.0.1:9811 &
	sleep 0.5
	send_flood --count 100
	kill -9 %1 %2
	wait || true
	send_flood --count 100
	same granted "$(reason granted)" 5
	same refused "$(reason limit)" 195
}

# The shell that asked is killed with all its children, as when a connection is lost.
test_an_unconfirmed_change_is_rolled_back_after_the_callers_death() {
	network
	attach 50
	everyone 5 strict
	setsid bash -c "weir apply '$scratch/strict.yaml' --confirm 2; sleep 60" &
	local session=$!
	wait_until test "$(sleep 0.7; burst_in_force)" = 5
	kill -HUP -- -$session
	kill -9 -- -$session 2>/dev/null || true
	back() { [ "$(burst_in_force)" = 50 ]; }
	wait_until back
	send_flood --count 100
	same granted "$(reason granted)" 50
}

test_a_confirmed_change_stays() {
	network
	attach 50
	everyone 5 strict
	weir apply "$scratch/strict.yaml" --confirm 2
	weir confirm
	sleep 2.5
	same burst "$(burst_in_force)" 5
}

test_an_unconfirmed_attach_is_undone() {
	network
	everyone 5
	weir attach wan0 --policy "$scratch/policy.yaml" --confirm 1
	same program "$(xdp_mode)" 1
	gone() { [ "$(program_id)" = none ]; }
	wait_until gone
}

frames_pass() { # SOURCE: how many of 10
	local before
	before=$(stack_packets)
	send_flood --source "$1" --count 10 >/dev/null
	echo $(($(stack_packets) - before))
}

test_a_block_ends_by_itself() {
	network
	attach 1000
	weir block 10.1.0.1 for 2s
	same "passed while blocked" "$(frames_pass 10.1.0.1)" 0
	same "neighbour's passed" "$(frames_pass 10.1.0.2)" 10
	same blocked "$(reason blocked)" 10
	sleep 2.1
	same "passed afterwards" "$(frames_pass 10.1.0.1)" 10
}

test_entries_outrank_the_policy_and_survive_apply() {
	network
	attach 5
	weir allow 10.1.0.0/24
	weir block 10.1.0.128/25
	weir limit 10.2.0.0/16 1/hour burst 3
	weir apply "$scratch/policy.yaml"
	same "allowed, passed" "$(frames_pass 10.1.0.1)" 10
	same "blocked, passed" "$(frames_pass 10.1.0.200)" 0
	same "limited by hand, passed" "$(frames_pass 10.2.0.1)" 3
	weir remove 10.1.0.128/25
	same "removed, passed" "$(frames_pass 10.1.0.200)" 10
}

test_dump_and_apply_are_a_round_trip() {
	network
	policy <<-'YAML'
		table: {kind: sets, sources: 64k}
		services:
		  dns: [udp/53, tcp/53]
		  handshakes: [tcp/syn]
		policies:
		  - name: everyone
		    sources: [0.0.0.0/0, "::/0"]
		    mode: 25%
		    limits:
		      - {rate: 20000/s, burst: 40000}
		      - {rate: 200Mbit/s, burst: 4MB}
		      - {name: dns-queries, service: dns, rate: 50/s, burst: 100}
		      - {service: handshakes, rate: 20/s, burst: 40, ban: 60s}
		      - {per: {ipv4: 24, ipv6: 48}, rate: 100k/s, burst: 200k}
		      - {per: policy, rate: 1M/s, burst: 2M}
		      - {algorithm: sliding-log, rate: 5/s}
		  - {name: partners, sources: [198.51.100.0/24], action: pass}
		  - {name: bad, sources: [203.0.113.0/24], action: drop}
	YAML
	weir attach wan0 --policy "$scratch/policy.yaml"
	weir block 192.0.2.0/24
	weir limit 10.5.0.0/16 100/s burst 200
	weir dump >"$scratch/first.yaml"
	weir check "$scratch/first.yaml"
	weir apply "$scratch/first.yaml"
	weir dump >"$scratch/second.yaml"
	diff "$scratch/first.yaml" "$scratch/second.yaml"
	weir detach --all
	weir attach wan0 --policy "$scratch/first.yaml"
	weir dump >"$scratch/third.yaml"
	diff "$scratch/first.yaml" "$scratch/third.yaml"
}

run_tests "$@"
