/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "config.h"
#include "config_schema.h"

/* The linker's names of share/default.yaml in this binary. */
extern const char default_policy[], default_policy_end[];

enum config_size {
	READ_CHUNK = 65536,
	TEXT_MAX = 1 << 30,
};

/* Bad bytes have an offset only: the parser's mark is somewhere behind. */
static struct place place_of_offset(const char *text, size_t length, size_t offset)
{
	struct place place = { 1, 1 };

	for (size_t i = 0; i < length && i < offset; i++) {
		place.column++;
		if (text[i] == '\n')
			place = (struct place){ place.line + 1, 1 };
	}
	return place;
}

static char char_at(const char *text, size_t length, struct place place)
{
	const char *end = text + length;

	for (unsigned int line = 1; line < place.line && text; line++) {
		text = memchr(text, '\n', (size_t)(end - text));
		text = text ? text + 1 : NULL;
	}
	return text && (size_t)(end - text) >= place.column ? text[place.column - 1] : '\0';
}

/* libyaml's words, and the remedy for what befalls everyone who writes IPv6 prefixes. */
static int parser_problem(const yaml_parser_t *parser, const char *text, size_t length,
			  struct problems *problems)
{
	struct place place = schema_place(parser->problem_mark);
	const char *what = parser->problem ? parser->problem : "not YAML";
	struct message message;

	if (parser->context)
		message_set(&message, -EINVAL, "syntax: %s, %s from line %zu", what,
			    parser->context, parser->context_mark.line + 1);
	else
		message_set(&message, -EINVAL, "syntax: %s", what);
	if (char_at(text, length, place) == ':')
		message_hint(&message, -EINVAL,
			     "in [ ] and { } quote what begins with a colon: \"::/0\"");
	else if (char_at(text, length, place) == '\t')
		message_hint(&message, -EINVAL, "indent by spaces, not by tabs");
	return problems_add_message(problems, place, -EINVAL, &message);
}

static int syntax_problem(const yaml_parser_t *parser, const char *text, size_t length,
			  struct problems *problems)
{
	switch (parser->error) {
	case YAML_MEMORY_ERROR:
		return problems_add(problems, (struct place){}, -EINVAL, "out of memory");
	case YAML_READER_ERROR:
		return problems_add(problems, place_of_offset(text, length, parser->problem_offset),
				    -EINVAL, "not text: %s",
				    parser->problem ? parser->problem : "bad bytes");
	default:
		return parser_problem(parser, text, length, problems);
	}
}

static const char *feature_name(yaml_token_type_t type)
{
	switch (type) {
	case YAML_ANCHOR_TOKEN:
		return "anchors (&)";
	case YAML_ALIAS_TOKEN:
		return "aliases (*)";
	case YAML_TAG_TOKEN:
		return "tags (!)";
	default:
		return NULL;
	}
}

/*
 * The document no longer shows anchors and aliases, so they are looked for in
 * the tokens; most files lack their letters and are spared that. What is wrong
 * otherwise is left to the document's parser to say.
 */
static int features_refuse(const char *text, size_t length, struct problems *problems)
{
	size_t before = problems->count;
	yaml_parser_t parser;
	bool more = true;

	if (!memchr(text, '&', length) && !memchr(text, '*', length) && !memchr(text, '!', length))
		return 0;
	if (!yaml_parser_initialize(&parser))
		return problems_add(problems, (struct place){}, -EINVAL, "out of memory");
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	while (more) {
		yaml_token_t token;
		const char *feature;

		if (!yaml_parser_scan(&parser, &token))
			break;
		feature = feature_name(token.type);
		if (feature)
			problems_add(problems, schema_place(token.start_mark), -EINVAL,
				     "%s are not taken in policy files", feature);
		more = token.type != YAML_STREAM_END_TOKEN;
		yaml_token_delete(&token);
	}
	yaml_parser_delete(&parser);
	return problems->count == before && !problems->lost ? 0 : -EINVAL;
}

/* The stream must end behind the first document. */
static int second_refuse(yaml_parser_t *parser, const char *text, size_t length,
			 struct problems *problems)
{
	yaml_document_t second;
	int err = 0;

	if (!yaml_parser_load(parser, &second))
		return syntax_problem(parser, text, length, problems);
	if (yaml_document_get_root_node(&second))
		err = problems_add(problems, schema_place(second.start_mark), -EINVAL,
				   "a second document begins here: a policy file is one");
	yaml_document_delete(&second);
	return err;
}

/* The file's document, to be deleted by the caller if 0 is returned. */
static int document_load(const char *text, size_t length, yaml_document_t *document,
			 struct problems *problems)
{
	yaml_parser_t parser;
	int err;

	err = features_refuse(text, length, problems);
	if (err)
		return err;
	if (!yaml_parser_initialize(&parser))
		return problems_add(problems, (struct place){}, -EINVAL, "out of memory");
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	if (!yaml_parser_load(&parser, document)) {
		err = syntax_problem(&parser, text, length, problems);
		yaml_parser_delete(&parser);
		return err;
	}
	if (!yaml_document_get_root_node(document))
		err = problems_add(problems, (struct place){ 1, 1 }, -EINVAL, "the file is empty");
	else
		err = second_refuse(&parser, text, length, problems);
	if (err)
		yaml_document_delete(document);
	yaml_parser_delete(&parser);
	return err;
}

int config_parse(const char *text, size_t length, struct ruleset **ruleset,
		 struct problems *problems)
{
	size_t before = problems->count;
	struct ruleset *result;
	yaml_document_t document;
	int err;

	err = document_load(text, length, &document, problems);
	if (err)
		return -EINVAL;
	result = ruleset_new();
	err = result ? schema_read(&document, result, problems) : -ENOMEM;
	yaml_document_delete(&document);
	if (err)
		problems_add(problems, (struct place){}, err, "out of memory");
	else
		err = ruleset_complete(result, problems);
	if (!err && problems->count == before && !problems->lost) {
		*ruleset = result;
		return 0;
	}
	problems_sort(problems);
	ruleset_free(result);
	return -EINVAL;
}

static int text_read(int fd, char **text, size_t *length)
{
	size_t used = 0, room = 0;
	char *buffer = NULL;
	ssize_t got = 1;

	while (got) {
		if (room - used < READ_CHUNK) {
			char *larger;

			room = room ? 2 * room : 2 * READ_CHUNK;
			larger = room > TEXT_MAX ? NULL : realloc(buffer, room);
			if (!larger) {
				free(buffer);
				return room > TEXT_MAX ? -EFBIG : -ENOMEM;
			}
			buffer = larger;
		}
		got = read(fd, buffer + used, room - used);
		if (got < 0 && errno != EINTR) {
			got = -errno;
			free(buffer);
			return (int)got;
		}
		used += got > 0 ? (size_t)got : 0;
	}
	*text = buffer;
	*length = used;
	return 0;
}

int config_read_text(const char *path, char **text, size_t *length, struct message *message)
{
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		err = -errno;
	else
		err = text_read(fd, text, length);
	if (fd >= 0 && !is_stdin)
		close(fd);
	if (err)
		return message_set(message, err, "can't read %s: %s",
				   is_stdin ? "the standard input" : path, strerror(-err));
	return 0;
}

const char *config_default(size_t *length)
{
	*length = (uintptr_t)default_policy_end - (uintptr_t)default_policy;
	return default_policy;
}
