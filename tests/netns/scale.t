#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Large policies: the program stays the same, and the last policy is as good as the first.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

# N policies for each family, with comments and blank lines between.
many_policies() { # N
	awk -v n="$1" 'BEGIN {
		print "# " n " policies of each family\npolicies:"
		for (i = 0; i < n; i++) {
			if (i % 100 == 0)
				printf "\n  # from %d\n", i
			printf "  - {name: four%d, sources: [10.%d.%d.%d/32], limits: [{rate: 1/hour, burst: 5}]}\n",
				i, 64 + i / 65536, i / 256 % 256, i % 256
			printf "  - {name: six%d, sources: [\"fd00:64:%x::/48\"], action: drop}\n", i, i
		}
	}' | policy
}

program_size() {
	bpftool -j prog show id "$(program_id)" | jq .bytes_xlated
}

test_ten_thousand_policies_of_each_family() {
	network
	many_policies 1
	weir attach wan0 --policy "$scratch/policy.yaml"
	local size started
	size=$(program_size)
	weir detach --all
	many_policies 10000
	started=$SECONDS
	weir attach wan0 --policy "$scratch/policy.yaml"
	within "seconds to load" $((SECONDS - started)) 0 30
	same "program size" "$(program_size)" "$size"
	send_flood --source 10.64.39.15 --count 100
	send_flood --ipv6 --source fd00:64:270f::1 --count 100
	same "last IPv4 policy, passed" "$(stats '.policies[] | select(.name == "four9999") | .passed.packets')" 5
	same "last IPv4 policy, dropped" "$(stats '.policies[] | select(.name == "four9999") | .dropped.packets')" 95
	same "last IPv6 policy, dropped" "$(stats '.policies[] | select(.name == "six9999") | .dropped.packets')" 100
	same "first policy" "$(stats '.policies[] | select(.name == "four0") | .dropped.packets')" 0
}

test_a_file_of_a_hundred_thousand_blocks() {
	network
	weir attach wan0
	awk 'BEGIN { for (i = 0; i < 100000; i++) printf "10.%d.%d.%d\n", 128 + i / 65536, i / 256 % 256, i % 256 }' \
		>"$scratch/blocks"
	weir block --file "$scratch/blocks"
	send_flood --source 10.128.0.0 --mask 65535 --count 65536
	send_flood --source 10.140.0.1 --count 100
	same blocked "$(reason blocked)" 65536
	same granted "$(reason granted)" 100
	printf '10.1.2.3\n# a comment\n10.1.2.3/33\n' >"$scratch/bad"
	fails 1 weir block --file "$scratch/bad"
	says ':3'
	send_flood --source 10.1.2.3 --count 1
	same "nothing taken of a bad file" "$(reason granted)" 101
}

run_tests "$@"
