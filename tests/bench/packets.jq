# SPDX-License-Identifier: GPL-2.0-only
# Lines of `WHAT NAME SOURCES VALUE [SHARE]`, as packets.sh writes them, to one document: medians,
# ratios, and whether each target is met.
def median: sort | if length == 0 then null else .[(length - 1) / 2 | floor] end;
def of($list; $name; $sources):
	[$list[] | select(.name == $name and .sources == $sources)][0];
def groups: group_by([.name, .sources])[];
def target($what; $is; $least; $most; $floor):
	select($is != null) | {what: $what, ratio: $is} +
	if $least then {at_least: $least, met: ($is >= $least)}
	else {at_most: $most, met: ($is <= $most)} end +
	if $floor then {floor: $floor} else {} end;
def target($what; $is; $least; $most): target($what; $is; $least; $most; null);
[inputs | split(" ") | {what: .[0], name: .[1], sources: (.[2] | tonumber),
	value: (.[3] | tonumber), share: ((.[4] // "0") | tonumber)}] as $all |
[$all | map(select(.what == "rate")) | groups | {name: .[0].name,
	sources: .[0].sources, packets_per_s: (map(.value) | median),
	best_packets_per_s: (map(.value) | max),
	dropped_share: (map(.share) | median)}] as $rates |
[$all | map(select(.what == "time")) | groups | {name: .[0].name,
	sources: .[0].sources, ns: (map(.value) | median),
	least_ns: (map(.value) | min)}] as $times |
def rate($name; $sources): of($rates; $name; $sources).packets_per_s;
def ratio($a; $b; $sources): rate($a; $sources) as $x | rate($b; $sources) as $y |
	if $x and $y and $y > 0 then $x / $y else null end;
def in_place($name; $sources):
	of($times; $name; $sources).ns as $x | of($times; "xdp-drop"; 1).ns as $y |
	if $x and $y then $x / $y else null end;
{
	skipped: [$all[] | select(.what == "skipped") | .name],
	rates: [$rates[] | . + {to_weir: ratio(.name; "weir"; .sources)}],
	times: [$times[] | . + {to_xdp_drop: in_place(.name; .sources)}],
	targets: [
		target("packets/s, 1 source: weir to hashlimit";
			ratio("weir"; "hashlimit"; 1); 2.5; null),
		target("packets/s, 1 source: weir to nft";
			ratio("weir"; "nft"; 1); 2.5; null),
		target("packets/s, 1M sources: weir to hashlimit";
			ratio("weir"; "hashlimit"; 1048576); 3; null;
			ratio("floor"; "hashlimit"; 1048576)),
		target("packets/s, 1M sources: weir to nft";
			ratio("weir"; "nft"; 1048576); 3; null;
			ratio("floor"; "nft"; 1048576)),
		target("packets/s, 1 source: weir to XDP_DROP";
			ratio("weir"; "xdp-drop"; 1); 0.75; null),
		target("in place, 1 source refused: weir to XDP_DROP";
			in_place("weir"; 1); null; 4),
		target("in place, forged sources: weir to XDP_DROP";
			in_place("weir-forged"; 1048576); null; 8;
			in_place("floor"; 1048576))
	]
}
