/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The datapath under test: loads clock.bpf.o with maps made for a policy text,
 * puts the policy in force by the same config, compile and apply as the tool,
 * and hands it frames. Attaches nothing. Must not know what ought to come out.
 */
#ifndef WEIR_TEST_RIG_H
#define WEIR_TEST_RIG_H

#include "../../user/apply.h"
#include "frame.h"
#include "record.h"

struct weir_clock;

struct rig {
	struct weir_clock *skeleton;
	struct instance instance;
	struct capacity room;
	struct ruleset *ruleset;
	struct image *image;
	struct test_time *time; /* read by the program at each packet */
	struct record *records; /* what rig_replay runs */
	uint64_t epoch_ns;	/* where the rig's clock started: at a midnight */
};

enum rig_program {
	RIG_WEIR,
	RIG_REPLAY,
	RIG_PACED,
	RIG_MAINTAIN, /* the frame is a struct maintain */
};

/* The secret of the keyed hash, for models of the program that need it. */
extern const uint64_t rig_secret[2];

/* Bails out without the rights; stays on the first CPU. Once, before anything else. */
void rig_prepare(void);
void rig_pin_cpu(unsigned int cpu);

/* 0 or -errno with *message; rig_close takes a rig that rig_open refused, too. */
int rig_open(struct rig *rig, const char *policy, struct message *message);
void rig_close(struct rig *rig);

/* A new start on the maps of an open rig; -ENOSPC if the policy takes larger ones. */
int rig_renew(struct rig *rig, const char *policy, struct message *message);

/* Another policy on the same maps, as `weir apply` does it. */
int rig_apply(struct rig *rig, const char *policy, bool flush, struct message *message);

/* Judge one frame `times` times. 0 and the last verdict (XDP_*), or -errno. */
int rig_run(const struct rig *rig, enum rig_program program, const struct frame_bytes *frame,
	    uint32_t times, uint32_t *verdict);

/* The same with only the first `linear` bytes in the linear part. -EINVAL: kernel can't. */
int rig_run_split(const struct rig *rig, const struct frame_bytes *frame, uint32_t linear,
		  uint32_t *verdict);

/* Put a frame into records[index]: to come at `now_ns`, and to be counted by `cell`. */
void rig_record(struct rig *rig, uint32_t index, const struct frame_bytes *frame, uint64_t now_ns,
		uint32_t cell);

/* Judge records[0..count), count at most RECORDS. 0 or -errno. */
int rig_replay(struct rig *rig, uint32_t count);

/* Where the program finds the image's policy: in the half of the generation in force. */
uint32_t rig_policy_index(const struct rig *rig, uint32_t policy);

int rig_map(const struct rig *rig, enum map_index map);

#endif
