#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The alert rules are valid, and each fires on its cause and on nothing else.
. "$(dirname "$0")/tap.sh"
rules=$PWD/share/prometheus/weir.rules.yml

every_alert_is_tested()
{
	local alert
	for alert in $(sed -n 's/.*- alert: //p' "$rules"); do
		grep -A3 "alertname: $alert\$" tests/share/rules.test.yml | grep -q exp_labels ||
			{ echo "no test in which $alert fires"; return 1; }
	done
}

sed "s,RULES,$rules," tests/share/rules.test.yml >"$scratch/test.yml"
ok "promtool takes the rules" promtool check rules "$rules"
ok "each alert fires when it should and is silent when not" promtool test rules "$scratch/test.yml"
ok "each alert has a test in which it fires" every_alert_is_tested
finish
