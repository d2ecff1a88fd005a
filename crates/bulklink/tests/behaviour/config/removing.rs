//! Members that a configuration no longer has.

use bulklink::Reason;
use bulklink::config::Action;

use super::World;
use crate::{call, reason};

#[test]
fn what_has_no_section_any_more_is_closed_and_drains_in_the_background() {
    let mut world = World::new();
    for label in ["old", "idle", "kept"] {
        let section = world.section(label);
        (section.parallelism, section.waiting_room) = (Some(1), Some(5));
    }
    world.applied();
    let old = world.bulkhead("old");
    let running = old.owned().try_slot().expect("free");
    let waiting = call(&mut world.executor, &old);
    world.config.bulkheads.retain(|label, _| label == "kept");
    let applied = world.apply().expect("valid");
    assert_eq!(applied.to_string(), "idle: removed\nold: removed; 1 operation has not ended");
    assert!(matches!(applied.changes[1].action, Action::Removed { running: 1 }));
    world.executor.run_until_idle();
    assert_eq!(reason(&waiting), Reason::Closed);
    assert_eq!(world.registry.len(), 2, "the old one drains");
    assert_eq!(world.applied(), "", "it is removed once");

    world.section("old").parallelism = Some(2);
    world.section("kept").parallelism = Some(2);
    assert_eq!(
        world.refused(),
        "bulkheads.old has the label of one that is being removed; operations in it that have not ended: 1"
    );
    drop(running);
    assert_eq!(world.applied(), "kept: parallelism 1 -> 2\nold: added, parallelism 2");
    assert!(old.is_closed() && !world.bulkhead("old").is_closed());
}

#[test]
fn partitions_are_removed_with_their_keys() {
    let mut world = World::new();
    let tenants = world.partitions_section("tenants");
    (tenants.parallelism, tenants.max_partitions) = (Some(2), Some(9));
    world.applied();
    let tenants = world.partitions("tenants");
    let slots = (tenants.key("ann").try_slot().expect("free"), tenants.key("bob").try_slot().expect("free"));
    world.config.partitions.clear();
    assert_eq!(world.applied(), "tenants: removed; 2 operations have not ended");
    drop(slots);
    assert!(world.registry.is_empty());
}

#[test]
fn a_bulkhead_that_the_program_has_put_in_the_place_of_a_configured_one_is_its_own() {
    let mut world = World::new();
    world.section("a").parallelism = Some(1);
    world.applied();
    drop(world.registry.remove("a"));
    let own = bulklink::Bulkhead::builder_on(world.clock.clone(), "a").parallelism(7);
    world.registry.create(own).expect("free again");
    world.config.bulkheads.clear();
    assert_eq!(world.applied(), "");
    assert_eq!(world.bulkhead("a").limits().capacity, 7);
}

#[test]
fn a_configured_bulkhead_that_the_program_removes_comes_back() {
    let mut world = World::new();
    world.section("a").parallelism = Some(1);
    world.applied();
    drop(world.registry.remove("a"));
    assert_eq!(world.applied(), "a: added, parallelism 1");
}
