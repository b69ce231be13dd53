#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Limits under real traffic: they hold at their number, hit whom they should, and add up.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

attach() { # policy on stdin
	policy
	weir attach wan0 --policy "$scratch/policy.yaml"
}

# Both families, each protocol: a loud source gets its burst, a quiet one beside it all it wants.
test_the_limit_bites_and_the_quiet_pass() {
	network
	add_sources 10.2.0.1 10.2.0.2 fd00:2:1::1 fd00:2:2::1
	attach <<-'YAML'
		services:
		  web: [tcp/7]
		  ping: [icmp/echo-request, icmpv6/echo-request]
		  dns: [udp/7]
		policies:
		  - name: everyone
		    sources: [0.0.0.0/0, "::/0"]
		    limits:
		      - {service: dns, rate: 1/hour, burst: 8}
		      - {name: handshakes, service: web, rate: 1/hour, burst: 24}
		      - {service: ping, rate: 1/hour, burst: 6}
	YAML
	talk serve 7 >"$scratch/served" &
	sleep 0.2
	on_peer talk udp 10.2.0.1 10.0.0.1 7 50
	on_peer talk udp fd00:2:1::1 fd00::1 7 50
	on_peer talk udp 10.2.0.2 10.0.0.1 7 3
	on_peer talk udp fd00:2:2::1 fd00::1 7 3
	same "loud echoes" "$(on_peer talk ping 10.2.0.1 10.0.0.1 9)" 6
	same "loud echoes, IPv6" "$(on_peer talk ping fd00:2:1::1 fd00::1 9)" 6
	same "quiet echoes" "$(on_peer talk ping 10.2.0.2 10.0.0.1 4)" 4
	same "quiet echoes, IPv6" "$(on_peer talk ping fd00:2:2::1 fd00::1 4)" 4
	# A connection that is made and closed at once takes three or four packets.
	within "loud connections" "$(on_peer talk tcp 10.2.0.1 10.0.0.1 7 12)" 6 8
	within "loud connections, IPv6" "$(on_peer talk tcp fd00:2:1::1 fd00::1 7 12)" 6 8
	same "quiet connections" "$(on_peer talk tcp 10.2.0.2 10.0.0.1 7 3)" 3
	same "quiet connections, IPv6" "$(on_peer talk tcp fd00:2:2::1 fd00::1 7 3)" 3
	kill %1
	wait %1
	same datagrams "$(jq .udp "$scratch/served")" $((8 + 8 + 3 + 3))
}

flood_is_held() { # FLOOD'S OPTIONS
	network
	attach <<-'YAML'
		policies:
		  - name: everyone
		    sources: [0.0.0.0/0, "::/0"]
		    limits: [{rate: 20k/s, burst: 10k}]
	YAML
	local before allowed rate
	before=$(stack_packets)
	send_flood --count 4000000 "$@" >"$scratch/flood"
	allowed=$(jq '10000 + 20000 * .seconds' "$scratch/flood")
	rate=$(jq '.sent / .seconds | floor' "$scratch/flood")
	note "offered $rate packets/s, allowed ${allowed%.*}, granted $(reason granted)"
	within "packets granted" "$(reason granted)" "$(jq -n "$allowed * 0.99")" \
		"$(jq -n "$allowed * 1.01")"
	same "reached the stack" "$(($(stack_packets) - before))" "$(reason granted)"
	same "granted and refused" "$(($(reason granted) + $(reason limit)))" 4000000
}

test_a_flood_of_one_source_is_held_within_a_hundredth() {
	flood_is_held
}

test_an_ipv6_flood_of_one_source_is_held_within_a_hundredth() {
	flood_is_held --ipv6
}

test_two_cpus_on_one_source_have_one_budget() {
	[ "$(nproc)" -ge 2 ] || skip "one CPU only"
	network
	attach <<-'YAML'
		policies:
		  - name: everyone
		    sources: [0.0.0.0/0]
		    limits: [{rate: 1/hour, burst: 100k}]
	YAML
	send_flood --count 300000 --cpu 0 &
	send_flood --count 300000 --cpu 1
	wait
	same granted "$(reason granted)" 100000
	same refused "$(reason limit)" 500000
}

# An exhausted offender stays exhausted, however many forged sources push through the table.
forged_flood() { # ON_FULL
	network
	attach <<-YAML
		table: {sources: 4096, on_full: $1}
		policies:
		  - name: everyone
		    sources: [0.0.0.0/0]
		    limits: [{name: packets, rate: 1/hour, burst: 100}]
	YAML
	send_flood --source 10.3.0.1 --count 1000
	same "before the flood" "$(reason granted)" 100
	local each passed
	for each in 1 2 3 4; do
		send_flood --source 10.64.0.0 --mask 262143 --each "$each" --count 262144
	done
	passed=$(weir source show 10.3.0.1 -j | jq '.limits[0].passed // 0')
	note "offender passed ${passed}, granted in all $(reason granted)"
	send_flood --source 10.3.0.1 --count 1000
	same "remaining" "$(weir source show 10.3.0.1 -j | jq '.limits[0].remaining')" 0
	same "passed, by its state" "$(weir source show 10.3.0.1 -j | jq '.limits[0].passed')" "$passed"
}

test_the_offender_stays_exhausted_through_a_forged_flood_strict() {
	forged_flood strict
}

test_the_offender_stays_exhausted_through_a_forged_flood_lenient() {
	forged_flood lenient
}

# Bytes of a later fragment are no ports, whatever they look like.
test_fragments_are_charged_and_have_no_ports() {
	network
	attach <<-'YAML'
		services: {dns: [udp/53]}
		policies:
		  - name: everyone
		    sources: [0.0.0.0/0, "::/0"]
		    limits:
		      - {name: all, rate: 1/hour, burst: 5}
		      - {name: dns, service: dns, rate: 1/hour, burst: 1}
	YAML
	local ports=0016003500100000 source=fd000001000000000000000000000001
	send_raw 1 "$(ethernet 0800 "$(ipv4 10.1.0.1 17 "$(udp 53)" 2000)")" \
		20 "$(ethernet 0800 "$(ipv4 10.1.0.1 17 "$ports" 00b9)")"
	same "granted, IPv4" "$(reason granted)" 5
	send_raw 1 "$(ethernet 86dd "$(ipv6 $source 44 "1100000100000007$(udp 53)")")" \
		20 "$(ethernet 86dd "$(ipv6 $source 44 "110005c800000007$ports")")"
	same "granted, both" "$(reason granted)" 10
	same "refused by dns" "$(stats '.policies[0].limits[] | select(.name == "dns") | .refused.packets')" 0
	same refused "$(reason limit)" 32
}

test_extension_headers_and_other_protocols_are_charged() {
	network
	attach <<-'YAML'
		malformed: drop
		policies:
		  - name: everyone
		    sources: ["::/0"]
		    limits: [{rate: 1/hour, burst: 5}]
	YAML
	local source=fd000001000000000000000000000001 tcp datagram pad=0104000000 list=()
	datagram=$(udp 9)
	tcp=03e70009000000000000000050022000${pad:0:8}
	local hop=00${pad}0000 destination=00${pad}0000 routing=0000000000000000
	list+=(0 "11${hop:0:14}$datagram" 60 "06${destination:0:14}$tcp")
	list+=(43 "11${routing:0:14}$datagram" 51 "00010000000000010000000106${hop:0:14}$tcp")
	list+=(44 "1100000000000001$datagram" 132 "$tcp" 50 "$tcp" 59 "" 0 "11ff010400000000")
	local at
	for ((at = 0; at < ${#list[@]}; at += 2)); do
		send_raw 5 "$(ethernet 86dd "$(ipv6 $source "${list[at]}" "${list[at + 1]}")")"
	done
	same granted "$(reason granted)" 5
	same "refused or malformed" "$(($(reason limit) + $(reason malformed)))" 40
	within malformed "$(reason malformed)" 0 5
}

test_tags_hide_nothing() {
	network
	attach <<-'YAML'
		policies:
		  - name: everyone
		    sources: [0.0.0.0/0]
		    limits: [{rate: 1/hour, burst: 5}]
	YAML
	local packet
	packet=$(ipv4 10.1.0.1 17 "$(udp 9)")
	send_raw 3 "$(ethernet 0800 "$packet")" 3 "$(ethernet 8100 "00050800$packet")" \
		3 "$(ethernet 88a8 "0005810000060800$packet")" \
		3 "$(ethernet 9100 "0001810000028100000381000004${packet:+0800}$packet")"
	same granted "$(reason granted)" 5
	same refused "$(reason limit)" 7
}

# T31: every frame is in exactly one count, and the stack was given what passed.
test_counters_add_up() {
	[ "$(nproc)" -ge 2 ] || skip "one CPU only"
	network
	attach <<-'YAML'
		policies:
		  - {name: limited, sources: [10.1.0.0/16], limits: [{rate: 1/hour, burst: 100}]}
		  - {name: free, sources: [10.2.0.0/16], action: pass}
		  - {name: bad, sources: [10.3.0.0/16], action: drop}
	YAML
	local before cpu
	before=$(stack_packets)
	for cpu in 0 1; do
		(for net in 1 2 3 4; do
			send_flood --cpu "$cpu" --source "10.$net.0.0" --mask 15 --count 8000
		done) >/dev/null &
	done
	wait
	send_raw 3 "$(ethernet 0806 0001)" 4 "$(ethernet 0800 4500)"
	weir stats -j >"$scratch/stats"
	counted() { jq "$1" "$scratch/stats"; }
	local each='.policies[] | select(.name == '
	same "limited passed" "$(counted "$each \"limited\") | .passed.packets")" 1600
	same "limited dropped" "$(counted "$each \"limited\") | .dropped.packets")" 14400
	same "free passed" "$(counted "$each \"free\") | .passed.packets")" 16000
	same "bad dropped" "$(counted "$each \"bad\") | .dropped.packets")" 16000
	same unmatched "$(reason unmatched)" 16000
	same "not IP" "$(reason not-ip)" 3
	same malformed "$(reason malformed)" 4
	same "bytes refused" "$(counted '.policies[0].dropped.bytes')" $((14400 * 64))
	same "all frames" "$(counted '.totals.passed.packets + .totals.dropped.packets')" 64007
	same "sum of reasons" "$(counted '[.reasons[].packets] | add')" 64007
	same "reached the stack" "$(($(stack_packets) - before))" $((1600 + 16000 + 16000))
}

test_metrics_name_no_source_and_do_not_go_back() {
	network
	attach <<-'YAML'
		policies:
		  - name: everyone
		    sources: [0.0.0.0/0]
		    limits: [{name: packets, rate: 1/hour, burst: 100}]
	YAML
	send_flood --count 1000 --mask 3
	refused() {
		weir export --once | awk '/^weir_limit_refused_packets_total.*limit="packets"/ { print $2 }'
	}
	same refused "$(refused)" 600
	weir apply "$scratch/policy.yaml"
	same "refused, after apply" "$(refused)" 600
	send_flood --count 1000 --mask 3
	same "refused, later" "$(refused)" 1600
	same "lines with addresses" "$(weir export --once | grep -c '10\.1\.0' || true)" 0
}

run_tests "$@"
