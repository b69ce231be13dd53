#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# weir sync: two machines with a Redis server between them. Machine A is the sandbox itself,
# machine B another mount and network namespace in it, with a bpffs of its own.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../netns/lib.sh"

socket=$scratch/redis.sock
url=unix://$socket

# --- machine B ----------------------------------------------------------------------------

machine_b() {
	local ready=$scratch/b.ready
	unshare --mount --net bash -c "mount -t sysfs sysfs /sys && mount -t bpf bpf /sys/fs/bpf &&
		ip link set lo up && touch '$ready' && exec sleep 1000" &
	b=$!
	wait_until test -e "$ready"
	# Nobody speaks IPv6 on this wire: all packets are the test's own.
	ip link add wan1 address "$wan_mac" type veth peer name peer1 address "$peer_mac" netns peer
	on_peer bash -c 'echo 1 >/proc/sys/net/ipv6/conf/peer1/disable_ipv6'
	ip link set wan1 netns "$b"
	on_b bash -c 'echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6'
	on_b ip link set wan1 name wan0 up
	on_peer ip link set peer1 up
	wait_until on_b grep -q 1 /sys/class/net/wan0/carrier
}

on_b() {
	nsenter --target "$b" --mount --net "$@"
}

frame_of() { # SOURCE
	ethernet 0800 "$(ipv4 "$1" 17 "$(udp 53 00000000)")"
}

packets_to_a() { # COUNT SOURCE
	raw_interface=peer0 send_raw "$1" "$(frame_of "$2")"
}

packets_to_b() { # COUNT SOURCE
	raw_interface=peer1 send_raw "$1" "$(frame_of "$2")"
}

passed_at_b() {
	on_b weir stats -j | jq '[.reasons[] | select(.reason == "granted") | .packets] | add // 0'
}

left_at_b() { # SOURCE
	on_b weir explain -j "$1" | jq '.limits[0].remaining'
}

is_left_at_b() { # SOURCE LEAST MOST
	within "left at B" "$(left_at_b "$1")" "$2" "$3" 2>/dev/null
}

# --- the server ---------------------------------------------------------------------------

start_redis() { # OPTIONS...
	redis-server --port 0 --unixsocket "$socket" --save '' --dir "$scratch" "$@" \
		>"$scratch/redis.log" &
	redis=$!
	wait_until redis_answers
}

redis_answers() {
	redis-cli -s "$socket" ping >/dev/null 2>&1
}

stop_redis() {
	kill -9 "$redis"
	wait "$redis" || true
}

entries() { # at least so many in the stream
	[ "$(redis-cli -s "$socket" xlen weir:default)" -ge "$1" ]
}

# Both share, at $interval; what they say is in $scratch/a and $scratch/b, a document each time.
fleet() { # OPTIONS...
	local interval=${interval:-200ms}
	weir sync -j --redis "$url" --interval "$interval" --node a "$@" \
		>"$scratch/a" 2>"$scratch/a.said" &
	sync_a=$!
	on_b weir sync -j --redis "$url" --interval "$interval" --node b "$@" \
		>"$scratch/b" 2>"$scratch/b.said" &
	sync_b=$!
	wait_until meets a
	wait_until meets b
}

meets() { # NODE: it is connected and has heard of the other
	[ "$(tail -n 1 "$scratch/$1" | jq -c '[.connected, .nodes]')" = '[true,2]' ]
}

sum() { # KEY NODE: over all intervals
	jq -s "map(.$1) | add" "$scratch/$2"
}

two_machines() { # LIMITS
	network
	machine_b
	policy <<-YAML
		policies:
		  - name: everyone
		    sources: [0.0.0.0/0, "::/0"]
		    limits: [$1]
	YAML
	weir attach wan0 --policy "$scratch/policy.yaml"
	on_b weir attach wan0 --policy "$scratch/policy.yaml"
}

test_who_spends_the_budget_at_a_is_refused_at_b() {
	two_machines '{name: packets, rate: 1/hour, burst: 100}'
	start_redis
	fleet
	packets_to_a 100 10.2.0.1
	packets_to_a 60 10.2.0.2
	wait_until is_left_at_b 10.2.0.1 0 0
	wait_until is_left_at_b 10.2.0.2 40 40
	packets_to_b 50 10.2.0.1
	same "passed at B" "$(passed_at_b)" 0
	packets_to_b 50 10.2.0.2
	same "passed at B" "$(passed_at_b)" 40
	packets_to_b 100 10.2.0.3
	same "passed at B" "$(passed_at_b)" 140
	same "sent by A" "$(sum sent a)" 2
	same "charged at B" "$(sum charged b)" 2
}

run_tests "$@"
