/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <sys/stat.h>

#include "entries.h"
#include "reader.h"

enum {
	TRIES = 5, /* an apply may come between reading the names and the generation */
};

static ino_t pins_inode(const struct instance *instance)
{
	struct stat status;

	return stat(instance->path, &status) ? 0 : status.st_ino;
}

static uint32_t generation_of(const struct instance *instance)
{
	struct live live = { 0 };

	live_read(instance, &live);
	return live.generation;
}

static bool up_to_date(const struct reader *reader)
{
	const struct instance *instance = &reader->running.instance;

	return reader->open && pins_inode(instance) == reader->pins &&
	       generation_of(instance) == reader->generation;
}

static int reopen(struct reader *reader, struct message *message)
{
	int err;

	reader_close(reader);
	err = running_open(reader->name, true, &reader->running, message);
	if (err)
		return err;
	reader->open = true;
	reader->pins = pins_inode(&reader->running.instance);
	reader->generation = generation_of(&reader->running.instance);
	return 0;
}

int reader_refresh(struct reader *reader, struct message *message)
{
	for (int i = 0; i < TRIES && !up_to_date(reader); i++) {
		int err = reopen(reader, message);

		if (err)
			return err;
	}
	return 0;
}

void reader_close(struct reader *reader)
{
	if (reader->open)
		running_close(&reader->running);
	reader->open = false;
}
