#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The command line: what is abbreviated, mistyped, missing or too much, and the exit codes.
# No root: nothing here comes as far as the kernel.
# shellcheck source-path=SCRIPTDIR source=../share/tap.sh
. "$(dirname "$0")/../share/tap.sh"

# fails STATUS TEXT WORDS...: exactly TEXT on stderr, nothing on stdout.
fails()
{
	local status=$1 text=$2 said got=0
	shift 2
	said=$("$WEIR" "$@" 2>&1 >"$scratch/stdout") || got=$?
	same "$text" "$said" && [ "$got" = "$status" ] && [ ! -s "$scratch/stdout" ]
}

# prints WORDS... : succeeds, says nothing on stderr.
prints()
{
	"$WEIR" "$@" >"$scratch/stdout" 2>"$scratch/stderr" && [ -s "$scratch/stdout" ] &&
		[ ! -s "$scratch/stderr" ]
}

# json_error STATUS FILTER WORDS...: one document on stdout, nothing on stderr, FILTER holds.
json_error()
{
	local status=$1 filter=$2 got=0
	shift 2
	"$WEIR" "$@" >"$scratch/stdout" 2>"$scratch/stderr" || got=$?
	cat "$scratch/stdout" "$scratch/stderr"
	[ "$got" = "$status" ] && [ ! -s "$scratch/stderr" ] &&
		[ "$(jq -s length "$scratch/stdout")" = 1 ] &&
		jq -e "$filter" "$scratch/stdout"
}

ok 'a mistyped command is answered by the one that was meant' \
	fails 2 'weir: unknown command `atach`
    hint: did you mean `attach`?' atach eth0
ok 'two letters swapped are one mistake' \
	fails 2 'weir: unknown command `dmup`
    hint: did you mean `dump`?' dmup
ok 'a word that is like nothing is sent to the help' \
	fails 2 'weir: unknown command `frobnicate`
    hint: `weir help` and `weir help COMMAND` list them' frobnicate
ok 'an ambiguous command names all that it may be' \
	fails 2 'weir: `co` may be several commands
    hint: did you mean one of: confirm, completion?' co
ok 'a unique beginning is enough' prints chec share/default.yaml
ok 'options may stand in front' prints -j check share/default.yaml
ok 'options may stand behind' prints check share/default.yaml -j
ok 'long options abbreviate' prints check --js share/default.yaml
ok 'an unknown option is answered by the one that was meant' \
	fails 2 'weir: unknown option `--polcy`
    hint: did you mean `--policy`?' attach eth0 --polcy x
ok 'an option of another command is refused' \
	fails 2 'weir: `weir check` takes no option --flush
    hint: usage: weir check FILE' check --flush x
ok 'an option without its value is refused' \
	fails 2 'weir: option `--policy` needs a value' attach eth0 --policy
ok 'a value for an option that takes none is refused' \
	fails 2 'weir: option `--replace` takes no value' attach eth0 --replace=1
ok 'a missing word is refused with the usage' \
	fails 2 'weir: `weir check` needs more words
    hint: usage: weir check FILE' check
ok 'a word too many is refused with the usage' \
	fails 2 'weir: `b` is one word too many for `weir check`
    hint: usage: weir check FILE' check a b
ok 'a name that can be no directory is no instance' \
	fails 2 'weir: `../x` can'\''t be the name of an instance
    hint: 1 to 31 letters, digits, `-` or `_`' --instance ../x status

ok 'a prefix with host bits is refused, naming the one that was meant' \
	fails 2 "weir: prefix '10.0.0.1/8' has host bits set: 10.0.0.0/8 was meant?" \
	block 10.0.0.1/8
for rate in 0 0/s -5/s 1e3/s nan '' 1.5.2/s 18446744073709551616/s '10 bps' 100 10mbps; do
	ok "the rate \`$rate\` is refused" json_error 2 '.error.message | length > 10' \
		-j limit 10.0.0.0/8 -- "$rate"
done
for burst in 0 -1 1e3 x; do
	ok "the burst \`$burst\` is refused" json_error 2 '.error.message | length > 10' \
		-j limit 10.0.0.0/8 10/s burst -- "$burst"
done
for time in 0 10 -1s 1e3s '' 10fortnights; do
	ok "the duration \`$time\` is refused" json_error 2 '.error.message | length > 10' \
		-j block 10.0.0.0/8 for -- "$time"
done
ok 'a mistyped word behind a limit is answered by the one that was meant' \
	fails 2 'weir: unknown word `brst`
    hint: did you mean `burst`?' limit 10.0.0.0/8 10/s brst 5
ok 'a key length beyond the family is refused' \
	json_error 2 '.error.hint | test("1 to 32 bits")' -j limit 10.0.0.0/8 10/s per 64

ok 'errors of the command line are JSON where JSON is asked for' \
	json_error 2 '.error | (keys == ["hint", "message"]) and .hint == "did you mean `attach`?"' \
	-j atach eth0
ok 'even where the option is what is wrong, and stands first' \
	json_error 2 '.error.message == "unknown option `--bogus`"' --bogus -j
ok 'a policy file that is not there is one JSON error' \
	json_error 1 '.error.message | test("No such file")' -j check /nonexistent.yaml

ok 'help is data' prints help
ok 'so is the help of a command' prints help attach
ok 'and --help, whatever else is said' prints attach --help
ok 'the version is told' prints --version
each_is_explained()
{
	"$WEIR" help | sed -n 's/^    \([a-z]\{1,\}\) .*/\1/p' | while read -r verb; do
		"$WEIR" help "$verb" | grep -q "^usage: weir $verb" || { echo "$verb"; exit 1; }
	done
}
ok 'every command of the help explains itself' each_is_explained
lost_answer()
{
	"$WEIR" help >/dev/full 2>"$scratch/said"
	[ $? = 1 ] && grep -q 'could not be written' "$scratch/said"
}
ok 'an answer that is lost is a failure' lost_answer

default_is_a_file()
{
	"$WEIR" dump --default | cmp - share/default.yaml && "$WEIR" dump --default | "$WEIR" check -
}
ok 'the embedded policy is printed as a file that check takes' default_is_a_file
default_as_json()
{
	"$WEIR" dump --default -j | jq -e '.policies[0].name == "everyone"' &&
		"$WEIR" dump --default -j | "$WEIR" check -
}
ok 'as JSON it is still a policy file, since YAML reads JSON' default_as_json
completions()
{
	"$WEIR" completion bash | cmp - share/completion/weir.bash &&
		"$WEIR" completion zsh | cmp - share/completion/_weir
}
ok 'completion scripts are in the program' completions
finish
