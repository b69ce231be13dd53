/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <cap-ng.h>

#include "kernel_explain.h"
#include "kernel_maps.h"

/*
 * Why the kernel refused, in one line. Only what was refused is looked into: the checks are no
 * gate, so that a kernel with features ported back is taken.
 */
static int explain_missing_right(int err, struct message *message)
{
	static const struct {
		unsigned int capability;
		const char *name;
	} needed[] = { { CAP_BPF, "CAP_BPF" },
		       { CAP_NET_ADMIN, "CAP_NET_ADMIN" },
		       { CAP_PERFMON, "CAP_PERFMON" } };
	char missing[64] = "";
	size_t length = 0;

	capng_get_caps_process();
	if (!capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_ADMIN))
		for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
			if (!capng_have_capability(CAPNG_EFFECTIVE, needed[i].capability))
				length += snprintf(missing + length, sizeof(missing) - length,
						   " %s", needed[i].name);
	message_set(message, err, "not permitted to load the program%s%s",
		    length ? ": missing" : "", missing);
	return message_hint(message, err,
			    "run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON");
}

static bool kernel_takes_btf(void)
{
	struct btf *btf = btf__new_empty();
	bool taken = btf && btf__add_int(btf, "int", 4, BTF_INT_SIGNED) > 0 &&
		     !btf__load_into_kernel(btf);

	btf__free(btf);
	return taken;
}

int explain_too_large(int err, const struct meta *meta, struct message *message)
{
	message_set(message, err, "no memory for the table: %llu MiB asked for",
		    (unsigned long long)(maps_bytes(meta, kernel_cpus()) >> 20));
	return message_hint(message, err, "lower table: sources in the policy file");
}

int explain_load(int err, const struct meta *meta, struct message *message)
{
	const char *missing = NULL;

	if (err == -EPERM)
		return explain_missing_right(err, message);
	if (err == -ENOMEM || err == -E2BIG)
		return explain_too_large(err, meta, message);
	if (err == -ENOSYS)
		missing = "bpf(2) (CONFIG_BPF_SYSCALL)";
	else if (libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_XDP, NULL) != 1)
		missing = "XDP programs";
	else if (!kernel_takes_btf())
		missing = "BTF";
	else if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_XDP, BPF_FUNC_xdp_load_bytes, NULL) != 1)
		missing = "the helper bpf_xdp_load_bytes (Linux 5.18)";
	if (missing) {
		message_set(message, err, "this kernel lacks %s", missing);
		return message_hint(message, err, "weir needs Linux 6.1 or newer");
	}
	message_set(message, err, "the kernel refused the program: %s", strerror(-err));
	return message_hint(message, err, "-v shows the verifier's log");
}

/*
 * Memory for maps is taken at once and counts against nobody: ask first, before the kernel's
 * out-of-memory killer looks for somebody else.
 */
bool memory_suffices(uint64_t bytes)
{
	unsigned long long available_kib;
	FILE *file = fopen("/proc/meminfo", "re");
	bool suffices = true;
	char line[128];

	if (!file)
		return true;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %llu", &available_kib) == 1)
			suffices = bytes < available_kib * 1024;
	fclose(file);
	return suffices;
}
