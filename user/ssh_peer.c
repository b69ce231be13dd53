/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ssh_peer.h"

enum {
	PARENTS_MOST = 16,
	ENVIRON_MOST = 128 * 1024,
};

/* `ADDRESS PORT ADDRESS PORT`, a link-local one with %INTERFACE behind. */
static bool read_peer(const char *text, struct prefix *address)
{
	char first[PREFIX_TEXT];

	snprintf(first, sizeof(first), "%.*s", (int)strcspn(text, " %"), text);
	return !units_prefix(first, address, NULL);
}

static bool peer_of_variables(const char *text, size_t length, struct prefix *address)
{
	static const char *const names[] = { "SSH_CONNECTION=", "SSH_CLIENT=" };

	for (const char *at = text; at < text + length; at += strlen(at) + 1)
		for (size_t i = 0; i < 2; i++)
			if (!strncmp(at, names[i], strlen(names[i])))
				return read_peer(at + strlen(names[i]), address);
	return false;
}

static size_t read_process(pid_t pid, const char *name, char *to, size_t size)
{
	char path[64];
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	file = fopen(path, "re");
	if (!file)
		return 0;
	length = fread(to, 1, size - 1, file);
	to[length] = '\0';
	fclose(file);
	return length;
}

/* The fourth field of stat; the second, a name in brackets, may hold blanks and brackets. */
static pid_t parent_of(pid_t pid)
{
	char text[512], *end;
	long parent;

	if (!read_process(pid, "stat", text, sizeof(text)))
		return 0;
	end = strrchr(text, ')');
	if (!end || strlen(end) < 5)
		return 0;
	parent = strtol(end + 4, NULL, 10);
	return parent > 0 ? (pid_t)parent : 0;
}

bool ssh_peer(struct prefix *address)
{
	const char *own = getenv("SSH_CONNECTION");
	pid_t pid = getppid();
	bool found = false;
	char *text;

	if (!own)
		own = getenv("SSH_CLIENT");
	if (own)
		return read_peer(own, address);
	text = malloc(ENVIRON_MOST);
	for (int i = 0; text && !found && pid > 1 && i < PARENTS_MOST; i++) {
		size_t length = read_process(pid, "environ", text, ENVIRON_MOST);

		found = peer_of_variables(text, length, address);
		pid = parent_of(pid);
	}
	free(text);
	return found;
}
