/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <hiredis/hiredis.h>

#include "redis.h"

#define BACKOFF_FIRST_NS 500000000ULL
#define BACKOFF_MOST_NS	 16000000000ULL

enum {
	PORT_DEFAULT = 6379,
	DB_MOST = 1 << 20,
	READ_MOST = 64, /* entries an answer */
};
#define READ_MOST_TEXT "64"

/* ---- the URL ---- */

static int url_bad(struct message *message, const char *what)
{
	message_set(message, -EINVAL, "the URL of the Redis server: %s", what);
	return message_hint(message, -EINVAL,
			    "redis://:PASSWORD@HOST:6379/0, or unix:///run/redis/redis.sock");
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Copy [from, from + length) without its %-escapes; false where it is no text or too long. */
static bool unescape(const char *from, size_t length, char *to, size_t size)
{
	size_t at = 0;

	for (size_t i = 0; i < length; i++) {
		char c = from[i];

		if (c == '%') {
			int high = i + 2 < length ? hex_digit(from[i + 1]) : -1;
			int low = high < 0 ? -1 : hex_digit(from[i + 2]);

			if (low < 0 || !(high || low))
				return false;
			c = (char)(high << 4 | low);
			i += 2;
		}
		if (at + 1 >= size)
			return false;
		to[at++] = c;
	}
	to[at] = '\0';
	return true;
}

static bool copy(const char *from, size_t length, char *to, size_t size)
{
	if (length >= size)
		return false;
	memcpy(to, from, length);
	to[length] = '\0';
	return true;
}

/* Digits alone, in [least, most]. */
static bool number(const char *text, size_t length, unsigned long least, unsigned long most,
		   unsigned long *value)
{
	unsigned long sum = 0;

	if (!length || length > 9 || strspn(text, "0123456789") < length)
		return false;
	for (size_t i = 0; i < length; i++)
		sum = 10 * sum + (unsigned long)(text[i] - '0');
	if (sum < least || sum > most)
		return false;
	*value = sum;
	return true;
}

/* [[USER]:PASSWORD@] at the front of *rest, which moves behind it. */
static int read_login(const char **rest, size_t span, struct redis_url *url,
		      struct message *message)
{
	const char *text = *rest, *at = memrchr(text, '@', span), *colon;

	if (!at)
		return 0;
	colon = memchr(text, ':', (size_t)(at - text));
	if (!colon)
		return url_bad(message, "a `:` is missing before the password");
	if (!unescape(text, (size_t)(colon - text), url->user, sizeof(url->user)) ||
	    !unescape(colon + 1, (size_t)(at - colon - 1), url->password, sizeof(url->password)))
		return url_bad(message, "user or password is too long or has a wrong %-escape");
	*rest = at + 1;
	return 0;
}

static int read_db(const char *text, struct redis_url *url, struct message *message)
{
	unsigned long db = 0;

	if (*text && !number(text, strlen(text), 0, DB_MOST, &db))
		return url_bad(message, "the database is not a number");
	url->db = (unsigned int)db;
	return 0;
}

static int read_host(const char *text, size_t length, struct redis_url *url,
		     struct message *message)
{
	const char *end = *text == '[' ? memchr(text, ']', length) : memchr(text, ':', length);
	const char *host = *text == '[' ? text + 1 : text;
	const char *behind = text + length;
	unsigned long port = PORT_DEFAULT;

	if (*text == '[' && !end)
		return url_bad(message, "a `]` is missing");
	if (!end)
		end = behind;
	if (end == host || !copy(host, (size_t)(end - host), url->host, sizeof(url->host)))
		return url_bad(message, "the host is missing or too long");
	if (*text == '[')
		end++;
	if (end < behind &&
	    (*end != ':' || !number(end + 1, (size_t)(behind - end - 1), 1, 65535, &port)))
		return url_bad(message, "the port is not a number from 1 to 65535");
	url->port = (uint16_t)port;
	return 0;
}

static int read_tcp(const char *text, struct redis_url *url, struct message *message)
{
	size_t span = strcspn(text, "/?#");
	int err = read_login(&text, span, url, message);

	if (err)
		return err;
	span = strcspn(text, "/?#");
	err = read_host(text, span, url, message);
	if (err)
		return err;
	if (text[span] && text[span] != '/')
		return url_bad(message, "only a database may follow the port");
	return read_db(text[span] ? text + span + 1 : "", url, message);
}

static int read_unix(const char *text, struct redis_url *url, struct message *message)
{
	int err = read_login(&text, strcspn(text, "/"), url, message);
	size_t length;

	if (err)
		return err;
	length = strcspn(text, "?");
	if (*text != '/' || length < 2)
		return url_bad(message, "unix:// takes the path of a socket, from the root");
	if (!copy(text, length, url->path, sizeof(url->path)))
		return url_bad(message, "the path of the socket is too long");
	if (!text[length])
		return 0;
	if (strncmp(text + length, "?db=", 4))
		return url_bad(message, "only ?db=N may follow the path");
	return read_db(text + length + 4, url, message);
}

int redis_url_parse(const char *text, struct redis_url *url, struct message *message)
{
	struct redis_url result = { 0 };
	int err;

	if (!strncasecmp(text, "rediss://", 9)) {
		message_set(message, -EINVAL, "TLS to Redis (rediss://) is not built in");
		return message_hint(message, -EINVAL,
				    "run stunnel beside weir and connect to it by "
				    "redis://127.0.0.1:PORT, or use unix:///PATH");
	}
	if (!strncasecmp(text, "redis://", 8))
		err = read_tcp(text + 8, &result, message);
	else if (!strncasecmp(text, "unix://", 7))
		err = read_unix(text + 7, &result, message);
	else
		err = url_bad(message, "it begins with neither redis:// nor unix://");
	if (!err)
		*url = result;
	return err;
}

char *redis_url_text(const struct redis_url *url, char *to, size_t size)
{
	bool ipv6 = strchr(url->host, ':');

	if (*url->path)
		snprintf(to, size, "unix://%s", url->path);
	else
		snprintf(to, size, "redis://%s%s%s:%u", ipv6 ? "[" : "", url->host, ipv6 ? "]" : "",
			 url->port);
	return to;
}

/* ---- the connection ---- */

struct redis {
	struct redis_url url;
	struct timeval timeout;
	redisContext *context; /* NULL: none */
	uint64_t retry_ns;     /* not before */
	uint64_t backoff_ns;
};

struct redis *redis_new(const struct redis_url *url, unsigned int timeout_ms)
{
	struct redis *redis = calloc(1, sizeof(*redis));

	if (!redis)
		return NULL;
	redis->url = *url;
	redis->timeout.tv_sec = timeout_ms / 1000;
	redis->timeout.tv_usec = timeout_ms % 1000 * 1000;
	return redis;
}

static void drop(struct redis *redis)
{
	if (redis->context)
		redisFree(redis->context);
	redis->context = NULL;
}

void redis_free(struct redis *redis)
{
	if (!redis)
		return;
	drop(redis);
	explicit_bzero(redis->url.password, sizeof(redis->url.password));
	free(redis);
}

/* The reason of a failure; the connection is of no use any more. */
static int failed(struct redis *redis, const char *doing, struct message *message)
{
	char where[400];
	int err = -EIO;

	redis_url_text(&redis->url, where, sizeof(where));
	if (redis->context && redis->context->err == REDIS_ERR_IO && errno)
		err = -errno;
	message_set(message, err, "%s: %s: %s", where, doing,
		    redis->context && *redis->context->errstr ? redis->context->errstr
							      : "no memory");
	drop(redis);
	return err;
}

static int refused(struct redis *redis, const char *doing, redisReply *reply,
		   struct message *message)
{
	char where[400];

	redis_url_text(&redis->url, where, sizeof(where));
	message_set(message, -EPROTO, "%s: %s: %s", where, doing,
		    reply->type == REDIS_REPLY_ERROR ? reply->str : "an answer of another kind");
	if (reply->type == REDIS_REPLY_ERROR && !strncmp(reply->str, "NOAUTH", 6))
		message_hint(message, -EPROTO, "give the password in the URL or in REDISCLI_AUTH");
	freeReplyObject(reply);
	drop(redis);
	return -EPROTO;
}

/* One command and its answer, which is no error and has the type; -1: any. */
static int ask(struct redis *redis, const char *doing, int argc, const char **argv,
	       const size_t *lengths, int type, redisReply **answer, struct message *message)
{
	redisReply *reply;

	errno = 0;
	reply = redisCommandArgv(redis->context, argc, argv, lengths);
	if (!reply)
		return failed(redis, doing, message);
	if (reply->type == REDIS_REPLY_ERROR || (type >= 0 && reply->type != type))
		return refused(redis, doing, reply, message);
	if (answer)
		*answer = reply;
	else
		freeReplyObject(reply);
	return 0;
}

/* PING, as what misses a password is told clearly only in answer to a short command. */
static int log_in(struct redis *redis, struct message *message)
{
	const struct redis_url *url = &redis->url;
	const char *login[3] = { "AUTH" };
	const char *choose[2] = { "SELECT" };
	const char *ping[1] = { "PING" };
	char db[16];
	int count = 1, err = 0;

	if (*url->user)
		login[count++] = url->user;
	login[count++] = url->password;
	if (*url->password)
		err = ask(redis, "logging in", count, login, NULL, REDIS_REPLY_STATUS, NULL,
			  message);
	else
		err = ask(redis, "looking for an answer", 1, ping, NULL, REDIS_REPLY_STATUS, NULL,
			  message);
	snprintf(db, sizeof(db), "%u", url->db);
	choose[1] = db;
	if (!err && url->db)
		err = ask(redis, "choosing the database", 2, choose, NULL, REDIS_REPLY_STATUS, NULL,
			  message);
	return err;
}

static int connect_now(struct redis *redis, struct message *message)
{
	const struct redis_url *url = &redis->url;

	errno = 0;
	redis->context = *url->path ? redisConnectUnixWithTimeout(url->path, redis->timeout)
				    : redisConnectWithTimeout(url->host, url->port, redis->timeout);
	if (!redis->context || redis->context->err ||
	    redisSetTimeout(redis->context, redis->timeout) != REDIS_OK)
		return failed(redis, "connecting", message);
	return log_in(redis, message);
}

int redis_ready(struct redis *redis, uint64_t now_ns, struct message *message)
{
	int err;

	if (redis->context)
		return 0;
	if (now_ns < redis->retry_ns)
		return -EAGAIN;
	err = connect_now(redis, message);
	if (!err) {
		redis->backoff_ns = 0;
		return 1;
	}
	redis->backoff_ns = redis->backoff_ns ? 2 * redis->backoff_ns : BACKOFF_FIRST_NS;
	if (redis->backoff_ns > BACKOFF_MOST_NS)
		redis->backoff_ns = BACKOFF_MOST_NS;
	redis->retry_ns = now_ns + redis->backoff_ns;
	return err;
}

/* ---- the stream ---- */

enum {
	APPEND_WORDS = 6, /* XADD NAME MAXLEN ~ N * */
};

static int expire(struct redis *redis, const struct redis_stream *stream, struct message *message)
{
	char seconds[16];
	const char *words[3] = { "EXPIRE", stream->name, seconds };

	snprintf(seconds, sizeof(seconds), "%u", stream->seconds);
	return ask(redis, "EXPIRE", 3, words, NULL, REDIS_REPLY_INTEGER, NULL, message);
}

int redis_append(struct redis *redis, const struct redis_stream *stream,
		 const struct redis_field *fields, size_t count, char id[REDIS_ID],
		 struct message *message)
{
	const char *words[APPEND_WORDS + 2 * REDIS_FIELDS];
	size_t lengths[APPEND_WORDS + 2 * REDIS_FIELDS];
	redisReply *reply;
	char most[16];
	int argc = 0, err;

	if (!redis->context || count > REDIS_FIELDS)
		return message_set(message, -EINVAL, "no connection to append to");
	snprintf(most, sizeof(most), "%u", stream->most);
	words[argc++] = "XADD";
	words[argc++] = stream->name;
	words[argc++] = "MAXLEN";
	words[argc++] = "~";
	words[argc++] = most;
	words[argc++] = "*";
	for (int i = 0; i < argc; i++)
		lengths[i] = strlen(words[i]);
	for (size_t i = 0; i < count; i++) {
		words[argc] = fields[i].name;
		lengths[argc++] = strlen(fields[i].name);
		words[argc] = fields[i].value;
		lengths[argc++] = fields[i].length;
	}
	err = ask(redis, "XADD", argc, words, lengths, REDIS_REPLY_STRING, &reply, message);
	if (err)
		return err;
	snprintf(id, REDIS_ID, "%s", reply->str);
	freeReplyObject(reply);
	return expire(redis, stream, message);
}

static bool is_text(const redisReply *reply)
{
	return reply->type == REDIS_REPLY_STRING;
}

static int visit_entry(const redisReply *entry, char after[REDIS_ID], redis_visit visit,
		       void *context)
{
	struct redis_field fields[REDIS_FIELDS];
	const redisReply *list;
	size_t count = 0;

	if (entry->type != REDIS_REPLY_ARRAY || entry->elements != 2 ||
	    !is_text(entry->element[0]) || entry->element[0]->len >= REDIS_ID)
		return -EPROTO;
	snprintf(after, REDIS_ID, "%s", entry->element[0]->str);
	list = entry->element[1];
	if (list->type != REDIS_REPLY_ARRAY)
		return 0; /* deleted meanwhile */
	for (size_t i = 0; i + 1 < list->elements && count < REDIS_FIELDS; i += 2) {
		const redisReply *name = list->element[i], *value = list->element[i + 1];

		if (is_text(name) && is_text(value))
			fields[count++] = (struct redis_field){ name->str, value->str, value->len };
	}
	return visit(after, fields, count, context);
}

/* The answer of XREAD on one stream: nil, or one (name, entries). */
static const redisReply *entries_of(const redisReply *reply)
{
	const redisReply *stream;

	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 1)
		return NULL;
	stream = reply->element[0];
	if (stream->type != REDIS_REPLY_ARRAY || stream->elements != 2 ||
	    stream->element[1]->type != REDIS_REPLY_ARRAY)
		return NULL;
	return stream->element[1];
}

/* One answer's worth; *count: how many there were. */
static int read_some(struct redis *redis, const struct redis_stream *stream, char after[REDIS_ID],
		     redis_visit visit, void *context, size_t *count, struct message *message)
{
	const char *words[6] = { "XREAD", "COUNT", READ_MOST_TEXT, "STREAMS", stream->name, after };
	const redisReply *entries;
	redisReply *reply;
	int err = ask(redis, "XREAD", 6, words, NULL, -1, &reply, message);

	*count = 0;
	if (err)
		return err;
	entries = entries_of(reply);
	if (!entries && reply->type != REDIS_REPLY_NIL)
		return refused(redis, "XREAD", reply, message);
	for (size_t i = 0; entries && i < entries->elements && !err; i++) {
		err = visit_entry(entries->element[i], after, visit, context);
		(*count)++;
	}
	if (err == -EPROTO)
		return refused(redis, "XREAD", reply, message);
	freeReplyObject(reply);
	return err;
}

int redis_read(struct redis *redis, const struct redis_stream *stream, char after[REDIS_ID],
	       redis_visit visit, void *context, struct message *message)
{
	size_t count = READ_MOST;
	int err = 0;

	if (!redis->context)
		return message_set(message, -EINVAL, "no connection to read from");
	/* No more than the stream holds: others go on writing. */
	for (size_t all = 0; !err && count == READ_MOST && all <= stream->most; all += count)
		err = read_some(redis, stream, after, visit, context, &count, message);
	return err;
}

uint64_t redis_id_ms(const char *id)
{
	return strtoull(id, NULL, 10);
}
