#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The Grafana dashboard is JSON of the right shape, and Prometheus can parse each of its queries.
. "$(dirname "$0")/tap.sh"
dashboard=share/grafana/weir.json

# Each query once as a rule, with Grafana's variables filled in.
rules_of_queries()
{
	jq -r '.panels[].targets[].expr' "$dashboard" |
		sed 's/\$__rate_interval/5m/g; s/\$job/weir/g; s/\$host/.*/g' |
		jq -R -s 'split("\n") | map(select(. != "")) | {groups: [{name: "dashboard",
			rules: [to_entries[] | {record: "dashboard:\(.key)", expr: .value}]}]}'
}

panels_are_whole()
{
	jq -e '(.panels | length) >= 8 and ([.panels[].id] | unique | length) == (.panels | length)
		and all(.panels[]; .title != "" and (.targets | length) > 0)
		and all(.panels[]; .gridPos.x + .gridPos.w <= 24)
		and .uid == "weir" and (.title | length) > 0' "$dashboard"
}

# A panel that overlaps another is hidden behind it.
panels_do_not_overlap()
{
	jq -e '[.panels[] | .gridPos as $g | range($g.x; $g.x + $g.w) as $x |
		range($g.y; $g.y + $g.h) | "\($x),\(.)"] | length == (unique | length)' "$dashboard"
}

rules_of_queries >"$scratch/queries.yml"
ok "each panel has a title, a place and a query" panels_are_whole
ok "no panel covers another" panels_do_not_overlap
ok "Prometheus parses every query" promtool check rules "$scratch/queries.yml"
ok "no query keeps an unknown variable" sh -c "! grep -n '[$]' '$scratch/queries.yml'"
finish
