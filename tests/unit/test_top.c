/* SPDX-License-Identifier: GPL-2.0-only */
/* The live screen without a terminal: rates between snapshots, what keys do, what is drawn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <locale.h>
#include <cmocka.h>
#include <jansson.h>

#include "../../bpf/algo.h"
#include "../../user/render_top.h"

#define SECOND NS_PER_SEC

/* A machine under attack: one policy, one limit of 10/s burst 20, some sources. */
struct scene {
	struct snapshot_policy policies[1];
	struct attachment interface;
	struct snapshot snapshot;
	struct limit_spec spec;
	struct image_policy image;
	struct source_state sources[40];
	size_t source_count;
	struct top top;
	struct rates rates; /* of the sample before */
	struct snapshot before;
	struct snapshot_policy before_policies[1];
	bool has_before;
};

static void scene_sources(struct scene *scene, size_t count)
{
	scene->source_count = count;
	for (size_t i = 0; i < count; i++) {
		struct source_state *state = &scene->sources[i];

		*state = (struct source_state){
			.source = { 4, 32, { 203, 0, 113, (uint8_t)(i + 1) } },
			.policy = &scene->image,
			.rule = { .algorithm = ALGO_TOKEN_BUCKET,
				  .interval_ns = SECOND / 10,
				  .burst = 20,
				  .burst_ns = 2 * SECOND },
			.dropped = 1000 * (i + 1),
			.passed = 10,
		};
	}
}

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	scene->spec.name = (char *)"packets";
	scene->image.name = "everyone";
	scene->image.specs[0] = &scene->spec;
	scene->interface = (struct attachment){ "eth0", 2, true, true, true, 1, 1 };
	scene->policies[0].name = (char *)"everyone";
	scene->snapshot = (struct snapshot){ .time_ns = 100 * SECOND,
					     .instance = "default",
					     .interfaces = &scene->interface,
					     .interface_count = 1,
					     .policies = scene->policies,
					     .policy_count = 1,
					     .table = { .capacity = 1048576, .live = 1200 },
					     .protecting = true };
	scene_sources(scene, 3);
	top_init(&scene->top, SECOND);
	*state = scene;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	top_free(&scene->top);
	free(scene);
	return 0;
}

/* A second passes; so many packets of 100 bytes passed and were dropped in it. */
static void tick(struct scene *scene, uint64_t passed, uint64_t dropped)
{
	struct snapshot *now = &scene->snapshot;
	struct rates rates;

	now->time_ns += SECOND;
	now->passed.packets += passed;
	now->passed.bytes += passed * 100;
	now->dropped.packets += dropped;
	now->dropped.bytes += dropped * 100;
	now->reasons[REASON_GRANTED] = now->passed;
	now->reasons[REASON_LIMIT] = now->dropped;
	scene->policies[0].passed = now->passed;
	scene->policies[0].dropped = now->dropped;
	memcpy(scene->policies[0].reasons, now->reasons, sizeof(now->reasons));
	assert_int_equal(rates_between(scene->has_before ? &scene->before : NULL,
				       &(struct rates_sample){ now, scene->sources,
							       scene->source_count, now->time_ns },
				       &scene->top.rates, &rates),
			 0);
	assert_int_equal(top_feed(&scene->top, now, &rates), 0);
	scene->before = *now;
	scene->before_policies[0] = scene->policies[0];
	scene->before.policies = scene->before_policies;
	scene->has_before = true;
}

static char *drawn(const struct scene *scene, int rows, int columns, bool ascii)
{
	static char text[64 * 1024];
	struct screen screen = { 0 };
	size_t used = 0;

	assert_int_equal(screen_resize(&screen, rows, columns), 0);
	render_top_screen(&scene->top, ascii, &screen);
	for (int i = 0; i < rows; i++) {
		screen_row_text(&screen, i, text + used, sizeof(text) - used - 1);
		used += strlen(text + used);
		text[used++] = '\n';
		text[used] = '\0';
	}
	screen_free(&screen);
	return text;
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

static void has_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("'%s' in:\n%s", part, text);
}

static void rates_are_per_second(void **state)
{
	struct scene *scene = *state;

	tick(scene, 5, 5);
	assert_true(scene->top.rates.passed.packets == 0);
	tick(scene, 1000, 250000);
	assert_true(scene->top.rates.passed.packets == 1000);
	assert_true(scene->top.rates.passed.bits == 1000 * 100 * 8);
	assert_true(scene->top.rates.dropped.packets == 250000);
	assert_true(scene->top.rates.policies[0].reasons[REASON_LIMIT].packets == 250000);
}

/* A counter that went back was started anew: no rate of 2^64. */
static void counters_that_went_back(void **state)
{
	struct scene *scene = *state;

	tick(scene, 1000, 0);
	tick(scene, 0, 0);
	scene->snapshot.passed.packets = 0;
	tick(scene, 7, 0);
	assert_true(scene->top.rates.passed.packets == 7);
}

static void drops_of_a_source_per_second(void **state)
{
	struct scene *scene = *state;

	tick(scene, 0, 0);
	scene->sources[1].dropped += 400;
	tick(scene, 0, 400);
	assert_true(scene->top.shown[0]->drops == 400);
	assert_int_equal(scene->top.shown[0]->source.addr[3], 2);
}

static void screen_of_80_by_24(void **state)
{
	struct scene *scene = *state;
	char *text;

	tick(scene, 0, 0);
	tick(scene, 1500, 250000);
	text = drawn(scene, 24, 80, true);
	has(text, "weir default  eth0 native");
	has(text, "every 1 s");
	has(text, "passed       1.5k packets/s     1.2M bit/s");
	has(text, "dropped    250.0k packets/s   200.0M bit/s");
	has(text, "limit 250.0k/s");
	has(text, "granted 1.5k/s");
	has(text, "1.2k of 1.0M states live");
	has(text, "everyone");
	has(text, "203.0.113.1");
	has(text, "everyone/packets");
	has(text, "q quit");
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 80);
}

/* 10/s burst 20, full again in 1.95 s: nothing left, and 0.05 s until there is a token. */
static void remaining_and_retry(void **state)
{
	struct scene *scene = *state;

	tick(scene, 0, 0);
	scene->source_count = 1;
	scene->sources[0].state.word = scene->snapshot.time_ns + SECOND + 195 * SECOND / 100;
	tick(scene, 0, 0);
	assert_int_equal(scene->top.shown[0]->remaining, 0);
	assert_int_equal(scene->top.shown[0]->retry_ns, 50 * 1000 * 1000);
	has(drawn(scene, 24, 80, true), "50ms");
}

/* The state was written while the table was read: it seems to lie further ahead than it can. */
static void state_younger_than_the_sample(void **state)
{
	struct scene *scene = *state;

	scene->source_count = 1;
	scene->sources[0].state.word = scene->snapshot.time_ns + SECOND + 5 * SECOND / 2;
	tick(scene, 0, 0);
	assert_in_range(scene->top.shown[0]->retry_ns, SECOND / 10, SECOND / 10 + 1);
}

static void ban_is_shown(void **state)
{
	struct scene *scene = *state;

	tick(scene, 0, 0);
	scene->sources[2].state.word = STATE_BANNED | (scene->snapshot.time_ns + 59 * SECOND);
	tick(scene, 0, 0);
	has(drawn(scene, 24, 80, true), "ban 58s");
}

static void minute_is_drawn(void **state)
{
	struct scene *scene = *state;
	char *text;

	for (int i = 0; i < 70; i++)
		tick(scene, 100, (uint64_t)(i % 10) * 100);
	assert_int_equal(scene->top.history, TOP_HISTORY);
	text = drawn(scene, 24, 120, true);
	has(text, " .:-==+*%# .:-"); /* none to nine hundred, again and again */
	text = drawn(scene, 24, 120, false);
	has(text, "\u2588");
	has_not(text, "%#");
}

static void keys_quit_pause_and_sort(void **state)
{
	struct scene *scene = *state;

	tick(scene, 0, 0);
	tick(scene, 10, 0);
	top_press(&scene->top, 'p');
	tick(scene, 999, 0);
	assert_true(scene->top.rates.passed.packets == 10);
	has(drawn(scene, 24, 80, true), "PAUSED");
	top_press(&scene->top, 'p');
	tick(scene, 20, 0);
	assert_true(scene->top.rates.passed.packets == 20);

	assert_int_equal(top_need(&scene->top).order, ORDER_DROPPED);
	top_press(&scene->top, 's');
	top_press(&scene->top, 's');
	assert_int_equal(top_need(&scene->top).order, ORDER_PASSED);
	assert_int_equal(top_press(&scene->top, 'q').wish, TOP_QUIT);
}

static void type(struct scene *scene, const char *text)
{
	for (; *text; text++)
		top_press(&scene->top, *text);
}

static void filter_by_prefix(void **state)
{
	struct scene *scene = *state;
	char *text;

	tick(scene, 0, 0);
	top_press(&scene->top, 'f');
	type(scene, "203.0.113.2q");
	has(drawn(scene, 24, 80, true), "Filter by prefix (empty: all): 203.0.113.2q_");
	top_press(&scene->top, TOP_KEY_ENTER);
	assert_int_equal(scene->top.mode, TOP_FILTER); /* can't be read: says so and stays */
	assert_true(scene->top.notice_bad);
	top_press(&scene->top, TOP_KEY_BACKSPACE);
	top_press(&scene->top, TOP_KEY_ENTER);
	text = drawn(scene, 24, 80, true);
	has(text, "203.0.113.2 ");
	has_not(text, "203.0.113.1 ");
	has_not(text, "203.0.113.3 ");
	top_press(&scene->top, 'f');
	top_press(&scene->top, TOP_KEY_ENTER);
	has(drawn(scene, 24, 80, true), "203.0.113.3 ");
}

static void block_asks_first(void **state)
{
	struct scene *scene = *state;
	struct top_request request;

	tick(scene, 0, 0);
	top_press(&scene->top, TOP_KEY_DOWN); /* by drops: .3, .2, .1 */
	assert_int_equal(top_press(&scene->top, 'b').wish, TOP_NOTHING);
	has(drawn(scene, 24, 80, true), "Block 203.0.113.2 for 10 minutes? (y/n)");
	assert_int_equal(top_press(&scene->top, 'n').wish, TOP_NOTHING);
	top_press(&scene->top, 'b');
	request = top_press(&scene->top, 'y');
	assert_int_equal(request.wish, TOP_BLOCK);
	assert_int_equal(request.prefix.addr[3], 2);
	assert_int_equal(request.prefix.len, 32);
}

/* Rows move between a look and a key; the question is about the source that was looked at. */
static void cursor_stays_on_its_source(void **state)
{
	struct scene *scene = *state;

	tick(scene, 0, 0);
	top_press(&scene->top, TOP_KEY_DOWN);
	scene->sources[0].dropped = 1000 * 1000;
	tick(scene, 0, 0);
	assert_int_equal(scene->top.shown[scene->top.selected]->source.addr[3], 2);
	top_press(&scene->top, 'b');
	scene_sources(scene, 1);
	tick(scene, 0, 0);
	assert_int_equal(top_press(&scene->top, 'y').prefix.addr[3], 2);
}

static void nothing_to_block(void **state)
{
	struct scene *scene = *state;

	scene->source_count = 0;
	tick(scene, 0, 0);
	top_press(&scene->top, 'b');
	assert_int_equal(scene->top.mode, TOP_LIST);
	has(drawn(scene, 24, 80, true), "no source to block");
}

static void survives_any_size(void **state)
{
	struct scene *scene = *state;

	scene_sources(scene, 40);
	for (int i = 0; i < 3; i++)
		tick(scene, 100, 100);
	for (int i = 0; i < 35; i++)
		top_press(&scene->top, TOP_KEY_DOWN);
	for (int rows = 1; rows < 60; rows += 7)
		for (int columns = 1; columns < 300; columns += 13)
			drawn(scene, rows, columns, false);
	has(drawn(scene, 5, 40, true), "needs 60 x 10");
	has(drawn(scene, 24, 80, true), "203.0.113.5 "); /* the selected one is in sight */
	top_press(&scene->top, '?');
	has(drawn(scene, 24, 80, true), "block the selected source");
}

static void not_protecting_is_said(void **state)
{
	struct scene *scene = *state;

	scene->interface.attached = false;
	scene->snapshot.protecting = false;
	tick(scene, 0, 0);
	has(drawn(scene, 24, 80, true), "eth0 NOT ATTACHED  NOT PROTECTING");
}

static void json_document(void **state)
{
	struct scene *scene = *state;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *document, *source;

	tick(scene, 0, 0);
	tick(scene, 40, 2);
	assert_int_equal(render_top_json(&scene->top.rates, "default", false, out), 0);
	fclose(out);
	document = json_loads(text, 0, NULL);
	assert_non_null(document);
	assert_int_equal(json_integer_value(json_object_get(document, "interval_ns")), SECOND);
	assert_true(json_number_value(json_object_get(json_object_get(document, "passed"),
						      "packets_per_second")) == 40);
	source = json_array_get(json_object_get(document, "sources"), 0);
	assert_string_equal(json_string_value(json_object_get(source, "source")), "203.0.113.1");
	assert_string_equal(json_string_value(json_object_get(source, "limit")), "packets");
	assert_int_equal(json_integer_value(json_object_get(source, "remaining")), 20);
	json_decref(document);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rates_are_per_second, set_up, tear_down),
		cmocka_unit_test_setup_teardown(counters_that_went_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(drops_of_a_source_per_second, set_up, tear_down),
		cmocka_unit_test_setup_teardown(screen_of_80_by_24, set_up, tear_down),
		cmocka_unit_test_setup_teardown(remaining_and_retry, set_up, tear_down),
		cmocka_unit_test_setup_teardown(state_younger_than_the_sample, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ban_is_shown, set_up, tear_down),
		cmocka_unit_test_setup_teardown(minute_is_drawn, set_up, tear_down),
		cmocka_unit_test_setup_teardown(keys_quit_pause_and_sort, set_up, tear_down),
		cmocka_unit_test_setup_teardown(filter_by_prefix, set_up, tear_down),
		cmocka_unit_test_setup_teardown(block_asks_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(cursor_stays_on_its_source, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_to_block, set_up, tear_down),
		cmocka_unit_test_setup_teardown(survives_any_size, set_up, tear_down),
		cmocka_unit_test_setup_teardown(not_protecting_is_said, set_up, tear_down),
		cmocka_unit_test_setup_teardown(json_document, set_up, tear_down),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
