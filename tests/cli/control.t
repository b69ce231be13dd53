#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What an administrator does and sees, on a wire with real packets: entries, changes and their
# preview, sources, explanations, and the shapes of the JSON that scripts rely on.
# shellcheck source-path=SCRIPTDIR source=../netns/lib.sh
. "$(dirname "$0")/../netns/lib.sh"

twenty_an_hour() {
	policy <<-'YAML'
		services:
		  dns: [udp/53]
		policies:
		  - name: everyone
		    sources: [0.0.0.0/0, "::/0"]
		    limits:
		      - {name: packets, rate: 20/hour, burst: 20}
		      - {service: dns, rate: 10/hour, burst: 10, ban: 2h}
		  - {name: partners, sources: [10.8.0.0/16], action: pass}
		  - {name: bad, sources: [10.7.0.0/16], action: drop}
	YAML
}

start() {
	network
	twenty_an_hour
	weir -q attach wan0 --policy "$scratch/policy.yaml"
}

holds() { # JQ-FILTER WORDS...: weir -j WORDS succeeds and the filter holds
	local filter=$1 answer
	shift
	answer=$(weir -j "$@")
	jq -e "$filter" >/dev/null <<<"$answer" || {
		echo "not so: $filter" >&2
		echo "$answer" >&2
		return 1
	}
}

# Packets from SOURCE that the stack is given, of N.
passing() { # SOURCE N
	local before
	before=$(stack_packets)
	send_flood --source "$1" --count "$2" >/dev/null
	echo $(($(stack_packets) - before))
}

# --- JSON ---------------------------------------------------------------------------------

test_stats_have_the_shape_of_the_contract() {
	start
	send_flood --source 10.2.0.1 --count 100
	send_flood --source 10.7.0.1 --count 3
	holds '(keys_unsorted | .[:7]) == ["instance", "generation", "interfaces", "totals",
		"reasons", "policies", "table"]' stats
	holds '.interfaces[0] | keys_unsorted == ["name", "ifindex", "mode", "program_id", "attached"]
		and .name == "wan0" and .mode == "native" and .attached' stats
	holds '.totals == {passed: {packets: 20, bytes: .totals.passed.bytes},
		dropped: {packets: 83, bytes: .totals.dropped.bytes}}' stats
	holds '[.reasons[] | [.reason, .verdict, .packets]] ==
		[["granted", "pass", 20], ["limit", "drop", 80], ["blocked", "drop", 3]]' stats
	holds '.policies[0] | .name == "everyone" and .passed.packets == 20 and
		.dropped.packets == 80 and .observed.packets == 0 and
		.limits[0] == {name: "packets", refused: {packets: 80, bytes: .limits[0].refused.bytes}}' \
		stats
	holds '.table | .kind == "sets" and .live == 1 and .displaced == 0 and .refused_full == 0 and
		.capacity >= 1000000' stats
	same "documents of three intervals" \
		"$(weir stats -j --interval 0.1 --count 3 | jq -s length)" 3
}

test_status_says_whether_all_is_well() {
	start
	holds '.protecting and .mode == "native" and .generation == 1 and .layout_version > 0 and
		.warnings == [] and .interfaces[0].name == "wan0"' status
	ip link del wan0
	fails 3 weir status
	says 'NOT PROTECTING'
	fails 3 weir -j status
	jq -e '.protecting == false and (.warnings | length > 0)' <<<"$said"
}

test_words_go_to_stderr_and_data_to_stdout() {
	network
	same "attach's data" "$(weir attach wan0 2>/dev/null)" ''
	same "apply's data" "$(weir dump | weir apply - 2>/dev/null)" ''
	same "stats' words" "$(weir stats 2>&1 >/dev/null)" ''
	same "quiet words" "$(weir -q detach --all 2>&1)" ''
}

test_every_verb_answers_in_json() {
	network
	holds '.interfaces[0].name == "wan0"' attach wan0
	holds '.kind == "block" and .prefix == "10.9.0.0/16" and .expires_in_ns == 600000000000' \
		block 10.9.0.0/16 for 10min
	holds '.kind == "allow"' allow 10.8.0.1
	holds '.kind == "limit" and .prefix == "fd00::/16"' limit fd00::/16 10/s
	holds '.removed == "10.8.0.1/32"' remove 10.8.0.1
	holds '.blocked == 2' block --file <(printf '10.1.0.0/16\n10.2.0.0/16\n')
	weir dump >"$scratch/dump.yaml"
	holds '.changes | type == "array"' apply --dry-run "$scratch/dump.yaml"
	holds '.applied' apply "$scratch/dump.yaml"
	holds '.forgotten == 0' source forget 10.3.0.1
	holds '.detached == ["wan0"]' detach wan0
	holds '.all' detach --all
	fails 1 weir -j stats
	jq -e '.error.message | test("does not run")' <<<"$said"
}

# --- entries ------------------------------------------------------------------------------

test_entries_decide_at_once_and_go_away_by_themselves() {
	start
	same 'blocked' "$(weir -q block 10.2.0.1 for 1500ms; passing 10.2.0.1 10)" 0
	same 'allowed' "$(weir -q allow 10.7.0.1; passing 10.7.0.1 10)" 10
	same 'limited' "$(weir -q limit 10.3.0.0/16 1/hour burst 3 per 16; passing 10.3.0.1 10)" 3
	same 'limited together' "$(passing 10.3.0.2 10)" 0
	sleep 1.6
	same 'no longer blocked' "$(passing 10.2.0.1 10)" 10
	weir -q remove 10.7.0.1
	same 'no longer allowed' "$(passing 10.7.0.1 10)" 0
	fails 1 weir remove 10.7.0.1
	says 'no entry for 10.7.0.1'
}

test_a_longer_prefix_of_the_file_outranks_an_entry() {
	start
	weir -q block 10.0.0.0/8
	same 'pass policy of /16' "$(passing 10.8.0.1 10)" 10
	same 'everyone is of /0' "$(passing 10.2.0.1 10)" 0
	weir -q block 10.8.0.0/16
	same 'entry of the same length' "$(passing 10.8.0.1 10)" 0
}

test_a_list_of_blocks_is_taken_whole_or_not_at_all() {
	start
	printf '# the worst\n10.2.0.1\n\n  10.3.0.0/16 # a whole net\nfd00:1::/32\n' >"$scratch/list"
	weir -q block --file "$scratch/list" for 1h
	same first "$(passing 10.2.0.1 10)" 0
	same second "$(passing 10.3.7.7 10)" 0
	same entries "$(weir dump | grep -c 'block:')" 3
	printf '10.4.0.1\nnonsense\n10.5.0.1/8\n' >"$scratch/list"
	fails 1 weir block --file "$scratch/list"
	says "$scratch/list:2:1: error: "
	says "$scratch/list:3:1: error: .*10\.0\.0\.0/8"
	same 'still open' "$(passing 10.4.0.1 10)" 10
	fails 1 weir block --file "$scratch/nosuch"
	says 'No such file'
}

test_a_hundred_thousand_blocks_in_one_swap() {
	start
	awk 'BEGIN { for (i = 0; i < 100000; i++) printf "11.%d.%d.%d\n", i / 65536, i / 256 % 256, i % 256 }' \
		>"$scratch/list"
	TIMEFORMAT=%R
	note "100 000 prefixes in $( { time weir -q block --file "$scratch/list"; } 2>&1) s"
	holds '.entries == 100000' status
	holds '.reason == "blocked"' explain 11.1.134.159
	holds '.reason == "granted"' explain 11.1.134.160
}

test_a_dump_is_a_policy_file_entries_included() {
	start
	weir -q block 10.2.0.0/16 for 1h
	weir -q allow fd00:8::/32
	weir -q limit 10.3.0.0/16 10Mbit/s burst 1MB per 24 service dns for 2h
	weir dump >"$scratch/first.yaml"
	weir check "$scratch/first.yaml" >/dev/null
	weir -q detach --all
	weir -q attach wan0 --policy "$scratch/first.yaml"
	weir dump >"$scratch/second.yaml"
	# the time left is all that may differ
	diff <(sed 's/for: .*}/for: T}/' "$scratch/first.yaml") \
		<(sed 's/for: .*}/for: T}/' "$scratch/second.yaml")
	weir dump -j | jq -e '.entries | length == 3'
}

# --- changes ------------------------------------------------------------------------------

test_a_preview_tells_the_difference_and_who_would_be_refused() {
	start
	send_flood --source 10.2.0.1 --count 10
	send_flood --source 10.3.0.1 --count 2
	sed 's/burst: 20/burst: 5/; s/10.7.0.0/10.6.0.0/' "$scratch/policy.yaml" >"$scratch/next.yaml"
	weir apply --dry-run "$scratch/next.yaml" >"$scratch/said"
	cat "$scratch/said" >&2
	grep -qx 'everyone/packets: burst 20 -> 5' "$scratch/said"
	grep -qx 'bad: 1 prefix added; 1 prefix removed' "$scratch/said"
	grep -qx 'of 2 live sources, 1 would be refused now' "$scratch/said"
	holds '.impact == {live: 2, refused: 1} and (.changes | length == 2)' \
		apply --dry-run "$scratch/next.yaml"
	same 'generation after it' "$(stats .generation)" 1
	weir apply --dry-run "$scratch/policy.yaml" | grep -x 'nothing would change' >/dev/null
}

test_observe_counts_and_passes() {
	start
	weir -q apply --observe "$scratch/policy.yaml"
	same 'over the limit' "$(passing 10.2.0.1 50)" 50
	same 'of a drop policy' "$(passing 10.7.0.1 5)" 5
	same observed "$(reason observed)" 35
	same dropped "$(stats .totals.dropped.packets)" 0
}

test_a_second_change_waits_for_the_confirmation_of_the_first() {
	start
	weir -q apply --confirm 20 "$scratch/policy.yaml"
	weir status | grep 'weir confirm' >/dev/null
	fails 1 weir apply "$scratch/policy.yaml"
	says 'not confirmed yet'
	says 'weir confirm'
	weir -q confirm
	fails 1 weir confirm
	says 'nothing waits for confirmation'
	weir -q apply "$scratch/policy.yaml"
}

# Whoever keeps the change may be killed: what waits for nobody blocks nobody.
test_a_mark_without_its_keeper_is_cleared_away() {
	start
	weir -q apply --confirm 1 "$scratch/policy.yaml"
	kill -9 "$(pgrep -x weir)"
	fails 1 weir apply "$scratch/policy.yaml"
	sleep 4.2
	weir -q apply "$scratch/policy.yaml"
	same 'pins of a change' "$(find /sys/fs/bpf/weir -name 'unconfirmed*' | wc -l)" 0
}

test_colours_only_where_they_are_welcome() {
	start
	! weir stats | grep $'\033' || return 1
	weir --color always stats | grep $'\033' >/dev/null
	script -qec 'weir stats' /dev/null </dev/null | grep $'\033' >/dev/null
	! script -qec 'weir --color never stats' /dev/null </dev/null | grep $'\033' || return 1
	! NO_COLOR=1 script -qec 'weir stats' /dev/null </dev/null | grep $'\033' || return 1
	send_flood --source 10.8.0.1 --count 12345
	script -qec 'weir stats' /dev/null </dev/null | grep '12.3k' >/dev/null
	weir stats | grep 12345 >/dev/null
}

test_a_rollback_puts_entries_back_too() {
	start
	weir -q block 10.2.0.0/16
	weir -q limit 10.3.0.0/16 7/s
	cat "$scratch/policy.yaml" - >"$scratch/next.yaml" <<-'YAML'
		entries:
		  - {allow: 10.2.0.0/16}
		  - {block: 10.3.0.0/16}
		  - {block: 10.4.0.0/16}
	YAML
	weir dump >"$scratch/before"
	weir -q apply --confirm 1 "$scratch/next.yaml"
	same 'blocked meanwhile' "$(passing 10.4.0.1 10)" 0
	back() { diff "$scratch/before" <(weir dump) >/dev/null; }
	wait_until back
	same 'not blocked any more' "$(passing 10.4.0.1 10)" 10
}

test_attach_with_an_impossible_interface_leaves_all_as_it_was() {
	start
	ip link add other0 type veth peer name other1
	weir dump >"$scratch/before"
	sed 's/burst: 20/burst: 5/' "$scratch/policy.yaml" >"$scratch/next.yaml"
	fails 1 weir attach other0 nosuch0 --policy "$scratch/next.yaml"
	says 'no interface .nosuch0'
	diff "$scratch/before" <(weir dump)
	same 'attached' "$(weir status -j | jq -r '[.interfaces[].name] | join(" ")')" wan0
	weir -q detach --all
	fails 1 weir attach other0 --policy "$scratch/nosuch.yaml"
	same 'what runs' "$(find /sys/fs/bpf/weir 2>/dev/null | wc -l)" 0
}

test_a_foreign_program_in_the_way_undoes_what_was_done_before_it() {
	start
	ip link add other0 type veth peer name other1
	ip link add third0 type veth peer name third1
	ip link set dev third0 xdp obj "$BUILD/netns/foreign.bpf.o" sec xdp
	weir dump >"$scratch/before"
	sed 's/burst: 20/burst: 5/' "$scratch/policy.yaml" >"$scratch/next.yaml"
	fails 1 weir attach other0 third0 --policy "$scratch/next.yaml"
	says 'third0'
	diff "$scratch/before" <(weir dump)
	same 'attached' "$(weir status -j | jq -r '[.interfaces[].name] | join(" ")')" wan0
	weir -q detach --all
	fails 1 weir attach other0 third0
	same 'what runs' "$(find /sys/fs/bpf/weir 2>/dev/null | wc -l)" 0
}

test_interfaces_may_come_from_the_policy_file() {
	network
	twenty_an_hour
	echo 'interfaces: [wan0]' >>"$scratch/policy.yaml"
	weir -q attach --policy "$scratch/policy.yaml"
	holds '.interfaces[0].name == "wan0" and .protecting' status
	weir -q detach --all
	fails 2 weir attach
	says 'no interface is named'
}

test_two_instances_know_nothing_of_each_other() {
	start
	ip link add other0 type veth peer name other1
	weir -q --instance second attach other0
	holds '.instance == "second" and .interfaces[0].name == "other0"' --instance second status
	weir -q --instance second block 10.2.0.1
	same 'the first' "$(passing 10.2.0.1 10)" 10
	weir -q --instance second detach --all
	holds .protecting status
}

# --- the way back -------------------------------------------------------------------------

test_who_would_lock_himself_out_is_warned() {
	start
	export SSH_CONNECTION='10.7.0.9 50000 10.0.0.1 22'
	weir apply "$scratch/policy.yaml" 2>&1 | grep 'policy `bad` drops your own SSH connection from 10.7.0.9'
	weir detach --all
	weir attach wan0 --policy "$scratch/policy.yaml" 2>&1 | grep 'your own SSH connection'
	export SSH_CONNECTION='10.2.0.9 50000 10.0.0.1 22'
	said=$(weir apply "$scratch/policy.yaml" 2>&1)
	! grep 'your own' <<<"$said" || return 1
	weir block 10.2.0.0/16 2>&1 | grep 'undo: weir remove 10.2.0.0/16'
}

# sudo clears the environment: the login shell's is looked at.
test_the_peer_is_found_through_a_cleared_environment() {
	start
	SSH_CONNECTION='10.7.0.9 50000 10.0.0.1 22' bash -c \
		'env -u SSH_CONNECTION weir apply "$1" 2>&1; true' - "$scratch/policy.yaml" |
		grep 'your own SSH connection from 10.7.0.9'
}

# --- sources ------------------------------------------------------------------------------

test_sources_are_listed_shown_and_forgotten() {
	start
	send_flood --source 10.2.0.1 --count 50
	send_flood --source 10.3.0.1 --count 10
	holds '.sources[0] | .source == "10.2.0.1" and .policy == "everyone" and .limit == "packets" and
		.passed == 20 and .dropped == 30 and .remaining == 0' source list
	holds '.sources[0].source == "10.2.0.1" and (.sources | length == 1)' \
		source list --by debt --top 1
	holds '(keys_unsorted == ["source", "policy", "limits"]) and .source == "10.2.0.1" and
		(.limits[0] | .name == "packets" and .remaining == 0 and .passed == 20 and
		.dropped == 30 and .retry_after_ns > 170000000000 and .retry_after_ns <= 180000000000)' \
		source show 10.2.0.1
	holds '.forgotten == 1' source forget 10.2.0.1
	same 'whole again' "$(passing 10.2.0.1 50)" 20
	same 'the other is not' "$(passing 10.3.0.1 50)" 10
	weir -q source forget --all
	same 'all are' "$(passing 10.3.0.1 50)" 20
	local timeless='del(.sources[].retry_after_ns)'
	same 'pretty or not' "$(weir source list -j | jq -c "$timeless")" \
		"$(weir source list -p | jq -c "$timeless")"
	fails 2 weir source show 10.0.0.0/8
	fails 2 weir source lst
	says 'did you mean `list`'
}

test_a_ban_is_seen_and_lifted() {
	start
	on_peer talk udp 10.0.0.2 10.0.0.1 53 15
	wait_until test "$(reason ban)" -ge 1 || true
	holds '.limits[1] | .name == "dns" and .banned_for_ns > 7000000000000' source show 10.0.0.2
	holds '.verdict == "drop" and .reason == "ban"' explain 10.0.0.2 proto udp dport 53
	holds '.verdict == "pass"' explain 10.0.0.2 proto udp dport 54
	weir -q source forget 10.0.0.2
	holds '.verdict == "pass"' explain 10.0.0.2 proto udp dport 53
}

test_explaining_consumes_nothing() {
	start
	for _ in 1 2 3; do
		holds '.verdict == "pass" and .reason == "granted" and .services == ["dns"] and
			.limits == [{name: "packets", granted: true, remaining: 20, retry_after_ns: 0},
			{name: "dns", granted: true, remaining: 10, retry_after_ns: 0}]' \
			explain 10.2.0.1 proto udp dport 53
	done
	holds '(.limits | map(.name)) == ["packets"] and .services == []' explain 10.2.0.1 syn dport 53
	same granted "$(passing 10.2.0.1 50)" 20
	holds '.verdict == "drop" and .reason == "limit" and (.limits[0].granted | not)' explain 10.2.0.1
	holds '.verdict == "drop" and .reason == "blocked" and .policy == "bad"' explain 10.7.1.1
	holds '.verdict == "pass" and .reason == "allowed"' explain 10.8.1.1
	weir -q block 10.8.0.0/16 for 1h
	holds '.entry.kind == "block" and .entry.prefix == "10.8.0.0/16" and (has("policy") | not)' \
		explain 10.8.1.1
	fails 2 weir explain 10.2.0.1 dport 53
	says 'needs .proto tcp. or .proto udp.'
}

# The explanation before, and what becomes of the packet.
test_an_explanation_comes_true() {
	start
	local source expected
	weir -q limit 10.4.0.0/16 1/hour burst 1
	weir -q block 10.5.0.0/16
	send_flood --source 10.2.0.1 --count 20
	send_flood --source 10.4.0.1 --count 1
	for source in 10.2.0.1 10.3.0.1 10.4.0.1 10.4.0.2 10.5.0.1 10.7.0.1 10.8.0.1; do
		expected=$(weir -j explain "$source" proto udp dport 9 | jq -r .verdict)
		same "$source" "$(passing "$source" 1)" "$([ "$expected" = pass ] && echo 1 || echo 0)"
	done
}

run_tests "$@"
