/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>

#include <yaml.h>

#include "render_yaml.h"

static json_t *json_of_node(yaml_document_t *yaml, yaml_node_t *node);

static json_t *json_of_mapping(yaml_document_t *yaml, const yaml_node_t *node)
{
	const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	json_t *object = json_object();

	for (; pair < node->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = yaml_document_get_node(yaml, pair->key);
		yaml_node_t *value = yaml_document_get_node(yaml, pair->value);

		json_object_set_new(object, (const char *)key->data.scalar.value,
				    json_of_node(yaml, value));
	}
	return object;
}

static json_t *json_of_list(yaml_document_t *yaml, const yaml_node_t *node)
{
	const yaml_node_item_t *item = node->data.sequence.items.start;
	json_t *array = json_array();

	for (; item < node->data.sequence.items.top; item++)
		json_array_append_new(array,
				      json_of_node(yaml, yaml_document_get_node(yaml, *item)));
	return array;
}

/* The policy file has no anchors, so that nothing can nest without end. */
static json_t *json_of_node(yaml_document_t *yaml, yaml_node_t *node)
{
	switch (node->type) {
	case YAML_MAPPING_NODE:
		return json_of_mapping(yaml, node);
	case YAML_SEQUENCE_NODE:
		return json_of_list(yaml, node);
	case YAML_SCALAR_NODE:
		return json_stringn((const char *)node->data.scalar.value,
				    node->data.scalar.length);
	default:
		return json_null();
	}
}

int json_of_yaml(const char *text, size_t length, json_t **document, struct message *message)
{
	yaml_document_t yaml;
	yaml_parser_t parser;
	yaml_node_t *root;
	int loaded;

	if (!yaml_parser_initialize(&parser))
		return message_set(message, -ENOMEM, "no memory");
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	loaded = yaml_parser_load(&parser, &yaml);
	yaml_parser_delete(&parser);
	if (!loaded)
		return message_set(message, -EINVAL, "the policy is no YAML");
	root = yaml_document_get_root_node(&yaml);
	*document = root ? json_of_node(&yaml, root) : json_object();
	yaml_document_delete(&yaml);
	return *document ? 0 : -ENOMEM;
}
