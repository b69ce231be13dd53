#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What the usual tools say of the sources: layout, shell scripts, static analysis. Each tool
# first has to find fault with something faulty.
set -u
cd "$(dirname "$0")/../.." || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
count=0

report() { # RESULT DESCRIPTION OUTPUT
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		sed 's/^/# /' <<<"$3" | head -60
	fi
}

takes() { # DESCRIPTION COMMAND...
	local description=$1 output
	shift
	output=$("$@" 2>&1)
	report $? "$description" "$output"
}

refuses() { # DESCRIPTION COMMAND...
	local description=$1 output
	shift
	output=$("$@" 2>&1)
	[ $? != 0 ]
	report $? "$description" "took it: $output"
}

layout() {
	clang-format --style=file:.clang-format --dry-run --Werror "$@"
}

shells() {
	shellcheck -S warning -x -P SCRIPTDIR "$@"
}

# Without the skeleton, which is a megabyte of text. cppcheck 2.10 stumbles over compound literals.
analysis() {
	cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr --enable=warning,portability \
		--suppress=unknownMacro --suppress=internalAstError -D__GNUC__=12 -D__x86_64__ "$@"
}

# A shebang tells a shell script, whatever its name.
shell_scripts() {
	grep -lE '^#!(/usr)?/bin/(env )?(ba|da)?sh' -r .ci tests share --exclude-dir='.*.d'
}

printf 'int  f( void ){return 0;}\n' >"$scratch/layout.c"
printf '#!/bin/sh\nunused=1\n' >"$scratch/shell.sh"
printf 'int f(void)\n{\n\tint a[2];\n\n\treturn a[2];\n}\n' >"$scratch/analysis.c"

echo 1..6
refuses 'self-test: clang-format refuses another layout' layout "$scratch/layout.c"
refuses 'self-test: shellcheck refuses an unused variable' shells "$scratch/shell.sh"
refuses 'self-test: cppcheck refuses a read past the end' analysis "$scratch/analysis.c"
mapfile -t sources < <(find bpf user tests -name '*.[ch]')
takes 'clang-format: every C file is laid out' layout "${sources[@]}"
mapfile -t scripts < <(shell_scripts)
takes 'shellcheck: every shell script' shells "${scripts[@]}"
takes 'cppcheck: the user side' analysis user
