#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# The manual pages name what the code knows, and nothing else: commands, options, words, keys of
# the policy file, keys of the JSON documents, reasons, metrics. Dashboard and alert rules name
# metrics that are exported.
use strict;
use warnings;
use FindBin;
use Test::More;

chdir "$FindBin::Bin/../.." or die "no tree: $!";
my $weir = ($ENV{BUILD} // 'build') . '/weir';

sub slurp
{
	my ($path) = @_;

	open my $file, '<', $path or die "$path: $!";
	local $/ = undef;
	return scalar <$file> // '';
}

sub unique
{
	my %seen;

	return sort grep { !$seen{$_}++ } @_;
}

# Those of the first list that are not in the second.
sub missing
{
	my ($wanted, $there) = @_;
	my %there = map { $_ => 1 } @$there;

	return grep { !$there{$_} } unique(@$wanted);
}

sub none
{
	my ($what, @found) = @_;

	ok(!@found, $what) or diag "not so: @found";
}

sub both_ways
{
	my ($what, $code, $page) = @_;

	cmp_ok(scalar @$code, '>', 0, "$what: some are found in the code");
	none("$what: all are documented", missing($code, $page));
	none("$what: all that are documented exist", missing($page, $code));
}

my $page8 = slurp('share/man/weir.8');
my $page5 = slurp('share/man/weir.yaml.5');

# ---- commands, their options and words: from the usage texts ----

sub usage
{
	my ($command) = @_;
	my ($line) = `$weir help $command` =~ /^usage: (.*)$/m;

	return $line // '';
}

# The synopses of a command: lines `.It Nm Cm COMMAND ...`.
sub synopses
{
	my ($command) = @_;

	return join "\n", $page8 =~ /^\.It Nm Cm \Q$command\E\b(.*)$/mg;
}

sub words_of_usage
{
	my ($usage) = @_;
	my @words;

	$usage =~ s/^weir \S+|FILE\.\S+|, with -j//g;
	push @words, $1 while $usage =~ s/--([a-z][a-z-]*)/ /;
	return @words, $usage =~ /(?<![\w.:-])([a-z][a-z0-9-]+)(?![\w.:])/g;
}

sub words_of_synopses
{
	my ($text) = @_;
	my @words = $text =~ /Fl -([a-z][a-z-]*)/g;

	# Ic and Cm reach up to the next macro.
	while ($text =~ /\b(?:Ic|Cm) ((?:[a-z0-9.|-]+ ?)+)/g) {
		push @words, grep { /^[a-z]/ } split /[ |]+/, $1;
	}
	return @words;
}

my $help = `$weir help`;
my @commands = $help =~ /^    ([a-z]+)  +\S/mg;
both_ways('commands', \@commands, [$page8 =~ /^\.It Nm Cm ([a-z]+)/mg]);
for my $command (@commands) {
	my @code = words_of_usage(usage($command));
	my @page = words_of_synopses(synopses($command));

	none("weir $command: its options and words are in its synopsis", missing(\@code, \@page));
	none("weir $command: its synopsis has no others", missing(\@page, \@code));
}

# ---- options for all commands ----

my ($global) = $page8 =~ /^\.Ss Options(.*?)^\.Ss/ms;
both_ways('options for all commands', [map { /--([a-z]+)/g } grep { /^    (-\w, )?--/ } split /\n/, $help],
	[map { /Fl -([a-z]+)/g } grep { /^\.It Fl/ } split /\n/, $global]);

# ---- the policy file ----

my @yaml = map { slurp($_) =~ /\{ "(\w+)",\s*read_\w+/g } glob 'user/config*.c';
both_ways('keys of the policy file', \@yaml, [yaml_keys($page5)]);

sub yaml_keys
{
	my ($text) = @_;
	my @items = grep { /^\.It Ic/ } split /\n/, $text;
	my @keys;

	push @keys, map { /^\.It Ic ([a-z_]+)(?: :|$)/ } @items;
	push @keys, /\bIc ([a-z0-9_]+) :/g, /Brq Ic ([a-z_ ,]+)$/ ? split(/ , /, $1) : () for @items;
	my ($entries) = $text =~ /^\.Ss ENTRIES(.*?)^\.S/ms;
	push @keys, $entries =~ /[{ ](block|allow|limit|for):/g;
	return grep { !/^(sets|hash|percpu|strict|lenient)$/ } @keys;
}

# ---- JSON: whatever is a key in a call that builds a document ----

sub json_keys
{
	my ($text) = @_;
	my @keys = $text =~ /\b(?:json_object_)?(?:set|put)\w*\(\s*[\w.>-]+,\s*"([a-z_0-9]+)"/g;

	while ($text =~ /json_pack\((.*?)\);/gs) {
		push @keys, grep { !/[{:]/ } $1 =~ /"(\w+)"/g;
	}
	return @keys;
}

my @json = map { json_keys($_) } grep { /json_t|json_pack/ } map { slurp($_) } glob 'user/*.c';
my ($section) = $page8 =~ /^\.Sh JSON(.*?)^\.Sh/ms;
both_ways('keys of JSON documents', \@json, [$section =~ /"(\w+)"/g]);

# ---- reasons and metrics ----

my ($names) = slurp('user/policy.c') =~ /reason_name\(.*?\{(.*?)\n\}/s;
my ($reasons) = $page8 =~ /^\.Ss Reasons(.*?)^\.S/ms;
both_ways('reasons', [$names =~ /"([a-z-]+)"/g], [$reasons =~ /^\.It Sy ([a-z-]+)/mg]);

my %suffix = (counter => '_total', gauge => '', info => '_info');
my @metrics;
my $exporter = slurp('user/render_prom.c');
push @metrics, $1 . $suffix{$2} while $exporter =~ /"(weir_\w+)",\s*"(counter|gauge|info)"/g;
both_ways('metrics', \@metrics, [$page8 =~ /\bIc (weir_\w+)/g]);
for my $file ('share/grafana/weir.json', 'share/prometheus/weir.rules.yml') {
	my @used = slurp($file) =~ /\b(weir_[a-z_]+)\b/g;

	cmp_ok(scalar @used, '>', 5, "$file: uses metrics");
	none("$file: uses metrics that are exported", missing(\@used, \@metrics));
}

# ---- exit codes ----

my ($codes) = slurp('user/main.c') =~ /enum exit_code \{(.*?)\}/s;
my ($statuses) = $page8 =~ /^\.Sh EXIT STATUS(.*?)^\.Sh/ms;
is_deeply([$statuses =~ /^\.It (\d)/mg], [0 .. scalar(() = $codes =~ /EXIT_/g) - 1], 'exit codes');

done_testing();
