# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Sandboxes with real traffic for tests in shell. A test file sources this, defines functions
# test_WHAT_IT_PROVES and ends with `run_tests "$@"`. Each function runs in network, mount and
# process namespaces of its own, which the kernel clears away however it ends:
#
#     wan0 10.0.0.1 fd00::1   (here, where weir works)
#       |
#     peer0 10.0.0.2 fd00::2  (network namespace `peer`, where packets come from)
#
# Output of a test is shown only when it fails.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
BUILD=${BUILD:-$root/build}
export PATH=$BUILD:$BUILD/netns:/usr/sbin:/sbin:$PATH
export LC_ALL=C

wan_mac=02:00:00:00:00:01
peer_mac=02:00:00:00:00:02

# --- the runner -------------------------------------------------------------------------

run_tests() {
	if [ "${1:-}" = --sandboxed ]; then
		sandbox_enter
		set -eE -o pipefail
		trap 'echo "failed: line $LINENO: $BASH_COMMAND" >&2' ERR
		"$2"
		exit
	fi
	if [ "$(id -u)" != 0 ]; then
		echo "1..0 # SKIP needs root"
		exit 0
	fi
	local tests number=0 failed=0 name
	mapfile -t tests < <(sed -n 's/^\(test_[a-z0-9_]*\)() {.*/\1/p' "$0" | grep -E "${ONLY:-.}")
	echo "1..${#tests[@]}"
	for name in "${tests[@]}"; do
		number=$((number + 1))
		run_one "$number" "$name" || failed=1
	done
	exit "$failed"
}

run_one() { # NUMBER NAME
	local log status=0 description=${2#test_}
	log=$(mktemp)
	export NOTES=$log.notes
	description=${description//_/ }
	timeout -k 5 "${TEST_SECONDS:-120}" "${sandbox[@]}" bash "$0" --sandboxed "$2" \
		>"$log" 2>&1 </dev/null || status=$?
	if [ "$status" = 0 ]; then
		echo "ok $1 - $description"
	elif [ "$status" = 77 ]; then
		echo "ok $1 - $description # SKIP $(tail -n 1 "$log")"
		status=0
	else
		echo "not ok $1 - $description"
		sed 's/^/#   /' "$log"
	fi
	[ ! -e "$NOTES" ] || sed 's/^/# /' "$NOTES"
	rm -f "$log" "$NOTES"
	return "$status"
}

# A test that can't be done here says why; the reason is printed, never hidden.
skip() { # REASON
	echo "$1"
	exit 77
}

# A figure worth seeing also when all is well.
note() { # TEXT
	echo "$1" >>"$NOTES"
}

# --- the sandbox ------------------------------------------------------------------------

sandbox=(unshare --mount --net --pid --fork --kill-child --mount-proc)
scratch=/run/scratch

# The first thing to do inside.
sandbox_enter() {
	mount --make-rprivate /
	mount -t sysfs sysfs /sys
	mount -t bpf bpf /sys/fs/bpf
	mount -t tmpfs tmpfs /run
	mkdir -p /run/netns "$scratch"
	ip link set lo up
}

# The wire between wan0 and the peer. Two queues, so that two CPUs can deliver at once.
wire() { # [WAN PEER MTU]
	local wan=${1:-wan0} peer=${2:-peer0} mtu=${3:-1500}
	[ -e /run/netns/peer ] || ip netns add peer
	ip link add "$wan" mtu "$mtu" address "$wan_mac" numrxqueues 2 numtxqueues 2 type veth \
		peer name "$peer" mtu "$mtu" address "$peer_mac" numrxqueues 2 numtxqueues 2 \
		netns peer
}

# Both families, neighbours known, nobody chatters: all packets are the test's own.
network() { # [MTU]
	wire wan0 peer0 "${1:-1500}"
	on_peer ip link set lo up
	settle_ipv6
	on_peer bash -c "$(declare -f settle_ipv6); settle_ipv6"
	ip addr add 10.0.0.1/8 dev wan0
	ip addr add fd00::1/16 dev wan0 nodad
	on_peer ip addr add 10.0.0.2/8 dev peer0
	on_peer ip addr add fd00::2/16 dev peer0 nodad
	ip link set wan0 up
	on_peer ip link set peer0 up
	on_peer ip neigh replace 10.0.0.1 lladdr "$wan_mac" dev peer0
	on_peer ip neigh replace fd00::1 lladdr "$wan_mac" dev peer0
	neighbour 10.0.0.2
	neighbour fd00::2
	wait_until links_up
	sleep 0.2 # multicast reports go out once the link is up
}

settle_ipv6() {
	local conf
	for conf in /proc/sys/net/ipv6/conf/*; do
		echo 0 >"$conf/accept_dad"
		echo 0 >"$conf/router_solicitations"
		echo 0 >"$conf/router_solicitation_delay"
		echo 0 >"$conf/accept_ra"
		echo 1 >"$conf/mldv2_unsolicited_report_interval"
	done
}

links_up() {
	[ "$(cat /sys/class/net/wan0/operstate)" = up ] &&
		[ "$(on_peer ip -j link show dev peer0 | jq -r '.[0].operstate')" = UP ]
}

neighbour() { # ADDRESS: it is at the peer
	ip neigh replace "$1" lladdr "$peer_mac" dev wan0
}

on_peer() {
	nsenter --net=/run/netns/peer "$@"
}

# Another address of the peer; for IPv6 each in a /64 of its own, as sources are by default.
add_sources() { # ADDRESS...
	local address
	for address; do
		case $address in
		*:*) on_peer ip addr add "$address/128" dev peer0 nodad ;;
		*) on_peer ip addr add "$address/32" dev peer0 ;;
		esac
		neighbour "$address"
	done
}

send_flood() { # FLOOD'S OPTIONS...
	on_peer flood --interface peer0 --to "$wan_mac" "$@"
}

send_raw() { # COUNT HEX...: frames as they are, from raw_interface (peer0)
	while [ $# -gt 1 ]; do
		echo "$1 $2"
		shift 2
	done | on_peer raw "${raw_interface:-peer0}"
}

# --- frames as hexadecimal ----------------------------------------------------------------

hex8() { printf %02x $(($1 & 0xff)); }
hex16() { printf %04x $(($1 & 0xffff)); }
hex4() { # ADDRESS
	# shellcheck disable=SC2086 # four words
	printf %02x%02x%02x%02x ${1//./ }
}

ethernet() { # TYPE [PAYLOAD]
	echo "${wan_mac//:/}${peer_mac//:/}$1${2:-}"
}

# Words of 16 bits, added up and folded: the internet checksum.
checksum() { # HEX
	local sum=0 at
	for ((at = 0; at < ${#1}; at += 4)); do
		sum=$((sum + 0x${1:at:4}))
	done
	while ((sum >> 16)); do
		sum=$(((sum & 0xffff) + (sum >> 16)))
	done
	hex16 $((~sum))
}

ipv4() { # SOURCE PROTOCOL PAYLOAD [FLAGS-AND-OFFSET]
	local head
	head=4500$(hex16 $((20 + ${#3} / 2)))0001${4:-0000}40$(hex8 "$2")
	local rest
	rest=$(hex4 "$1")$(hex4 10.0.0.1)
	echo "$head$(checksum "${head}0000$rest")$rest$3"
}

udp() { # PORT [PAYLOAD]
	echo "03e7$(hex16 "$1")$(hex16 $((8 + ${#2} / 2)))0000${2:-}"
}

ipv6() { # SOURCE-HEX NEXT-HEADER PAYLOAD
	echo "60000000$(hex16 $((${#3} / 2)))$(hex8 "$2")40$1fd000000000000000000000000000001$3"
}

# --- what weir and the stack counted ------------------------------------------------------

# Packets the stack was given, both families, whatever became of them.
stack_packets() {
	awk '/^Ip: [0-9]/ { n += $4 } /^Ip6InReceives/ { n += $2 } END { printf "%.0f\n", n }' \
		/proc/net/snmp /proc/net/snmp6
}

stats() { # JQ-FILTER
	weir stats -j | jq -r "$1"
}

reason() { # REASON: packets counted under it
	stats "[.reasons[] | select(.reason == \"$1\") | .packets] | add // 0"
}

program_id() { # [INTERFACE]
	ip -j -d link show dev "${1:-wan0}" | jq -r '.[0].xdp.prog.id // "none"'
}

xdp_mode() { # [INTERFACE]: 1 native, 2 generic, as the kernel says
	ip -j -d link show dev "${1:-wan0}" | jq -r '.[0].xdp.mode // "none"'
}

policy() { # text on stdin, to $scratch/NAME.yaml
	cat >"$scratch/${1:-policy}.yaml"
}

# --- assertions ---------------------------------------------------------------------------

same() { # WHAT GOT WANTED
	[ "$2" = "$3" ] || {
		echo "$1: $2, wanted $3" >&2
		return 1
	}
}

within() { # WHAT GOT LEAST MOST
	awk -v got="$2" -v least="$3" -v most="$4" \
		'BEGIN { exit !(got ~ /^-?[0-9.]+$/ && got >= least && got <= most) }' || {
		echo "$1: $2, wanted $3 to $4" >&2
		return 1
	}
}

# Runs a command that has to fail; what it said is in $said.
fails() { # STATUS COMMAND...
	local wanted=$1 status=0
	shift
	said=$("$@" 2>&1) || status=$?
	same "exit status of $* ($said)" "$status" "$wanted"
}

says() { # EXTENDED-REGEX
	grep -qE -- "$1" <<<"$said" || {
		echo "not in the output: $1" >&2
		echo "$said" >&2
		return 1
	}
}

wait_until() { # COMMAND...: within ten seconds
	local tries
	for ((tries = 0; tries < 100; tries++)); do
		"$@" && return
		sleep 0.1
	done
	echo "still not after 10 s: $*" >&2
	return 1
}
