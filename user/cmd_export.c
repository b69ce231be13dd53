/* SPDX-License-Identifier: GPL-2.0-only */
/* weir export: the metrics page over HTTP, to a file, or once. */
#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "http.h"
#include "reader.h"
#include "render_prom.h"
#include "stop.h"

#define LISTEN_DEFAULT "127.0.0.1:9811"

enum {
	TOP_MOST = 100, /* series that --top may make */
};

struct exporter {
	struct reader reader;
	size_t top;
};

static int read_top(struct exporter *exporter, uint64_t **dropped, size_t *count)
{
	const struct running *running = &exporter->reader.running;
	struct source_state *list = NULL;
	int err;

	*dropped = NULL;
	*count = 0;
	if (!exporter->top)
		return 0;
	err = sources_top(&running->instance, running->image, ORDER_DROPPED, exporter->top, &list,
			  count);
	if (err)
		return err;
	*dropped = calloc(*count + 1, sizeof(**dropped));
	for (size_t i = 0; *dropped && i < *count; i++)
		(*dropped)[i] = list[i].dropped;
	free(list);
	return *dropped ? 0 : -ENOMEM;
}

static int write_page(struct exporter *exporter, bool openmetrics, FILE *out,
		      struct message *message)
{
	const struct running *running = &exporter->reader.running;
	struct prom_page page = { .openmetrics = openmetrics };
	struct snapshot snapshot;
	uint64_t *dropped;
	int err = reader_refresh(&exporter->reader, message);

	if (err == -ENOENT)
		return render_prom(&page, out); /* protects nothing: a page, not a failure */
	if (err)
		return err;
	err = snapshot_read(&running->instance, running->image, true, &snapshot, message);
	if (err)
		return err;
	err = read_top(exporter, &dropped, &page.top_count);
	page.snapshot = &snapshot;
	page.top_dropped = dropped;
	if (!err)
		err = render_prom(&page, out);
	free(dropped);
	snapshot_free(&snapshot);
	return err;
}

/* ---- over HTTP ---- */

static int reply_text(const char *text, unsigned int status, struct http_reply *reply)
{
	reply->body = strdup(text);
	if (!reply->body)
		return -ENOMEM;
	reply->status = status;
	reply->length = strlen(text);
	reply->content_type = "text/plain; charset=utf-8";
	return 0;
}

static int serve_page(void *context, const char *path, const char *accept, struct http_reply *reply)
{
	bool openmetrics = prom_wants_openmetrics(accept);
	struct message message = { 0 };
	FILE *out;
	int err;

	if (!strcmp(path, "/"))
		return reply_text("weir " WEIR_VERSION ": the metrics are at /metrics\n", 200,
				  reply);
	if (strcmp(path, "/metrics"))
		return reply_text("Only /metrics is here.\n", 404, reply);
	out = open_memstream(&reply->body, &reply->length);
	if (!out)
		return -ENOMEM;
	err = write_page(context, openmetrics, out, &message);
	if (fclose(out) && !err)
		err = -ENOMEM;
	if (err) {
		log_warn("%s", *message.text ? message.text : strerror(-err));
		free(reply->body);
		reply->body = NULL;
		return err;
	}
	reply->content_type = prom_content_type(openmetrics);
	return 0;
}

/*
 * The pins are read with the rights of files: as root's, or the group's. Nothing else is needed
 * from here on, so root keeps its uid only where there is no group to read as.
 */
static int drop_rights(struct message *message)
{
	const struct passwd *nobody = getpwnam("nobody");
	const struct group *group = getgrnam("weir");
	int err = 0;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return message_set(message, -errno, "cannot renounce new rights: %s",
				   strerror(errno));
	capng_clear(CAPNG_SELECT_BOTH);
	if (geteuid() == 0 && group && nobody)
		err = capng_change_id((int)nobody->pw_uid, (int)group->gr_gid,
				      CAPNG_DROP_SUPP_GRP | CAPNG_CLEAR_BOUNDING);
	else if (capng_have_capabilities(CAPNG_SELECT_CAPS) != CAPNG_FAIL)
		err = capng_apply(geteuid() == 0 ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS);
	return err ? message_set(message, -EPERM, "cannot drop rights (capng %d)", err) : 0;
}

static int serve(const struct command *command, struct exporter *exporter, struct message *message)
{
	const char *address =
		command->option[OPT_LISTEN] ? command->option[OPT_LISTEN] : LISTEN_DEFAULT;
	struct http_server *server;
	int err = http_listen(address, serve_page, exporter, &server, message);

	if (err)
		return err;
	err = drop_rights(message);
	if (!err) {
		log_info("serving /metrics on port %u", http_port(server));
		err = http_serve(server, &stop_asked);
	}
	http_close(server);
	return err;
}

/* ---- to a file ---- */

/* The collector must find the old page or the new one, whole: written beside and renamed. */
static int write_file(struct exporter *exporter, const char *path, struct message *message)
{
	char beside[4096];
	FILE *out;
	int fd, err;

	if (snprintf(beside, sizeof(beside), "%s.XXXXXX", path) >= (int)sizeof(beside))
		return message_set(message, -ENAMETOOLONG, "%s: the name is too long", path);
	fd = mkostemp(beside, O_CLOEXEC);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out)
		return message_set(message, -errno, "cannot write %s: %s", beside, strerror(errno));
	err = write_page(exporter, false, out, message);
	if (!err && (fchmod(fd, 0644) || fsync(fd)))
		err = -errno;
	if (fclose(out) && !err)
		err = -errno;
	if (!err && rename(beside, path))
		err = -errno;
	if (err) {
		unlink(beside);
		if (!*message->text)
			message_set(message, err, "cannot write %s: %s", path, strerror(-err));
	}
	return err;
}

static int write_files(const struct command *command, struct exporter *exporter,
		       struct message *message)
{
	uint64_t interval_ns;
	int err = option_duration(command, OPT_INTERVAL, 0, &interval_ns, message);
	struct timespec pause = { (time_t)(interval_ns / NS_PER_SEC),
				  (long)(interval_ns % NS_PER_SEC) };

	if (err)
		return err;
	err = write_file(exporter, command->option[OPT_TEXTFILE], message);
	while (!err && interval_ns && !stop_asked) {
		nanosleep(&pause, NULL);
		if (!stop_asked)
			err = write_file(exporter, command->option[OPT_TEXTFILE], message);
	}
	return err;
}

int cmd_export(struct command *command, struct message *message)
{
	struct exporter exporter = { .reader = { .name = command->instance } };
	uint64_t top;
	int err = words_expect(command, 0, 0, message);

	if (!err)
		err = option_count(command, OPT_TOP, 0, &top, message);
	if (err)
		return err;
	if (top > TOP_MOST)
		return usage(message, "--top %llu makes too many series: at most %d",
			     (unsigned long long)top, TOP_MOST);
	exporter.top = top;
	stop_on_signals();
	if (command->option[OPT_TEXTFILE])
		err = write_files(command, &exporter, message);
	else if (command->option[OPT_ONCE])
		err = write_page(&exporter, false, command->out, message);
	else
		err = serve(command, &exporter, message);
	reader_close(&exporter.reader);
	return err;
}
