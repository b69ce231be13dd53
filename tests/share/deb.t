#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The Debian package: lintian finds nothing, it installs with nothing but what it depends on, works
# there, and goes without a trace.
. "$(dirname "$0")/tap.sh"
build=${BUILD:-build}
package=
root=$scratch/root

build_package()
{
	env -u MAKEFLAGS -u MAKELEVEL make --no-print-directory BUILD="$build" deb &&
		package=$(realpath "$build"/deb/weir_*.deb)
}

lintian_is_content()
{
	lintian --allow-root --fail-on error,warning "$build"/deb/weir_*.changes
}

tree_is_clean()
{
	[ ! -e debian ] && [ -z "$(find "$build/deb" -mindepth 1 -type d)" ]
}

version_is_that_of_the_program()
{
	same "weir $(dpkg-deb -f "$package" Version)" "$("$WEIR" --version)"
}

install_in_clean_root()
{
	mmdebstrap --quiet --variant=essential --include="$package" \
		--hook-dir=/usr/share/mmdebstrap/hooks/file-mirror-automount "$(suite)" "$root"
}

suite()
{
	sed -n 's/^VERSION_CODENAME=//p' /etc/os-release
}

inside()
{
	chroot "$root" env PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# In namespaces of its own: no pin and no program outlives it.
protects_an_interface()
{
	root=$root unshare --mount --net bash -e -c "$(declare -f inside)"'
		mount -t sysfs sysfs "$root/sys"
		mount -t bpf bpf "$root/sys/fs/bpf"
		ip link set lo up
		inside weir attach lo --mode generic --policy /etc/weir/weir.yaml
		inside weir status
		echo hello >/dev/udp/127.0.0.1/9
		[ "$(inside weir -j stats | jq ".totals.passed.packets > 0")" = true ]
		mkdir -p "$root/run/systemd/system"
		inside /var/lib/dpkg/info/weir.postinst configure 0.0.1
		inside weir status
		inside /var/lib/dpkg/info/weir.prerm remove
		rmdir "$root/run/systemd/system"
		[ -z "$(ls -A "$root/sys/fs/bpf/weir" 2>/dev/null)" ]'
}

files_are_in_place()
{
	local file
	for file in usr/sbin/weir etc/weir/weir.yaml lib/systemd/system/weir@.service \
		lib/systemd/system/weir-export.service usr/share/man/man8/weir.8.gz \
		usr/share/man/man5/weir.yaml.5.gz usr/share/bash-completion/completions/weir \
		usr/share/zsh/vendor-completions/_weir usr/share/weir/grafana/weir.json \
		usr/share/weir/prometheus/weir.rules.yml usr/share/weir/fail2ban/weir.conf \
		usr/share/weir/crowdsec/weir-bouncer; do
		dpkg-deb -c "$package" | grep -q "\./$file$" || { echo "no $file"; return 1; }
	done
}

group_is_there()
{
	grep '^weir:' "$root/etc/group"
}

purge_leaves_nothing()
{
	inside dpkg --purge weir || return 1
	[ -z "$(find "$root/usr" "$root/lib/" "$root/etc/weir" -name '*weir*' 2>/dev/null |
		tee "$scratch/left")" ] || { cat "$scratch/left"; return 1; }
}

if ! have dpkg-buildpackage || ! have lintian || ! have mmdebstrap; then
	skip "the Debian package" "dpkg-dev, lintian or mmdebstrap is not installed"
	finish
fi
ok "make deb builds a package" build_package
[ -n "$package" ] || finish
ok "nothing of the build stays in the tree" tree_is_clean
ok "lintian has no error and no warning" lintian_is_content
ok "the package's version is the program's" version_is_that_of_the_program
ok "everything is where it belongs" files_are_in_place
if mmdebstrap --quiet --simulate --variant=essential "$(suite)" "$scratch/try" >/dev/null 2>&1; then
	ok "it installs in a clean root" install_in_clean_root
	ok "the group weir is made" group_is_there
	ok "the policy it brings is taken" inside weir check /etc/weir/weir.yaml
	ok "it protects an interface, through an upgrade, until it is removed" protects_an_interface
	ok "purged, it leaves nothing" purge_leaves_nothing
else
	skip "it installs in a clean root" "no package archive can be reached"
fi
finish
