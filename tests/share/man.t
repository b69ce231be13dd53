#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The manual pages are sound mdoc, and each policy they show is one that weir takes.
. "$(dirname "$0")/tap.sh"

# What a page refers to need not be installed here.
sound()
{
	! mandoc -T lint "$1" 2>&1 | grep -v -e 'referenced manual not found' -e 'outdated mandoc.db'
}

typeset_without_a_word()
{
	[ -z "$(groff -mandoc -T utf8 -ww -z "$1" 2>&1 | tee /dev/stderr)" ]
}

refuses()
{
	"$WEIR" check "$1"
	[ $? -eq 1 ]
}

# The literal blocks of the page's EXAMPLES that hold policies, one file each.
policies_of()
{
	awk -v to="$scratch/example" '
		/^\.Sh / { inside = /EXAMPLES/ }
		/^\.Ss / { title = tolower($2) }
		/^\.Ed/ { if (file) close(file); file = "" }
		file { print > file }
		/^\.Bd -literal/ && inside { file = to "-" title ".yaml" }
	' "$1"
}

if have mandoc; then
	ok "weir(8) is sound" sound share/man/weir.8
	ok "weir.yaml(5) is sound" sound share/man/weir.yaml.5
else
	skip "the manual pages are sound" "mandoc is not installed"
fi
if have groff; then
	ok "groff sets weir(8)" typeset_without_a_word share/man/weir.8
	ok "groff sets weir.yaml(5)" typeset_without_a_word share/man/weir.yaml.5
else
	skip "groff sets the manual pages" "groff is not installed"
fi
policies_of share/man/weir.yaml.5
printf 'policies: [{name: a, sources: [192.0.2.1], colour: red}]\n' >"$scratch/wrong.yaml"
ok "weir check tells right from wrong" refuses "$scratch/wrong.yaml"
for policy in "$scratch"/example-*.yaml; do
	name=${policy##*/example-}
	ok "weir check takes the example ${name%.yaml}" "$WEIR" check "$policy"
done
finish
