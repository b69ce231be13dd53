#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What stands beside the program works with it: integrations, units, dashboard, against a weir
# that runs.
. "$(dirname "$0")/../netns/lib.sh"

protected() {
	network
	weir attach wan0
}

verdict() { # ADDRESS
	weir -j explain "$1" | jq -r '"\(.verdict) \(.reason)"'
}

bans() { # VERB ADDRESS SECONDS
	mkdir -p "$scratch/fail2ban/action.d"
	cp "$root/share/fail2ban/weir.conf" "$scratch/fail2ban/action.d/"
	/usr/bin/python3 "$root/tests/share/ban_as_fail2ban.py" "$scratch/fail2ban" \
		"$(command -v weir)" "$@"
}

bouncer() {
	WEIR=$(command -v weir) "$root/share/crowdsec/weir-bouncer" "$@"
}

test_fail2ban_blocks_and_unblocks() {
	/usr/bin/python3 -c 'import fail2ban' || skip "fail2ban is not installed"
	protected
	same "before" "$(verdict 10.0.0.2)" "pass granted"
	bans ban 10.0.0.2 600
	same "banned" "$(verdict 10.0.0.2)" "drop blocked"
	same "another" "$(verdict 10.0.0.3)" "pass granted"
	bans unban 10.0.0.2 600
	same "unbanned" "$(verdict 10.0.0.2)" "pass granted"
	bans unban 10.0.0.2 600
	bans ban fd00::2 600
	same "IPv6" "$(verdict fd00::2)" "drop blocked"
}

test_crowdsec_blocks_and_unblocks() {
	protected
	bouncer add 10.0.0.0/24 60 scan '{"type":"ban"}'
	same "blocked" "$(verdict 10.0.0.2)" "drop blocked"
	bouncer del 10.0.0.0/24 60 scan '{"type":"ban"}'
	same "unblocked" "$(verdict 10.0.0.2)" "pass granted"
	bouncer del 10.0.0.0/24 60 scan '{"type":"ban"}'
	weir detach --all
	fails 1 bouncer add 10.0.0.2 60 scan '{"type":"ban"}'
}

# The commands of a unit, run with the capabilities that it leaves.
unit_runs() { # UNIT KEY
	local line set=-all capability
	for capability in $(sed -n 's/^CapabilityBoundingSet=//p' "$root/share/systemd/$1"); do
		set+=,+${capability#CAP_}
	done
	line=$(sed -n "s/^$2=-\{0,1\}//p" "$root/share/systemd/$1" |
		sed "s,^/usr/sbin/weir,$(command -v weir),; s/%I/wan0/; s/ \$WEIR_[A-Z]*\$//")
	# shellcheck disable=SC2086 # words of the unit
	setpriv --bounding-set "${set,,}" --inh-caps=-all --no-new-privs $line
}

test_the_unit_attaches_reloads_and_detaches() {
	network
	own_etc
	cp "$root/share/default.yaml" /etc/weir/weir.yaml
	unit_runs weir@.service ExecStart
	weir status
	generation=$(stats .generation)
	unit_runs weir@.service ExecReload
	same "generation" "$(stats .generation)" $((generation + 1))
	unit_runs weir@.service ExecStop
	same "program" "$(program_id)" none
}

# A copy of /etc that is the sandbox's own.
own_etc() {
	cp -a /etc "$scratch/etc"
	mount --bind "$scratch/etc" /etc
	mkdir -p /etc/weir
	grep -q ^weir: /etc/group || echo 'weir:x:987:' >>/etc/group
}

# As weir-export.service runs: nobody, no capability, /sys read-only; group weir opens the pins.
test_the_exporter_needs_no_rights() {
	network
	own_etc
	weir attach wan0
	mount -o remount,ro,bind /sys/fs/bpf
	setpriv --reuid 65534 --regid 65534 --groups "$(getent group weir | cut -d: -f3)" \
		--bounding-set=-all --inh-caps=-all --no-new-privs \
		weir export --once >"$scratch/metrics"
	grep -q '^weir_protecting 1$' "$scratch/metrics"
	promtool check metrics <"$scratch/metrics"
	fails 1 setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all \
		--no-new-privs weir export --once
}

test_dashboard_and_rules_name_metrics_that_are_exported() {
	protected
	weir export --once --top 3 >"$scratch/metrics"
	jq -r '.panels[].targets[].expr' "$root/share/grafana/weir.json" |
		cat - "$root/share/prometheus/weir.rules.yml" | grep -oE 'weir_[a-z_]+' | sort -u |
		while read -r metric; do
			[ "$metric" = weir_top_source_dropped_packets ] && continue
			grep -q "^${metric}[{ ]" "$scratch/metrics" || { echo "no $metric"; exit 1; }
		done
}

# Keys that weir(8) shows for a document; `...` in it stands for what stats has.
documented() { # HEADING OF THE DOCUMENT
	awk -v item=".It $1" '/^\.Sh/ { json = /JSON/ } /^\.It/ { inside = json && $0 == item } inside' \
		"$root/share/man/weir.8" | grep -oE '"[a-z_]+"' | tr -d '"'
}

keys_are_documented() { # HEADING WEIR'S-WORDS...
	local heading=$1 found
	shift
	found=$(weir -j "$@" | jq -r 'paths | map(strings) | last' | sort -u)
	[ -n "$found" ]
	[ -n "$(documented "$heading")" ]
	comm -23 - <(for h in "$heading" "Cm stats"; do documented "$h"; done | sort -u) \
		>"$scratch/unknown" <<<"$found"
	same "keys of weir $* not shown for $heading" "$(paste -sd ' ' "$scratch/unknown")" ""
}

test_documents_have_the_keys_that_the_manual_shows() {
	network
	weir dump --default >"$scratch/policy.yaml"
	keys_are_documented "Cm check" check "$scratch/policy.yaml"
	keys_are_documented "Cm attach" attach wan0 --policy "$scratch/policy.yaml"
	weir limit 10.0.0.0/8 1/hour burst 2
	send_raw 10 "$(ethernet 0800 "$(ipv4 10.0.0.9 17 "$(udp 53)")")"
	wait_until eval 'weir -j source list | grep -q 10.0.0.9'
	keys_are_documented "Cm stats" stats
	keys_are_documented "Cm status" status
	keys_are_documented "Cm source list" source list
	keys_are_documented "Cm source show" source show 10.0.0.9
	keys_are_documented "Cm explain" explain 10.0.0.9 proto udp dport 53
	keys_are_documented "Cm source forget" source forget 10.0.0.9
	keys_are_documented "Cm top , No each interval" top --interval 100ms --count 2
	keys_are_documented "Cm apply Fl -dry-run" apply "$scratch/policy.yaml" --dry-run
	keys_are_documented "Cm apply" apply "$scratch/policy.yaml" --confirm 60
	keys_are_documented "Cm confirm" confirm
	keys_are_documented "Cm block , allow , limit" block 10.9.9.9 for 1h
	keys_are_documented "Cm remove" remove 10.9.9.9
	echo 10.9.9.8 >"$scratch/list"
	keys_are_documented "Cm block Fl -file" block --file "$scratch/list" for 1h
	keys_are_documented "Cm detach" detach --all
}

run_tests "$@"
