/* SPDX-License-Identifier: GPL-2.0-only */
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http.h"

enum http_bound {
	CONNECTIONS = 32,
	CONNECTIONS_PER_ADDRESS = 8,
	CONNECTION_SECONDS = 10,
	CONNECTION_BYTES = 16 * 1024,
	WAIT_MS = 1000,
};

struct http_server {
	struct MHD_Daemon *daemon;
	http_page page;
	void *context;
};

union address {
	struct sockaddr any;
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
};

static int parse_port(const char *text, in_port_t *port)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	if (errno || end == text || *end || number < 0 || number > 65535)
		return -EINVAL;
	*port = htons((in_port_t)number);
	return 0;
}

static int parse_host(char *host, union address *address)
{
	size_t length = strlen(host);

	if (length > 2 && host[0] == '[' && host[length - 1] == ']') {
		host[length - 1] = '\0';
		address->ipv6.sin6_family = AF_INET6;
		return inet_pton(AF_INET6, host + 1, &address->ipv6.sin6_addr) == 1 ? 0 : -EINVAL;
	}
	address->ipv4.sin_family = AF_INET;
	return inet_pton(AF_INET, host, &address->ipv4.sin_addr) == 1 ? 0 : -EINVAL;
}

static int parse_address(const char *text, union address *address)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2] = "127.0.0.1";
	in_port_t port;

	memset(address, 0, sizeof(*address));
	if (colon && (size_t)(colon - text) >= sizeof(host))
		return -EINVAL;
	if (colon && colon > text)
		snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	if (parse_port(colon ? colon + 1 : text, &port) || parse_host(host, address))
		return -EINVAL;
	if (address->any.sa_family == AF_INET6)
		address->ipv6.sin6_port = port;
	else
		address->ipv4.sin_port = port;
	return 0;
}

static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned int status,
				 const char *text)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
				"text/plain; charset=utf-8");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result send_page(const struct http_server *server,
				 struct MHD_Connection *connection, const char *path)
{
	const char *accept =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
	struct http_reply reply = { .status = MHD_HTTP_OK, .content_type = "text/plain" };
	struct MHD_Response *response;
	enum MHD_Result result;

	if (server->page(server->context, path, accept, &reply))
		return send_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
				 "The page could not be made; see the exporter's messages.\n");
	response = MHD_create_response_from_buffer(reply.length, reply.body, MHD_RESPMEM_MUST_FREE);
	if (!response) {
		free(reply.body);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply.content_type);
	result = MHD_queue_response(connection, reply.status, response);
	MHD_destroy_response(response);
	return result;
}

/* microhttpd calls this once for the headers and again when the (empty) body is complete. */
static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *path,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **seen)
{
	static int headers_seen;

	(void)version;
	(void)upload;
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return send_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET or HEAD.\n");
	if (!*seen) {
		*seen = &headers_seen;
		return MHD_YES;
	}
	if (*upload_size) {
		*upload_size = 0;
		return MHD_YES;
	}
	return send_page(context, connection, path);
}

static struct MHD_Daemon *start(struct http_server *server, const union address *address)
{
	unsigned int flags = MHD_USE_EPOLL;

	if (address->any.sa_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	return MHD_start_daemon(
		flags, 0, NULL, NULL, answer, server, MHD_OPTION_SOCK_ADDR, &address->any,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CONNECTIONS,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned int)CONNECTIONS_PER_ADDRESS,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)CONNECTION_SECONDS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_END);
}

int http_listen(const char *address, http_page page, void *context, struct http_server **server,
		struct message *message)
{
	struct http_server *made;
	union address parsed;
	int err;

	if (parse_address(address, &parsed)) {
		message_set(message, -EINVAL, "'%s' is not an address to listen on", address);
		return message_hint(message, -EINVAL,
				    "write ADDR:PORT, such as 127.0.0.1:9811 or [::1]:9811");
	}
	made = calloc(1, sizeof(*made));
	if (!made)
		return message_set(message, -ENOMEM, "no memory for the server");
	made->page = page;
	made->context = context;
	errno = 0;
	made->daemon = start(made, &parsed);
	if (!made->daemon) {
		err = errno ? -errno : -EIO;
		free(made);
		return message_set(message, err, "cannot listen on %s: %s", address,
				   strerror(-err));
	}
	*server = made;
	return 0;
}

unsigned int http_port(const struct http_server *server)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);

	return info ? info->port : 0;
}

/* Wakes at least every WAIT_MS: a signal just before the wait must not be missed for long. */
int http_serve(struct http_server *server, const volatile sig_atomic_t *stop)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd wait = { .events = POLLIN };

	if (!info)
		return -EIO;
	wait.fd = info->epoll_fd;
	while (!*stop) {
		MHD_UNSIGNED_LONG_LONG timeout = WAIT_MS;

		if (MHD_get_timeout(server->daemon, &timeout) != MHD_YES || timeout > WAIT_MS)
			timeout = WAIT_MS;
		if (poll(&wait, 1, (int)timeout) < 0 && errno != EINTR)
			return -errno;
		if (MHD_run(server->daemon) != MHD_YES)
			return -EIO;
	}
	return 0;
}

void http_close(struct http_server *server)
{
	if (!server)
		return;
	MHD_stop_daemon(server->daemon);
	free(server);
}
