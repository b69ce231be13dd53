#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Completion in bash and zsh offers what the program knows, and what is live now.
. "$(dirname "$0")/../netns/lib.sh"

# A running instance with something of each kind to offer.
live() {
	network
	policy <<-'END'
		services: {dns: [udp/53], web: [tcp/80]}
		policies:
		  - {name: everyone, sources: [0.0.0.0/0, "::/0"], limits: [{rate: 1/hour, burst: 5}]}
	END
	weir attach wan0 --policy "$scratch/policy.yaml"
	weir --instance other attach lo --mode generic
	weir block 203.0.113.7 for 1h
	weir block 2001:db8::7 for 1h
	send_raw 10 "$(ethernet 0800 "$(ipv4 10.0.0.9 17 "$(udp 53)")")"
	wait_until source_is_known
}

source_is_known() {
	weir -j source list | grep -q 10.0.0.9
}

# What bash would offer behind LINE, one a line. Words are split as readline splits them: at
# colons too. $library: the file of bash-completion, or nothing.
offers() { # LINE
	bash --norc --noprofile -c '
		[ -z "$2" ] || . "$2"
		. "$3"
		line=$1
		read -ra COMP_WORDS < <(sed "s/:\{1,\}/ & /g" <<<"$line")
		[[ $line == *[\ ] ]] && COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$line COMP_POINT=${#line}
		_weir weir "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
		printf "%s\n" "${COMPREPLY[@]}"' \
		bash "$1" "${library-/usr/share/bash-completion/bash_completion}" \
		"$root/share/completion/weir.bash" | sort | paste -sd ' '
}

# Pairs of a line and what zsh makes of it when the tab key is pressed.
zsh_completes() { # LINE WANTED...
	local lines=() wanted=() got
	while [ $# -gt 1 ]; do
		lines+=("$1")
		wanted+=("$2")
		shift 2
	done
	got=$(zsh -f "$root/tests/share/press_tab.zsh" "$root/share/completion" "${lines[@]}")
	diff <(printf '%s\n' "${wanted[@]}") - <<<"$got"
}

test_bash_offers_commands_and_options() {
	same "st" "$(offers "weir st")" "stats status"
	same "a command of its own" "$(offers "weir attach --mod")" "--mode"
	same "an option for all" "$(offers "weir detach --js")" "--json"
	same "choices" "$(offers "weir attach wan0 --mode ")" "auto generic native"
	same "choices of another option" "$(offers "weir source list --by d")" "debt dropped"
	same "colours" "$(offers "weir --color ")" "always auto never"
	same "words of limit" "$(offers "weir limit 10.0.0.0/8 5/s ")" "burst for per service"
	same "words of source" "$(offers "weir source ")" "forget list show"
	same "words of explain" "$(offers "weir explain 10.0.0.1 d")" "dport"
	same "help" "$(offers "weir help deta")" "detach"
}

test_bash_offers_live_names() {
	live
	same "interfaces" "$(offers "weir attach wa")" "wan0"
	same "protected interfaces" "$(offers "weir detach ")" "wan0"
	same "those of another instance" "$(offers "weir --instance other detach ")" "lo"
	same "instances" "$(offers "weir --instance ")" "default other"
	same "services" "$(offers "weir limit 10.0.0.0/8 5/s service ")" "dns web"
	same "sources" "$(offers "weir source show 10.")" "10.0.0.9"
	same "entries" "$(offers "weir remove 203")" "203.0.113.7/32"
	same "entries of IPv6, behind the last colon" "$(offers "weir remove 2001:db8::")" "7/128"
}

test_bash_offers_files() {
	cd "$scratch"
	touch one.yaml two.yaml
	same "policies" "$(offers "weir check o")" "one.yaml"
	same "a policy behind its option" "$(offers "weir attach wan0 --policy tw")" "two.yaml"
}

test_bash_completes_without_bash_completion() {
	library=''
	live
	same "commands" "$(offers "weir expl")" "explain"
	same "interfaces" "$(offers "weir attach wa")" "wan0"
	same "services" "$(offers "weir limit 10.0.0.0/8 5/s service w")" "web"
}

test_bash_is_silent_when_weir_does_not_run() {
	same "services" "$(offers "weir limit 10.0.0.0/8 5/s service " 2>&1)" ""
	same "entries" "$(offers "weir remove " 2>&1)" ""
}

test_zsh_completes_commands_options_and_live_names() {
	command -v zsh >/dev/null || skip "zsh is not installed"
	live
	zsh_completes "weir expl" "weir explain " \
		"weir attach --mod" "weir attach --mode " \
		"weir detach --js" "weir detach --json " \
		"weir attach wan0 --mode nat" "weir attach wan0 --mode native " \
		"weir attach wa" "weir attach wan0 " \
		"weir --instance other detach " "weir --instance other detach lo " \
		"weir --instance oth" "weir --instance other " \
		"weir limit 10.0.0.0/8 5/s service d" "weir limit 10.0.0.0/8 5/s service dns " \
		"weir source show 10." "weir source show 10.0.0.9 " \
		"weir remove 203" "weir remove 203.0.113.7/32 "
}

run_tests "$@"
