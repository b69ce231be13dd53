#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# weir at work, on a wire of its own: one loud source, quiet ones, then forged ones. Shows every
# second who sent what and what became of it; nothing outside its own namespaces is touched.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

loud=10.1.0.1
quiet=(10.2.0.1 10.2.0.2 10.2.0.3 10.2.0.4)
forged=10.64.0.0/10
act_seconds=${DEMO_SECONDS:-4}
# Behind wan0, but nobody's: what passes ends there, cheaply.
target=10.0.0.77

# Passed and dropped packets of some sources, of all their limits' first.
counts_of() { # ADDRESS...
	local address
	for address; do
		weir source show "$address" -j 2>/dev/null ||
			echo '{"limits": []}'
	done | jq -rs '[.[].limits[0] | select(.)] | "\(map(.passed) | add // 0) \(map(.dropped) | add // 0)"'
}

counts_of_all() {
	stats '"\(.totals.passed.packets) \(.totals.dropped.packets)"'
}

reasons() {
	stats '.reasons[] | select(.verdict == "drop" or .verdict == "dropped") | "\(.reason) \(.packets)"'
}

# One line of the table: what was counted since the last one, by the second.
row() { # WHO PASSED DROPPED OLD-PASSED OLD-DROPPED WHY
	local passed=$((($2 - $4) * 1000 / elapsed_ms)) dropped=$((($3 - $5) * 1000 / elapsed_ms))
	printf '  %-34s %12d %12d %12d   %s\n' "$1" $((passed + dropped)) "$passed" "$dropped" "$6"
}

why() { # DROPPED-SINCE WORDS ELSE
	[ "$1" -gt 0 ] && echo "$2" || echo "$3"
}

# Reads the counters and prints the table of what they gained.
table() { # WHAT-HAPPENS-NOW
	local now all later loud_now quiet_now forged_passed forged_dropped
	now=$(date +%s%3N)
	elapsed_ms=$((now - then_ms))
	read -ra all < <(counts_of_all)
	read -ra loud_now < <(counts_of "$loud")
	read -ra later < <(counts_of_all)
	read -ra quiet_now < <(counts_of "${quiet[@]}")
	# The forged ones are the rest. All were counted before and after the loud one: the middle
	# is what they were with it.
	forged_passed=$(((all[0] + later[0]) / 2 - loud_now[0] - quiet_now[0]))
	forged_dropped=$(((all[1] + later[1]) / 2 - loud_now[1] - quiet_now[1]))
	((forged_passed >= forged_then[0])) || forged_passed=${forged_then[0]}
	((forged_dropped >= forged_then[1])) || forged_dropped=${forged_then[1]}
	printf '%s\n\n' "$1"
	printf '  %-34s %12s %12s %12s   %s\n' 'packets a second' sent passed dropped why
	row "$loud, loud" "${loud_now[@]:0:2}" "${loud_then[@]}" \
		"$(why $((loud_now[1] - loud_then[1])) "over $rate" '')"
	row "${quiet[0]} to .4, quiet" "${quiet_now[@]:0:2}" "${quiet_then[@]}" ''
	row "$forged, 262144 forged" "$forged_passed" "$forged_dropped" "${forged_then[@]}" \
		"$(why $((forged_dropped - forged_then[1])) 'blocked' \
			"$(why $((forged_passed - forged_then[0])) 'each below its limit' '')")"
	printf '\n  dropped so far: %s\n' "$(reasons | awk '{ printf "%s%s %d", sep, $1, $2; sep = ", " }')"
	then_ms=$now loud_then=("${loud_now[@]}") quiet_then=("${quiet_now[@]}")
	forged_then=("$forged_passed" "$forged_dropped")
}

# On a terminal the table stays in place, every second; in a pipe one at the end of each act.
act() { # WHAT-HAPPENS-NOW
	local second
	table '' >/dev/null # what was counted before is not this act's
	for ((second = 1; second <= act_seconds; second++)); do
		sleep 1
		if [ -t 1 ]; then
			table "$1" >"$scratch/table"
			printf '\033[J'
			cat "$scratch/table"
			printf '\033[%dA' "$(wc -l <"$scratch/table")" # back to its first line
		elif [ "$second" = "$act_seconds" ]; then
			table "$1"
			echo
		fi
	done
}

quiet_traffic() {
	local address
	for address in "${quiet[@]}"; do
		on_peer talk udp "$address" 10.0.0.1 9 1000 100000 >/dev/null &
		(while :; do on_peer talk ping "$address" 10.0.0.1 1 >/dev/null; sleep 0.5; done) &
	done
}

demonstrate() {
	network
	add_sources "${quiet[@]}"
	talk serve 9 >/dev/null &
	rate=$(weir dump --default | sed -n 's/.*name: packets, rate: \([^,]*\),.*/\1/p')
	echo "+ weir attach wan0"
	weir -q attach wan0
	echo
	then_ms=$(date +%s%3N) loud_then=(0 0) quiet_then=(0 0) forged_then=(0 0)
	quiet_traffic
	send_flood --source "$loud" --destination "$target" --cpu 0 --rate 300000 --count 100000000 >/dev/null &
	act "One loud source among quiet ones. The default policy gives each source $rate."
	send_flood --source "${forged%/*}" --mask 262143 --each 2 --destination "$target" \
		--rate 60000 --count 100000000 >/dev/null &
	act "A flood of forged addresses joins. It frees nobody: the loud one is still held."
	weir -q block "$forged" for 10min
	act "+ weir block $forged for 10min: in force from the next packet."
	[ ! -t 1 ] || cat "$scratch/table"
	echo
	weir stats
	weir -q detach --all
}

if [ "$(id -u)" != 0 ]; then
	echo "the demo makes network namespaces: run it as root (sudo make demo)" >&2
	exit 1
fi
if [ "${1:-}" = --sandboxed ]; then
	sandbox_enter
	demonstrate
	exit
fi
"${sandbox[@]}" bash "$0" --sandboxed || exit
interface=$(ip -j route show default | jq -r '.[0].dev // "eth0"')
cat <<END

Everything of the demo is gone. On a real interface:

    sudo build/weir attach $interface --confirm 60    # the same policy; undone in 60 s unless you
    sudo build/weir confirm
    sudo build/weir top                     # the live screen
    sudo build/weir detach --all

With --observe, attach only counts what it would drop. README.md has the next steps.
END
