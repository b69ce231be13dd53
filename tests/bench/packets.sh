#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The packet level of make bench: packets a second that weir and its peers drop, of 1, 64k and 1M
# sources, and the program's time in place. Each contender has a wire of its own, at the same rate
# and table size, and what it lets through is dropped right behind it. Runs in namespaces of its
# own. Prints tables; all figures go to the file named.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../netns/lib.sh"

contenders=(xdp-drop weir floor xdp-filter hashlimit nft)
counts=(1 65536 1048576)
table=1048576
first=10.64.0.0

rounds=5 packets=$table
[ -z "${BENCH_QUICK:-}" ] || rounds=2 packets=400000

# --- contenders: make_NAME attaches to the wire, dropped_NAME tells its own count ------------

make_bare() { # WAN PROGRAM
	[ -e /sys/fs/bpf/bare ] || bpftool prog loadall "$BUILD/bench/driver.bpf.o" /sys/fs/bpf/bare
	bpftool net attach xdpdrv pinned "/sys/fs/bpf/bare/$2" dev "$1"
}

make_xdp_drop() { # WAN
	make_bare "$1" bare_drop
}

dropped_xdp_drop() { # WAN
	ip -s -j link show dev "$1" | jq '.[0].stats64.rx.packets'
}

make_floor() { # WAN
	make_bare "$1" floor_state
}

dropped_floor() { # WAN
	dropped_xdp_drop "$1"
}

make_weir() { # WAN [RATE INSTANCE]
	weir_policy "${2:-rate: 1/hour, burst: 1}" >"$scratch/$1.yaml"
	weir -q --instance "${3:-default}" attach "$1" --mode native --policy "$scratch/$1.yaml"
	drop_behind "$1"
}

weir_policy() { # LIMIT
	cat <<-END
		table: {kind: sets, sources: 1M}
		policies:
		  - {name: all, sources: [0.0.0.0/0, "::/0"], limits: [{name: one, $1}]}
	END
}

dropped_weir() {
	stats .totals.dropped.packets
}

make_xdp_filter() { # WAN
	xdp-filter load "$1" --mode native --features ipv4 --policy allow >"$scratch/said" 2>&1 &&
		xdp-filter ip --mode src "$first" >"$scratch/said" 2>&1
}

dropped_xdp_filter() {
	xdp-filter status | awk -v address="$first" '$1 == address { print $3 }'
}

make_hashlimit() { # WAN
	local rule=(-t raw -A PREROUTING -i "$1")
	ethtool -K "$1" gro on # else a veth takes no redirected frames
	iptables "${rule[@]}" -m hashlimit --hashlimit-name bench --hashlimit-mode srcip \
		--hashlimit-above 1/hour --hashlimit-burst 1 --hashlimit-htable-size $table \
		--hashlimit-htable-max $table --hashlimit-htable-expire 600000 -j DROP
	iptables "${rule[@]}" -j DROP
}

dropped_hashlimit() {
	iptables -t raw -nvxL PREROUTING | awk '/limit:/ { print $1 }'
}

make_nft() { # WAN
	ethtool -K "$1" gro on
	nft -f - <<-END
		table netdev peer {
			set seen { type ipv4_addr; size $table; flags dynamic,timeout; timeout 10m; }
			chain in {
				type filter hook ingress device "$1" priority 0; policy drop;
				add @seen { ip saddr limit rate over 1/hour burst 1 packets } drop
			}
		}
	END
}

# nft lists no counter without fetching the whole set, which takes minutes: what came in was dropped
# by the limit or right behind it.
dropped_nft() { # WAN
	dropped_xdp_drop "$1"
}

drop_behind() { # WAN
	nft "table netdev behind_$1 { chain in {
		type filter hook ingress device \"$1\" priority 0; policy drop; }; }"
}

# --- measuring -----------------------------------------------------------------------------------

call() { # WHAT CONTENDER ARGUMENTS...
	"$1_${2//-/_}" "${@:3}"
}

flood_on() { # CONTENDER SOURCES COUNT [FIRST]
	on_peer flood --interface "p-$1" --to "$wan_mac" --destination 10.0.0.77 --cpu 0 \
		--source "${4:-$first}" --mask $(($2 - 1)) --count "$3"
}

figure() { # WHAT NAME SOURCES VALUE [SHARE]
	echo "$*" >>"$scratch/figures"
}

reason_to_skip() { # CONTENDER: its last words
	tail -n 1 "$scratch/said" 2>/dev/null | cut -c1-120
}

set_up() {
	local contender kept=()
	for contender in "${contenders[@]}" forged; do
		wire "$contender" "p-$contender"
		ip link set "$contender" up
		on_peer ip link set "p-$contender" up
	done
	sleep 0.3
	for contender in "${contenders[@]}"; do
		if call make "$contender" "$contender" 2>"$scratch/said.err"; then
			kept+=("$contender")
		else
			cat "$scratch/said.err" >>"$scratch/said"
			echo "skipped: $contender: $(reason_to_skip)"
			figure skipped "$contender" 0 0
		fi
	done
	contenders=("${kept[@]}")
	make_weir forged 'rate: 1000/s, burst: 2000' forged
}

can_do() { # CONTENDER SOURCES
	[ "$1" != xdp-filter ] || [ "$2" = 1 ] # one address is denied: it limits nobody
}

rate_once() { # CONTENDER SOURCES
	local before after sent
	before=$(call dropped "$1" "$1")
	sent=$(flood_on "$1" "$2" "$packets")
	after=$(call dropped "$1" "$1")
	figure rate "$1" "$2" "$(jq -n --argjson f "$sent" --argjson d $((after - before)) \
		'"\($d / $f.seconds) \($d / $f.sent)"' -r)"
}

# Each source is seen once before any time is taken, so that all that follows is refused.
rates() {
	local sources round contender
	for sources in "${counts[@]}"; do
		for contender in "${contenders[@]}"; do
			! can_do "$contender" "$sources" ||
				flood_on "$contender" "$sources" "$sources" >/dev/null
		done
		for ((round = 0; round < rounds; round++)); do
			for contender in "${contenders[@]}"; do
				! can_do "$contender" "$sources" || rate_once "$contender" "$sources"
			done
		done
	done
}

program_time() { # INTERFACE: ns in all, runs
	bpftool -j prog show id "$(program_id "$1")" | jq -r '"\(.run_time_ns) \(.run_cnt)"'
}

time_once() { # INTERFACE NAME SOURCES [FIRST]
	local before after
	read -ra before < <(program_time "$1")
	flood_on "$1" "$3" "$packets" "${4:-}" >/dev/null
	read -ra after < <(program_time "$1")
	figure time "$2" "$3" "$(((after[0] - before[0]) / (after[1] - before[1])))"
}

# The kernel's own measure of each run; it costs time itself, so it is on only here. Sources of the
# last row are new in every round, to a table that is full: they are granted, and displace.
times() {
	local round contender
	stats_before=$(sysctl -n kernel.bpf_stats_enabled)
	trap 'sysctl -qw kernel.bpf_stats_enabled="$stats_before"' EXIT
	sysctl -qw kernel.bpf_stats_enabled=1
	for ((round = 0; round < rounds; round++)); do
		for contender in xdp-drop weir xdp-filter; do
			[[ " ${contenders[*]} " != *" $contender "* ]] ||
				time_once "$contender" "$contender" 1
		done
		time_once floor floor 1048576
		time_once weir weir-refused 65536
		time_once weir weir-refused 1048576
		time_once forged weir-forged 1048576 "11.$((round * 16)).0.0"
	done
	sysctl -qw kernel.bpf_stats_enabled="$stats_before"
}

# --- the report ------------------------------------------------------------------------------------

summary() {
	jq -Rn -f "$root/tests/bench/packets.jq" "$scratch/figures"
}

show() { # SUMMARY
	local number='def two: . * 100 | round / 100;'
	jq -r "$number"'["PACKETS/S DROPPED", "SOURCES", "MEDIAN", "BEST", "x WEIR", "SHARE DROPPED"],
		(.rates | sort_by(.sources)[] | [.name, .sources, (.packets_per_s | round),
			(.best_packets_per_s | round), (.to_weir | two), (.dropped_share | two)]) | @tsv' \
		<<<"$1" | column -t -s $'\t' -R 2,3,4,5,6
	echo
	jq -r "$number"'["IN PLACE, NS A PACKET", "SOURCES", "MEDIAN", "LEAST", "x XDP-DROP"],
		(.times | sort_by(.ns)[] | [.name, .sources, .ns, .least_ns, (.to_xdp_drop | two)]) | @tsv' \
		<<<"$1" | column -t -s $'\t' -R 2,3,4,5
	echo
	jq -r "$number"'["TARGET", "RATIO", "BOUND", ".", "FLOOR"], (.targets[] | [.what, (.ratio | two),
		if .at_least then "at least \(.at_least)" else "at most \(.at_most)" end,
		if .met then "met" else "not met" end,
		if .floor then (.floor | two) else "-" end]) | @tsv' \
		<<<"$1" | column -t -s $'\t' -R 2
}

measure() { # FILE
	local document
	echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
	ip netns add peer
	set_up
	rates
	times
	document=$(summary)
	show "$document"
	echo "$document" >"$1"
}

if [ "${1:-}" = --sandboxed ]; then
	sandbox_enter
	set -eE -o pipefail
	trap 'echo "failed: line $LINENO: $BASH_COMMAND" >&2' ERR
	measure "$2"
	exit
fi
"${sandbox[@]}" bash "$0" --sandboxed "$(realpath -m "${1:?FILE}")"
