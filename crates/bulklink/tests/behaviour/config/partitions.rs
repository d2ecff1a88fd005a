//! Partitions in a configuration: their common limits, and those of keys.

use bulklink::config::{Action, KeyConfig};
use bulklink::partitions::RandomState;
use bulklink::testing::FakeClock;
use bulklink::{Partitions, Reason, Request};

use super::World;
use crate::ms;

fn world() -> World {
    let mut world = World::new();
    let tenants = world.partitions_section("tenants");
    (tenants.parallelism, tenants.waiting_room, tenants.max_partitions) = (Some(2), Some(5), Some(10));
    tenants.wait_limit = Some(ms(250));
    world
}

fn key(capacity: usize) -> KeyConfig {
    let mut key = KeyConfig::default();
    key.parallelism = Some(capacity);
    key
}

fn set_key(world: &mut World, name: &str, limits: KeyConfig) {
    world.partitions_section("tenants").keys.insert(name.to_owned(), limits);
}

fn capacity(tenants: &Partitions<String, FakeClock>, key: &str) -> usize {
    drop(tenants.key(key).try_slot());
    tenants.partition(key).expect("kept").limits().capacity
}

#[test]
fn keys_have_limits_of_their_own_and_the_common_ones_for_the_rest() {
    let mut world = world();
    world.partitions_section("tenants").idle_timeout = Some(ms(100));
    set_key(&mut world, "ann", key(20));
    let mut bob = KeyConfig::default();
    bob.waiting_room = Some(0);
    set_key(&mut world, "bob", bob);
    assert_eq!(world.applied(), "tenants: added, parallelism 2, waiting_room 5, wait_limit 250ms, limits of 2 keys");
    let tenants = world.partitions("tenants");
    assert_eq!(["ann", "bob", "eve"].map(|key| capacity(&tenants, key)), [20, 2, 2]);
    let limits = |key| tenants.partition(key).expect("kept").limits();
    assert_eq!((limits("ann").waiting_room, limits("ann").wait_limit), (5, Some(ms(250))));
    assert_eq!((limits("bob").waiting_room, limits("bob").wait_limit), (0, None));
    world.clock.advance(ms(100));
    assert_eq!(tenants.handle().cleanup_idle(), 3, "after the idle timeout");
}

#[test]
fn keys_are_shown_as_they_are_if_the_section_says_so() {
    let mut world = world();
    world.partitions_section("tenants").show_keys = Some(true);
    world.applied();
    let tenants = world.partitions("tenants");
    let _running = tenants.key("ann").try_slot().expect("free");
    let worst = tenants.handle().worst_keys(10).expect("they are shown");
    assert_eq!(worst.in_use.iter().map(|load| &*load.key).collect::<Vec<_>>(), ["ann"]);
    world.partitions_section("tenants").show_keys = None;
    assert_eq!(world.refused(), "partitions.tenants.show_keys must stay true while this exists, got false");
}

#[test]
fn limits_of_keys_change_live() {
    let mut world = world();
    set_key(&mut world, "ann", key(3));
    set_key(&mut world, "bob", key(4));
    world.applied();
    let tenants = world.partitions("tenants");
    let slots: Vec<_> = (0..2).map(|_| tenants.key("eve").try_slot().expect("free")).collect();
    let waiting = world.executor.spawn(tenants.key("eve").slot());
    world.executor.run_until_idle();
    assert_eq!(["ann", "bob", "eve"].map(|key| capacity(&tenants, key)), [3, 4, 2]);

    world.partitions_section("tenants").keys.remove("ann");
    set_key(&mut world, "bob", key(1));
    set_key(&mut world, "eve", key(3));
    let applied = world.apply().expect("valid");
    assert_eq!(applied.to_string(), "tenants: limits of 3 keys; admitted 1");
    assert!(matches!(applied.changes[0].action, Action::Changed { keys: 3, admitted: 1, .. }));
    assert!(!applied.to_string().contains("eve"), "no key is shown");
    world.executor.run_until_idle();
    assert!(waiting.output().expect("it has ended").is_ok());
    drop(slots);
    assert_eq!(["ann", "bob", "eve"].map(|key| capacity(&tenants, key)), [2, 1, 3]);

    world.partitions_section("tenants").parallelism = Some(5);
    let mut same = KeyConfig::default();
    same.capacity = Some(1);
    set_key(&mut world, "bob", same);
    assert_eq!(world.applied(), "tenants: parallelism 2 -> 5", "a capacity under its other name is the same");
    assert_eq!(["ann", "bob", "eve", "new"].map(|key| capacity(&tenants, key)), [5, 1, 3, 5]);
}

#[test]
fn limits_of_a_key_that_a_waiting_call_forbids_are_refused_and_change_nothing() {
    let mut world = world();
    set_key(&mut world, "ann", key(4));
    world.section("a").parallelism = Some(3);
    world.applied();
    let tenants = world.partitions("tenants");
    let _running = tenants.key("ann").try_slot().expect("free");
    let _waiting = world.executor.spawn(tenants.key("ann").with(Request::new().cost(4)).slot());
    world.executor.run_until_idle();
    set_key(&mut world, "ann", key(3));
    set_key(&mut world, "bob", key(9));
    world.section("a").parallelism = Some(1);
    assert_eq!(
        world.refused(),
        "partitions.tenants cannot be changed: limits of a key: capacity must be at least 4, which a waiter asks for, \
         got 3"
    );
    assert_eq!(["ann", "bob"].map(|key| capacity(&tenants, key)), [4, 2]);
}

#[test]
fn what_cannot_change_is_refused() {
    let mut world = world();
    world.applied();
    let tenants = world.partitions_section("tenants");
    (tenants.max_partitions, tenants.idle_timeout) = (Some(11), Some(ms(60_000)));
    (tenants.measure_waits, tenants.show_keys) = (Some(false), Some(true));
    assert_eq!(
        world.refused(),
        "partitions.tenants.measure_waits must stay true while this exists, got false; \
         partitions.tenants.max_partitions must stay 10 while this exists, got 11; \
         partitions.tenants.idle_timeout must stay unset while this exists, got 60s; \
         partitions.tenants.show_keys must stay false while this exists, got true"
    );
    let tenants = world.partitions_section("tenants");
    (tenants.max_partitions, tenants.measure_waits, tenants.show_keys) = (None, None, Some(false));
    set_key(&mut world, "ann", key(0));
    assert_eq!(
        world.refused(),
        "partitions.tenants.max_partitions must be set; \
         partitions.tenants.keys.ann.parallelism must be from 1 to 2147483647, got 0; \
         partitions.tenants.idle_timeout must stay unset while this exists, got 60s",
        "beside values that are invalid in themselves"
    );
}

#[test]
fn partitions_of_the_program_get_common_limits_and_keep_those_of_their_keys() {
    let mut world = world();
    let own = Partitions::<usize, _>::builder_on(world.clock.clone(), "tenants").parallelism(1).max_partitions(10);
    let own = own.idle_timeout(ms(5)).limits_for(|key, limits| limits.with_capacity(limits.capacity + *key));
    let own = world.registry.create_partitions(own).expect("valid");
    drop(own.key(&7).try_slot());
    assert_eq!(world.applied(), "tenants: parallelism 1 -> 2, waiting_room 0 -> 5, wait_limit none -> 250ms");
    assert_eq!(own.partition(&7).expect("kept").limits().capacity, 9);
    set_key(&mut world, "7", key(1));
    assert_eq!(
        world.refused(),
        "partitions.tenants.keys must not be set for partitions that the program has made: it sets their limits and shares"
    );
    world.config.partitions.clear();
    assert_eq!(world.applied(), "");
    assert!(!own.status().is_closed);
    assert!(world.registry.partitions::<usize, FakeClock, RandomState>("tenants").is_ok());
}

#[test]
fn a_panic_of_the_programs_limits_of_keys_is_a_reason() {
    let mut world = world();
    let own = Partitions::<u64, _>::builder_on(world.clock.clone(), "tenants").parallelism(1).max_partitions(10);
    let own = own.limits_for(|_, limits| {
        assert_eq!(limits.capacity, 1, "a panic, on purpose");
        limits
    });
    let own = world.registry.create_partitions(own).expect("valid");
    drop(own.key(&7).try_slot());
    world.section("a").parallelism = Some(1);
    assert_eq!(
        world.refused(),
        "partitions.tenants cannot be changed: tenants: limits_for must not panic, got a panic"
    );
    assert_eq!(world.registry.len(), 1);
}

#[test]
fn a_key_is_rejected_by_the_limits_of_its_section() {
    let mut world = world();
    set_key(&mut world, "ann", key(1));
    world.applied();
    let tenants = world.partitions("tenants");
    let _running = tenants.key("ann").try_slot().expect("free");
    assert_eq!(tenants.key("ann").try_slot().expect_err("one slot").reason(), Reason::Saturated);
    assert!(tenants.key("bob").try_slot().is_ok());
}
