#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# weir monitor and weir capture: sampled drops, bounded in the kernel, ending with their reader.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../netns/lib.sh"

five_an_hour() {
	policy <<-'YAML'
		services: {dns: [udp/53]}
		policies:
		  - name: everyone
		    sources: [0.0.0.0/0, "::/0"]
		    limits: [{rate: 1/hour, burst: 1000}, {name: names, service: dns, rate: 1/hour, burst: 5}]
		  - {name: bad, sources: [10.9.0.0/16], action: drop}
	YAML
	network
	weir attach wan0 --policy "$scratch/policy.yaml"
}

dns_frame() { # SOURCE
	ethernet 0800 "$(ipv4 "$1" 17 "$(udp 53 00000000)")"
}

watched() { # is a lease running?
	local until
	until=$(bpftool -j map dump pinned /sys/fs/bpf/weir/default/live |
		jq '.[0].formatted.value.watch_until_ns')
	[ "$until" -gt "$(awk '{ printf "%.0f", $1 * 1e9 }' /proc/uptime)" ]
}

not_watched() {
	! watched
}

test_monitor_says_who_what_and_why() {
	five_an_hour
	weir monitor --max 2 >"$scratch/out" &
	wait_until watched
	send_raw 6 "$(dns_frame 10.2.0.1)" 1 "$(dns_frame 10.9.0.1)"
	wait $!
	said=$(cat "$scratch/out")
	says '^[0-9:.]+ wan0 10\.2\.0\.1:999 > 10\.0\.0\.1:53 udp 46 bytes: limit everyone/names$'
	says '^[0-9:.]+ wan0 10\.9\.0\.1:999 > 10\.0\.0\.1:53 udp 46 bytes: blocked bad$'
	not_watched
}

test_monitor_in_json_a_line_each() {
	five_an_hour
	weir monitor -j --max 1 >"$scratch/out" &
	wait_until watched
	send_raw 6 "$(dns_frame 10.2.0.1)"
	wait $!
	same fields "$(jq -c '[.interface, .source, .source_port, .destination, .destination_port,
		.protocol, .length, .policy, .limit, .reason, .observed]' "$scratch/out")" \
		'["wan0","10.2.0.1",999,"10.0.0.1",53,"udp",46,"everyone","names","limit",false]'
	within time "$(jq '.time_ns / 1e9' "$scratch/out")" \
		"$(($(date +%s) - 60))" "$(($(date +%s) + 1))"
}

test_monitor_follows_an_apply() {
	five_an_hour
	weir monitor --max 2 >"$scratch/out" &
	wait_until watched
	send_raw 1 "$(dns_frame 10.9.0.1)"
	wait_until grep -q 'blocked bad' "$scratch/out"
	sed -i 's/name: bad/name: worse/' "$scratch/policy.yaml"
	weir apply "$scratch/policy.yaml"
	sleep 0.5
	send_raw 1 "$(dns_frame 10.9.0.1)"
	wait $!
	grep -q 'blocked worse' "$scratch/out"
}

test_sampling_ends_with_its_reader() {
	five_an_hour
	weir monitor >"$scratch/out" &
	wait_until watched
	kill -9 $!
	wait_until not_watched
	weir monitor --seconds 1 >"$scratch/out" # and the next one may
}

test_only_one_reader_at_a_time() {
	five_an_hour
	weir monitor --seconds 3 >"$scratch/out" &
	wait_until watched
	fails 1 weir capture "$scratch/out.pcapng" --max 1
	says 'another monitor or capture'
	wait $!
}

test_a_block_entry_while_watched_is_not_lost() {
	five_an_hour
	weir monitor --seconds 4 >"$scratch/out" &
	wait_until watched
	weir block 10.3.0.1
	sleep 2.5 # past a renewal of the lease
	send_raw 3 "$(dns_frame 10.3.0.1)"
	wait $!
	same blocked "$(reason blocked)" 3
	grep -q '10\.3\.0\.1:999 .*: blocked' "$scratch/out"
}

test_goes_on_while_another_weir_has_the_lock() {
	five_an_hour
	weir monitor --seconds 6 >"$scratch/out" &
	local reader=$!
	wait_until watched
	flock /sys/fs/bpf/weir/default sleep 5 &
	sleep 2.5
	send_raw 3 "$(dns_frame 10.9.0.1)"
	wait_until grep -q 'blocked bad' "$scratch/out"
	wait "$reader"
}

# Each CPU sends at most so many events; what is not sent is counted.
test_a_flood_is_sampled_within_bounds() {
	five_an_hour
	weir monitor --seconds 2 >"$scratch/out" 2>"$scratch/said" &
	wait_until watched
	send_flood --rate 200000 --count 200000 --source 10.2.0.1 >"$scratch/sent"
	wait $!
	local cpus shown
	cpus=$(nproc)
	shown=$(wc -l <"$scratch/out")
	within "lines shown" "$shown" 1 $((cpus * (2 * 100 + 26)))
	said=$(cat "$scratch/said")
	says '[0-9]+ drops shown, [0-9]{5,} more not sampled'
}

test_capture_is_read_by_tshark_and_tcpdump() {
	five_an_hour
	weir capture "$scratch/out.pcapng" --max 3 -j >"$scratch/report" &
	wait_until watched
	send_raw 7 "$(dns_frame 10.2.0.1)" 1 "$(ethernet 0800 "$(ipv4 10.9.0.1 17 \
		"$(udp 9 "$(printf '61%.0s' {1..300})")")")"
	wait $!
	same report "$(jq -c '[.packets, .not_sampled]' "$scratch/report")" '[3,0]'
	tshark -r "$scratch/out.pcapng" -T fields -e frame.interface_name -e ip.src -e udp.dstport \
		-e frame.len -e frame.cap_len -e frame.comment >"$scratch/fields"
	same first "$(sed -n 1p "$scratch/fields" | tr '\t' ' ')" \
		"wan0 10.2.0.1 53 46 46 drop: limit everyone/names"
	same last "$(sed -n 3p "$scratch/fields" | tr '\t' ' ')" \
		"wan0 10.9.0.1 9 342 128 drop: blocked bad"
	same tcpdump "$(tcpdump -nr "$scratch/out.pcapng" | grep -c 'IP 10\.')" 3
	capinfos "$scratch/out.pcapng" >"$scratch/info"
	grep -q 'Number of packets: *3' "$scratch/info"
}

test_what_was_captured_can_be_replayed() {
	five_an_hour
	weir capture "$scratch/out.pcapng" --max 2 &
	wait_until watched
	send_raw 7 "$(dns_frame 10.2.0.1)"
	wait $!
	same passed "$(weir replay "$scratch/out.pcapng" --policy "$scratch/policy.yaml" -j |
		jq .totals.passed.packets)" 2
}

test_observed_drops_are_shown_as_such() {
	five_an_hour
	weir apply "$scratch/policy.yaml" --observe
	weir monitor --max 1 >"$scratch/out" &
	wait_until watched
	send_raw 1 "$(dns_frame 10.9.0.1)"
	wait $!
	grep -q '(observed) bad' "$scratch/out"
}

test_without_an_instance_or_rights() {
	fails 1 weir monitor
	five_an_hour
	fails 1 setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all \
		--inh-caps=-all "$BUILD/weir" monitor
	fails 1 weir capture /nonexistent/file.pcapng
	says 'cannot write /nonexistent/file.pcapng'
}

test_the_instance_goes_away() {
	five_an_hour
	weir monitor >"$scratch/out" 2>"$scratch/said" &
	wait_until watched
	weir detach --all
	local status=0
	wait $! || status=$?
	same status "$status" 1
	said=$(cat "$scratch/said")
	says 'default'
}

test_the_instance_is_made_anew() {
	five_an_hour
	weir monitor >"$scratch/out" 2>"$scratch/said" &
	local reader=$! status=0
	wait_until watched
	kill -STOP "$reader" # it sees only that there is one again
	weir detach --all
	weir attach wan0
	kill -CONT "$reader"
	wait "$reader" || status=$?
	same status "$status" 1
	said=$(cat "$scratch/said")
	says 'made anew'
}

run_tests "$@"
