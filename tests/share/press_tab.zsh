# SPDX-License-Identifier: GPL-2.0-only
# press_tab.zsh FOLDER LINE...: print what each line becomes when the tab key is pressed at its end,
# in an interactive zsh that finds its completions in FOLDER.
zmodload zsh/zpty zsh/zselect
typeset out=$(mktemp) text line
zpty shell "PS1= TERM=dumb zsh -f -i"
zpty -w shell "
	fpath=($1 \$fpath)
	autoload -Uz compinit
	compinit -u -D
	write-line() { print -r -- \"\$BUFFER\" >$out; BUFFER= }
	zle -N write-line
	bindkey '^X' write-line
	print READY\$((6 * 7))"
zpty -r -m shell text '*READY42*'
shift
for line; do
	: >$out
	zpty -w -n shell "$line"$'\t\C-x'
	repeat 1000; do
		[[ -s $out ]] && break
		zselect -t 1
	done
	cat $out
done
zpty -d shell
rm -f $out
