/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A Redis server: its URL, one connection that comes back by itself, and a
 * stream that many write to and each reads on from where it was. Every wait is
 * bounded. Must not know what the stream carries.
 */
#ifndef WEIR_REDIS_H
#define WEIR_REDIS_H

#include <stddef.h>
#include <stdint.h>

#include "log.h"

enum redis_size {
	REDIS_ID = 48,	   /* of an entry: two numbers */
	REDIS_FIELDS = 16, /* of an entry; a reader leaves out what is more */
};

struct redis_url {
	char host[256];
	uint16_t port;
	char path[108]; /* of a unix socket; empty: TCP */
	char user[128];
	char password[256];
	unsigned int db;
};

/*
 * redis://[[USER]:PASSWORD@]HOST[:PORT][/DB], an IPv6 address in brackets, or
 * unix://[[USER]:PASSWORD@]/PATH[?db=DB]. User and password may have %-escapes. -EINVAL with
 * *message, which does not show the password; *url is untouched then.
 */
int redis_url_parse(const char *text, struct redis_url *url, struct message *message);

/* The URL for people, without user and password. */
char *redis_url_text(const struct redis_url *url, char *to, size_t size);

struct redis;

/* No connection yet. timeout_ms: for connecting, and for each answer. NULL: no memory. */
struct redis *redis_new(const struct redis_url *url, unsigned int timeout_ms);
void redis_free(struct redis *redis);

/*
 * See to it that there is a connection. 0: there was one; 1: a new one; -EAGAIN: the last attempt
 * failed too short a time before now_ns; or -errno with *message. What fails below ends the
 * connection.
 */
int redis_ready(struct redis *redis, uint64_t now_ns, struct message *message);

struct redis_field {
	const char *name;
	const char *value;
	size_t length; /* of the value */
};

/* At most `most` entries, about, are kept; `seconds` after the last one nothing is left. */
struct redis_stream {
	const char *name;
	unsigned int most;
	unsigned int seconds;
};

/* Append an entry; `id` receives its name. */
int redis_append(struct redis *redis, const struct redis_stream *stream,
		 const struct redis_field *fields, size_t count, char id[REDIS_ID],
		 struct message *message);

/* A nonzero return ends the reading and is returned. */
typedef int (*redis_visit)(const char *id, const struct redis_field *fields, size_t count,
			   void *context);

/* The entries behind `after`, which moves on to the last one visited. */
int redis_read(struct redis *redis, const struct redis_stream *stream, char after[REDIS_ID],
	       redis_visit visit, void *context, struct message *message);

/* When an entry was appended: ms by the server's clock. */
uint64_t redis_id_ms(const char *id);

#endif
