/* SPDX-License-Identifier: GPL-2.0-only */
/* What is read back from the maps: counters that add up, the table, the states of sources. */
#include "fixture.h"

#define NAME "kernel-s"

static struct fixture f;
static struct snapshot snapshot;

static void read_snapshot(void)
{
	snapshot_free(&snapshot);
	must(snapshot_read(&f.instance, f.image, true, &snapshot, &message));
}

static void counters_add_up_and_never_go_back(void **state)
{
	(void)state;
	fixture_create(&f, NAME,
		       "policies:\n"
		       "  - {name: a, sources: [10.0.0.0/8], limits: [{rate: 1/hour, burst: 5}]}\n"
		       "  - {name: b, sources: [11.0.0.0/8], action: drop}\n"
		       "  - {name: c, sources: [12.0.0.0/8], action: pass}\n");
	pass(&f, "10.0.0.1", 53, 20);
	pass(&f, "11.0.0.1", 53, 7);
	pass(&f, "12.0.0.1", 53, 3);
	pass(&f, "13.0.0.1", 53, 2);
	read_snapshot();
	assert_int_equal(snapshot.passed.packets, 5 + 3 + 2);
	assert_int_equal(snapshot.dropped.packets, 15 + 7);
	assert_int_equal(snapshot.passed.bytes + snapshot.dropped.bytes, 32 * 42);
	assert_int_equal(snapshot.policies[0].passed.packets, 5);
	assert_int_equal(snapshot.policies[0].limits[0].refused.packets, 15);
	assert_int_equal(snapshot.policies[1].reasons[REASON_BLOCKED].packets, 7);
	assert_int_equal(snapshot.reasons[REASON_UNMATCHED].packets, 2);
	must(fixture_apply(&f,
			   "policies:\n"
			   "  - {name: a, sources: [10.0.0.0/8], action: pass}\n",
			   false));
	pass(&f, "10.0.0.1", 53, 1);
	read_snapshot();
	assert_int_equal(snapshot.passed.packets, 5 + 3 + 2 + 1);
	assert_int_equal(snapshot.dropped.packets, 15 + 7);
	assert_int_equal(snapshot.reasons[REASON_LIMIT].packets, 15);
	assert_int_equal(snapshot.policies[0].passed.packets, 1);
	fixture_destroy(&f);
}

static void not_attached_is_not_protecting(void **state)
{
	(void)state;
	fixture_create(&f, NAME,
		       "policies:\n"
		       "  - {name: a, sources: [10.0.0.0/8], mode: observe, "
		       "limits: [{rate: 1/hour, burst: 5}]}\n");
	read_snapshot();
	assert_false(snapshot.protecting);
	assert_int_equal(snapshot.interface_count, 0);
	assert_non_null(strstr(snapshot.warnings[0], "no interface"));
	assert_non_null(strstr(snapshot.warnings[1], "policy a only observes"));
	fixture_destroy(&f);
}

static const struct source_state *only(struct source_state *list, size_t count, const char *source)
{
	struct prefix prefix = prefix_from(source);

	for (size_t i = 0; i < count; i++)
		if (!prefix_compare(&list[i].source, &prefix))
			return &list[i];
	fail_msg("no state of %s", source);
	return NULL;
}

/* Four IPv4 sources, each with 10 drops more than the one before, and an IPv6 one with 7. */
static void send_from_five(const char *table)
{
	char text[512], source[32];

	snprintf(text, sizeof(text),
		 "table: {kind: %s, sources: 4096}\n"
		 "policies:\n"
		 "  - {name: a, sources: [10.0.0.0/8, \"2001:db8::/32\"], limits: "
		 "[{rate: 1/hour, burst: 5}, {per: policy, rate: 1000/s, burst: 1000}]}\n",
		 table);
	fixture_create(&f, NAME, text);
	for (unsigned int i = 1; i <= 4; i++) {
		snprintf(source, sizeof(source), "10.0.0.%u", i);
		pass(&f, source, 53, 5 + 10 * i);
	}
	pass(&f, "2001:db8::7", 53, 12);
}

/* In every kind of table. */
static void sources_are_found(const char *table)
{
	struct prefix address = prefix_from("10.0.0.3");
	const struct source_state *one;
	struct source_state *list;
	size_t count;

	send_from_five(table);
	must(sources_top(&f.instance, f.image, ORDER_DROPPED, 2, &list, &count));
	assert_int_equal(count, 2);
	assert_int_equal(list[0].dropped, 40);
	assert_int_equal(list[1].dropped, 30);
	assert_int_equal(list[0].passed, 5);
	one = only(list, count, "10.0.0.4/32");
	assert_ptr_equal(one->policy, &f.image->policies[0]);
	free(list);
	must(sources_top(&f.instance, f.image, ORDER_PASSED, 100, &list, &count));
	assert_int_equal(count, 5);
	assert_int_equal(only(list, count, "2001:db8::/64")->dropped, 7);
	free(list);
	must(sources_of(&f.instance, f.image, &address, &list, &count));
	assert_int_equal(count, 2);
	assert_int_equal(list[0].limit, 0);
	assert_int_equal(list[0].dropped, 30);
	assert_int_equal(list[1].limit, 1);
	free(list);
	read_snapshot();
	assert_in_range(snapshot.table.live, 5, 6);
	assert_true(snapshot.table.capacity >= 4096);
	fixture_destroy(&f);
}

static void sources_are_found_in_sets(void **state)
{
	(void)state;
	sources_are_found("sets");
}

static void sources_are_found_in_hash(void **state)
{
	(void)state;
	sources_are_found("hash");
}

static void sources_are_found_in_percpu(void **state)
{
	(void)state;
	sources_are_found("percpu");
}

static void forget(uint32_t policy, const char *source)
{
	struct prefix address = prefix_from(source);
	struct maintain command = {
		.op = MAINTAIN_FORGET,
		.policy = policy,
		.key = limit_key(&f.image->policies[0].policy.limits[0], &address),
	};

	must(instance_maintain(&f.instance, &command));
	assert_int_equal(command.done, 1);
}

static void a_source_is_forgotten(const char *table)
{
	struct live live;
	uint32_t zero = 0;
	char text[256];

	snprintf(text, sizeof(text),
		 "table: {kind: %s, sources: 4096}\n"
		 "policies:\n"
		 "  - {name: a, sources: [10.0.0.0/8], limits: [{rate: 1/hour, burst: 5}]}\n",
		 table);
	fixture_create(&f, NAME, text);
	assert_int_equal(bpf_map_lookup_elem(f.instance.maps[MAP_LIVE], &zero, &live), 0);
	pass(&f, "10.0.0.1", 53, 10);
	pass(&f, "10.0.0.2", 53, 10);
	forget((live.generation & 1) * f.instance.meta.policies, "10.0.0.1");
	assert_int_equal(pass(&f, "10.0.0.1", 53, 10), 5);
	assert_int_equal(pass(&f, "10.0.0.2", 53, 10), 0);
	fixture_destroy(&f);
}

static void a_source_is_forgotten_in_sets(void **state)
{
	(void)state;
	a_source_is_forgotten("sets");
}

static void a_source_is_forgotten_in_hash(void **state)
{
	(void)state;
	a_source_is_forgotten("hash");
}

static int clean(void **state)
{
	(void)state;
	snapshot_free(&snapshot);
	return fixture_clean(&f, NAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(counters_add_up_and_never_go_back, clean),
		cmocka_unit_test_teardown(not_attached_is_not_protecting, clean),
		cmocka_unit_test_teardown(sources_are_found_in_sets, clean),
		cmocka_unit_test_teardown(sources_are_found_in_hash, clean),
		cmocka_unit_test_teardown(sources_are_found_in_percpu, clean),
		cmocka_unit_test_teardown(a_source_is_forgotten_in_sets, clean),
		cmocka_unit_test_teardown(a_source_is_forgotten_in_hash, clean),
	};

	return cmocka_run_group_tests_name("snapshot", tests, mount_sysfs, NULL);
}
