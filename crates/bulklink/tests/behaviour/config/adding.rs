//! The additions of a configuration, and the members that it finds in the registry.

use bulklink::config::ApplyError;
use bulklink::testing::FakeClock;
use bulklink::{Bulkhead, Registry, Reserve};

use super::World;
use crate::ms;

#[test]
fn a_bulkhead_is_built_with_all_settings() {
    let mut world = World::new();
    let section = world.section("db");
    (section.capacity, section.waiting_room, section.waiting_room_units) = (Some(8), Some(50), Some(20));
    (section.wait_limit, section.collect_limit) = (Some(ms(250)), Some(ms(1000)));
    (section.measure_holds, section.reserve) = (Some(true), Some(Reserve::None));
    assert_eq!(world.applied(), "db: added, capacity 8, waiting_room 50, waiting_room_units 20, wait_limit 250ms");
    let db = world.bulkhead("db");
    let limits = db.limits();
    assert_eq!((limits.capacity, limits.waiting_room, limits.waiting_room_units), (8, 50, Some(20)));
    assert_eq!(limits.wait_limit, Some(ms(250)));
    let slot = db.owned().try_slot().expect("free");
    let before = db.status();
    world.clock.advance(ms(30));
    drop(slot);
    assert_eq!(db.status().since(&before).expect("the same").mean_hold(), Some(ms(30)), "holds are measured");
    let error = crate::chain(&db.resize(0).expect_err("zero"));
    assert_eq!(
        error, "the capacity was not changed: bulkhead db: capacity must be at least 1, got 0",
        "named as in its section"
    );
}

#[test]
fn applying_the_same_again_changes_nothing() {
    let mut world = World::new();
    world.section("a").parallelism = Some(1);
    let tenants = world.partitions_section("tenants");
    (tenants.parallelism, tenants.max_partitions) = (Some(1), Some(1));
    assert_eq!(world.applied(), "a: added, parallelism 1\ntenants: added, parallelism 1");
    let again = world.apply().expect("valid");
    assert!(again.is_empty() && again.to_string().is_empty());
    let section = world.section("a");
    (section.parallelism, section.capacity) = (None, Some(1));
    assert!(world.apply().expect("valid").is_empty(), "the same limit under its other name");
}

#[test]
fn a_bulkhead_of_the_program_is_changed_and_never_removed() {
    let mut world = World::new();
    let own = Bulkhead::builder_on(world.clock.clone(), "own").parallelism(1).measure_holds(true);
    let own = world.registry.create(own).expect("valid");
    let silent = Bulkhead::builder_on(world.clock.clone(), "silent").parallelism(1);
    world.registry.create(silent).expect("valid");
    world.section("own").parallelism = Some(3);
    assert_eq!(world.applied(), "own: parallelism 1 -> 3");
    assert_eq!(own.limits().capacity, 3);
    world.config.bulkheads.clear();
    assert_eq!(world.applied(), "");
    assert_eq!((own.limits().capacity, own.is_closed(), world.registry.len()), (3, false, 2));
}

#[test]
fn a_label_of_the_other_kind_is_refused() {
    let mut world = World::new();
    world.section("a").parallelism = Some(1);
    let b = world.partitions_section("b");
    (b.parallelism, b.max_partitions) = (Some(1), Some(1));
    world.applied();
    (world.config.bulkheads, world.config.partitions) = Default::default();
    world.section("b").parallelism = Some(1);
    let a = world.partitions_section("a");
    (a.parallelism, a.max_partitions) = (Some(1), Some(1));
    assert_eq!(
        world.refused(),
        "bulkheads.b must have another label, as partitions in the registry have this one; \
         partitions.a must have another label, as a bulkhead in the registry has this one"
    );
}

#[test]
fn a_closed_registry_applies_nothing() {
    let mut world = World::new();
    world.section("a").parallelism = Some(0);
    world.registry.close_all();
    assert_eq!(world.apply(), Err(ApplyError::Closed));
    assert_eq!(world.refused(), "the registry is closed, and applies no configuration");
}

#[test]
fn a_member_that_is_closed_is_left_unless_it_would_change() {
    let mut world = World::new();
    for label in ["a", "b"] {
        world.section(label).parallelism = Some(1);
    }
    world.applied();
    world.bulkhead("a").close();
    assert_eq!(world.applied(), "");
    world.section("a").parallelism = Some(2);
    world.section("b").parallelism = Some(2);
    assert_eq!(world.refused(), "bulkheads.a is closed, and cannot be changed");
}

#[test]
fn bulkheads_of_different_runtimes_share_a_registry() {
    let mut world = World::new();
    world.section("a").parallelism = Some(1);
    world.applied();
    world.section("b").parallelism = Some(1);
    world.section("a").parallelism = Some(2);
    let applied = world.registry.apply(&world.config, &world.executor.runtime()).expect("valid");
    assert_eq!(applied.to_string(), "a: parallelism 1 -> 2\nb: added, parallelism 1");
    assert!(world.registry.bulkhead::<FakeClock>("a").is_ok());
    assert!(world.registry.bulkhead::<bulklink::testing::FakeRuntime>("b").is_ok());
}

#[test]
fn a_label_is_trimmed() {
    let mut world = World::new();
    world.section(" a ").parallelism = Some(1);
    assert_eq!(world.applied(), "a: added, parallelism 1");
    assert_eq!(world.applied(), "");
}

#[test]
fn an_empty_configuration_is_applied_to_an_empty_registry() {
    assert_eq!(World::new().applied(), "");
    assert!(Registry::new().is_empty());
}
