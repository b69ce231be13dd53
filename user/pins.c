/* SPDX-License-Identifier: GPL-2.0-only */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/magic.h>

#include "../bpf/abi.h"
#include "pins.h"

#define GROUP	  "weir"
#define HALF_MADE "~" /* behind the name of what is not in its place yet */

enum lock_wait {
	LOCK_TRIES = 100,
	LOCK_PAUSE_NS = 100000000,
};

int pins_check_name(const char *name, struct message *message)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '-' && name[i] != '_')
			length = 0;
	if (length && length < INSTANCE_NAME && name[0] != '-')
		return 0;
	message_set(message, -EINVAL, "'%.64s' cannot be the name of an instance", name);
	return message_hint(message, -EINVAL, "1 to %d letters, digits, - and _",
			    INSTANCE_NAME - 1);
}

void pins_instance_path(const char *name, char path[PINS_PATH])
{
	pins_path(PINS_ROOT, name, path);
}

void pins_path(const char *directory, const char *pin, char path[PINS_PATH])
{
	snprintf(path, PINS_PATH, "%s/%s", directory, pin);
}

static bool is_bpffs(void)
{
	struct statfs fs;

	return !statfs(PINS_MOUNT, &fs) && fs.f_type == BPF_FS_MAGIC;
}

static int mount_bpffs(struct message *message)
{
	int err;

	if (!mount("bpf", PINS_MOUNT, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RELATIME,
		   "mode=0755"))
		return 0;
	err = -errno;
	message_set(message, err, "cannot mount bpffs on " PINS_MOUNT ": %s", strerror(-err));
	if (err == -ENODEV)
		return message_hint(message, err,
				    "this kernel is built without CONFIG_BPF_SYSCALL");
	if (err == -EPERM)
		return message_hint(message, err,
				    "run as root once, or mount -t bpf bpf " PINS_MOUNT);
	return message_hint(message, err, "is /sys mounted?");
}

/* The group that may read, or -1. */
static gid_t reader_group(void)
{
	struct group *group = getgrnam(GROUP);

	return group ? group->gr_gid : (gid_t)-1;
}

/* Only a directory that is new gets its rights: those an administrator set are kept. */
int pins_make_directory(const char *path, struct message *message)
{
	gid_t group = reader_group();
	int err;

	if (mkdir(path, 0700)) {
		err = -errno;
		if (err == -EEXIST)
			return 0;
		return message_set(message, err, "cannot make %s: %s", path, strerror(-err));
	}
	if (group != (gid_t)-1 && (chown(path, (uid_t)-1, group) || chmod(path, 0750))) {
		err = -errno;
		rmdir(path);
		return message_set(message, err, "cannot give %s to the group " GROUP ": %s", path,
				   strerror(-err));
	}
	return 0;
}

int pins_root_open(struct pins_root *root, struct message *message)
{
	int err;

	*root = (struct pins_root){ .lock = -1 };
	if (!is_bpffs()) {
		err = mount_bpffs(message);
		if (err)
			return err;
		root->mounted = true;
	}
	err = pins_make_directory(PINS_ROOT, message);
	if (!err) {
		root->lock = pins_lock(PINS_ROOT, message);
		err = root->lock < 0 ? root->lock : 0;
	}
	if (err)
		pins_root_undo(root);
	return err;
}

void pins_root_close(struct pins_root *root)
{
	if (root->lock >= 0)
		close(root->lock);
	root->lock = -1;
}

/* rmdir and umount refuse what other instances use: no need to ask first. */
void pins_root_undo(struct pins_root *root)
{
	rmdir(PINS_ROOT);
	pins_root_close(root);
	if (root->mounted)
		umount(PINS_MOUNT);
}

/* The holder may have removed the directory while we waited for it. */
static bool still_there(int lock, const char *directory)
{
	struct stat held, there;

	return !fstat(lock, &held) && !stat(directory, &there) && held.st_dev == there.st_dev &&
	       held.st_ino == there.st_ino;
}

int pins_lock(const char *directory, struct message *message)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };
	int lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = lock < 0 ? -errno : 0;

	for (int i = 0; !err && flock(lock, LOCK_EX | LOCK_NB); i++) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			err = -errno;
		else if (i == LOCK_TRIES)
			err = -EBUSY;
		else
			nanosleep(&pause, NULL);
	}
	if (!err && !still_there(lock, directory))
		err = -ENOENT;
	if (!err)
		return lock;
	if (lock >= 0)
		close(lock);
	if (err == -EBUSY)
		return message_set(message, err, "another weir is changing %s", directory);
	return message_set(message, err, "cannot lock %s: %s", directory, strerror(-err));
}

/* Marks that a verb left are empty directories. */
static int remove_pin(const char *pin, void *context)
{
	char path[PINS_PATH];

	pins_path(context, pin, path);
	remove(path);
	return 0;
}

int pins_remove_directory(const char *path)
{
	char directory[PINS_PATH];

	snprintf(directory, sizeof(directory), "%s", path);
	pins_each(directory, "", remove_pin, directory);
	if (rmdir(directory) && errno != ENOENT)
		return -errno;
	return 0;
}

static int give_to_readers(const char *path)
{
	gid_t group = reader_group();

	if (group == (gid_t)-1)
		return 0;
	return chown(path, (uid_t)-1, group) || chmod(path, 0640) ? -errno : 0;
}

int pins_put(int fd, const char *directory, const char *pin, enum pins_right right,
	     struct message *message)
{
	char path[PINS_PATH], made[PINS_PATH + sizeof(HALF_MADE)];
	int err;

	pins_path(directory, pin, path);
	snprintf(made, sizeof(made), "%s%s", path, HALF_MADE);
	unlink(made);
	err = bpf_obj_pin(fd, made);
	if (!err)
		err = right == PINS_GROUP ? give_to_readers(made) : 0;
	if (!err && rename(made, path))
		err = -errno;
	if (!err)
		return 0;
	unlink(made);
	return message_set(message, err, "cannot pin %s: %s", path, strerror(-err));
}

void pins_remove(const char *directory, const char *pin)
{
	char path[PINS_PATH];

	pins_path(directory, pin, path);
	unlink(path);
}

bool pins_exists(const char *directory, const char *pin)
{
	char path[PINS_PATH];

	pins_path(directory, pin, path);
	return !access(path, F_OK);
}

int pins_each(const char *directory, const char *prefix,
	      int (*visit)(const char *pin, void *context), void *context)
{
	DIR *stream = opendir(directory);
	struct dirent *entry;
	int err = 0;

	if (!stream)
		return -errno;
	while (!err && (entry = readdir(stream)))
		if (entry->d_name[0] != '.' && !strncmp(entry->d_name, prefix, strlen(prefix)))
			err = visit(entry->d_name, context);
	closedir(stream);
	return err;
}
