/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compile.h"
#include "compile_parts.h"

bool image_limit_is_instance(const struct image *image, const struct limit_spec *spec)
{
	const struct ruleset *ruleset = image->ruleset;

	return ruleset->limit_count && spec >= ruleset->limits &&
	       spec < ruleset->limits + ruleset->limit_count;
}

/* ---- prefixes ---- */

/*
 * For a list sorted by address and length: the index of each one's nearest covering prefix. The
 * covering ones of any element are a chain of parents that begins at the element before.
 */
static int32_t covering(const struct image_prefix *list, int32_t before,
			const struct prefix *prefix)
{
	while (before >= 0 && !prefix_contains(&list[before].prefix, prefix))
		before = list[before].parent;
	return before;
}

static int add_prefixes(struct image *image, const struct ruleset *ruleset)
{
	size_t count = 0;

	for (size_t i = 0; i < ruleset->policy_count; i++)
		count += ruleset->policies[i].source_count;
	image->prefixes = calloc(count + 1, sizeof(*image->prefixes));
	if (!image->prefixes)
		return -ENOMEM;
	for (size_t i = 0; i < ruleset->policy_count; i++)
		for (size_t j = 0; j < ruleset->policies[i].source_count; j++)
			image->prefixes[image->prefix_count++] = (struct image_prefix){
				.prefix = ruleset->policies[i].sources[j],
				.policy = (uint32_t)i,
			};
	qsort(image->prefixes, count, sizeof(*image->prefixes), prefix_compare);
	for (size_t i = 0; i < count; i++)
		image->prefixes[i].parent =
			covering(image->prefixes, (int32_t)i - 1, &image->prefixes[i].prefix);
	return 0;
}

/* ---- services ---- */

static uint32_t row_of(enum match_kind kind)
{
	switch (kind) {
	case MATCH_TCP:
		return SERVICE_TCP;
	case MATCH_UDP:
		return SERVICE_UDP;
	case MATCH_PROTO:
		return SERVICE_PROTO;
	case MATCH_ICMP:
		return SERVICE_ICMP;
	case MATCH_ICMPV6:
		return SERVICE_ICMPV6;
	case MATCH_SYN:
		break;
	}
	return SERVICE_SYN;
}

static void add_match(uint32_t *rows, const struct service_match *match, uint32_t mask)
{
	uint32_t first = match->kind == MATCH_SYN ? 0 : match->first;
	uint32_t last = match->kind == MATCH_SYN ? 0 : match->last;

	for (uint32_t row = first; row <= last; row++)
		rows[row_of(match->kind) + row] |= mask;
}

static int add_services(struct image *image, const struct ruleset *ruleset)
{
	if (!ruleset->service_count)
		return 0;
	image->services = calloc(SERVICE_ROWS, sizeof(*image->services));
	if (!image->services)
		return -ENOMEM;
	for (size_t i = 0; i < ruleset->service_count; i++) {
		const struct service_spec *service = &ruleset->services[i];

		for (size_t j = 0; j < service->match_count; j++)
			add_match(image->services, &service->matches[j], 1U << i);
		if (!service->to_count)
			image->services_any |= 1U << i;
	}
	return 0;
}

/* ---- destinations ---- */

/* Sorted: merge what is the same prefix, then add the masks of the covering ones. */
static void settle_destinations(struct image *image)
{
	struct image_destination *list = image->destinations;
	size_t count = 0;

	for (size_t i = 0; i < image->destination_count; i++) {
		if (count && !prefix_compare(&list[count - 1].prefix, &list[i].prefix))
			list[count - 1].services |= list[i].services;
		else
			list[count++] = list[i];
	}
	image->destination_count = count;
	for (size_t i = 0; i < count; i++) {
		int32_t outer = (int32_t)i - 1;

		while (outer >= 0 && !prefix_contains(&list[outer].prefix, &list[i].prefix))
			outer = list[outer].parent;
		list[i].parent = outer;
		list[i].services |= outer >= 0 ? list[outer].services : 0;
	}
}

static int add_destinations(struct image *image, const struct ruleset *ruleset)
{
	size_t count = 0;

	for (size_t i = 0; i < ruleset->service_count; i++)
		count += ruleset->services[i].to_count;
	image->destinations = calloc(count + 1, sizeof(*image->destinations));
	if (!image->destinations)
		return -ENOMEM;
	for (size_t i = 0; i < ruleset->service_count; i++)
		for (size_t j = 0; j < ruleset->services[i].to_count; j++)
			image->destinations[image->destination_count++] =
				(struct image_destination){
					.prefix = ruleset->services[i].to[j],
					.services = 1U << i,
				};
	qsort(image->destinations, count, sizeof(*image->destinations), prefix_compare);
	settle_destinations(image);
	return 0;
}

/* ---- policies ---- */

static int add_policies(struct image *image, const struct ruleset *ruleset)
{
	image->policies = calloc(ruleset->policy_count + 1, sizeof(*image->policies));
	if (!image->policies)
		return -ENOMEM;
	image->policy_count = ruleset->policy_count;
	for (size_t i = 0; i < ruleset->policy_count; i++) {
		const struct policy_spec *spec = &ruleset->policies[i];
		struct image_policy *policy = &image->policies[i];
		uint32_t count = 0;

		policy->name = spec->name;
		policy->policy.action = spec->action;
		if (spec->action != ACTION_LIMIT)
			continue;
		for (size_t j = 0; j < spec->limit_count && count < LIMITS_MAX; j++)
			policy->specs[count++] = &spec->limits[j];
		for (size_t j = 0; j < ruleset->limit_count && count < LIMITS_MAX; j++)
			policy->specs[count++] = &ruleset->limits[j];
		policy->policy.count = count;
	}
	return 0;
}

int image_new(const struct ruleset *ruleset, struct image **image)
{
	struct image *new = calloc(1, sizeof(*new));
	int err = new ? 0 : -ENOMEM;

	if (new)
		new->ruleset = ruleset;
	if (!err)
		err = add_policies(new, ruleset);
	if (!err)
		err = add_prefixes(new, ruleset);
	if (!err)
		err = add_services(new, ruleset);
	if (!err)
		err = add_destinations(new, ruleset);
	if (err) {
		image_free(new);
		return err;
	}
	*image = new;
	return 0;
}

void image_free(struct image *image)
{
	if (!image)
		return;
	free(image->policies);
	free(image->prefixes);
	free(image->services);
	free(image->destinations);
	free(image);
}

void image_finish(struct image *image, unsigned int cpus)
{
	const struct ruleset *ruleset = image->ruleset;

	for (size_t i = 0; i < image->policy_count; i++) {
		struct image_policy *own = &image->policies[i];
		struct policy *policy = &own->policy;

		policy->cells = own->cells;
		policy->enforced = ruleset->policies[i].enforced;
		policy->ipv4_len = ruleset->ipv4_len;
		policy->ipv6_len = ruleset->ipv6_len;
		for (uint32_t j = 0; j < policy->count; j++)
			limit_compile(own->specs[j], &own->limits[j], ruleset->lenient,
				      own->limits[j].wide, cpus, &policy->limits[j]);
		policy_sum_limits(policy, image->services_any);
	}
}
