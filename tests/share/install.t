#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# make install puts everything below DESTDIR and PREFIX, and make uninstall takes it away again.
. "$(dirname "$0")/tap.sh"
prefix=/opt/dam

run_make()
{
	make -s "$1" BUILD="$(dirname "$WEIR")" DESTDIR="$scratch/root" PREFIX=$prefix
}

installed()
{
	local file
	run_make install >/dev/null || return
	for file in sbin/weir share/man/man8/weir.8 share/man/man5/weir.yaml.5 \
		share/bash-completion/completions/weir share/zsh/site-functions/_weir \
		lib/systemd/system/weir@.service lib/sysusers.d/weir.conf \
		share/weir/examples/web-server.yaml share/weir/grafana/weir.json; do
		[ -s "$scratch/root$prefix/$file" ] || { echo "missing: $file"; return 1; }
	done
	[ -x "$scratch/root$prefix/sbin/weir" ]
}

nothing_outside()
{
	same "$scratch/root/opt" "$(find "$scratch/root" -mindepth 1 -maxdepth 1)" &&
		same "$scratch/root$prefix" "$(find "$scratch/root/opt" -mindepth 1 -maxdepth 1)"
}

units_name_the_installed_program()
{
	! grep -r /usr/sbin/weir "$scratch/root" --include='*.service' &&
		grep -q "$prefix/sbin/weir" "$scratch/root$prefix/lib/systemd/system/weir@.service"
}

uninstalled()
{
	run_make uninstall >/dev/null
	same '' "$(find "$scratch/root" -type f)"
}

echo 1..4
ok 'install: each part is at its place' installed
ok 'install: nothing outside DESTDIR and PREFIX' nothing_outside
ok 'install: units name the program where it is' units_name_the_installed_program
ok 'uninstall: no file is left' uninstalled
