/* SPDX-License-Identifier: GPL-2.0-only */
/* URLs of Redis servers; and servers that answer not at all, or nonsense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <errno.h>
#include <pthread.h>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <cmocka.h>

#include "../../user/redis.h"

static struct redis_url parsed(const char *text)
{
	struct redis_url url;
	struct message message = { 0 };

	if (redis_url_parse(text, &url, &message))
		fail_msg("%s: %s", text, message.text);
	return url;
}

static void assert_refused(const char *text, const char *why)
{
	struct redis_url url = { .port = 7 };
	struct message message = { 0 };

	assert_int_equal(redis_url_parse(text, &url, &message), -EINVAL);
	assert_int_equal(url.port, 7);
	if (!strstr(message.text, why))
		fail_msg("%s: \"%s\" does not say \"%s\"", text, message.text, why);
	assert_true(*message.hint);
}

static void a_host_is_enough(void **unused)
{
	struct redis_url url = parsed("redis://cache.example");

	(void)unused;
	assert_string_equal(url.host, "cache.example");
	assert_int_equal(url.port, 6379);
	assert_int_equal(url.db, 0);
	assert_string_equal(url.password, "");
	assert_string_equal(url.path, "");
}

static void all_parts_of_a_url(void **unused)
{
	struct redis_url url = parsed("redis://weir:p%40ss%3a%2F@192.0.2.1:6380/3");

	(void)unused;
	assert_string_equal(url.user, "weir");
	assert_string_equal(url.password, "p@ss:/");
	assert_string_equal(url.host, "192.0.2.1");
	assert_int_equal(url.port, 6380);
	assert_int_equal(url.db, 3);
}

static void a_password_may_hold_an_at_sign(void **unused)
{
	struct redis_url url = parsed("redis://:a@b@host/");

	(void)unused;
	assert_string_equal(url.user, "");
	assert_string_equal(url.password, "a@b");
	assert_string_equal(url.host, "host");
}

static void ipv6_in_brackets(void **unused)
{
	struct redis_url url = parsed("redis://[2001:db8::1]:7000/1");
	char text[300];

	(void)unused;
	assert_string_equal(url.host, "2001:db8::1");
	assert_int_equal(url.port, 7000);
	assert_string_equal(redis_url_text(&url, text, sizeof(text)), "redis://[2001:db8::1]:7000");
	assert_int_equal(parsed("redis://[::1]").port, 6379);
}

static void a_socket_by_its_path(void **unused)
{
	struct redis_url url = parsed("unix:///run/redis/redis.sock");
	char text[300];

	(void)unused;
	assert_string_equal(url.path, "/run/redis/redis.sock");
	assert_int_equal(url.db, 0);
	url = parsed("unix://:secret@/run/r.sock?db=12");
	assert_string_equal(url.path, "/run/r.sock");
	assert_string_equal(url.password, "secret");
	assert_int_equal(url.db, 12);
	assert_string_equal(redis_url_text(&url, text, sizeof(text)), "unix:///run/r.sock");
}

static void what_is_no_url_is_refused(void **unused)
{
	char longer[400];

	(void)unused;
	assert_refused("", "begins with");
	assert_refused("localhost:6379", "begins with");
	assert_refused("http://localhost", "begins with");
	assert_refused("redis://", "host is missing");
	assert_refused("redis://:6379", "host is missing");
	assert_refused("redis://host:", "port");
	assert_refused("redis://host:0", "port");
	assert_refused("redis://host:65536", "port");
	assert_refused("redis://host:6379x", "port");
	assert_refused("redis://host:-1", "port");
	assert_refused("redis://host/zero", "database");
	assert_refused("redis://host/1/2", "database");
	assert_refused("redis://host?db=1", "only a database");
	assert_refused("redis://[::1", "]");
	assert_refused("redis://[]", "host is missing");
	assert_refused("redis://[::1]6379", "port");
	assert_refused("redis://secret@host", "`:` is missing");
	assert_refused("redis://:%zz@host", "escape");
	assert_refused("redis://:%0@host", "escape");
	assert_refused("redis://:a%00b@host", "escape");
	assert_refused("unix://run/redis.sock", "from the root");
	assert_refused("unix:///", "from the root");
	assert_refused("unix:///run/r.sock?x=1", "?db=N");
	memset(longer, 'h', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	memcpy(longer, "redis://", 8);
	assert_refused(longer, "too long");
	memcpy(longer, "unix:///", 8);
	assert_refused(longer, "too long");
}

static void tls_is_refused_with_a_way_out(void **unused)
{
	struct redis_url url;
	struct message message = { 0 };

	(void)unused;
	assert_int_equal(redis_url_parse("rediss://host:6380", &url, &message), -EINVAL);
	assert_non_null(strstr(message.hint, "stunnel"));
	assert_non_null(strstr(message.hint, "unix://"));
}

static void a_refusal_keeps_the_password_to_itself(void **unused)
{
	struct redis_url url;
	struct message message = { 0 };

	(void)unused;
	redis_url_parse("redis://:hunter2@host:none", &url, &message);
	assert_null(strstr(message.text, "hunter2"));
	assert_null(strstr(message.hint, "hunter2"));
}

/* ---- servers that are none ---- */

/* A listening socket; *url leads there. */
static int listen_somewhere(struct redis_url *url)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
	*url = (struct redis_url){ .host = "127.0.0.1", .port = ntohs(address.sin_port) };
	return fd;
}

/* A server that says the same to everybody, at once. */
struct parrot {
	struct redis_url url;
	const char *words;
	int fd;
	pthread_t thread;
};

static void *speak(void *context)
{
	const struct parrot *parrot = context;
	int peer = accept(parrot->fd, NULL, NULL);
	char heard[256];

	send(peer, parrot->words, strlen(parrot->words), MSG_NOSIGNAL);
	while (recv(peer, heard, sizeof(heard), 0) > 0)
		;
	close(peer);
	return NULL;
}

static void parrot_start(struct parrot *parrot, const char *words)
{
	parrot->fd = listen_somewhere(&parrot->url);
	parrot->words = words;
	assert_int_equal(pthread_create(&parrot->thread, NULL, speak, parrot), 0);
}

/* After its client is gone. */
static void parrot_stop(struct parrot *parrot)
{
	pthread_join(parrot->thread, NULL);
	close(parrot->fd);
}

static const struct redis_stream stream = { "stream", 10, 10 };

static int append(struct redis *redis, char id[REDIS_ID], struct message *message)
{
	const struct redis_field field = { "name", "value", 5 };

	return redis_append(redis, &stream, &field, 1, id, message);
}

static void who_does_not_answer_is_not_waited_for(void **unused)
{
	struct redis_url url;
	int fd = listen_somewhere(&url);
	struct redis *redis = redis_new(&url, 100);
	struct message message = { 0 };
	char id[REDIS_ID];

	(void)unused;
	assert_true(redis_ready(redis, 1, &message) < 0);
	assert_non_null(strstr(message.text, "redis://127.0.0.1:"));
	assert_int_equal(append(redis, id, &message), -EINVAL); /* no connection */
	redis_free(redis);
	close(fd);
}

static void who_speaks_another_protocol_is_found_out(void **unused)
{
	struct parrot parrot;
	struct redis *redis;
	struct message message = { 0 };

	(void)unused;
	parrot_start(&parrot, "HTTP/1.1 400 Bad Request\r\n\r\n");
	redis = redis_new(&parrot.url, 1000);
	assert_true(redis_ready(redis, 1, &message) < 0);
	assert_non_null(strstr(message.text, "Protocol error"));
	redis_free(redis);
	parrot_stop(&parrot);
}

static void a_missing_password_is_said(void **unused)
{
	struct parrot parrot;
	struct redis *redis;
	struct message message = { 0 };

	(void)unused;
	parrot_start(&parrot, "-NOAUTH Authentication required.\r\n");
	redis = redis_new(&parrot.url, 1000);
	assert_int_equal(redis_ready(redis, 1, &message), -EPROTO);
	assert_non_null(strstr(message.text, "NOAUTH"));
	assert_non_null(strstr(message.hint, "REDISCLI_AUTH"));
	redis_free(redis);
	parrot_stop(&parrot);
}

static void an_error_ends_the_connection(void **unused)
{
	struct parrot parrot;
	struct redis *redis;
	struct message message = { 0 };
	char id[REDIS_ID];

	(void)unused;
	parrot_start(&parrot, "+PONG\r\n-OOM command not allowed\r\n");
	redis = redis_new(&parrot.url, 1000);
	assert_int_equal(redis_ready(redis, 1, &message), 1);
	assert_int_equal(redis_ready(redis, 1, &message), 0);
	assert_int_equal(append(redis, id, &message), -EPROTO);
	assert_non_null(strstr(message.text, "OOM"));
	assert_int_equal(append(redis, id, &message), -EINVAL);
	redis_free(redis);
	parrot_stop(&parrot);
}

static int count_fields(const char *id, const struct redis_field *fields, size_t count,
			void *context)
{
	size_t *sum = context;

	assert_string_equal(id, "5-1");
	assert_string_equal(fields[0].name, "a");
	assert_memory_equal(fields[0].value, "1\n2", 3);
	*sum += count;
	return 0;
}

static void an_entry_is_read(void **unused)
{
	struct parrot parrot;
	struct redis *redis;
	struct message message = { 0 };
	char id[REDIS_ID];
	size_t sum = 0;

	(void)unused;
	parrot_start(&parrot,
		     "+PONG\r\n$3\r\n4-0\r\n:1\r\n*1\r\n*2\r\n$6\r\nstream\r\n*1\r\n"
		     "*2\r\n$3\r\n5-1\r\n*4\r\n$1\r\na\r\n$3\r\n1\n2\r\n$1\r\nb\r\n$0\r\n\r\n");
	redis = redis_new(&parrot.url, 1000);
	assert_int_equal(redis_ready(redis, 1, &message), 1);
	assert_int_equal(append(redis, id, &message), 0);
	assert_string_equal(id, "4-0");
	assert_int_equal(redis_read(redis, &stream, id, count_fields, &sum, &message), 0);
	assert_string_equal(id, "5-1");
	assert_int_equal(sum, 2);
	redis_free(redis);
	parrot_stop(&parrot);
}

static void an_answer_of_another_shape_is_an_error(void **unused)
{
	static const char *const answers[] = {
		"+PONG\r\n:7\r\n",
		"+PONG\r\n*1\r\n:7\r\n",
		"+PONG\r\n*1\r\n*2\r\n$1\r\ns\r\n:7\r\n",
		"+PONG\r\n*1\r\n*2\r\n$1\r\ns\r\n*1\r\n:7\r\n",
		"+PONG\r\n*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n:7\r\n*0\r\n",
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct message message = { 0 };
		struct parrot parrot;
		struct redis *redis;
		char id[REDIS_ID] = "0-0";

		parrot_start(&parrot, answers[i]);
		redis = redis_new(&parrot.url, 1000);
		assert_int_equal(redis_ready(redis, 1, &message), 1);
		assert_int_equal(redis_read(redis, &stream, id, count_fields, NULL, &message),
				 -EPROTO);
		assert_string_equal(id, "0-0");
		redis_free(redis);
		parrot_stop(&parrot);
	}
}

/* 0.5 s, then twice as long each time, at most 16 s. */
static void attempts_grow_rarer(void **unused)
{
	struct redis_url url;
	struct message message = { 0 };
	struct redis *redis;
	uint64_t now = 1000, wait = 500000000;
	int fd = listen_somewhere(&url);

	(void)unused;
	close(fd); /* nobody listens there */
	redis = redis_new(&url, 100);
	for (int i = 0; i < 8; i++) {
		int err = redis_ready(redis, now, &message);

		assert_true(err < 0 && err != -EAGAIN);
		assert_int_equal(redis_ready(redis, now + wait - 1, &message), -EAGAIN);
		now += wait;
		wait = wait < 8000000000 ? 2 * wait : 16000000000;
	}
	redis_free(redis);
	redis_free(NULL);
}

static void an_id_begins_with_its_time(void **unused)
{
	(void)unused;
	assert_int_equal(redis_id_ms("1764547200123-7"), 1764547200123);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_is_enough),
		cmocka_unit_test(all_parts_of_a_url),
		cmocka_unit_test(a_password_may_hold_an_at_sign),
		cmocka_unit_test(ipv6_in_brackets),
		cmocka_unit_test(a_socket_by_its_path),
		cmocka_unit_test(what_is_no_url_is_refused),
		cmocka_unit_test(tls_is_refused_with_a_way_out),
		cmocka_unit_test(a_refusal_keeps_the_password_to_itself),
		cmocka_unit_test(who_does_not_answer_is_not_waited_for),
		cmocka_unit_test(who_speaks_another_protocol_is_found_out),
		cmocka_unit_test(a_missing_password_is_said),
		cmocka_unit_test(an_error_ends_the_connection),
		cmocka_unit_test(an_entry_is_read),
		cmocka_unit_test(an_answer_of_another_shape_is_an_error),
		cmocka_unit_test(attempts_grow_rarer),
		cmocka_unit_test(an_id_begins_with_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
