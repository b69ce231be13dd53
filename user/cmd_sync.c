/* SPDX-License-Identifier: GPL-2.0-only */
/* weir sync: tell the fleet what sources use here, and charge them for what they use elsewhere. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "redis.h"
#include "render_json.h"
#include "stop.h"
#include "sync_node.h"

#define INTERVAL_LEAST (NS_PER_SEC / 20)
#define INTERVAL_MOST  (3600 * NS_PER_SEC)
#define NS_PER_MS      ((uint64_t)1000000)

enum {
	TOP_DEFAULT = 4096,
	TOP_MOST = 1 << 16,
	NODE_MOST = 64,
	PREFIX_MOST = 128,
	TIMEOUT_MS = 2000,
	STREAM_MOST = 1024,   /* entries that Redis keeps */
	STREAM_SECONDS = 600, /* and for how long after the last */
	STALE_INTERVALS = 10, /* what is older was paid back since */
	PEERS_MOST = 256,
	USES_MOST = 1 << 20, /* charges of one interval */
};

struct peer {
	char run[20];
	uint64_t seen_ms; /* by the server's clock */
	uint64_t interval_ns;
};

/* Of one interval. */
struct tick {
	size_t sent, left, charged, nodes;
	struct sync_heard heard;
	uint64_t lag_ns;
	bool connected;
};

struct fleet {
	struct command *command;
	struct sync_node node;
	struct redis *redis;
	struct redis_stream stream;
	char where[400];
	char name[NODE_MOST + 1];
	char run[20]; /* tells this process from all others, whatever their names */
	char key[PREFIX_MOST + INSTANCE_NAME + 2];
	char at[REDIS_ID]; /* read up to here */
	uint64_t now_ms;   /* the server's, at the last append */
	uint64_t interval_ns, debt_interval_ns;
	uint64_t errors;
	bool broken; /* the last exchange failed, and it was said */
	struct peer peers[PEERS_MOST];
	size_t peer_count;
	struct sync_use *uses; /* heard in this interval */
	size_t use_count, use_room;
	struct tick tick;
};

/* ---- what others say ---- */

/* The peer's place; where there is none left, that of the one not heard of for the longest. */
static struct peer *peer_at(struct fleet *fleet, const char *run)
{
	struct peer *oldest = &fleet->peers[0];

	for (size_t i = 0; i < fleet->peer_count; i++) {
		if (!strcmp(fleet->peers[i].run, run))
			return &fleet->peers[i];
		if (fleet->peers[i].seen_ms < oldest->seen_ms)
			oldest = &fleet->peers[i];
	}
	return fleet->peer_count < PEERS_MOST ? &fleet->peers[fleet->peer_count++] : oldest;
}

/* Nodes that still talk, this one included; and the longest interval of one. */
static size_t count_nodes(struct fleet *fleet)
{
	size_t count = 1;

	fleet->debt_interval_ns = fleet->interval_ns;
	for (size_t i = 0; i < fleet->peer_count; i++) {
		const struct peer *peer = &fleet->peers[i];
		uint64_t silent_ms =
			fleet->now_ms > peer->seen_ms ? fleet->now_ms - peer->seen_ms : 0;

		if (silent_ms / STALE_INTERVALS > peer->interval_ns / NS_PER_MS)
			continue;
		count++;
		if (peer->interval_ns > fleet->debt_interval_ns)
			fleet->debt_interval_ns = peer->interval_ns;
	}
	return count;
}

static int keep_use(const struct sync_use *use, void *context)
{
	struct fleet *fleet = context;

	if (fleet->use_count == USES_MOST)
		return 0;
	if (fleet->use_count == fleet->use_room) {
		size_t room = fleet->use_room ? 2 * fleet->use_room : 1024;
		struct sync_use *uses = reallocarray(fleet->uses, room, sizeof(*uses));

		if (!uses)
			return -ENOMEM;
		fleet->uses = uses;
		fleet->use_room = room;
	}
	fleet->uses[fleet->use_count++] = *use;
	return 0;
}

static const struct redis_field *field(const struct redis_field *fields, size_t count,
				       const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(fields[i].name, name))
			return &fields[i];
	return NULL;
}

static void note_peer(struct fleet *fleet, const char *run, uint64_t sent_ms, const char *interval)
{
	struct peer *peer = peer_at(fleet, run);
	uint64_t ns = strtoull(interval, NULL, 10);

	snprintf(peer->run, sizeof(peer->run), "%s", run);
	peer->seen_ms = sent_ms;
	peer->interval_ns = ns < INTERVAL_MOST ? ns : INTERVAL_MOST;
}

/* Values end in a 0 byte, which their length does not count. */
static int hear(const char *id, const struct redis_field *fields, size_t count, void *context)
{
	struct fleet *fleet = context;
	const struct redis_field *run = field(fields, count, "run");
	const struct redis_field *interval = field(fields, count, "interval_ns");
	const struct redis_field *use = field(fields, count, "use");
	uint64_t sent_ms = redis_id_ms(id), age_ms;

	if (!run || !interval || !use || run->length >= sizeof(fleet->run)) {
		fleet->tick.heard.bad++;
		return 0;
	}
	if (!strcmp(run->value, fleet->run))
		return 0;
	age_ms = fleet->now_ms > sent_ms ? fleet->now_ms - sent_ms : 0;
	note_peer(fleet, run->value, sent_ms, interval->value);
	if (age_ms / STALE_INTERVALS > fleet->interval_ns / NS_PER_MS)
		return 0;
	if (age_ms * NS_PER_MS > fleet->tick.lag_ns)
		fleet->tick.lag_ns = age_ms * NS_PER_MS;
	return sync_parse(fleet->node.reader.running.image, use->value, use->length, keep_use,
			  fleet, &fleet->tick.heard);
}

/* ---- one interval ---- */

/* What was used while nobody listened is not told later: it was paid back meanwhile. */
static int tell(struct fleet *fleet, char id[REDIS_ID], struct message *message)
{
	const struct sync_use *uses =
		sync_uses(fleet->node.sync, &fleet->tick.sent, &fleet->tick.left);
	char interval[24], *text = NULL;
	size_t length = 0;
	int err = sync_write(fleet->node.reader.running.image, uses, fleet->tick.sent, &text,
			     &length);

	if (err)
		return err;
	snprintf(interval, sizeof(interval), "%" PRIu64, fleet->interval_ns);
	const struct redis_field fields[] = {
		{ "node", fleet->name, strlen(fleet->name) },
		{ "run", fleet->run, strlen(fleet->run) },
		{ "interval_ns", interval, strlen(interval) },
		{ "use", text, length },
	};
	err = redis_append(fleet->redis, &fleet->stream, fields, 4, id, message);
	free(text);
	return err;
}

/* A new connection begins to read at its own first entry. */
static int exchange(struct fleet *fleet, struct message *message)
{
	int ready = redis_ready(fleet->redis, kernel_now_ns(), message);
	char id[REDIS_ID];
	int err;

	if (ready < 0)
		return ready;
	err = tell(fleet, id, message);
	if (err)
		return err;
	fleet->now_ms = redis_id_ms(id);
	if (ready)
		memcpy(fleet->at, id, sizeof(id));
	err = redis_read(fleet->redis, &fleet->stream, fleet->at, hear, fleet, message);
	fleet->tick.nodes = count_nodes(fleet);
	return err;
}

static void note_failure(struct fleet *fleet, int err, const struct message *message)
{
	fleet->tick.sent = 0;
	if (err == -EAGAIN)
		return;
	fleet->errors++;
	if (!fleet->broken)
		log_warn("%s; limits hold on, on this node alone",
			 *message->text ? message->text : strerror(-err));
	fleet->broken = true;
}

static void note_success(struct fleet *fleet)
{
	fleet->tick.connected = true;
	if (fleet->broken)
		log_info("sharing again by %s", fleet->where);
	fleet->broken = false;
}

static void print_tick(const struct fleet *fleet)
{
	const struct tick *tick = &fleet->tick;
	const struct command *command = fleet->command;
	json_t *document;

	if (!command->json) {
		log_debug("%zu nodes: sent %zu, received %zu, charged %zu", tick->nodes, tick->sent,
			  tick->heard.known, tick->charged);
		return;
	}
	document = json_object();
	json_object_set_new(document, "node", json_words(fleet->name));
	json_object_set_new(document, "connected", json_boolean(tick->connected));
	json_object_set_new(document, "nodes", json_unsigned(tick->nodes));
	json_object_set_new(document, "sent", json_unsigned(tick->sent));
	json_object_set_new(document, "left_out", json_unsigned(tick->left));
	json_object_set_new(document, "received", json_unsigned(tick->heard.known));
	json_object_set_new(document, "charged", json_unsigned(tick->charged));
	json_object_set_new(document, "unknown", json_unsigned(tick->heard.unknown));
	json_object_set_new(document, "malformed", json_unsigned(tick->heard.bad));
	json_object_set_new(document, "lag_ns", json_unsigned(tick->lag_ns));
	json_object_set_new(document, "errors", json_unsigned(fleet->errors));
	json_print(document, command->pretty, command->out);
}

/* Only what happens here ends the sharing: no instance, another table. *exchanged: with Redis. */
static int share_once(struct fleet *fleet, int *exchanged, struct message *message)
{
	int err = sync_node_read(&fleet->node, message);

	fleet->tick = (struct tick){ 0 };
	fleet->use_count = 0;
	if (err)
		return err;
	*exchanged = exchange(fleet, message);
	if (*exchanged)
		note_failure(fleet, *exchanged, message);
	else
		note_success(fleet);
	err = sync_node_charge(&fleet->node, fleet->uses, fleet->use_count,
			       sync_debt_ns(fleet->tick.nodes, fleet->debt_interval_ns),
			       &fleet->tick.charged, message);
	return err;
}

static void pause_until(uint64_t ns)
{
	const struct timespec end = { (time_t)(ns / NS_PER_SEC), (long)(ns % NS_PER_SEC) };

	while (!stop_asked && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL))
		;
}

/* With --once: what was there before, an interval later what was used in it, and no more. */
static int share(struct fleet *fleet, struct message *message)
{
	bool once = fleet->command->option[OPT_ONCE];
	uint64_t next = kernel_now_ns();

	for (unsigned int i = 0; !stop_asked; i++) {
		int exchanged = 0;
		int err = share_once(fleet, &exchanged, message);

		if (err || (once && exchanged))
			return err ? err : exchanged;
		if (i || !once)
			print_tick(fleet);
		if (fflush(fleet->command->out) || (once && i == 1))
			return 0;
		next += fleet->interval_ns;
		if (next < kernel_now_ns())
			next = kernel_now_ns();
		pause_until(next);
	}
	return 0;
}

/* ---- the command line ---- */

static int name_node(struct fleet *fleet, struct message *message)
{
	const char *name = fleet->command->option[OPT_NODE];
	const char *key = fleet->command->option[OPT_KEY];
	char host[NODE_MOST + 1] = "";
	uint64_t number;

	if (!name && !gethostname(host, NODE_MOST))
		name = host;
	if (!name || !*name || strlen(name) > NODE_MOST)
		return usage(message, "--node: a name of 1 to %d bytes is needed", NODE_MOST);
	if (!key)
		key = "weir";
	if (!*key || strlen(key) > PREFIX_MOST)
		return usage(message, "--key: a prefix of 1 to %d bytes is needed", PREFIX_MOST);
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	snprintf(fleet->name, sizeof(fleet->name), "%s", name);
	snprintf(fleet->run, sizeof(fleet->run), "%016" PRIx64, number);
	snprintf(fleet->key, sizeof(fleet->key), "%s:%s", key, fleet->command->instance);
	fleet->stream = (struct redis_stream){ fleet->key, STREAM_MOST, STREAM_SECONDS };
	return 0;
}

static int read_options(struct fleet *fleet, struct message *message)
{
	struct command *command = fleet->command;
	uint64_t top = 0;
	int err = words_expect(command, 0, 0, message);

	if (!err)
		err = option_count(command, OPT_TOP, TOP_DEFAULT, &top, message);
	if (!err)
		err = option_duration(command, OPT_INTERVAL, NS_PER_SEC, &fleet->interval_ns,
				      message);
	if (err)
		return err;
	if (!top || top > TOP_MOST)
		return usage(message, "--top: 1 to %d", TOP_MOST);
	if (fleet->interval_ns < INTERVAL_LEAST || fleet->interval_ns > INTERVAL_MOST)
		return usage(message, "--interval: 50ms to 1h");
	fleet->node.top = top;
	return name_node(fleet, message);
}

/* A password in the environment is not seen by who lists processes. */
static int find_server(struct fleet *fleet, struct message *message)
{
	const char *text = fleet->command->option[OPT_REDIS];
	const char *password = getenv("REDISCLI_AUTH");
	struct redis_url url;

	if (!text) {
		usage(message, "--redis is missing: by which server?");
		return usage_hint(fleet->command, message);
	}
	if (redis_url_parse(text, &url, message))
		return VERB_USAGE;
	if (password && !*url.password) {
		if (strlen(password) >= sizeof(url.password))
			return usage(message, "REDISCLI_AUTH is too long");
		snprintf(url.password, sizeof(url.password), "%s", password);
	}
	redis_url_text(&url, fleet->where, sizeof(fleet->where));
	fleet->redis = redis_new(&url, TIMEOUT_MS);
	explicit_bzero(&url, sizeof(url));
	return fleet->redis ? 0 : -ENOMEM;
}

int cmd_sync(struct command *command, struct message *message)
{
	struct fleet *fleet = calloc(1, sizeof(*fleet));
	int err;

	if (!fleet)
		return -ENOMEM;
	fleet->command = command;
	fleet->node.reader.name = command->instance;
	err = read_options(fleet, message);
	if (!err)
		err = find_server(fleet, message);
	if (!err) {
		stop_on_signals();
		log_info("%s shares its states by %s, every %" PRIu64 " ms", fleet->name,
			 fleet->where, fleet->interval_ns / NS_PER_MS);
		err = share(fleet, message);
	}
	sync_node_close(&fleet->node);
	redis_free(fleet->redis);
	free(fleet->uses);
	free(fleet);
	return err;
}
