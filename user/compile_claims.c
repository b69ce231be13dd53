/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compile.h"
#include "compile_parts.h"

bool claim_is_shared(const struct claim *claim)
{
	return claim->spec->per != PER_SOURCE;
}

bool claim_is_automatic(const struct claim *claim)
{
	return !claim_is_shared(claim) && !claim->spec->sources;
}

bool claim_is_log(const struct claim *claim)
{
	return claim->spec->algorithm == ALGO_SLIDING_LOG;
}

static int compare_names(const void *a, const void *b)
{
	const struct image_policy *left = *(const struct image_policy *const *)a;
	const struct image_policy *right = *(const struct image_policy *const *)b;

	return strcmp(left->name, right->name);
}

const struct image_policy *plan_old_policy(const struct plan *plan, const char *name)
{
	const struct image_policy key = { .name = name }, *wanted = &key;
	const struct image_policy **found;

	if (!plan->old || !plan->old->policy_count)
		return NULL;
	found = bsearch(&wanted, plan->by_name, plan->old->policy_count, sizeof(*plan->by_name),
			compare_names);
	return found ? *found : NULL;
}

/* Index of a limit of the policy, or -1; instance: among the instance's limits. */
int plan_old_limit(const struct plan *plan, const struct image_policy *policy, const char *name,
		   bool instance)
{
	for (uint32_t i = 0; policy && i < policy->policy.count; i++)
		if (image_limit_is_instance(plan->old, policy->specs[i]) == instance &&
		    !strcmp(policy->specs[i]->name, name))
			return (int)i;
	return -1;
}

const struct image_policy *image_first_limiting(const struct image *image)
{
	for (size_t i = 0; image && i < image->policy_count; i++)
		if (image->policies[i].policy.action == ACTION_LIMIT)
			return &image->policies[i];
	return NULL;
}

/* What one limit and policy keep from the old image: counter cells, id, credit, slice. */
static void claim_inherit(struct plan *plan, struct claim *claim, const struct image_policy *old,
			  bool instance)
{
	int index = plan_old_limit(plan, old, claim->spec->name, instance);

	if (index < 0)
		return;
	claim->before = &old->limits[index];
	claim->spec_before = old->specs[index];
	claim->own->id = claim->before->id;
	claim->own->credit = claim->before->credit;
	claim->kept = !plan->flush && claim->before->slice_sets &&
		      claim->own->wide == claim->before->wide &&
		      claim->spec->per == claim->spec_before->per &&
		      claim->spec->sources == claim->spec_before->sources &&
		      claim_is_log(claim) == (claim->spec_before->algorithm == ALGO_SLIDING_LOG);
	if (!claim->kept)
		return;
	claim->own->slice_base = claim->before->slice_base;
	claim->own->slice_sets = claim->before->slice_sets;
	claim->own->log_base = claim->before->log_base;
}

static bool policy_has_ipv6(const struct policy_spec *policy)
{
	for (size_t i = 0; i < policy->source_count; i++)
		if (policy->sources[i].family == 6)
			return true;
	return false;
}

static bool limiting_has_ipv6(const struct ruleset *ruleset)
{
	for (size_t i = 0; i < ruleset->policy_count; i++)
		if (ruleset->policies[i].action == ACTION_LIMIT &&
		    policy_has_ipv6(&ruleset->policies[i]))
			return true;
	return false;
}

static void claim_limits(struct plan *plan, size_t index, bool first)
{
	struct image_policy *policy = &plan->image->policies[index];
	const struct image_policy *old = plan_old_policy(plan, policy->name);
	bool ipv6 = policy_has_ipv6(&plan->ruleset->policies[index]);

	for (uint32_t i = 0; i < policy->policy.count; i++) {
		const struct limit_spec *spec = policy->specs[i];
		bool instance = image_limit_is_instance(plan->image, spec);
		struct claim *claim = &plan->claims[plan->count];

		if (instance && !first)
			continue;
		*claim = (struct claim){ .spec = spec, .own = &policy->limits[i] };
		claim->own->wide = !claim_is_shared(claim) && spec->ipv6_len > 64 &&
				   (instance ? limiting_has_ipv6(plan->ruleset) : ipv6);
		claim_inherit(plan, claim, instance ? image_first_limiting(plan->old) : old,
			      instance);
		plan->count++;
	}
}

int plan_claims(struct plan *plan)
{
	size_t most = 1, old_count = plan->old ? plan->old->policy_count : 0;
	const struct image_policy *first = image_first_limiting(plan->image);

	for (size_t i = 0; i < plan->image->policy_count; i++)
		most += plan->image->policies[i].policy.count;
	plan->claims = calloc(most, sizeof(*plan->claims));
	plan->by_name = calloc(old_count + 1, sizeof(*plan->by_name));
	if (!plan->claims || !plan->by_name)
		return -ENOMEM;
	for (size_t i = 0; i < old_count; i++)
		plan->by_name[i] = &plan->old->policies[i];
	qsort(plan->by_name, old_count, sizeof(*plan->by_name), compare_names);
	for (size_t i = 0; i < plan->image->policy_count; i++)
		claim_limits(plan, i, &plan->image->policies[i] == first);
	return 0;
}

void plan_free(struct plan *plan)
{
	free(plan->claims);
	free(plan->by_name);
}
