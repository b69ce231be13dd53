// SPDX-License-Identifier: GPL-2.0-only
#include "maps.h"

SEC("xdp.frags")
int weir(struct xdp_md *ctx)
{
	return XDP_PASS;
}

SEC("xdp")
int weir_maintain(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
