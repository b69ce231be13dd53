/* SPDX-License-Identifier: GPL-2.0-only */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "driver.skel.h"
#include "measure.h"
#include "reference.skel.h"

#define SECOND_NS 1e9

/* UDP to port 9, its payload a struct drive. */
struct frame {
	uint8_t bytes[96];
	uint32_t length;
};

struct worker {
	pthread_t thread;
	pthread_barrier_t *start;
	int program;
	int cpu;
	struct frame frame;
	uint32_t packets;
	double ns;
	uint32_t verdict;
	int err;
};

static int open_reference(struct bench *bench)
{
	struct bpf_program *program;
	int err;

	bench->reference = bench_reference__open();
	if (!bench->reference)
		return -errno;
	bpf_object__for_each_program(program, bench->reference->obj)
	{
		const char *name = bpf_program__name(program);

		/* Its own rows run weir as user space sets it up. */
		bpf_program__set_autoload(program, strncmp(name, "weir", 4) != 0);
	}
	err = bench_reference__load(bench->reference);
	return err;
}

static int open_driver(struct bench *bench, unsigned int lists)
{
	size_t bytes = (size_t)lists * DRIVE_LIST * sizeof(struct drive_address);
	void *map;
	int err;

	bench->driver = bench_driver__open();
	if (!bench->driver)
		return -errno;
	bpf_map__set_max_entries(bench->driver->maps.addresses, lists * DRIVE_LIST);
	err = bench_driver__load(bench->driver);
	if (err)
		return err;
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		   bpf_map__fd(bench->driver->maps.addresses), 0);
	if (map == MAP_FAILED)
		return -errno;
	bench->lists = map;
	bench->list_count = lists;
	return 0;
}

int bench_open(struct bench *bench, unsigned int lists)
{
	int err;

	*bench = (struct bench){ 0 };
	err = open_reference(bench);
	return err ? err : open_driver(bench, lists ? lists : 1);
}

void bench_close(struct bench *bench)
{
	if (bench->lists)
		munmap(bench->lists,
		       (size_t)bench->list_count * DRIVE_LIST * sizeof(struct drive_address));
	bench_driver__destroy(bench->driver);
	bench_reference__destroy(bench->reference);
	*bench = (struct bench){ 0 };
}

int bench_program(const struct bench *bench, const char *name)
{
	struct bpf_program *program;

	program = bpf_object__find_program_by_name(bench->reference->obj, name);
	if (!program)
		program = bpf_object__find_program_by_name(bench->driver->obj, name);
	return program ? bpf_program__fd(program) : -ENOENT;
}

static void *frame_push(struct frame *frame, size_t length)
{
	void *at = frame->bytes + frame->length;

	frame->length += (uint32_t)length;
	return at;
}

static void push_ipv4(struct frame *frame, uint16_t payload)
{
	struct iphdr *ip = frame_push(frame, sizeof(*ip));

	ip->version = 4;
	ip->ihl = sizeof(*ip) / 4;
	ip->ttl = 64;
	ip->protocol = IPPROTO_UDP;
	ip->tot_len = htons((uint16_t)(sizeof(*ip) + payload));
	ip->daddr = htonl(0xc0000201); /* 192.0.2.1, RFC 5737 */
}

static void push_ipv6(struct frame *frame, uint16_t payload)
{
	struct ipv6hdr *ip = frame_push(frame, sizeof(*ip));

	ip->version = 6;
	ip->hop_limit = 64;
	ip->nexthdr = IPPROTO_UDP;
	ip->payload_len = htons(payload);
	ip->saddr.s6_addr32[0] = htonl(0xfd000001);
	ip->daddr.s6_addr32[0] = htonl(0x20010db8); /* RFC 3849 */
}

static void build_frame(struct frame *frame, enum drive_kind kind, const struct drive *drive)
{
	bool ipv6 = kind == DRIVE_IPV6 || kind == DRIVE_LIST6;
	uint16_t payload = sizeof(struct udphdr) + sizeof(*drive);
	struct ethhdr *ethernet;
	struct udphdr *udp;

	*frame = (struct frame){ 0 };
	ethernet = frame_push(frame, sizeof(*ethernet));
	ethernet->h_dest[0] = ethernet->h_source[0] = 2; /* locally administered */
	ethernet->h_proto = htons(ipv6 ? ETH_P_IPV6 : ETH_P_IP);
	(ipv6 ? push_ipv6 : push_ipv4)(frame, payload);
	udp = frame_push(frame, sizeof(*udp));
	udp->source = htons(999);
	udp->dest = htons(9);
	udp->len = htons(payload);
	memcpy(frame_push(frame, sizeof(*drive)), drive, sizeof(*drive));
}

/* Of this thread alone: what else the machine does meanwhile must not count. */
static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * SECOND_NS + (double)now.tv_nsec;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = worker->frame.bytes,
		    .data_size_in = worker->frame.length, .repeat = (int)worker->packets);
	cpu_set_t cpus;
	double began;

	CPU_ZERO(&cpus);
	CPU_SET((size_t)worker->cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		worker->err = -errno;
	pthread_barrier_wait(worker->start);
	began = cpu_ns();
	if (!worker->err && bpf_prog_test_run_opts(worker->program, &options))
		worker->err = -errno;
	worker->ns = (cpu_ns() - began) / worker->packets;
	worker->verdict = options.retval;
	return NULL;
}

static int driver_program(const struct bench *bench, enum drive_kind kind)
{
	static const char *const names[DRIVE_KINDS] = { "drive4", "drive6", "drive_list4",
							"drive_list6" };

	return bench_program(bench, names[kind]);
}

static int run_workers(struct worker *workers, unsigned int count)
{
	pthread_barrier_t start;
	unsigned int started = 0;
	int err;

	err = -pthread_barrier_init(&start, NULL, count);
	if (err)
		return err;
	for (; !err && started < count; started++) {
		workers[started].start = &start;
		err = -pthread_create(&workers[started].thread, NULL, work, &workers[started]);
	}
	if (err) /* those started wait for ever: the caller gives up and the process ends */
		return err;
	for (unsigned int i = 0; i < count; i++) {
		pthread_join(workers[i].thread, NULL);
		err = err ? err : workers[i].err;
	}
	pthread_barrier_destroy(&start);
	return err;
}

int bench_measure(const struct bench *bench, struct run *run, uint32_t packets, double *ns,
		  uint32_t *verdict)
{
	struct worker workers[MEASURE_CPUS] = { 0 };
	uint32_t zero = 0;
	double sum = 0;
	int err = 0;

	if (bpf_map_update_elem(bpf_map__fd(bench->driver->maps.judge), &zero, &run->program,
				BPF_ANY))
		return -errno;
	for (unsigned int i = 0; i < run->cpus; i++) {
		workers[i].program = driver_program(bench, run->kind);
		workers[i].cpu = (int)i;
		workers[i].packets = packets;
		build_frame(&workers[i].frame, run->kind, &run->drive[i]);
		run->drive[i].turn += packets;
	}
	err = run_workers(workers, run->cpus);
	for (unsigned int i = 0; i < run->cpus; i++)
		sum += workers[i].ns;
	*ns = sum / run->cpus;
	*verdict = workers[0].verdict;
	return err ? err : *verdict == 0 /* XDP_ABORTED: the call failed */ ? -EINVAL : 0;
}
