/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small web server for pages that are made on request: GET and HEAD, bounded
 * in connections, memory and time. Knows paths and the Accept header; must not
 * know what the pages say.
 */
#ifndef WEIR_HTTP_H
#define WEIR_HTTP_H

#include <signal.h>
#include <stddef.h>

#include "log.h"

struct http_server;

/* What the page maker hands back. body is malloc'ed and becomes the server's. */
struct http_reply {
	unsigned int status;
	const char *content_type; /* static */
	char *body;
	size_t length;
};

/* Fill *reply. 0 or -errno: answered with 500. accept may be NULL. */
typedef int (*http_page)(void *context, const char *path, const char *accept,
			 struct http_reply *reply);

/*
 * Listen on `address`: "ADDR:PORT", "[ADDR6]:PORT", ":PORT" or "PORT" (loopback). Port 0: any
 * free one. 0 or -errno with *message.
 */
int http_listen(const char *address, http_page page, void *context, struct http_server **server,
		struct message *message);
unsigned int http_port(const struct http_server *server);

/* Serve until *stop; a signal ends the wait. 0 or -errno. */
int http_serve(struct http_server *server, const volatile sig_atomic_t *stop);
void http_close(struct http_server *server);

#endif
