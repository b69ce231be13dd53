# SPDX-License-Identifier: GPL-2.0-only
# press_tab.zsh FOLDER LINE: print what the line becomes when the tab key is pressed at its end, in
# an interactive zsh that finds its completions in FOLDER.
zmodload zsh/zpty
typeset out=$(mktemp) text
zpty shell "PS1= TERM=dumb zsh -f -i"
zpty -w shell "
	fpath=($1 \$fpath)
	autoload -Uz compinit
	compinit -u -d $out.dump
	write-line() { print -r -- \"\$BUFFER\" >$out }
	zle -N write-line
	bindkey '^X' write-line
	print READY\$((6 * 7))"
zpty -r -m shell text '*READY42*'
zpty -w -n shell "$2"$'\t'
sleep 0.1
zpty -w -n shell $'\C-x'
repeat 100; do
	[[ -s $out ]] && break
	sleep 0.1
done
cat $out
zpty -d shell
rm -f $out $out.dump
