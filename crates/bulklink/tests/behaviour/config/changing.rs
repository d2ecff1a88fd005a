//! Changes of bulkheads while calls run and wait.

use std::time::Duration;

use bulklink::config::{Action, BulkheadConfig};
use bulklink::{Bulkhead, Request, Reserve};

use super::World;
use crate::{call, ms, slot};

#[test]
fn a_change_is_live_and_admits_waiting_calls() {
    let mut world = World::new();
    let section = world.section("a");
    (section.parallelism, section.waiting_room, section.wait_limit) = (Some(1), Some(5), Some(ms(250)));
    world.applied();
    let a = world.bulkhead("a");
    let _running = a.owned().try_slot().expect("free");
    let waiting: Vec<_> = (0..3).map(|_| call(&mut world.executor, &a)).collect();
    let section = world.section("a");
    (section.parallelism, section.wait_limit) = (Some(3), Some(Duration::from_secs(1)));
    let applied = world.apply().expect("valid");
    assert_eq!(applied.to_string(), "a: parallelism 1 -> 3, wait_limit 250ms -> 1s; admitted 2");
    assert!(matches!(applied.changes[0].action, Action::Changed { admitted: 2, keys: 0, .. }));
    world.executor.run_until_idle();
    let _slots = [slot(&waiting[0]), slot(&waiting[1])];
    assert!(!waiting[2].is_finished());
}

#[test]
fn each_limit_is_shown_with_both_values() {
    let mut world = World::new();
    let section = world.section("a");
    (section.capacity, section.waiting_room) = (Some(4), Some(5));
    world.applied();
    let section = world.section("a");
    (section.capacity, section.waiting_room) = (Some(3), Some(6));
    (section.waiting_room_units, section.wait_limit) = (Some(9), Some(ms(1500)));
    let there = "a: capacity 4 -> 3, waiting_room 5 -> 6, waiting_room_units none -> 9, wait_limit none -> 1.5s";
    assert_eq!(world.applied(), there);
    *world.section("a") = BulkheadConfig::default();
    world.section("a").capacity = Some(3);
    let back = "a: waiting_room 6 -> 0, waiting_room_units 9 -> none, wait_limit 1.5s -> none";
    assert_eq!(world.applied(), back, "what a section leaves out has its default");
}

#[test]
fn a_change_by_hand_is_changed_back() {
    let mut world = World::new();
    world.section("a").parallelism = Some(5);
    world.applied();
    world.bulkhead("a").resize(9).expect("valid");
    assert_eq!(world.applied(), "a: parallelism 9 -> 5");
}

#[test]
fn a_capacity_below_the_cost_of_a_waiting_call_is_refused() {
    let mut world = World::new();
    let section = world.section("a");
    (section.capacity, section.waiting_room) = (Some(5), Some(5));
    world.section("b").parallelism = Some(1);
    world.applied();
    let a = world.bulkhead("a");
    let _running = a.owned().try_slot().expect("free");
    let waiting = world.executor.spawn(a.with(Request::new().cost(5).within(ms(100))).slot());
    world.executor.run_until_idle();
    world.section("a").capacity = Some(4);
    world.section("b").parallelism = Some(2);
    assert_eq!(world.refused(), "bulkheads.a.capacity must be at least 5, which a waiter asks for, got 4");
    world.clock.advance(ms(100));
    assert_eq!(world.applied(), "a: capacity 5 -> 4\nb: parallelism 1 -> 2", "a waiter that expires is no reason");
    world.executor.run_until_idle();
    assert!(waiting.output().expect("it has ended").is_err());
}

#[test]
fn a_setting_that_cannot_change_is_refused_with_its_value() {
    let mut world = World::new();
    let section = world.section("a");
    (section.parallelism, section.collect_limit) = (Some(1), Some(ms(1000)));
    world.applied();
    let section = world.section("a");
    (section.parallelism, section.collect_limit) = (Some(2), None);
    (section.measure_holds, section.reserve) = (Some(true), Some(Reserve::Fixed(ms(50))));
    assert_eq!(
        world.refused(),
        "bulkheads.a.measure_holds must stay false while this exists, got true; \
         bulkheads.a.collect_limit must stay 1s while this exists, got unset; \
         bulkheads.a.reserve must stay learnt while this exists, got 50ms"
    );
    let section = world.section("a");
    (section.collect_limit, section.measure_waits) = (Some(ms(1000)), Some(true));
    (section.measure_holds, section.reserve) = (Some(false), Some(Reserve::Learnt));
    assert_eq!(world.applied(), "a: parallelism 1 -> 2", "the defaults, in words");
}

#[test]
fn a_value_out_of_range_and_a_waiting_call_hide_no_setting_that_cannot_change() {
    let mut world = World::new();
    let section = world.section("a");
    (section.capacity, section.waiting_room) = (Some(5), Some(5));
    world.applied();
    let a = world.bulkhead("a");
    let _running = a.owned().try_slot().expect("free");
    let _waiting = world.executor.spawn(a.with(Request::new().cost(5)).slot());
    world.executor.run_until_idle();
    let section = world.section("a");
    (section.capacity, section.waiting_room, section.measure_holds) = (Some(0), Some(usize::MAX), Some(true));
    let fixed = "bulkheads.a.measure_holds must stay false while this exists, got true";
    assert_eq!(
        world.refused(),
        format!(
            "bulkheads.a.capacity must be from 1 to 2147483647, got 0; \
             bulkheads.a.waiting_room must be from 0 to 2147483647, got {}; {fixed}",
            usize::MAX
        )
    );
    let section = world.section("a");
    (section.capacity, section.waiting_room) = (Some(4), Some(5));
    let too_small = "bulkheads.a.capacity must be at least 5, which a waiter asks for, got 4";
    assert_eq!(world.refused(), format!("{fixed}; {too_small}"));
}

#[test]
fn a_value_out_of_range_hides_no_label_that_is_taken() {
    let mut world = World::new();
    world.section("a").parallelism = Some(1);
    world.section("b").parallelism = Some(1);
    world.applied();
    let _running = world.bulkhead("b").owned().try_slot().expect("free");
    world.config.bulkheads.remove("b");
    world.applied();
    world.section("b").parallelism = Some(0);
    world.config.bulkheads.remove("a");
    let tenants = world.partitions_section("a");
    (tenants.parallelism, tenants.max_partitions) = (Some(1), Some(0));
    assert_eq!(
        world.refused(),
        "bulkheads.b.parallelism must be from 1 to 2147483647, got 0; \
         partitions.a.max_partitions must be from 1 to 2147483647, got 0; \
         bulkheads.b has the label of one that is being removed; operations in it that have not ended: 1; \
         partitions.a must have another label, as a bulkhead in the registry has this one"
    );
}

#[test]
fn a_bulkhead_of_the_program_keeps_the_settings_that_its_section_leaves_out() {
    let mut world = World::new();
    let own = Bulkhead::builder_on(world.clock.clone(), "own").parallelism(1).collect_limit(ms(7));
    world.registry.create(own.measure_holds(true).reserve(Reserve::None)).expect("valid");
    world.section("own").parallelism = Some(2);
    assert_eq!(world.applied(), "own: parallelism 1 -> 2");
    world.section("own").measure_waits = Some(false);
    world.section("own").collect_limit = Some(ms(8));
    assert_eq!(
        world.refused(),
        "bulkheads.own.measure_waits must be true for collect_limit, got false; \
         bulkheads.own.measure_waits must stay true while this exists, got false; \
         bulkheads.own.collect_limit must stay 7ms while this exists, got 8ms",
        "a section that is invalid in itself"
    );
    world.section("own").measure_waits = None;
    assert_eq!(world.refused(), "bulkheads.own.collect_limit must stay 7ms while this exists, got 8ms");
}

#[test]
fn the_same_configuration_changes_nothing_however_long_its_durations_are() {
    let mut world = World::new();
    let section = world.section("a");
    (section.parallelism, section.waiting_room) = (Some(1), Some(1));
    (section.wait_limit, section.collect_limit) = (Some(Duration::MAX), Some(Duration::MAX));
    section.reserve = Some(Reserve::Fixed(Duration::MAX));
    let section = world.partitions_section("t");
    (section.parallelism, section.waiting_room, section.max_partitions) = (Some(1), Some(1), Some(5));
    (section.wait_limit, section.idle_timeout) = (Some(Duration::MAX), Some(Duration::MAX));
    world.applied();
    let t = world.partitions("t");
    let _slot = t.key("k").try_slot().unwrap();
    assert_eq!(world.applied(), "");
}
