#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# weir export: a page that promtool and Prometheus take, served without rights.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../netns/lib.sh"

some_traffic() {
	policy <<-'YAML'
		policies:
		  - name: everyone
		    sources: [0.0.0.0/0, "::/0"]
		    limits: [{name: packets, rate: 1/hour, burst: 10}]
		  - {name: bad, sources: [10.9.0.0/16], action: drop}
	YAML
	network
	weir attach wan0 --policy "$scratch/policy.yaml"
	send_raw 30 "$(ethernet 0800 "$(ipv4 10.2.0.1 17 "$(udp 53 00000000)")")" \
		4 "$(ethernet 0800 "$(ipv4 10.9.0.1 17 "$(udp 53 00000000)")")"
}

# On a port of the kernel's choice; $url is its page.
serve() { # OPTIONS...
	weir export --listen 127.0.0.1:0 "$@" 2>"$scratch/served" &
	server=$!
	wait_until grep -q 'on port' "$scratch/served"
	url=http://127.0.0.1:$(sed -n 's/.*on port \([0-9]*\).*/\1/p' "$scratch/served")/metrics
}

metric() { # SAMPLE: its value on the page
	curl -sf "$url" | awk -v name="$1" '$1 == name { print $2 }'
}

test_the_page_passes_promtool_and_holds_the_counters() {
	some_traffic
	weir export --once --top 3 >"$scratch/page"
	promtool check metrics <"$scratch/page"
	grep -qxF 'weir_packets_total{policy="everyone",verdict="pass",reason="granted"} 10' "$scratch/page"
	grep -qxF 'weir_packets_total{policy="everyone",verdict="drop",reason="limit"} 20' "$scratch/page"
	grep -qxF 'weir_bytes_total{policy="bad",verdict="drop",reason="blocked"} 184' "$scratch/page"
	grep -qxF 'weir_limit_refused_packets_total{policy="everyone",limit="packets"} 20' "$scratch/page"
	grep -qxF 'weir_table_states{state="live"} 1' "$scratch/page"
	grep -qxF 'weir_interface_attached{interface="wan0",mode="native"} 1' "$scratch/page"
	grep -qxF 'weir_policy_generation 1' "$scratch/page"
	grep -qxF 'weir_top_source_dropped_packets{rank="1"} 20' "$scratch/page"
	grep -qE '^weir_build_info\{version="[0-9.]+"\} 1$' "$scratch/page"
	same addresses "$(grep -cE '10\.(2|9)\.0' "$scratch/page" || true)" 0
}

test_sums_are_those_of_stats() {
	some_traffic
	weir block 10.7.0.1
	send_raw 5 "$(ethernet 0800 "$(ipv4 10.7.0.1 17 "$(udp 53 00000000)")")" 2 "$(ethernet 0806)"
	weir export --once >"$scratch/page"
	same packets "$(awk '/^weir_packets_total/ { n += $2 } END { print n }' "$scratch/page")" \
		"$(stats '.totals | .passed.packets + .dropped.packets')"
	same dropped "$(awk '/^weir_packets_total.*verdict="drop"/ { n += $2 } END { print n }' \
		"$scratch/page")" "$(stats .totals.dropped.packets)"
	same bytes "$(awk '/^weir_bytes_total/ { n += $2 } END { print n }' "$scratch/page")" \
		"$(stats '.totals | .passed.bytes + .dropped.bytes')"
}

test_openmetrics_where_it_is_asked_for() {
	some_traffic
	serve
	same plain "$(curl -sf -o "$scratch/page" -w '%{content_type}' "$url")" \
		'text/plain; version=0.0.4; charset=utf-8'
	grep -q '^# TYPE weir_packets_total counter' "$scratch/page"
	same openmetrics "$(curl -sf -H 'Accept: application/openmetrics-text;version=1.0.0' \
		-o "$scratch/page" -w '%{content_type}' "$url")" \
		'application/openmetrics-text; version=1.0.0; charset=utf-8'
	same end "$(tail -n 1 "$scratch/page")" '# EOF'
	same missing "$(curl -s -o /dev/null -w '%{http_code}' "${url%metrics}nothing")" 404
	same root "$(curl -s -o /dev/null -w '%{http_code}' "${url%metrics}")" 200
	same post "$(curl -s -o /dev/null -w '%{http_code}' -d x "$url")" 405
}

test_the_page_follows_the_policy_and_the_instance() {
	some_traffic
	serve
	same before "$(metric 'weir_packets_total{policy="everyone",verdict="drop",reason="limit"}')" 20
	sed -i 's/burst: 10/burst: 20/' "$scratch/policy.yaml"
	weir apply "$scratch/policy.yaml"
	same generation "$(metric weir_policy_generation)" 2
	same "not decreased" \
		"$(metric 'weir_packets_total{policy="everyone",verdict="drop",reason="limit"}')" 20
	weir detach --all
	same protecting "$(metric weir_protecting)" 0
	weir attach wan0 --policy "$scratch/policy.yaml"
	same protecting "$(metric weir_protecting)" 1
	ip link del wan0
	same protecting "$(metric weir_protecting)" 0
	same attached "$(curl -sf "$url" | grep -c '^weir_interface_attached{.*mode="none"} 0')" 1
}

capabilities() { # PID
	awk '/^Cap(Eff|Prm|Bnd)/ { print $2 }' "/proc/$1/status" | sort -u
}

test_serves_without_rights() {
	some_traffic
	serve
	same capabilities "$(capabilities "$server")" 0000000000000000
	same "new rights" "$(awk '/^NoNewPrivs/ { print $2 }' "/proc/$server/status")" 1
	same page "$(metric weir_protecting)" 1
}

# The group `weir` as it would be on a machine that has it.
with_group() {
	cp /etc/group "$scratch/group"
	grep -q '^weir:' "$scratch/group" || echo 'weir:x:64999:' >>"$scratch/group"
	mount --bind "$scratch/group" /etc/group
	chmod 644 "$scratch/group"
}

test_nobody_of_the_group_may_read() {
	with_group
	some_traffic
	local gid
	gid=$(getent group weir | cut -d: -f3)
	as_member() {
		setpriv --reuid 65534 --regid "$gid" --clear-groups --no-new-privs \
			--bounding-set=-all --inh-caps=-all "$@"
	}
	as_member "$BUILD/weir" export --once >"$scratch/page"
	grep -qxF 'weir_packets_total{policy="everyone",verdict="drop",reason="limit"} 20' "$scratch/page"
	same reasons "$(as_member "$BUILD/weir" stats -j | jq .totals.dropped.packets)" 24
	as_member "$BUILD/weir" top -j --count 1 --interval 100ms | jq -e .sources[0] >/dev/null
	as_member "$BUILD/weir" status | grep -q 'wan0 .* native'
	as_member "$BUILD/weir" dump | grep -q 'name: everyone'
	same source "$(as_member "$BUILD/weir" source list -j | jq -r '.sources[0].source')" 10.2.0.1
	same shown "$(as_member "$BUILD/weir" source show 10.2.0.1 -j | jq '.limits[0].dropped')" 20
	weir block 10.8.0.0/16
	same explained "$(as_member "$BUILD/weir" explain 10.8.0.1 -j | jq -r .reason)" blocked
	fails 1 as_member "$BUILD/weir" block 10.2.0.9
	serve
	same uid "$(awk '/^Uid/ { print $3 }' "/proc/$server/status")" 65534
	same page "$(metric weir_protecting)" 1
	weir apply "$scratch/policy.yaml"
	same "after an apply" "$(metric weir_policy_generation)" 2
}

test_textfile_appears_whole() {
	some_traffic
	mkdir "$scratch/collector"
	weir export --textfile "$scratch/collector/weir.prom"
	promtool check metrics <"$scratch/collector/weir.prom"
	same mode "$(stat -c %a "$scratch/collector/weir.prom")" 644
	same files "$(ls "$scratch/collector")" weir.prom
	local inode
	inode=$(stat -c %i "$scratch/collector/weir.prom")
	exec 3<"$scratch/collector/weir.prom"
	weir export --textfile "$scratch/collector/weir.prom"
	promtool check metrics <&3 # the old page is still whole
	test "$(stat -c %i "$scratch/collector/weir.prom")" != "$inode"
	fails 1 weir export --textfile /nonexistent/weir.prom
	says 'cannot write'
}

answers() { # QUERY: the value Prometheus gives
	curl -sf "http://127.0.0.1:19090/api/v1/query" --data-urlencode "query=$1" |
		jq -r '.data.result[0].value[1] // "none"'
}

scraped() {
	[ "$(answers 'up{job="weir"}')" = 1 ]
}

test_a_real_prometheus_scrapes_and_answers() {
	some_traffic
	serve --top 2
	cat >"$scratch/prometheus.yml" <<-YAML
		global: {scrape_interval: 1s}
		scrape_configs:
		  - job_name: weir
		    static_configs: [{targets: ["${url:7:-8}"]}]
	YAML
	prometheus --config.file="$scratch/prometheus.yml" --storage.tsdb.path="$scratch/tsdb" \
		--web.listen-address=127.0.0.1:19090 --log.level=error &
	wait_until scraped
	same dropped "$(answers 'sum(weir_packets_total{verdict="drop"})')" 24
	same limit "$(answers 'weir_limit_refused_packets_total{policy="everyone"}')" 20
	same "worst source" "$(answers 'weir_top_source_dropped_packets{rank="1"}')" 20
	same version "$(answers 'count(weir_build_info)')" 1
	same type "$(curl -sf 'http://127.0.0.1:19090/api/v1/metadata?metric=weir_packets' |
		jq -r '.data.weir_packets[0].type // "none"')" counter
}

test_what_it_can_not_do() {
	some_traffic
	serve
	fails 1 weir export --listen "${url:7:-8}"
	says 'cannot listen on .*in use'
	fails 1 weir export --listen nowhere
	says 'ADDR:PORT'
	fails 2 weir export --top 1000
	same protecting "$(weir export --once --instance none | grep -c '^weir_protecting 0')" 1
}

run_tests "$@"
