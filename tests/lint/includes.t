#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Who may include whom: includes run downward only, and each library has one owner.
use strict;
use warnings;
use FindBin;
use Test::More;

my $packets = qr{linux/(types|stddef|if_ether|if_vlan|in|in6|ip|ipv6|icmp|icmpv6|tcp|udp)\.h};
my $libc = qr{[a-z0-9_]+\.h|(sys|net|netinet|arpa|linux)/[a-z0-9_]+\.h};
my $libbpf = qr{bpf/(bpf|libbpf|btf)\.h|linux/(bpf|if_link|rtnetlink|netlink)\.h};

# Files of a layer; what they may include in quotes, by layer or module; what in angles, and
# what not. The first layer whose pattern fits a file is its layer.
my @layers = (
	{ name => 'shared', files => qr{^bpf/abi\.h$}, quotes => [], angles => qr{linux/types\.h} },
	{ name => 'pure', files => qr{^bpf/(algo|block|directory|filter|key|packet|parse|siphash|flow)\.h$},
	  quotes => [qw(shared pure)], angles => qr{$packets|bpf/bpf_endian\.h} },
	{ name => 'maps', files => qr{^bpf/maps\.h$},
	  quotes => [qw(shared pure)], angles => qr{linux/bpf\.h|bpf/bpf_(helpers|endian)\.h} },
	{ name => 'table', files => qr{^bpf/(table|clock|count|credit|kept|memo|verdict|watch)\.h$},
	  quotes => [qw(shared pure maps table)], angles => qr{linux/bpf\.h|bpf/bpf_(helpers|endian)\.h} },
	{ name => 'stages', files => qr{^bpf/(classify|account|maintain)\.h$},
	  quotes => [qw(shared pure maps table)],
	  angles => qr{$packets|linux/bpf\.h|bpf/bpf_(helpers|endian)\.h} },
	{ name => 'program', files => qr{^bpf/\w+\.bpf\.c$},
	  quotes => [qw(shared pure maps table stages)],
	  angles => qr{$packets|stddef\.h|linux/bpf\.h|bpf/bpf_(helpers|endian)\.h} },

	{ name => 'log', files => qr{^user/log\.[ch]$}, quotes => ['own'], angles => $libc },
	{ name => 'base', files => qr{^user/(units|http|redis|words|columns|terminal|pcapng|trace|screen|stop|progress)\.[ch]$},
	  quotes => [qw(own log)],
	  angles => qr{$libc|microhttpd\.h|hiredis/hiredis\.h|pcap/pcap\.h} },
	{ name => 'model', files => qr{^user/policy\.[ch]$},
	  quotes => [qw(own shared log base)], angles => $libc },
	{ name => 'kernel', files => qr{^user/(kernel|kernel_\w+|pins|program)\.[ch]$},
	  quotes => [qw(own shared pure log base model pure-user kernel skeleton)],
	  not_modules => qr{^(config|render_\w+|top)$}, angles => qr{$libc|$libbpf|cap-ng\.h} },
	{ name => 'kernel-side', files => qr{^user/(apply|apply_\w+|forget|snapshot|entries|entries_\w+|sources|states|cells|events)\.[ch]$},
	  quotes => [qw(own shared pure log base model pure-user kernel kernel-side)],
	  not_modules => qr{^(config|render_\w+|top)$}, angles => qr{$libc|$libbpf|cap-ng\.h} },
	{ name => 'pure-user',
	  files => qr{^user/(config|config_\w+|schema|compile|compile_\w+|slices|limiter|limiter_\w+|render_\w+|top|rates|sample|source_map|difference|directory|impact|entry|explain|filter|lockout|packet_words|prefix_list|policy_file|ssh_peer|replay|suggest|sync)\.[ch]$},
	  quotes => [qw(own shared pure log base model pure-user)], modules => qr{^(snapshot|apply)$},
	  angles => qr{$libc|yaml\.h|jansson\.h|(pcap/)?pcap\.h|ncurses(w/ncurses)?\.h}, not_angles => $libbpf },
	{ name => 'running', files => qr{^user/(running|running_\w+|rollback|reader|watch|sync_node)\.[ch]$},
	  quotes => [qw(own shared pure log base model kernel kernel-side pure-user running)],
	  not_modules => qr{^render_\w+$}, angles => $libc },
	{ name => 'verb', files => qr{^user/(cmd_\w+|main|cli|options|verb_entry)\.[ch]$},
	  quotes => [qw(own shared pure log base model kernel kernel-side pure-user running verb)],
	  not_modules => qr{^cmd_},
	  angles => qr{$libc|yaml\.h|jansson\.h|pcap/pcap\.h|microhttpd\.h|ncurses(w/ncurses)?\.h|cap-ng\.h|$libbpf} },
);

sub layer_of
{
	my ($path) = @_;

	return { name => 'skeleton' } if $path =~ /\.skel\.h$/;
	for my $layer (@layers) {
		return $layer if $path =~ $layer->{files};
	}
	return undef;
}

# The path that a quoted include means, from the tree's root.
sub resolve
{
	my ($from, $include) = @_;
	my @parts = ((split m{/}, $from)[0], split m{/}, $include);
	my @path;

	for my $part (@parts) {
		$part eq '..' ? pop @path : push @path, $part;
	}
	return join '/', @path;
}

sub module
{
	my ($path) = @_;

	return $path =~ m{([^/]+?)(\.bpf)?\.[ch]$} ? $1 : $path;
}

sub quoted_allowed
{
	my ($layer, $path, $include) = @_;
	my $target = resolve($path, $include);
	my $module = module($target);
	my $other = layer_of($target) or return 0;

	return 0 if $layer->{not_modules} && $module =~ $layer->{not_modules};
	return 1 if $module eq module($path) || ($layer->{modules} && $module =~ $layer->{modules});
	return scalar grep { $_ eq $other->{name} } @{ $layer->{quotes} };
}

sub angle_allowed
{
	my ($layer, $include) = @_;

	return 0 if $layer->{not_angles} && $include =~ /^(?:$layer->{not_angles})$/;
	return $include =~ /^(?:$layer->{angles})$/;
}

# Complaints about one file, as FILE:LINE: words.
sub complaints
{
	my ($path, $text) = @_;
	my $layer = layer_of($path) or return "$path: of no layer: give it one in tests/lint/includes.t";
	my ($line, @found) = (0);

	for (split /\n/, $text) {
		$line++;
		push @found, "$path:$line: a $layer->{name} file may not include \"$1\""
			if /^\s*#\s*include\s+"([^"]+)"/ && !quoted_allowed($layer, $path, $1);
		push @found, "$path:$line: a $layer->{name} file may not include <$1>"
			if /^\s*#\s*include\s+<([^>]+)>/ && !angle_allowed($layer, $1);
		push @found, "$path:$line: only user/kernel.c may include the skeleton"
			if /weir\.skel\.h"/ && $path ne 'user/kernel.c';
		push @found, "$path:$line: no conditions in what both sides share"
			if $layer->{name} eq 'shared' && /^\s*#\s*(if|elif|ifdef)\b/;
	}
	return @found;
}

# An include loop through `path`, as a list of files, or nothing.
sub loop_from
{
	my ($graph, $path, @way) = @_;

	return (@way, $path) if grep { $_ eq $path } @way;
	for my $next (@{ $graph->{$path} // [] }) {
		my @loop = loop_from($graph, $next, @way, $path);
		return @loop if @loop;
	}
	return;
}

sub include_graph
{
	my (%texts) = @_;
	my %graph;

	for my $path (keys %texts) {
		$graph{$path} = [map { resolve($path, $_) } $texts{$path} =~ /^\s*#\s*include\s+"([^"]+)"/mg];
	}
	return \%graph;
}

sub test_self
{
	my @wrong = (
		['bpf/abi.h', '#include <stdint.h>'],
		['bpf/abi.h', '#ifdef __bpf__'],
		['bpf/algo.h', '#include <bpf/bpf_helpers.h>'],
		['bpf/algo.h', '#include "maps.h"'],
		['bpf/maps.h', '#include "table.h"'],
		['bpf/table.h', '#include "../user/policy.h"'],
		['user/units.c', '#include "policy.h"'],
		['user/http.c', '#include "../bpf/abi.h"'],
		['user/policy.c', '#include "config.h"'],
		['user/config.c', '#include <bpf/libbpf.h>'],
		['user/render_text.c', '#include "kernel.h"'],
		['user/apply.c', '#include "config.h"'],
		['user/apply.c', '#include "weir.skel.h"'],
		['user/cmd_stats.c', '#include "cmd_top.h"'],
		['user/helpers.c', ''],
	);
	my @right = (
		['bpf/algo.h', '#include "abi.h"'],
		['bpf/table.h', "#include \"algo.h\"\n#include \"maps.h\""],
		['user/units.c', "#include <errno.h>\n#include \"units.h\"\n#include \"log.h\""],
		['user/limiter.h', '#include "../bpf/algo.h"'],
		['user/kernel.c', "#include <bpf/libbpf.h>\n#include \"weir.skel.h\""],
		['user/render_json.c', "#include <jansson.h>\n#include \"snapshot.h\""],
		['user/cmd_stats.c', '#include "snapshot.h"'],
	);

	ok(scalar complaints(@$_), "self-test: refuses $_->[0]: $_->[1]") for @wrong;
	is_deeply([complaints(@$_)], [], "self-test: takes $_->[0]") for @right;
	ok(loop_from({ a => ['b'], b => ['c'], c => ['a'] }, 'a'), 'self-test: finds a loop');
	ok(!loop_from({ a => ['b', 'c'], b => ['c'] }, 'a'), 'self-test: a diamond is no loop');
}

sub test_tree
{
	chdir "$FindBin::Bin/../.." or die "no tree: $!";
	my %texts = map { $_ => slurp($_) } glob('bpf/*.[ch] user/*.[ch]');
	my $graph = include_graph(%texts);

	for my $path (sort keys %texts) {
		my @found = complaints($path, $texts{$path});
		my @loop = loop_from($graph, $path);
		push @found, 'include loop: ' . join(' -> ', @loop) if @loop;
		ok(!@found, $path) or diag join "\n", @found;
	}
}

sub slurp
{
	my ($path) = @_;

	open my $file, '<', $path or die "$path: $!";
	local $/ = undef;
	return scalar <$file> // '';
}

test_self();
test_tree();
done_testing();
