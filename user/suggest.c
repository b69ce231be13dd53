/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bpf/packet.h"
#include "suggest.h"

enum {
	PORTS = 65536,
	EPHEMERAL = 32768,	 /* from here on a destination port is rather a client's */
	LEAST_SHARE = 100,	 /* a port is a service if it has a hundredth of the packets */
	PERMILLE = 999,		 /* the percentile, in tenths of a percent */
	LEAST_BYTES = 10 * 1522, /* a burst of bytes: some full frames */
	ICMP_ECHO = 8,
	ICMPV6_ECHO = 128,
};

/* What one source asked for of one series. */
struct demand {
	uint64_t window; /* number of the window that is being counted */
	uint64_t in_window;
	uint64_t most; /* of a window */
	double level;  /* of a bucket that leaks at the suggested rate */
	double highest;
	uint64_t last_ns;
};

/* ---- the ruleset that is built ---- */

static void *append(void *list, size_t *count, size_t size)
{
	void **array = list;
	void *grown = realloc(*array, (*count + 1) * size);

	if (!grown)
		return NULL;
	*array = grown;
	memset((uint8_t *)grown + *count * size, 0, size);
	return (uint8_t *)grown + (*count)++ * size;
}

static int add_match(struct service_spec *service, enum match_kind kind, uint16_t first)
{
	struct service_match *match =
		append(&service->matches, &service->match_count, sizeof(*match));

	if (!match)
		return -ENOMEM;
	*match = (struct service_match){ kind, first, first };
	return 0;
}

static struct service_spec *add_service(struct ruleset *ruleset, const char *name)
{
	struct service_spec *service =
		append(&ruleset->services, &ruleset->service_count, sizeof(*service));

	if (service)
		service->name = strdup(name);
	return service && service->name ? service : NULL;
}

static int copy_service(struct ruleset *ruleset, const struct service_spec *from)
{
	struct service_spec *service = add_service(ruleset, from->name);

	if (!service)
		return -ENOMEM;
	service->matches = calloc(from->match_count + 1, sizeof(*from->matches));
	service->to = calloc(from->to_count + 1, sizeof(*from->to));
	if (!service->matches || !service->to)
		return -ENOMEM;
	for (size_t i = 0; i < from->match_count; i++)
		service->matches[i] = from->matches[i];
	for (size_t i = 0; i < from->to_count; i++)
		service->to[i] = from->to[i];
	service->match_count = from->match_count;
	service->to_count = from->to_count;
	return 0;
}

static int add_everyone(struct ruleset *ruleset)
{
	struct policy_spec *policy =
		append(&ruleset->policies, &ruleset->policy_count, sizeof(*policy));

	if (!policy)
		return -ENOMEM;
	policy->name = strdup("everyone");
	policy->sources = calloc(2, sizeof(*policy->sources));
	policy->source_places = calloc(2, sizeof(*policy->source_places));
	if (!policy->name || !policy->sources || !policy->source_places)
		return -ENOMEM;
	policy->sources[0].family = 4;
	policy->sources[1].family = 6;
	policy->source_count = 2;
	policy->action = ACTION_PASS;
	policy->enforced = 65536;
	return 0;
}

static int take_given(struct ruleset *ruleset, const struct ruleset *given)
{
	int err = 0;

	ruleset->ipv4_len = given->ipv4_len;
	ruleset->ipv6_len = given->ipv6_len;
	ruleset->malformed_pass = given->malformed_pass;
	for (size_t i = 0; !err && i < given->service_count; i++)
		err = copy_service(ruleset, &given->services[i]);
	return err;
}

static int make_image(struct suggest *suggest, struct message *message)
{
	struct problems problems = { 0 };
	struct capacity room;
	int err = ruleset_complete(suggest->ruleset, &problems);

	if (err && problems.count)
		message_set(message, err, "%s", problems.list[0].message.text);
	problems_free(&problems);
	image_free(suggest->image);
	suggest->image = NULL;
	return err ? err : image_first(suggest->ruleset, 1, &room, &suggest->image, message);
}

int suggest_init(struct suggest *suggest, const struct ruleset *given, struct message *message)
{
	struct suggest made = { .ruleset = ruleset_new() };
	int err = made.ruleset ? add_everyone(made.ruleset) : -ENOMEM;

	source_map_init(&made.demands, sizeof(struct demand));
	if (!err && given)
		err = take_given(made.ruleset, given);
	if (!err && !given) {
		made.ports = calloc(2 * PORTS, sizeof(*made.ports));
		err = made.ports ? 0 : -ENOMEM;
	}
	if (err)
		message_set(message, err, "no memory to look at the traffic");
	else
		err = make_image(&made, message);
	if (err) {
		suggest_free(&made);
		return err;
	}
	*suggest = made;
	return 0;
}

void suggest_free(struct suggest *suggest)
{
	image_free(suggest->image);
	ruleset_free(suggest->ruleset);
	free(suggest->ports);
	source_map_free(&suggest->demands);
	memset(suggest, 0, sizeof(*suggest));
}

/* ---- frames ---- */

static void find_services(struct suggest *suggest, const struct packet *packet)
{
	uint32_t services = image_services(suggest->image, packet);

	suggest->packets++;
	for (size_t i = 0; i < suggest->ruleset->service_count; i++)
		suggest->by_service[i] += services >> i & 1;
	if (!suggest->ports)
		return;
	if (packet->has_ports)
		suggest->ports[(packet->proto == IPPROTO_UDP ? PORTS : 0) + packet->dport]++;
	suggest->syns += packet->syn;
	if (packet->has_type)
		suggest->pings += (packet->proto == IPPROTO_ICMP && packet->type == ICMP_ECHO) ||
				  (packet->proto == IPPROTO_ICMPV6 && packet->type == ICMPV6_ECHO);
}

static void demand_rate(struct demand *demand, uint64_t time_ns, uint64_t tokens)
{
	uint64_t window = time_ns / (SUGGEST_WINDOW_S * NS_PER_SEC);

	if (window != demand->window) {
		demand->window = window;
		demand->in_window = 0;
	}
	demand->in_window += tokens;
	if (demand->in_window > demand->most)
		demand->most = demand->in_window;
}

static void demand_burst(struct demand *demand, uint64_t time_ns, uint64_t tokens, uint64_t rate)
{
	if (time_ns > demand->last_ns && demand->last_ns)
		demand->level -= (double)(time_ns - demand->last_ns) / NS_PER_SEC * (double)rate;
	if (demand->level < 0)
		demand->level = 0;
	if (time_ns > demand->last_ns)
		demand->last_ns = time_ns;
	demand->level += (double)tokens;
	if (demand->level > demand->highest)
		demand->highest = demand->level;
}

static int measure(struct suggest *suggest, const struct packet *packet, uint64_t time_ns)
{
	uint32_t services = image_services(suggest->image, packet);
	struct prefix source =
		source_of(packet, suggest->ruleset->ipv4_len, suggest->ruleset->ipv6_len);

	for (size_t i = 0; i < suggest->series_count; i++) {
		const struct suggest_series *series = &suggest->series[i];
		uint64_t tokens = series->bytes ? packet->length : 1;
		struct demand *demand;

		if (series->service >= 0 && !(services >> series->service & 1))
			continue;
		demand = source_map_get(&suggest->demands, &source, (uint32_t)i);
		if (!demand)
			return -ENOMEM;
		if (suggest->pass == SUGGEST_RATES)
			demand_rate(demand, time_ns, tokens);
		else
			demand_burst(demand, time_ns, tokens, series->rate);
	}
	return 0;
}

int suggest_frame(struct suggest *suggest, const struct trace_frame *frame)
{
	struct packet packet;

	if (limiter_parse(frame->bytes, frame->captured, frame->length, &packet) != PACKET_IP)
		return 0;
	if (suggest->pass != SUGGEST_FIND)
		return measure(suggest, &packet, frame->time_ns);
	if (!suggest->first_ns || frame->time_ns < suggest->first_ns)
		suggest->first_ns = frame->time_ns;
	if (frame->time_ns > suggest->last_ns)
		suggest->last_ns = frame->time_ns;
	find_services(suggest, &packet);
	return 0;
}

/* ---- between the passes ---- */

static int add_found_ports(struct suggest *suggest, size_t most)
{
	while (suggest->ruleset->service_count < most) {
		size_t best = 0;
		char name[32];
		struct service_spec *service;

		for (size_t i = 1; i < 2 * PORTS; i++)
			if (i % PORTS < EPHEMERAL && suggest->ports[i] > suggest->ports[best])
				best = i;
		if (!suggest->ports[best] || suggest->ports[best] * LEAST_SHARE < suggest->packets)
			return 0;
		snprintf(name, sizeof(name), "%s-%zu", best < PORTS ? "tcp" : "udp", best % PORTS);
		service = add_service(suggest->ruleset, name);
		if (!service || add_match(service, best < PORTS ? MATCH_TCP : MATCH_UDP,
					  (uint16_t)(best % PORTS)))
			return -ENOMEM;
		suggest->ports[best] = 0;
	}
	return 0;
}

/* Handshakes and pings are asked for by everybody and limited best by themselves. */
static int add_found(struct suggest *suggest)
{
	size_t most = SUGGEST_SERVICES - (suggest->syns > 0) - (suggest->pings > 0);
	struct service_spec *service;
	int err = add_found_ports(suggest, most);

	if (!err && suggest->syns) {
		service = add_service(suggest->ruleset, "handshakes");
		err = service ? add_match(service, MATCH_SYN, 0) : -ENOMEM;
	}
	if (!err && suggest->pings) {
		service = add_service(suggest->ruleset, "ping");
		err = service ? add_match(service, MATCH_ICMP, ICMP_ECHO) : -ENOMEM;
		if (!err)
			err = add_match(service, MATCH_ICMPV6, ICMPV6_ECHO);
	}
	for (size_t i = 0; i < suggest->ruleset->service_count; i++)
		suggest->by_service[i] = 1;
	return err;
}

static void choose_series(struct suggest *suggest)
{
	suggest->series[suggest->series_count++] = (struct suggest_series){ .service = -1 };
	suggest->series[suggest->series_count++] =
		(struct suggest_series){ .service = -1, .bytes = true };
	while (suggest->series_count < SUGGEST_SERIES) {
		size_t best = 0;

		for (size_t i = 1; i < suggest->ruleset->service_count; i++)
			if (suggest->by_service[i] > suggest->by_service[best])
				best = i;
		if (!suggest->ruleset->service_count || !suggest->by_service[best])
			return;
		suggest->series[suggest->series_count++] =
			(struct suggest_series){ .service = (int)best };
		suggest->by_service[best] = 0;
	}
}

static int end_find(struct suggest *suggest, struct message *message)
{
	int err = 0;

	if (!suggest->packets)
		return message_set(message, -ENODATA, "the capture holds no IP packets");
	if (suggest->ports)
		err = add_found(suggest);
	if (err)
		return message_set(message, err, "no memory for services");
	choose_series(suggest);
	return make_image(suggest, message);
}

static int compare_doubles(const void *a, const void *b)
{
	double one = *(const double *)a, two = *(const double *)b;

	return (one > two) - (one < two);
}

/* Nearest rank: of fewer than 1000 sources it is the greatest. */
static int percentile(struct suggest *suggest, uint32_t number, bool burst, double *value)
{
	double *values = calloc(suggest->demands.count + 1, sizeof(*values));
	const struct demand *demand;
	size_t at = 0, count = 0;
	uint32_t tag;

	if (!values)
		return -ENOMEM;
	while ((demand = source_map_next(&suggest->demands, &at, NULL, &tag)))
		if (tag == number)
			values[count++] = burst ? demand->highest : (double)demand->most;
	qsort(values, count, sizeof(*values), compare_doubles);
	*value = count ? values[(count * PERMILLE + 999) / 1000 - 1] : 0;
	suggest->series[number].sources = count;
	free(values);
	return 0;
}

/* With headroom, and with two digits: more would pretend precision. */
static uint64_t round_up(double value, uint64_t least)
{
	double with = value * SUGGEST_HEADROOM_TENTHS / 10, step = 1;

	if (with < (double)least)
		with = (double)least;
	while (with / step >= 100)
		step *= 10;
	return (uint64_t)(ceil(with / step) * step);
}

static double window_seconds(const struct suggest *suggest)
{
	double seconds = (double)(suggest->last_ns - suggest->first_ns) / NS_PER_SEC;

	if (seconds < 1)
		return 1;
	return seconds < SUGGEST_WINDOW_S ? seconds : SUGGEST_WINDOW_S;
}

static int end_rates(struct suggest *suggest)
{
	for (size_t i = 0; i < suggest->series_count; i++) {
		struct suggest_series *series = &suggest->series[i];
		int err = percentile(suggest, (uint32_t)i, false, &series->measured_rate);

		if (err)
			return err;
		series->measured_rate /= window_seconds(suggest);
		series->rate = round_up(series->measured_rate, 1);
	}
	return 0;
}

static int add_limit(struct suggest *suggest, const struct suggest_series *series)
{
	struct policy_spec *policy = &suggest->ruleset->policies[0];
	struct limit_spec *limit = append(&policy->limits, &policy->limit_count, sizeof(*limit));

	if (!limit)
		return -ENOMEM;
	limit->rate = (struct rate){ .amount = series->rate,
				     .window_ns = NS_PER_SEC,
				     .bytes = series->bytes };
	limit->burst = series->burst;
	limit->burst_given = true;
	limit->burst_bytes = series->bytes;
	limit->service = series->service;
	return 0;
}

/* A tenth of a second's packets at least: a machine that stalls hands them over at once. */
static int end_bursts(struct suggest *suggest, struct message *message)
{
	int err = 0;

	for (size_t i = 0; !err && i < suggest->series_count; i++) {
		struct suggest_series *series = &suggest->series[i];
		uint64_t least = series->rate / 10 + 1;

		if (series->bytes && least < LEAST_BYTES)
			least = LEAST_BYTES;
		err = percentile(suggest, (uint32_t)i, true, &series->measured_burst);
		series->burst = round_up(series->measured_burst, least);
		if (!err && series->sources)
			err = add_limit(suggest, series);
	}
	if (err)
		return message_set(message, err, "no memory for the limits");
	suggest->ruleset->policies[0].action = ACTION_LIMIT;
	return make_image(suggest, message);
}

int suggest_end_pass(struct suggest *suggest, struct message *message)
{
	int err;

	switch (suggest->pass) {
	case SUGGEST_FIND:
		err = end_find(suggest, message);
		break;
	case SUGGEST_RATES:
		err = end_rates(suggest);
		if (err)
			message_set(message, err, "no memory for the rates");
		break;
	case SUGGEST_BURSTS:
		err = end_bursts(suggest, message);
		break;
	default:
		return 0;
	}
	if (!err)
		suggest->pass++;
	return err;
}
