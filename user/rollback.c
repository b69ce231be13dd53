/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "pins.h"
#include "rollback.h"

#define MARK "unconfirmed-"

enum {
	ORDERS = 3, /* the keeper's only open file beside the standard ones */
	UNDO_TRIES = 30,
};

/* A keeper removes its mark at once when it is due: one so long overdue has lost its keeper. */
#define GRACE_NS (3 * NS_PER_SEC)

struct found_mark {
	uint64_t deadline_ns; /* 0: none */
	char name[64];
};

static int read_mark(const char *pin, void *context)
{
	struct found_mark *found = context;

	found->deadline_ns = strtoull(pin + strlen(MARK), NULL, 16);
	snprintf(found->name, sizeof(found->name), "%s", pin);
	return 0;
}

/* -ENOENT: nothing waits. Marks without a keeper are removed on the way, where we may. */
static int find_mark(const char *directory, char path[PINS_PATH], uint64_t *left_ns)
{
	struct found_mark found = { 0 };
	uint64_t now = kernel_now_ns();

	pins_each(directory, MARK, read_mark, &found);
	if (!found.deadline_ns)
		return -ENOENT;
	snprintf(path, PINS_PATH, "%s/%.60s", directory, found.name);
	if (found.deadline_ns + GRACE_NS < now) {
		rmdir(path);
		return -ENOENT;
	}
	*left_ns = found.deadline_ns > now ? found.deadline_ns - now : 0;
	return 0;
}

static int make_mark(const char *name, uint64_t deadline_ns, char path[PINS_PATH],
		     struct message *message)
{
	char directory[PINS_PATH];
	int err;

	err = rollback_refuse_pending(name, message);
	if (err)
		return err;
	pins_instance_path(name, directory);
	snprintf(path, PINS_PATH, "%.120s/" MARK "%016" PRIx64, directory, deadline_ns);
	if (mkdir(path, 0755))
		return message_set(message, -errno, "%s can't be made: %s", path, strerror(errno));
	return 0;
}

int rollback_pending(const char *name, uint64_t *left_ns)
{
	char directory[PINS_PATH], path[PINS_PATH];

	pins_instance_path(name, directory);
	return find_mark(directory, path, left_ns);
}

int rollback_refuse_pending(const char *name, struct message *message)
{
	char left[UNIT_TEXT];
	uint64_t left_ns;

	if (rollback_pending(name, &left_ns))
		return 0;
	units_duration_text(left_ns / NS_PER_SEC * NS_PER_SEC + NS_PER_SEC, left, sizeof(left));
	message_set(message, -EBUSY, "the change before this one is not confirmed yet");
	return message_hint(message, -EBUSY,
			    "keep it with `weir confirm`, or wait %s until it is undone", left);
}

int before_read(const struct running *running, const struct ruleset *next, struct before *before,
		struct message *message)
{
	int err = running_save_entries(running, next, &before->entries, message);

	if (err)
		return err;
	before->yaml = strndup(running->yaml, running->yaml_length);
	before->yaml_length = running->yaml_length;
	if (before->yaml)
		return 0;
	before_free(before);
	return message_set(message, -ENOMEM, "no memory");
}

void before_free(struct before *before)
{
	saved_entries_free(&before->entries);
	free(before->yaml);
	before->yaml = NULL;
}

static int restore_policy(struct running *running, const struct before *before,
			  struct message *message)
{
	struct problems problems = { 0 };
	struct ruleset *ruleset;
	int err;

	err = config_parse(before->yaml, before->yaml_length, &ruleset, &problems);
	if (err)
		message_set(message, err, "the policy of before can't be read");
	problems_free(&problems);
	if (!err)
		err = running_apply(running, ruleset, false, message);
	if (!err)
		err = running_restore_entries(running, &before->entries, message);
	return err;
}

/* Not every interface of the list need have been attached. */
int before_restore(const struct before *before, struct message *message)
{
	struct running running;
	int err;

	if (before->destroy)
		return instance_destroy(before->name, message);
	err = running_open(before->name, false, &running, message);
	if (err)
		return err;
	for (size_t i = 0; i < before->interface_count; i++)
		instance_detach(&running.instance, before->interfaces[i], NULL);
	if (before->yaml)
		err = restore_policy(&running, before, message);
	running_close(&running);
	return err;
}

static void undo(const struct before *before)
{
	struct message message = { 0 };
	int err = before_restore(before, &message);

	/* another weir may hold the lock, for seconds where it loads a long list */
	for (int i = 1; err == -EBUSY && i < UNDO_TRIES; i++)
		err = before_restore(before, &message);
	openlog("weir", LOG_PID, LOG_DAEMON);
	if (err)
		syslog(LOG_ERR, "instance %s: the unconfirmed change could not be undone: %s",
		       before->name, message.text);
	else
		syslog(LOG_WARNING, "instance %s: the change was not confirmed and is undone",
		       before->name);
}

/* Nothing of the caller's may tie the keeper to a terminal, a pipe or the instance's lock. */
static void detach_keeper(struct instance *instance, int orders)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	instance_close(instance);
	for (int fd = 0; fd < ORDERS; fd++)
		dup2(null, fd);
	dup2(orders, ORDERS);
	close_range(ORDERS + 1, ~0U, 0);
	if (chdir("/"))
		return; /* only keeps a file system busy */
}

/* Until the deadline, or until the mark is gone. */
static void wait_for(const char *mark, uint64_t deadline_ns)
{
	while (kernel_now_ns() < deadline_ns && !access(mark, F_OK)) {
		uint64_t left = deadline_ns - kernel_now_ns();
		struct timespec time = { .tv_nsec = 200000000 };

		if (left < 200000000)
			time.tv_nsec = (long)left;
		nanosleep(&time, NULL);
	}
}

static void keep(struct instance *instance, const struct before *before, int orders,
		 const char *mark, uint64_t deadline_ns)
{
	char order = 's';

	detach_keeper(instance, orders);
	/* the caller's death is no reason to leave the change in force */
	if (read(ORDERS, &order, 1) == 1 && order == 'c')
		_exit(0);
	wait_for(mark, deadline_ns);
	if (!rmdir(mark))
		undo(before);
	_exit(0);
}

int rollback_prepare(struct instance *instance, const struct before *before, uint64_t after_ns,
		     struct rollback *rollback, struct message *message)
{
	uint64_t deadline_ns = kernel_now_ns() + after_ns;
	int orders[2], err;
	pid_t keeper;

	err = make_mark(before->name, deadline_ns, rollback->mark, message);
	if (err)
		return err;
	if (pipe2(orders, O_CLOEXEC)) {
		err = -errno;
		rmdir(rollback->mark);
		return message_set(message, err, "no pipe: %s", strerror(-err));
	}
	keeper = fork();
	if (!keeper) {
		close(orders[1]);
		keep(instance, before, orders[0], rollback->mark, deadline_ns);
	}
	err = keeper < 0 ? -errno : 0;
	close(orders[0]);
	rollback->orders = orders[1];
	if (!err)
		return 0;
	close(orders[1]);
	rmdir(rollback->mark);
	return message_set(message, err, "no process to undo the change: %s", strerror(-err));
}

static void order(struct rollback *rollback, char word)
{
	if (write(rollback->orders, &word, 1) != 1)
		log_warn("the process that undoes the change is gone");
	close(rollback->orders);
}

void rollback_start(struct rollback *rollback)
{
	order(rollback, 's');
}

void rollback_cancel(struct rollback *rollback)
{
	order(rollback, 'c');
	rmdir(rollback->mark);
}

int rollback_confirm(const char *name, uint64_t *left_ns, struct message *message)
{
	char directory[PINS_PATH], path[PINS_PATH];
	uint64_t left = 0;

	pins_instance_path(name, directory);
	if (find_mark(directory, path, &left))
		return message_set(message, -ENOENT, "nothing waits for confirmation");
	if (rmdir(path)) {
		if (errno == ENOENT)
			return message_set(message, -ENOENT, "too late: the change was undone");
		return message_set(message, -errno, "%s can't be removed: %s", path,
				   strerror(errno));
	}
	if (left_ns)
		*left_ns = left;
	return 0;
}
