# SPDX-License-Identifier: GPL-2.0-only
# bash completion for weir(8). Commands, options and live names (interfaces, instances, services,
# sources, entries) are asked of the program itself: nothing here repeats them.

# weir as it was typed, for the instance that was typed.
_weir_ask()
{
	"${words[0]/#\~/$HOME}" ${instance:+--instance "$instance"} "$@" 2>/dev/null
}

_weir_commands()
{
	_weir_ask help | sed -n 's/^    \([a-z]\{1,\}\) .*/\1/p'
}

# Options that a usage text names: those of one command, or those for all.
_weir_options()
{
	_weir_ask help "$@" | grep -oE -- '--[a-z][a-z-]*' | sort -u
}

# What an option takes, as usage texts call it: FILE, or auto|native|generic. Empty: nothing.
_weir_takes()
{
	{ _weir_ask help; [ -z "$verb" ] || _weir_ask help "$verb"; } |
		sed -nE '/^usage: |^    (-., )?--/p' | grep -oE -- "$1 [A-Za-z|:]+" | head -n 1 |
		sed 's/^[^ ]* //'
}

_weir_interfaces()
{
	local path
	for path in /sys/class/net/*/; do
		basename "$path"
	done
}

_weir_instances()
{
	local path
	for path in /sys/fs/bpf/weir/*/; do
		[ -d "$path" ] && basename "$path"
	done
}

# Interfaces that weir holds.
_weir_attached()
{
	_weir_ask -j status | grep -oE '"interfaces": *\[[^]]*\]' | grep -oE '"name": *"[^"]*"' |
		cut -d'"' -f4
}

# Keys of the policy in force below `services:`.
_weir_services()
{
	_weir_ask dump | sed -n '/^services:/,/^[a-z]/s/^  \([A-Za-z0-9_-]*\):.*/\1/p'
}

_weir_entries()
{
	_weir_ask dump | sed -n '/^entries:/,/^[a-z]/p' |
		grep -oE '(block|allow|limit): *"?[0-9a-fA-F.:/]+' | sed -E 's/^[a-z]+: *"?//'
}

_weir_sources()
{
	_weir_ask -j source list --top 20 | grep -oE '"source": *"[^"]*"' | cut -d'"' -f4 |
		sed 's,/.*,,' | sort -u
}

_weir_files()
{
	mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	compopt -o filenames 2>/dev/null
}

_weir_pick()
{
	mapfile -t COMPREPLY < <(compgen -W "$*" -- "$cur")
}

# Choose from the lines of a command's output.
_weir_from()
{
	mapfile -t COMPREPLY < <(compgen -W "$("$@")" -- "$cur")
}

# The value of the option before the cursor; fails where it takes none.
_weir_value()
{
	local takes choices

	[[ $1 == --* ]] || return 1
	takes=$(_weir_takes "$1")
	case $takes in
	'') return 1 ;;
	FILE | PATH) _weir_files ;;
	NAME) _weir_from _weir_instances ;;
	WHEN) _weir_pick auto always never ;;
	*\|*) IFS='|' read -ra choices <<<"$takes" && _weir_pick "${choices[@]}" ;;
	esac
	return 0
}

# What may follow the verb; $1 is how many words stand between it and the cursor.
_weir_word()
{
	case $verb in
	attach) _weir_from _weir_interfaces ;;
	detach) _weir_from _weir_attached ;;
	check | apply | capture | replay) [ "$1" -eq 0 ] && _weir_files ;;
	block | allow) [ "$1" -eq 1 ] && _weir_pick for ;;
	limit) _weir_limit_word "$1" ;;
	remove) [ "$1" -eq 0 ] && _weir_from _weir_entries ;;
	source) _weir_source_word "$1" ;;
	explain) _weir_explain_word "$1" ;;
	completion) [ "$1" -eq 0 ] && _weir_pick bash zsh ;;
	help) [ "$1" -eq 0 ] && _weir_from _weir_commands ;;
	esac
}

_weir_limit_word()
{
	if [ "$prev" = service ]; then
		_weir_from _weir_services
	elif [ "$1" -ge 2 ] && [ $(($1 % 2)) -eq 0 ]; then
		_weir_pick burst per service for
	fi
}

_weir_source_word()
{
	case $1-$prev in
	0-*) _weir_pick list show forget ;;
	1-show | 1-forget) _weir_from _weir_sources ;;
	esac
}

_weir_explain_word()
{
	case $prev in
	proto) _weir_pick tcp udp icmp icmpv6 ;;
	dport | type | to | len) ;;
	*)
		if [ "$1" -eq 0 ]; then
			_weir_from _weir_sources
		else
			_weir_pick proto dport type to len syn
		fi
		;;
	esac
}

# Finds the verb, the instance and the number of words behind the verb.
_weir_scan()
{
	local i
	for ((i = 1; i < cword; i++)); do
		case ${words[i]} in
		--instance) instance=${words[++i]} ;;
		--instance=*) instance=${words[i]#*=} ;;
		--*) [ -z "$(_weir_takes "${words[i]}")" ] || ((i++)) ;;
		-*) ;;
		*) if [ -z "$verb" ]; then verb=${words[i]}; else ((behind++)); fi ;;
		esac
	done
}

_weir()
{
	local cur prev words cword verb='' instance='' behind=0

	if declare -F _get_comp_words_by_ref >/dev/null; then
		_get_comp_words_by_ref -n := cur prev words cword
	else
		words=("${COMP_WORDS[@]}")
		cword=$COMP_CWORD
		cur=${words[cword]}
		prev=${words[cword - 1]}
	fi
	COMPREPLY=()
	_weir_scan
	if _weir_value "$prev"; then
		:
	elif [[ $cur == -* ]]; then
		_weir_from eval '_weir_options; [ -z "$verb" ] || _weir_options "$verb"'
	elif [ -z "$verb" ]; then
		_weir_from _weir_commands
	else
		_weir_word "$behind"
	fi
	# Readline splits words at colons: an IPv6 address is to be continued, not begun anew.
	declare -F __ltrim_colon_completions >/dev/null && __ltrim_colon_completions "$cur"
	return 0
}

complete -F _weir weir
