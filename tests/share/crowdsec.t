#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The CrowdSec bouncer turns the calls of crowdsec-custom-bouncer into the right weir commands.
. "$(dirname "$0")/tap.sh"
bouncer=share/crowdsec/weir-bouncer
export RECORD=$scratch/record RECORD_EXIT=
export WEIR=$PWD/tests/share/recorder

# calls EXPECTED ARGUMENT...: the weir commands that these arguments lead to
calls()
{
	local expected=$1
	shift
	: >"$RECORD"
	"$bouncer" "$@" || return 1
	same "$expected" "$(cat "$RECORD")"
}

feed_calls()
{
	: >"$RECORD"
	printf '%s\n' \
		'{"action":"add","duration":"3h59m58.9s","id":1,"origin":"cscli","scenario":"x","scope":"Ip","type":"ban","value":"192.0.2.1"}' \
		'{"action":"add","duration":"250ms","id":2,"scope":"Ip","type":"ban","value":"192.0.2.2"}' \
		'{"action":"add","duration":"4h","id":3,"scope":"Ip","type":"captcha","value":"192.0.2.3"}' \
		'{"action":"del","duration":"-2h1m","id":4,"scope":"Range","type":"ban","value":"2001:db8::/32"}' |
		"$bouncer" || return 1
	same "$(printf '%s\n' '-q --instance default block 192.0.2.1 for 14398s' \
		'-q --instance default remove 2001:db8::/32')" "$(cat "$RECORD")"
}

fails()
{
	! "$@"
}

json='{"duration":"4h","id":7,"scenario":"ssh","scope":"Ip","type":"ban","value":"192.0.2.7"}'
ok "add blocks the address for the decision's time" \
	calls "-q --instance default block 192.0.2.7 for 14400s" add 192.0.2.7 14400 ssh "$json"
ok "a range of IPv6 is blocked as it is" \
	calls "-q --instance default block 2001:db8::/32 for 60s" add 2001:db8::/32 60 'a scenario' "$json"
ok "del removes the block" \
	calls "-q --instance default remove 192.0.2.7" del 192.0.2.7 0 ssh "$json"
ok "a decision on a country is left alone" calls "" add CN 60 ssh "$json"
ok "a captcha decision is left alone" calls "" add 192.0.2.7 60 ssh "${json/ban/captcha}"
ok "a decision that is over is left alone" calls "" add 192.0.2.7 -3 ssh "$json"
ok "the instance can be named" \
	env WEIR_INSTANCE=edge bash -c "$(declare -f calls same); bouncer=$bouncer
		calls '-q --instance edge block 192.0.2.7 for 9s' add 192.0.2.7 9 ssh"
ok "decisions fed on standard input" feed_calls

RECORD_EXIT="block 1" ok "a block that fails is an error" fails "$bouncer" add 192.0.2.7 9 ssh "$json"
RECORD_EXIT="remove 1" ok "an entry that ended by itself is no error" "$bouncer" del 192.0.2.7 9 ssh "$json"
RECORD_EXIT=$'remove 1\nstatus 3' ok "the same where no interface is attached" \
	"$bouncer" del 192.0.2.7 9 ssh "$json"
RECORD_EXIT=$'remove 1\nstatus 1' ok "weir that does not run is an error" \
	fails "$bouncer" del 192.0.2.7 9 ssh "$json"
ok "too few arguments are an error" fails "$bouncer" add
finish
