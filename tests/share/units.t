#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# systemd takes the units, and finds the exporter's as closed as it should be.
. "$(dirname "$0")/tap.sh"

# The units as files of their own, naming a program that exists.
for unit in share/systemd/*.service; do
	sed "s,/usr/sbin/weir,/bin/true," "$unit" >"$scratch/${unit##*/}"
done

verify()
{
	# The final colon adds the system's own units, which ours name.
	SYSTEMD_UNIT_PATH=$scratch: systemd-analyze verify --man=no "$scratch/$1" 2>&1 |
		tee "$scratch/said" && ! grep -F "${1%@*}" "$scratch/said"
}

# Exposure from 0 (closed) to 100; a service without any setting has 96.
exposure()
{
	systemd-analyze security --offline=true --threshold="$2" "$scratch/$1"
}

group_is_made()
{
	mkdir -p "$scratch/root/etc"
	: >"$scratch/root/etc/passwd"
	: >"$scratch/root/etc/group"
	systemd-sysusers --root="$scratch/root" "$PWD/share/sysusers/weir.conf" &&
		grep '^weir:' "$scratch/root/etc/group"
}

if ! have systemd-analyze; then
	skip "the units" "systemd is not installed"
	finish
fi
ok "systemd takes weir@.service" verify weir@eth0.service
ok "systemd takes weir-export.service" verify weir-export.service
ok "the exporter's exposure is at most 2.0 of 10" exposure weir-export.service 20
ok "systemd-sysusers makes the group weir" group_is_made
finish
