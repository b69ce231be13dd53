/* SPDX-License-Identifier: GPL-2.0-only */
#include "model.h"

static uint32_t limit_cell(const struct image_policy *policy, const struct decision *decision,
			   enum limit_cell cell)
{
	return policy->limits[decision->limit].cells + cell;
}

static uint32_t policy_cell(const struct image_policy *policy, const struct decision *decision)
{
	switch (decision->reason) {
	case REASON_LIMIT:
		return limit_cell(policy, decision, CELL_LIMIT_REFUSED);
	case REASON_BAN:
		return limit_cell(policy, decision, CELL_LIMIT_BANNED);
	case REASON_TABLE_FULL:
		return limit_cell(policy, decision, CELL_LIMIT_TABLE_FULL);
	case REASON_OBSERVED:
		if (decision->limit >= 0)
			return limit_cell(policy, decision, CELL_LIMIT_OBSERVED);
		return policy->cells + CELL_POLICY_OBSERVED;
	default:
		return policy->cells + CELL_POLICY_VERDICT;
	}
}

uint32_t model_cell(const struct image *image, const struct decision *decision)
{
	if (decision->policy >= 0)
		return policy_cell(&image->policies[decision->policy], decision);
	switch (decision->reason) {
	case REASON_NOT_IP:
		return CELL_NOT_IP;
	case REASON_NEIGHBOUR_DISCOVERY:
		return CELL_NEIGHBOUR_DISCOVERY;
	case REASON_MALFORMED:
		return CELL_MALFORMED;
	case REASON_BLOCKED:
		return CELL_ENTRY_BLOCKED;
	case REASON_ALLOWED:
		return CELL_ENTRY_ALLOWED;
	default:
		return CELL_UNMATCHED;
	}
}
