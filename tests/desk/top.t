#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# weir top on a terminal that tmux holds: what its screen shows, and what its keys do.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../netns/lib.sh"

server=0

term() {
	TMUX_TMPDIR=$scratch tmux -f /dev/null -L "weir$server" "$@"
}

# Runs a command in a terminal; what follows it stays on the screen.
terminal() { # COLUMNS ROWS COMMAND
	server=$((server + 1))
	term new-session -d -x "$1" -y "$2" "env -u TMUX $3; echo exit status \$?; sleep 100"
}

screen() {
	term capture-pane -p "$@"
}

shows() { # EXTENDED-REGEX
	screen | grep -qE -- "$1"
}

hides() { # EXTENDED-REGEX
	if shows "$1"; then
		echo "still on the screen: $1" >&2
		return 1
	fi
}

wait_shows() { # EXTENDED-REGEX
	local tries
	for ((tries = 0; tries < 80; tries++)); do
		shows "$1" && return
		sleep 0.1
	done
	echo "not on the screen: $1" >&2
	screen >&2
	return 1
}

press() { # KEYS...
	term send-keys "$@"
}

# Sources 10.2.0.0 to .3 send far more than they may, for as long as the test runs.
under_attack() {
	policy <<-'YAML'
		policies:
		  - name: everyone
		    sources: [0.0.0.0/0, "::/0"]
		    limits: [{name: packets, rate: 10/s, burst: 100}]
		  - {name: bad, sources: [10.9.0.0/16], action: drop}
		table: {sources: 16k}
	YAML
	network
	weir attach wan0 --policy "$scratch/policy.yaml"
	send_flood --rate 20000 --count 2000000 --source 10.2.0.0 --mask 3 >/dev/null &
}

test_a_screen_of_80_by_24_tells_who_is_dropped_and_why() {
	under_attack
	terminal 80 24 "weir top"
	wait_shows '^dropped +(1[5-9]|2[0-4])\.[0-9]k packets/s +[0-9.]+M bit/s +[^ ]'
	wait_shows '^weir default +wan0 native +every 1'
	wait_shows '^passed +[0-9.]+ packets/s'
	wait_shows '^reasons +limit [0-9.]+k/s granted [0-9.]+/s'
	wait_shows '^table +4 of [0-9.]+k states live'
	wait_shows '^everyone +[0-9.]+ +[0-9.]+k? +[0-9.]+k +[0-9.]+M'
	wait_shows '^10\.2\.0\.[0-3] +everyone/packets +[0-9.]+k +[0-9.]+k +0 +([0-9.]+ms|now)$'
	wait_shows '^q quit  s sort: drops/s  f filter: all'
	same "longest line" "$(screen | awk 'length > 80' | wc -l)" 0
}

test_survives_being_resized() {
	under_attack
	terminal 80 24 "weir top"
	wait_shows 'everyone/packets'
	term resize-window -x 140 -y 50
	wait_shows '^10\.2\.0\.[0-3] {20,}everyone/packets'
	term resize-window -x 30 -y 6
	wait_shows 'needs 60 x 10'
	term resize-window -x 80 -y 24
	wait_shows '^10\.2\.0\.[0-3] +everyone/packets'
	press q
	wait_shows 'exit status 0'
}

test_keys_sort_filter_pause_and_quit() {
	under_attack
	terminal 80 24 "weir top"
	wait_shows '^10\.2\.0\.2 '
	press s
	wait_shows 's sort: dropped'
	press f
	press 10.2.0.2
	wait_shows 'Filter by prefix .*: 10\.2\.0\.2_'
	press Enter
	wait_shows 'f filter: 10\.2\.0\.2 '
	hides '^10\.2\.0\.1 '
	wait_shows '^10\.2\.0\.2 '
	press f Enter
	wait_shows '^10\.2\.0\.1 '
	press p
	wait_shows 'PAUSED'
	local held
	held=$(screen | sed -n 2p)
	sleep 1.5
	same "while paused" "$(screen | sed -n 2p | cut -c1-40)" "${held:0:40}"
	press p
	wait_shows 'every 1'
	press '?'
	wait_shows 'block the selected source for 10 minutes'
	press x
	wait_shows 'q quit'
	press q
	wait_shows 'exit status 0'
}

test_block_asks_first_and_undo_is_named() {
	under_attack
	terminal 80 24 "weir top"
	wait_shows '^10\.2\.0\.1 '
	press b
	wait_shows 'Block 10\.2\.0\.[0-3] for 10 minutes\? \(y/n\)'
	press n
	wait_shows 'not blocked'
	same entries "$(weir dump | grep -c 'block:' || true)" 0
	press b y
	wait_shows 'blocked 10\.2\.0\.[0-3] for 10 minutes; undo: weir remove 10\.2\.0\.[0-3]'
	weir dump | grep -qE 'block: 10\.2\.0\.[0-3].*, for: (10min|9min)'
	wait_until shows 'reasons.* blocked [0-9.]+k/s'
}

colours() {
	screen -e | grep -cE $'\e\\[([0-9]+;)*3[0-7]m' || true
}

test_colours_only_where_they_are_welcome() {
	under_attack
	terminal 80 24 "weir top"
	wait_shows 'everyone/packets'
	wait_shows 'dropped +[1-9]'
	within "lines in colour" "$(colours)" 1 24
	term kill-server
	terminal 80 24 "NO_COLOR=1 weir top"
	wait_shows 'dropped +[1-9]'
	same "lines in colour" "$(colours)" 0
	term kill-server
	terminal 80 24 "TERM=vt100 weir top"
	wait_shows 'dropped +[1-9]'
	same "lines in colour" "$(colours)" 0
}

test_the_minute_in_blocks_or_in_ascii() {
	under_attack
	terminal 80 24 "LC_ALL=C weir top"
	wait_shows '^dropped .* [#%*+=.:-]+ *$'
	term kill-server
	LC_ALL=C.UTF-8
	export LC_ALL
	terminal 80 24 "weir top"
	wait_shows '^dropped .* [▁▂▃▄▅▆▇█]+'
}

test_says_so_without_a_terminal() {
	under_attack
	fails 1 weir top
	says 'needs a terminal'
	says 'weir top -j'
}

test_a_document_each_interval() {
	under_attack
	weir top -j --interval 300ms --count 3 >"$scratch/out"
	same documents "$(jq -s length "$scratch/out")" 3
	within dropped "$(jq -s '.[2].dropped.packets_per_second' "$scratch/out")" 10000 30000
	within interval "$(jq -s '.[2].interval_ns' "$scratch/out")" 300000000 1500000000
	same source "$(jq -s '.[2].sources | length' "$scratch/out")" 4
	within source "$(jq -s '.[2].sources[0].dropped_per_second' "$scratch/out")" 2000 10000
	same limit "$(jq -rs '.[2].sources[0] | "\(.policy)/\(.limit)"' "$scratch/out")" \
		everyone/packets
}

test_follows_an_apply_and_ends_with_the_instance() {
	under_attack
	terminal 80 24 "weir top"
	wait_shows 'everyone/packets'
	sed -i 's/name: everyone/name: world/' "$scratch/policy.yaml"
	weir apply "$scratch/policy.yaml"
	wait_shows 'world/packets'
	weir detach --all
	wait_shows 'exit status 1'
	wait_shows 'weir: .*default'
}

test_not_protecting_is_seen() {
	under_attack
	terminal 80 24 "weir top"
	wait_shows 'wan0 native'
	ip link del wan0
	wait_shows 'NOT ATTACHED +NOT PROTECTING'
}

run_tests "$@"
