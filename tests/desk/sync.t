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

left_at_b() { # SOURCE [LIMIT]
	on_b weir explain -j "$1" | jq ".limits[${2:-0}].remaining"
}

is_left_at_b() { # SOURCE LEAST MOST [LIMIT]
	within "left at B" "$(left_at_b "$1" "${4:-0}")" "$2" "$3" 2>/dev/null
}

# --- the server ---------------------------------------------------------------------------

start_redis() {
	redis-server --port 0 --unixsocket "$socket" --save '' --dir "$scratch" \
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

# Both share; what they say is in $scratch/a and $scratch/b, a document each time.
fleet() {
	weir sync -j --redis "$url" --interval 200ms --node a >"$scratch/a" 2>"$scratch/a.said" &
	on_b weir sync -j --redis "$url" --interval 200ms --node b \
		>"$scratch/b" 2>"$scratch/b.said" &
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
	# Once for each source, twice for one whose packets two intervals saw.
	within "sent by A" "$(sum sent a)" 2 4
	same "charged at B" "$(sum charged b)" "$(sum sent a)"
}

test_limits_hold_on_while_redis_is_gone_and_sharing_returns() {
	two_machines '{name: packets, rate: 1/hour, burst: 100}'
	start_redis
	fleet
	stop_redis
	wait_until apart a
	wait_until apart b
	packets_to_a 150 10.2.0.1
	same "passed at A" "$(reason granted)" 100
	packets_to_b 150 10.2.0.1
	same "passed at B, which knows nothing of A" "$(passed_at_b)" 100
	same "said by A" "$(grep -c 'limits hold on' "$scratch/a.said")" 1
	start_redis
	wait_until meets a
	wait_until meets b
	packets_to_a 70 10.2.0.2
	wait_until is_left_at_b 10.2.0.2 30 30
	same "left of what was spent meanwhile" "$(left_at_b 10.2.0.1)" 0
	grep -q 'sharing again' "$scratch/a.said"
}

apart() { # NODE
	[ "$(tail -n 1 "$scratch/$1" | jq .connected)" = false ]
}

test_a_redis_that_hangs_is_not_waited_for_long() {
	two_machines '{name: packets, rate: 1/hour, burst: 100}'
	start_redis
	fleet
	kill -STOP "$redis"
	wait_until apart a
	kill -CONT "$redis"
	wait_until meets a
}

# Names, units and key lengths differ: only what both mean is shared.
test_nodes_with_different_policies() {
	two_machines '{name: packets, rate: 1/hour, burst: 100}, {name: only-a, rate: 1/hour, burst: 80}'
	policy b <<-'YAML'
		policies:
		  - name: everyone
		    sources: [0.0.0.0/0]
		    limits: [{name: packets, rate: 1/hour, burst: 200}, {name: only-b, rate: 1/hour, burst: 50}]
	YAML
	on_b weir apply "$scratch/b.yaml"
	start_redis
	fleet
	packets_to_a 60 10.2.0.1
	wait_until is_left_at_b 10.2.0.1 140 140
	same "others at B" "$(on_b weir explain -j 10.2.0.1 | jq '.limits[1].remaining')" 50
	within "unknown at B" "$(sum unknown b)" 1 2
}

test_sharing_outlives_an_apply_and_ends_with_the_instance() {
	two_machines '{name: packets, rate: 1/hour, burst: 100}'
	start_redis
	fleet
	sed -i 's/burst: 100/burst: 300/' "$scratch/policy.yaml"
	weir apply "$scratch/policy.yaml"
	on_b weir apply "$scratch/policy.yaml"
	packets_to_a 100 10.2.0.1
	wait_until is_left_at_b 10.2.0.1 200 200
	on_b weir detach --all
	wait_until grep -q 'no instance\|not running\|does not run' "$scratch/b.said" "$scratch/b"
}

test_bytes_and_windows_are_shared_too() {
	two_machines '{name: bytes, rate: 1kB/hour, burst: 10kB}, {name: window, algorithm: sliding-window, rate: 100/day}'
	start_redis
	fleet
	packets_to_a 50 10.2.0.1 # of 46 bytes
	wait_until is_left_at_b 10.2.0.1 7690 7710
	wait_until is_left_at_b 10.2.0.1 50 50 1
}

test_once_over_tcp_with_a_password() {
	two_machines '{name: packets, rate: 1/hour, burst: 100}'
	redis-server --port 7000 --bind 127.0.0.1 --requirepass 'p@ss' --save '' --dir "$scratch" \
		>"$scratch/redis.log" &
	wait_until nc -z 127.0.0.1 7000
	fails 1 weir sync --once --redis redis://127.0.0.1:7000
	says NOAUTH
	fails 1 weir sync --once --redis redis://:wrong@127.0.0.1:7000
	says 'logging in'
	REDISCLI_AUTH=p@ss weir sync -j --once --interval 2s --redis redis://127.0.0.1:7000/2 \
		>"$scratch/out" &
	wait_until key_there
	packets_to_a 30 10.2.0.1
	wait $!
	same sent "$(jq -c '[.connected, .sent, .errors]' "$scratch/out")" '[true,1,0]'
	redis-cli -p 7000 -n 2 xrevrange weir:default + - count 1 >"$scratch/entry"
	grep -qx 'everyone packets 10.2.0.1/32 30 packets' "$scratch/entry"
	within "life of the stream" "$(redis-cli -p 7000 -n 2 ttl weir:default)" 1 600
}

key_there() {
	export REDISCLI_AUTH=p@ss
	[ "$(redis-cli -p 7000 -n 2 exists weir:default 2>/dev/null)" = 1 ]
}

test_what_can_not_be_shared_is_an_error() {
	fails 2 weir sync
	says 'redis is missing'
	fails 2 weir sync --redis localhost
	says 'begins with neither'
	fails 2 weir sync --redis rediss://localhost
	says stunnel
	fails 2 weir sync --redis redis://localhost --interval 1ms
	fails 2 weir sync --redis redis://localhost --top 0
	fails 2 weir sync --redis redis://localhost --node ''
	fails 1 weir sync --redis "$url"
	says 'not running|does not run|no instance|weir attach'
	policy <<-'YAML'
		table: {kind: hash}
		policies: [{name: all, sources: [0.0.0.0/0], limits: [{rate: 1/s}]}]
	YAML
	network
	weir attach wan0 --policy "$scratch/policy.yaml"
	fails 1 weir sync --redis "$url"
	says 'kind `sets` only'
	fails 1 weir sync -j --once --redis "$url"
	says '"hint"'
}

run_tests "$@"
