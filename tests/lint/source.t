#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
# Rules for every source file: licence line, function length, forbidden calls and names.
use strict;
use warnings;
use FindBin;
use Test::More;

use constant FUNCTION_LINES => 60;

# Calls that overflow, hide errors or start shells. The reason is printed.
my %forbidden = (
	sprintf => 'snprintf knows the size', vsprintf => 'vsnprintf knows the size',
	strcpy => 'no bound', strcat => 'no bound', strncpy => 'may leave no end', gets => 'no bound',
	strtok => 'hidden state', atoi => 'hides errors', atol => 'hides errors', atoll => 'hides errors',
	atof => 'hides errors', scanf => 'hides overflow', sscanf => 'hides overflow',
	fscanf => 'hides overflow', system => 'starts a shell', popen => 'starts a shell',
	tmpnam => 'races', mktemp => 'races', alloca => 'no failure', rand => 'use getrandom',
	random => 'use getrandom', perror => 'messages are made in one place',
);

# Comments and strings blanked, line breaks kept.
sub code_of
{
	my ($text) = @_;
	my $blank = sub { my ($s) = @_; $s =~ s/[^\n]/ /g; return $s; };

	$text =~ s{(/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')}{$blank->($1)}gse;
	return $text;
}

# [name, first line, lines] of each function: formatted as the kernel does, it begins and ends
# with a brace in the first column.
sub functions
{
	my ($text) = @_;
	my ($line, $first, $name, @found) = (0, 0, '?');

	for (split /\n/, code_of($text)) {
		$line++;
		$name = $1 if /^[A-Za-z_].*?\b(\w+)\(/;
		$first = $line if /^\{/;
		if (/^\}/ && $first) {
			push @found, [$name, $first, $line - $first + 1];
			$first = 0;
		}
	}
	return @found;
}

sub complaints
{
	my ($path, $text) = @_;
	my ($line, @found) = (0);

	push @found, "$path:1: no SPDX-License-Identifier: GPL-2.0-only in the first three lines"
		unless $text =~ m{\A(?:[^\n]*\n){0,2}.*SPDX-License-Identifier: GPL-2\.0-only};
	push @found, "$path: such a file becomes the home of everything"
		if $path =~ m{(^|[/_])(utils?|common|helpers?|misc)\.};
	for (split /\n/, $text) {
		$line++;
		push @found, "$path:$line: white space at the end" if /[ \t]$/;
	}
	return @found unless $path =~ /\.[ch]$/;

	$line = 0;
	for (split /\n/, code_of($text)) {
		$line++;
		push @found, "$path:$line: $1(): $forbidden{$1}"
			if /(?<![\w.>])(\w+)\s*\(/ && exists $forbidden{$1};
		push @found, "$path:$line: no typedef for a struct" if /\btypedef\s+struct\b/;
	}
	for (functions($text)) {
		my ($name, $first, $lines) = @$_;
		push @found, "$path:$first: $name() has $lines lines" if $lines > FUNCTION_LINES;
	}
	return @found;
}

sub test_self
{
	my $licence = "/* SPDX-License-Identifier: GPL-2.0-only */\n";
	my $long = "int f(void)\n{\n" . "\tg();\n" x 59 . "}\n";
	my $fits = "int f(void)\n{\n" . "\tg();\n" x 58 . "}\n";
	my @wrong = (
		['user/a.c', "int a;\n"],
		['user/a.c', $licence . $long],
		['user/a.c', $licence . "\tsprintf(text, \"\");\n"],
		['user/a.c', $licence . "\treturn atoi(text);\n"],
		['user/a.c', $licence . "typedef struct a b;\n"],
		['user/a.c', $licence . "int a; \n"],
		['user/utils.c', $licence],
		['tests/a.sh', "#!/bin/sh\necho\n"],
	);
	my @right = (
		['user/a.c', $licence . $fits],
		['user/a.c', $licence . "/* sprintf() is refused */\n\tlog(\"system(3)\");\n"],
		['user/a.c', $licence . "\tfile->system(1);\n\tunits_random(2);\n"],
		['tests/a.sh', "#!/bin/sh\n# SPDX-License-Identifier: GPL-2.0-only\n"],
	);

	ok(scalar complaints(@$_), "self-test: refuses $_->[0]: " . substr($_->[1], -20) =~ s/\n/ /gr)
		for @wrong;
	is_deeply([complaints(@$_)], [], 'self-test: takes what is right') for @right;
}

# One test a folder: all that is wrong in it is printed at once.
sub test_tree
{
	chdir "$FindBin::Bin/../.." or die "no tree: $!";
	my %folders;

	push @{ $folders{ (m{^(.*)/})[0] // '.' } }, $_
		for grep { -f } glob('bpf/* user/* tests/*/*.[ch] tests/*/*.sh tests/*/*.t .ci/* Makefile share/*/*.sh');
	for my $folder (sort keys %folders) {
		my @found = map { complaints($_, slurp($_)) } @{ $folders{$folder} };
		ok(!@found, $folder) or diag join "\n", @found;
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
