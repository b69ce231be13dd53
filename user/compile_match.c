/* SPDX-License-Identifier: GPL-2.0-only */
#include <netinet/in.h>
#include <string.h>

#include "../bpf/packet.h"
#include "compile.h"

int32_t prefix_last(const void *list, size_t count, size_t size, const struct prefix *prefix)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (prefix_compare((const char *)list + middle * size, prefix) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return (int32_t)low - 1;
}

int image_match(const struct image *image, const struct prefix *address, uint8_t *len)
{
	const struct image_prefix *list = image->prefixes;
	int32_t at = prefix_last(list, image->prefix_count, sizeof(*list), address);

	while (at >= 0 && !prefix_contains(&list[at].prefix, address))
		at = list[at].parent;
	if (at < 0)
		return -1;
	if (len)
		*len = list[at].prefix.len;
	return (int)list[at].policy;
}

static uint32_t destination_services(const struct image *image, const struct packet *packet)
{
	const struct image_destination *list = image->destinations;
	struct prefix address = { .family = packet->family, .len = packet->family == 4 ? 32 : 128 };
	int32_t at;

	memcpy(address.addr, packet->destination, packet->family == 4 ? 4 : 16);
	at = prefix_last(list, image->destination_count, sizeof(*list), &address);
	while (at >= 0 && !prefix_contains(&list[at].prefix, &address))
		at = list[at].parent;
	return at >= 0 ? list[at].services : 0;
}

/* As the program looks them up: bpf/classify.h. */
uint32_t image_services(const struct image *image, const struct packet *packet)
{
	const uint32_t *rows = image->services;
	uint32_t mask;

	if (!rows)
		return 0;
	mask = rows[SERVICE_PROTO + packet->proto];
	if (packet->has_ports && packet->proto == IPPROTO_TCP)
		mask |= rows[SERVICE_TCP + packet->dport];
	if (packet->has_ports && packet->proto == IPPROTO_UDP)
		mask |= rows[SERVICE_UDP + packet->dport];
	if (packet->has_type && packet->proto == IPPROTO_ICMP)
		mask |= rows[SERVICE_ICMP + packet->type];
	if (packet->has_type && packet->proto == IPPROTO_ICMPV6)
		mask |= rows[SERVICE_ICMPV6 + packet->type];
	if (packet->syn)
		mask |= rows[SERVICE_SYN];
	if (!(mask & ~image->services_any))
		return mask;
	return mask & (image->services_any | destination_services(image, packet));
}
