#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The fail2ban action, read and run by fail2ban's own code, leads to the right weir commands.
. "$(dirname "$0")/tap.sh"
export RECORD=$scratch/record RECORD_EXIT=

# runs COMMANDS GOOD|BAD ban|prolong|unban ADDRESS BANTIME: what is called, and what fail2ban is told
runs()
{
	local expected=$1 outcome=$2 said=GOOD
	shift 2
	: >"$RECORD"
	/usr/bin/python3 tests/share/ban_as_fail2ban.py "$scratch/fail2ban" \
		"$PWD/tests/share/recorder" "$@" || said=BAD
	same "$expected" "$(cat "$RECORD")" && same "$outcome" "$said"
}

if ! /usr/bin/python3 -c 'import fail2ban' 2>/dev/null; then
	skip "the fail2ban action" "fail2ban is not installed"
	finish
fi
mkdir -p "$scratch/fail2ban/action.d"
cp share/fail2ban/weir.conf "$scratch/fail2ban/action.d/"
block="-q --instance default block"
unban="$block 192.0.2.1 for 600s
-q --instance default remove 192.0.2.1"
status="-q --instance default status"

ok "a ban becomes a block for bantime" \
	runs "$block 192.0.2.1 for 600s" GOOD ban 192.0.2.1 600
ok "an IPv6 address is banned" runs "$block 2001:db8::1 for 60s" GOOD ban 2001:db8::1 60
ok "a fraction of bantime.increment is rounded" \
	runs "$block 192.0.2.1 for 1500s" GOOD ban 192.0.2.1 1500.2
ok "a longer ban replaces the block" runs "$block 192.0.2.1 for 9s" GOOD prolong 192.0.2.1 9
ok "a ban for good has no end" runs "$block 192.0.2.1" GOOD ban 192.0.2.1 -1
ok "an unban removes the block" runs "$unban" GOOD unban 192.0.2.1 600
# fail2ban tries a command that failed once more.
RECORD_EXIT="block 1" ok "fail2ban hears of a block that failed" \
	runs "$block 192.0.2.1 for 600s"$'\n'"$block 192.0.2.1 for 600s" BAD ban 192.0.2.1 600
RECORD_EXIT=$'remove 1\nstatus 3' ok "an unban after the kernel ended the block is no error" \
	runs "$unban"$'\n'"$status" GOOD unban 192.0.2.1 600
RECORD_EXIT=$'remove 1\nstatus 1' ok "an unban while weir does not run is an error" \
	runs "$unban"$'\n'"$status"$'\n'"${unban#*$'\n'}"$'\n'"$status" BAD unban 192.0.2.1 600
finish
