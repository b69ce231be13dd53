/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>

#include "lockout.h"

/* The longest prefix so far that covers the address, and whether it drops. */
struct longest {
	const struct prefix *prefix; /* NULL: none */
	bool drops;
	const char *policy; /* NULL: an entry */
};

/* An entry outranks a policy of the same length: it is offered behind the policies. */
static void offer(struct longest *longest, const struct prefix *prefix,
		  const struct prefix *address, bool drops, const char *policy)
{
	if (!prefix_contains(prefix, address))
		return;
	if (!longest->prefix || prefix->len >= longest->prefix->len)
		*longest = (struct longest){ prefix, drops, policy };
}

static void offer_policies(struct longest *longest, const struct ruleset *ruleset,
			   const struct prefix *address)
{
	for (size_t i = 0; i < ruleset->policy_count; i++) {
		const struct policy_spec *policy = &ruleset->policies[i];

		for (size_t j = 0; j < policy->source_count; j++)
			offer(longest, &policy->sources[j], address,
			      policy->action == ACTION_DROP && policy->enforced, policy->name);
	}
}

bool lockout_find(const struct ruleset *ruleset, const struct entry_state *entry,
		  const struct prefix *address, char *what, size_t size)
{
	struct longest longest = { 0 };
	char text[PREFIX_TEXT];

	offer_policies(&longest, ruleset, address);
	if (entry)
		offer(&longest, &entry->prefix, address, entry->entry.kind == ENTRY_BLOCK, NULL);
	for (size_t i = 0; i < ruleset->entry_count; i++)
		offer(&longest, &ruleset->entries[i].prefix, address,
		      ruleset->entries[i].kind == ENTRY_BLOCK, NULL);
	if (!longest.prefix || !longest.drops)
		return false;
	if (longest.policy)
		snprintf(what, size, "policy `%s`", longest.policy);
	else
		snprintf(what, size, "the block entry %s",
			 units_prefix_text(longest.prefix, text, sizeof(text)));
	return true;
}
