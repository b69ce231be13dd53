/* SPDX-License-Identifier: GPL-2.0-only */
/* What a source used elsewhere, charged to its state through the program. */
#include "../../user/entries.h"
#include "fixture.h"

#define NAME "kernel-c"
#define HOUR (3600 * NS_PER_SEC)

static struct fixture f;

static void start(const char *limit)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "policies:\n"
		 "  - {name: a, sources: [0.0.0.0/0, '::/0'], limits: [%s]}\n",
		 limit);
	fixture_create(&f, NAME, text);
}

static struct maintain command_of(const char *source, uint64_t cost, uint64_t debt_ns)
{
	struct prefix address = prefix_from(source);
	struct live live;

	must(live_read(&f.instance, &live));
	return (struct maintain){
		.op = MAINTAIN_CHARGE,
		.policy = (live.generation & 1) * f.instance.meta.policies,
		.key = limit_key(&f.image->policies[0].policy.limits[0], &address),
		.cost = cost,
		.debt_ns = debt_ns,
	};
}

/* How many states changed. */
static unsigned int charge(const char *source, uint64_t cost, uint64_t debt_ns)
{
	struct maintain command = command_of(source, cost, debt_ns);

	must(instance_maintain(&f.instance, &command));
	return command.done;
}

static struct source_state state_of(const char *source)
{
	struct prefix address = prefix_from(source);
	struct source_state *list, state;
	size_t count;

	must(sources_of(&f.instance, f.image, &address, &list, &count));
	assert_int_equal(count, 1);
	state = list[0];
	free(list);
	return state;
}

static uint64_t displaced(void)
{
	struct snapshot snapshot;
	uint64_t count;

	must(snapshot_read(&f.instance, f.image, false, &snapshot, &message));
	count = snapshot.table.displaced;
	snapshot_free(&snapshot);
	return count;
}

static void a_charge_is_as_good_as_a_packet(const char *source)
{
	assert_int_equal(charge(source, 3, 0), 1);
	assert_int_equal(pass(&f, source, 53, 1), 1);
	assert_int_equal(charge(source, 4, 0), 1);
	assert_int_equal(pass(&f, source, 53, 10), 2);
	assert_int_equal(state_of(source).passed, 3); /* its own packets alone */
}

static void charges_and_packets_add_up(void **state)
{
	(void)state;
	start("{rate: 1/hour, burst: 10}");
	a_charge_is_as_good_as_a_packet("10.0.0.1");
	a_charge_is_as_good_as_a_packet("2001:db8::1");
	assert_int_equal(pass(&f, "10.0.0.2", 53, 20), 10);
	fixture_destroy(&f);
}

static void wide_keys_are_charged(void **state)
{
	(void)state;
	start("{rate: 1/hour, burst: 10, per: {ipv4: 32, ipv6: 128}}");
	a_charge_is_as_good_as_a_packet("2001:db8::1");
	a_charge_is_as_good_as_a_packet("2001:db8::2");
	a_charge_is_as_good_as_a_packet("10.0.0.1");
	fixture_destroy(&f);
}

static void debt_ends_where_it_is_told_to(void **state)
{
	uint64_t before, after;

	(void)state;
	start("{rate: 1/hour, burst: 10}");
	before = kernel_now_ns();
	assert_int_equal(charge("10.0.0.1", 1000, 0), 1);
	assert_int_equal(charge("10.0.0.2", 0xffffffff, 3 * HOUR), 1);
	assert_int_equal(charge("10.0.0.3", 12, 3 * HOUR), 1);
	after = kernel_now_ns();
	assert_in_range(state_of("10.0.0.1").state.word, before + 10 * HOUR, after + 10 * HOUR);
	assert_in_range(state_of("10.0.0.2").state.word, before + 13 * HOUR, after + 13 * HOUR);
	assert_in_range(state_of("10.0.0.3").state.word, before + 12 * HOUR, after + 12 * HOUR);
	assert_int_equal(charge("10.0.0.2", 1, 0), 0); /* never less than before */
	assert_in_range(state_of("10.0.0.2").state.word, before + 13 * HOUR, after + 13 * HOUR);
	assert_int_equal(pass(&f, "10.0.0.1", 53, 5), 0);
	fixture_destroy(&f);
}

static void windows_are_charged(void **state)
{
	(void)state;
	start("{algorithm: fixed-window, rate: 10/day}");
	assert_int_equal(charge("10.0.0.1", 7, 0), 1);
	assert_int_equal(pass(&f, "10.0.0.1", 53, 20), 3);
	fixture_destroy(&f);
	start("{algorithm: sliding-window, rate: 10/day}");
	assert_int_equal(charge("10.0.0.1", 7, 0), 1);
	assert_int_equal(pass(&f, "10.0.0.1", 53, 20), 3);
	assert_int_equal(charge("10.0.0.1", 0xffffffff, 0), 1);
	assert_int_equal(pass(&f, "10.0.0.1", 53, 20), 0);
	fixture_destroy(&f);
}

static void what_can_not_be_charged_is_left_alone(void **state)
{
	(void)state;
	start("{algorithm: sliding-log, rate: 10/day}");
	assert_int_equal(charge("10.0.0.1", 7, 0), 0);
	assert_int_equal(pass(&f, "10.0.0.1", 53, 20), 10);
	fixture_destroy(&f);
	start("{rate: 10/s, burst: 1, ban: 1h}");
	assert_int_equal(pass(&f, "10.0.0.1", 53, 2), 1);
	assert_int_equal(charge("10.0.0.1", 1, 0), 0); /* banned */
	fixture_destroy(&f);
	start("{per: policy, rate: 1/hour, burst: 10}");
	assert_int_equal(charge("10.0.0.1", 7, 0), 0);
	assert_int_equal(pass(&f, "10.0.0.1", 53, 20), 10);
	assert_int_equal(charge("10.0.0.1", 1ULL << 32, 0), 0);
	assert_int_equal(charge("10.0.0.1", 1, (1ULL << 62) + 1), 0);
	fixture_destroy(&f);
}

/* One set: a source from elsewhere takes the least debt over, as one that sends here would. */
static void a_charge_displaces_as_a_newcomer_does(void **state)
{
	(void)state;
	start("{rate: 1/hour, burst: 10, sources: 4}");
	assert_int_equal(f.image->policies[0].policy.limits[0].slice_mask, 0);
	assert_int_equal(pass(&f, "10.0.0.1", 53, 3), 3);
	for (unsigned int i = 2; i <= 4; i++) {
		char source[16];

		snprintf(source, sizeof(source), "10.0.0.%u", i);
		assert_int_equal(pass(&f, source, 53, 8), 8);
	}
	assert_int_equal(charge("10.0.0.5", 2, 0), 1);
	assert_int_equal(displaced(), 1);
	assert_in_range(pass(&f, "10.0.0.5", 53, 20), 4,
			5); /* 10 - 3 - 2, and a fraction of a ns */
	assert_int_equal(pass(&f, "10.0.0.2", 53, 20), 2);
	fixture_destroy(&f);
}

static void no_other_table_is_charged(const char *table)
{
	struct maintain command;
	char text[512];

	snprintf(text, sizeof(text),
		 "table: {kind: %s, sources: 4096}\n"
		 "policies:\n"
		 "  - {name: a, sources: [10.0.0.0/8], limits: [{rate: 1/hour, burst: 5}]}\n",
		 table);
	fixture_create(&f, NAME, text);
	pass(&f, "10.0.0.1", 53, 2);
	command = command_of("10.0.0.1", 1, 0);
	assert_int_equal(instance_maintain(&f.instance, &command), -EOPNOTSUPP);
	assert_int_equal(pass(&f, "10.0.0.1", 53, 10), 3); /* and nothing is forgotten */
	fixture_destroy(&f);
}

static void the_kernels_tables_are_not_charged(void **state)
{
	(void)state;
	no_other_table_is_charged("hash");
	no_other_table_is_charged("percpu");
}

static int clean(void **state)
{
	(void)state;
	return fixture_clean(&f, NAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(charges_and_packets_add_up, clean),
		cmocka_unit_test_teardown(wide_keys_are_charged, clean),
		cmocka_unit_test_teardown(debt_ends_where_it_is_told_to, clean),
		cmocka_unit_test_teardown(windows_are_charged, clean),
		cmocka_unit_test_teardown(what_can_not_be_charged_is_left_alone, clean),
		cmocka_unit_test_teardown(a_charge_displaces_as_a_newcomer_does, clean),
		cmocka_unit_test_teardown(the_kernels_tables_are_not_charged, clean),
	};

	return cmocka_run_group_tests_name("charge", tests, mount_sysfs, NULL);
}
