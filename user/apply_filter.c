/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <sys/mman.h>

#include "apply_filter.h"

#define FILTER_BYTES (FILTER_ALL * sizeof(uint64_t))

int filter_map(const struct instance *instance, uint64_t **words)
{
	void *memory = mmap(NULL, FILTER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			    instance->maps[MAP_FILTER], 0);

	if (memory == MAP_FAILED)
		return -errno;
	*words = memory;
	return 0;
}

void filter_unmap(uint64_t *words)
{
	if (words)
		munmap(words, FILTER_BYTES);
}
