#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# weir check: all that is wrong with a file in one run, with line and column, as text and JSON.
# shellcheck source-path=SCRIPTDIR source=../share/tap.sh
. "$(dirname "$0")/../share/tap.sh"

cat >"$scratch/bad.yaml" <<'Y'
services:
  dns: [udp/53, tcp/53]
policies:
  - name: everyone
    sources: [0.0.0.0/0, 10.0.0.1/8]
    limits:
      - {rate: 50, service: dns}
      - {rate: 10/s, service: dsn}
      - {rate: 10/s, colour: blue}
Y

every_line()
{
	"$WEIR" check "$scratch/bad.yaml" 2>"$scratch/said" >"$scratch/stdout"
	[ $? = 1 ] && [ ! -s "$scratch/stdout" ] || return
	cat "$scratch/said"
	grep -q "^$scratch/bad.yaml:5:26: error: .*10.0.0.0/8" "$scratch/said" &&
		grep -q "^$scratch/bad.yaml:7:16: error: " "$scratch/said" &&
		grep -q "^$scratch/bad.yaml:8:31: error: .*dsn" "$scratch/said" &&
		grep -q "^$scratch/bad.yaml:9:22: error: .*colour" "$scratch/said" &&
		grep -q "bad.yaml: there are [4-9] errors" "$scratch/said"
}
ok 'every error is told in one run, as FILE:LINE:COL: error: message' every_line
as_json()
{
	"$WEIR" check -j "$scratch/bad.yaml" >"$scratch/stdout" 2>"$scratch/said"
	[ $? = 1 ] && [ ! -s "$scratch/said" ] || return
	jq . "$scratch/stdout"
	jq -e '.error.problems | map(.line) | index(5) != null and index(7) != null and index(9) != null' \
		"$scratch/stdout" &&
		jq -e '.error.problems[0] | .file and .column > 0 and (.message | length > 5)' \
			"$scratch/stdout"
}
ok 'the same as one JSON document' as_json
ok 'a valid file is valid from stdin too' "$WEIR" check - <share/default.yaml
stdin_by_name()
{
	echo 'colour: blue' | "$WEIR" check - 2>&1 | grep '^stdin:1:1: error: '
}
ok 'what comes from stdin is called so' stdin_by_name
counts()
{
	"$WEIR" check -j share/default.yaml | jq -e '.valid and .policies == 1 and .prefixes == 2 and
		.limits == 3 and .services == 2'
}
ok 'what a valid file holds is counted' counts
without_root()
{
	have setpriv || return 0
	setpriv --reuid nobody --regid nogroup --clear-groups "$WEIR" check - <share/default.yaml
}
if [ "$(id -u)" = 0 ]; then
	cp build/weir "$scratch/weir" && chmod 755 "$scratch" "$scratch/weir"
	WEIR=$scratch/weir ok 'nobody may check' without_root
else
	ok 'nobody may check' "$WEIR" check share/default.yaml
fi
finish
