/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * libFuzzer's target for everything that reads a person's text: the bytes are
 * a policy file, and each of their lines a rate, burst, duration, count,
 * prefix and match. What is taken must be written as text that reads back the
 * same; what is refused must say why.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/config.h"
#include "../../user/config_match.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds, const char *what, const char *text)
{
	if (holds)
		return;
	fprintf(stderr, "%s: %s\n", what, text);
	abort();
}

static void try_rate(const char *line)
{
	struct message message = {};
	struct rate rate, again;
	char text[UNIT_TEXT];
	uint64_t ns;
	uint32_t frac;

	if (units_rate(line, &rate, &message)) {
		must(*message.text, "a rate was refused in silence", line);
		return;
	}
	units_interval(&rate, &ns, &frac);
	must(ns || frac, "an interval of 0", line);
	units_rate_text(&rate, text, sizeof(text));
	must(!units_rate(text, &again, NULL) && again.amount == rate.amount &&
		     again.window_ns == rate.window_ns && again.bits == rate.bits &&
		     again.bytes == rate.bytes,
	     "a rate reads back otherwise", text);
}

static void try_amounts(const char *line)
{
	struct message message = {};
	uint64_t value, again;
	char text[UNIT_TEXT];
	bool bytes, again_bytes;

	if (!units_burst(line, &value, &bytes, &message)) {
		units_burst_text(value, bytes, text, sizeof(text));
		must(!units_burst(text, &again, &again_bytes, NULL) && again == value &&
			     again_bytes == bytes,
		     "a burst reads back otherwise", text);
	}
	if (!units_duration(line, &value, &message)) {
		units_duration_text(value, text, sizeof(text));
		must(!units_duration(text, &again, NULL) && again == value,
		     "a duration reads back otherwise", text);
	}
	if (!units_count(line, &value, &message)) {
		units_burst_text(value, false, text, sizeof(text));
		must(!units_count(text, &again, NULL) && again == value,
		     "a count reads back otherwise", text);
	}
}

static void try_words(const char *line)
{
	struct message message = {};
	struct prefix prefix, prefix_again;
	struct service_match match, match_again;
	char text[PREFIX_TEXT];

	if (!units_prefix(line, &prefix, &message)) {
		units_prefix_text(&prefix, text, sizeof(text));
		must(!units_prefix(text, &prefix_again, NULL) &&
			     !prefix_compare(&prefix, &prefix_again),
		     "a prefix reads back otherwise", text);
		must(prefix_contains(&prefix, &prefix), "a prefix lacks itself", text);
	}
	if (!match_read(line, &match, &message)) {
		match_text(&match, text, sizeof(text));
		must(!match_read(text, &match_again, NULL) && match.kind == match_again.kind &&
			     match.first == match_again.first && match.last == match_again.last,
		     "a match reads back otherwise", text);
	}
}

static char *written(const struct ruleset *ruleset, size_t *length)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, length);

	must(out && !config_write(ruleset, out), "can't write", "");
	fclose(out);
	return text;
}

static void try_file(const char *file, size_t size)
{
	struct problems problems = {};
	struct ruleset *ruleset, *again;
	size_t length, again_length;
	char *text, *again_text;

	if (config_parse(file, size, &ruleset, &problems)) {
		must(problems.count && *problems.list[0].message.text,
		     "a file was refused in silence", file);
		problems_free(&problems);
		return;
	}
	text = written(ruleset, &length);
	must(!config_parse(text, length, &again, &problems), "what was written is refused", text);
	again_text = written(again, &again_length);
	must(!strcmp(text, again_text), "a ruleset reads back otherwise", text);
	free(again_text);
	free(text);
	ruleset_free(again);
	ruleset_free(ruleset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *rest, *line;

	must(text != NULL, "out of memory", "");
	memcpy(text, data, size);
	text[size] = '\0';
	try_file(text, size);
	for (rest = text; (line = strsep(&rest, "\n"));) {
		try_rate(line);
		try_amounts(line);
		try_words(line);
	}
	free(text);
	return 0;
}
