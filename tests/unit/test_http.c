/* SPDX-License-Identifier: GPL-2.0-only */
/* The web server over a real loopback socket, by hand-written requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <errno.h>
#include <pthread.h>
#include <arpa/inet.h>
#include <cmocka.h>

#include "../../user/http.h"

static volatile sig_atomic_t stop;
static struct http_server *server;

static int page(void *context, const char *path, const char *accept, struct http_reply *reply)
{
	int length;

	if (!strcmp(path, "/broken"))
		return -EIO;
	length = asprintf(&reply->body, "%s %s %s", (const char *)context, path,
			  accept ? accept : "-");
	if (length < 0)
		return -ENOMEM;
	reply->length = (size_t)length;
	reply->content_type = "text/x-test";
	return 0;
}

static void *serve(void *unused)
{
	(void)unused;
	http_serve(server, &stop);
	return NULL;
}

static pthread_t thread;

static int start(void **state)
{
	(void)state;
	if (http_listen("127.0.0.1:0", page, (void *)"hello", &server, NULL))
		return -1;
	return pthread_create(&thread, NULL, serve, NULL);
}

static int finish(void **state)
{
	(void)state;
	stop = 1;
	pthread_join(thread, NULL);
	http_close(server);
	return 0;
}

static void exchange(const char *request, char *answer, size_t size)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((in_port_t)http_port(server)),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	size_t length = 0;
	ssize_t got;

	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(write(fd, request, strlen(request)), (ssize_t)strlen(request));
	while ((got = read(fd, answer + length, size - 1 - length)) > 0)
		length += (size_t)got;
	answer[length] = '\0';
	close(fd);
}

#define CLOSE "Host: x\r\nConnection: close\r\n\r\n"

static void get_reaches_the_page(void **state)
{
	char answer[2048];

	(void)state;
	exchange("GET /metrics HTTP/1.1\r\nAccept: a/b;q=1\r\n" CLOSE, answer, sizeof(answer));
	assert_non_null(strstr(answer, "HTTP/1.1 200"));
	assert_non_null(strstr(answer, "Content-Type: text/x-test\r\n"));
	assert_non_null(strstr(answer, "\r\n\r\nhello /metrics a/b;q=1"));
}

static void head_has_no_body(void **state)
{
	char answer[2048];

	(void)state;
	exchange("HEAD / HTTP/1.1\r\n" CLOSE, answer, sizeof(answer));
	assert_non_null(strstr(answer, "HTTP/1.1 200"));
	assert_null(strstr(answer, "hello"));
}

static void other_methods_are_refused(void **state)
{
	char answer[2048];

	(void)state;
	exchange("POST / HTTP/1.1\r\nContent-Length: 3\r\n" CLOSE "abc", answer, sizeof(answer));
	assert_non_null(strstr(answer, "HTTP/1.1 405"));
	assert_non_null(strstr(answer, "Allow: GET, HEAD"));
}

static void failure_of_the_page_is_500(void **state)
{
	char answer[2048];

	(void)state;
	exchange("GET /broken HTTP/1.1\r\n" CLOSE, answer, sizeof(answer));
	assert_non_null(strstr(answer, "HTTP/1.1 500"));
}

/* A request that never ends must not take memory without end. */
static void endless_header_is_cut_off(void **state)
{
	static char request[64 * 1024];
	char answer[2048];

	(void)state;
	memset(request, 'a', sizeof(request) - 1);
	memcpy(request, "GET / HTTP/1.1\r\nX: ", 19);
	exchange(request, answer, sizeof(answer));
	assert_null(strstr(answer, "HTTP/1.1 200"));
}

static void addresses(void **state)
{
	static const char *const wrong[] = {
		"",	      "x",    "127.0.0.1:", "127.0.0.1:65536", "1.2.3:80",
		"::1:9811:x", "[::1", "[::1]:-1",   "localhost:",      "9811x"
	};
	struct http_server *other;
	struct message message;
	char taken[32];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(http_listen(wrong[i], page, NULL, &other, &message), -EINVAL);
	snprintf(taken, sizeof(taken), "127.0.0.1:%u", http_port(server));
	assert_int_equal(http_listen(taken, page, NULL, &other, &message), -EADDRINUSE);
	assert_int_equal(http_listen("0", page, NULL, &other, &message), 0);
	assert_true(http_port(other) > 0);
	http_close(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(get_reaches_the_page),
		cmocka_unit_test(head_has_no_body),
		cmocka_unit_test(other_methods_are_refused),
		cmocka_unit_test(failure_of_the_page_is_500),
		cmocka_unit_test(endless_header_is_cut_off),
		cmocka_unit_test(addresses),
	};

	return cmocka_run_group_tests(tests, start, finish);
}
