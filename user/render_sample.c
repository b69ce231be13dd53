/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <time.h>

#include "render_json.h"
#include "render_sample.h"

static void put_time(uint64_t time_ns, FILE *out)
{
	time_t seconds = (time_t)(time_ns / NS_PER_SEC);
	char text[16];
	struct tm tm;

	strftime(text, sizeof(text), "%H:%M:%S", localtime_r(&seconds, &tm));
	fprintf(out, "%s.%06u", text, (unsigned int)(time_ns % NS_PER_SEC / 1000));
}

static void put_end(const struct prefix *address, bool has_port, uint16_t port, FILE *out)
{
	char text[PREFIX_TEXT];

	units_address_text(address, text, sizeof(text));
	if (!has_port)
		fputs(text, out);
	else if (address->family == 6)
		fprintf(out, "[%s]:%u", text, port);
	else
		fprintf(out, "%s:%u", text, port);
}

static void put_rule(const struct sample *sample, FILE *out)
{
	if (sample->policy)
		fprintf(out, " %s%s%s", sample->policy, sample->limit ? "/" : "",
			sample->limit ? sample->limit : "");
}

void render_sample_text(const struct sample *sample, const struct sample_place *place, FILE *out)
{
	char protocol[UNIT_TEXT];

	put_time(place->time_ns, out);
	fprintf(out, " %s ", place->interface);
	if (sample->source.family) {
		put_end(&sample->source, sample->has_ports, sample->sport, out);
		fputs(" > ", out);
		put_end(&sample->destination, sample->has_ports, sample->dport, out);
	} else {
		fputs("? > ?", out);
	}
	fprintf(out, " %s", sample_protocol(sample, protocol, sizeof(protocol)));
	if (sample->has_type)
		fprintf(out, " type %u", sample->type);
	fprintf(out, " %u bytes: %s%s", sample->length, reason_name(sample->reason),
		sample->observed ? " (observed)" : "");
	put_rule(sample, out);
	fputc('\n', out);
}

static void set_text(json_t *object, const char *key, const char *value)
{
	if (value)
		json_object_set_new(object, key, json_string(value));
}

static void set_number(json_t *object, const char *key, bool applies, uint64_t value)
{
	if (applies)
		json_object_set_new(object, key, json_integer((json_int_t)value));
}

static void set_packet(json_t *object, const struct sample *sample)
{
	char text[PREFIX_TEXT];

	if (!sample->source.family)
		return;
	set_text(object, "source", units_address_text(&sample->source, text, sizeof(text)));
	set_text(object, "destination",
		 units_address_text(&sample->destination, text, sizeof(text)));
	set_text(object, "protocol", sample_protocol(sample, text, sizeof(text)));
	set_number(object, "source_port", sample->has_ports, sample->sport);
	set_number(object, "destination_port", sample->has_ports, sample->dport);
	set_number(object, "type", sample->has_type, sample->type);
}

void render_sample_json(const struct sample *sample, const struct sample_place *place, bool pretty,
			FILE *out)
{
	json_t *object = json_object();

	set_number(object, "time_ns", true, place->time_ns);
	set_text(object, "interface", place->interface);
	set_packet(object, sample);
	set_number(object, "length", true, sample->length);
	set_text(object, "policy", sample->policy);
	set_text(object, "limit", sample->limit);
	set_text(object, "reason", reason_name(sample->reason));
	json_object_set_new(object, "observed", json_boolean(sample->observed));
	json_print(object, pretty, out);
}

char *render_sample_comment(const struct sample *sample, char *to, size_t size)
{
	snprintf(to, size, "%s: %s%s%s%s%s", sample->observed ? "would drop" : "drop",
		 reason_name(sample->reason), sample->policy ? " " : "",
		 sample->policy ? sample->policy : "", sample->limit ? "/" : "",
		 sample->limit ? sample->limit : "");
	return to;
}
