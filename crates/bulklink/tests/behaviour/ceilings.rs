//! Ceilings: the least of the capacity and of what each controller allows counts.

mod rejections;
mod turning_away;

use std::thread;
use std::time::Duration;

use bulklink::config::Config;
use bulklink::testing::Task;
use bulklink::{Bulkhead, Ceiling, EventFilter, Partitions, Reason, Registry, Rejection, Request, Restriction};

use crate::{Call, TestBulkhead, builder, bulkhead, call, executor, ms, reason, slot};

fn finished<const N: usize>(calls: &[Call; N]) -> [bool; N] {
    calls.each_ref().map(Task::is_finished)
}

fn effective(bulkhead: &TestBulkhead) -> usize {
    bulkhead.status().effective_capacity()
}

fn shown(restriction: Option<Restriction>) -> Option<(&'static str, usize)> {
    restriction.map(|restriction| (restriction.by, restriction.units))
}

/// Returns how many slots can be taken without waiting. Takes them twice, so that the second time
/// the word admits.
fn takes(bulkhead: &TestBulkhead) -> usize {
    let count = || std::iter::from_fn(|| bulkhead.try_slot().ok()).collect::<Vec<_>>().len();
    let counted = count();
    assert_eq!((count(), bulkhead.status().free()), (counted, counted));
    counted
}

/// Only while the ceiling that turns away is the least.
#[test]
fn a_ceiling_that_turns_away_lets_no_call_wait() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 10, 5);
    let [fleet, adaptive] = ["fleet", "adaptive"].map(|by| bulkhead.handle().ceiling(by));
    fleet.set(1);
    adaptive.set(2);
    let running = slot(&call(&mut executor, &bulkhead));
    let waits = call(&mut executor, &bulkhead);
    fleet.turn_away(true);
    let rejection = call(&mut executor, &bulkhead).output().expect("no wait").expect_err("no unit is free");
    assert_eq!((rejection.reason(), shown(rejection.restriction())), (Reason::Saturated, Some(("fleet", 1))));
    assert!(!waits.is_finished());
    // A unit that is free is given as ever.
    drop(running);
    executor.run_until_idle();
    let waited = slot(&waits);
    drop(waited);
    drop(slot(&call(&mut executor, &bulkhead)));
    assert_eq!(bulkhead.status().totals.queued, 1);

    adaptive.set(0);
    let waits = call(&mut executor, &bulkhead);
    assert!(!waits.is_finished(), "the least ceiling lets calls wait");
    fleet.set(0);
    assert_eq!(reason(&call(&mut executor, &bulkhead)), Reason::Saturated, "of equal ones, that of the first");
    fleet.turn_away(false);
    let waits_too = call(&mut executor, &bulkhead);
    assert!(!waits.is_finished() && !waits_too.is_finished());
    fleet.turn_away(true);
    fleet.lift();
    assert!(!call(&mut executor, &bulkhead).is_finished());
}

#[test]
fn ceilings_take_the_least() {
    let bulkhead = bulkhead(&executor(), 10, 0);
    let [fleet, adaptive] = ["fleet", "adaptive"].map(|by| bulkhead.handle().ceiling(by));
    assert_eq!((takes(&bulkhead), fleet.units(), fleet.by()), (10, None, "fleet"));
    let all = |fleet: usize, adaptive| [("fleet", fleet), ("adaptive", adaptive)];
    for (of_fleet, of_adaptive, binding) in [
        (7, 3, Some(("adaptive", 3))),
        (2, 3, Some(("fleet", 2))),
        (4, 4, Some(("fleet", 4))),
        (10, 11, None),
        (usize::MAX, 9, Some(("adaptive", 9))),
        (1, 0, Some(("adaptive", 0))),
    ] {
        fleet.set(of_fleet);
        adaptive.set(of_adaptive);
        let listed: Vec<_> = bulkhead.handle().ceilings().into_iter().filter_map(|one| shown(Some(one))).collect();
        assert_eq!((fleet.units(), adaptive.units()), (Some(of_fleet), Some(of_adaptive)));
        assert_eq!(listed, all(of_fleet, of_adaptive));
        assert_eq!(shown(bulkhead.status().restriction), binding);
        let expected = binding.map_or(10, |(_, units)| units);
        assert_eq!((effective(&bulkhead), takes(&bulkhead)), (expected, expected));
        assert_eq!(bulkhead.limits().capacity, 10, "the capacity itself stays");
    }
    adaptive.lift();
    assert_eq!((adaptive.units(), takes(&bulkhead)), (None, 1));
    drop(fleet);
    assert_eq!((takes(&bulkhead), bulkhead.handle().ceilings()), (10, vec![]));
}

#[test]
fn several_of_one_name_are_apart() {
    let bulkhead = bulkhead(&executor(), 10, 0);
    let [first, second] = [3, 5].map(|units| {
        let ceiling = bulkhead.handle().ceiling("guard");
        ceiling.set(units);
        ceiling
    });
    assert_eq!((takes(&bulkhead), bulkhead.handle().ceilings().len()), (3, 2));
    drop(first);
    assert_eq!((takes(&bulkhead), second.units()), (5, Some(5)));
    second.set(6);
    assert_eq!(takes(&bulkhead), 6);
}

#[test]
fn zero_holds_all_calls_and_raising_it_admits_them_in_order() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 3, 5);
    let ceiling = bulkhead.handle().ceiling("share");
    assert_eq!(ceiling.set(0), 0);
    let waiting = [(); 5].map(|()| call(&mut executor, &bulkhead));
    assert_eq!((finished(&waiting), bulkhead.status().free()), ([false; 5], 0));
    assert_eq!(ceiling.set(1), 1);
    executor.run_until_idle();
    assert_eq!(finished(&waiting), [true, false, false, false, false]);
    assert_eq!(ceiling.set(2), 1);
    assert_eq!(ceiling.lift(), 1, "no more than the capacity");
    executor.run_until_idle();
    assert_eq!(finished(&waiting), [true, true, true, false, false]);
    ceiling.set(1);
    for (place, expected) in [(0, false), (1, false), (2, true)] {
        drop(slot(&waiting[place]));
        executor.run_until_idle();
        assert_eq!(waiting[3].is_finished(), expected, "operations go on above a ceiling, and end first");
    }
    drop(ceiling);
    executor.run_until_idle();
    assert!(waiting[4].is_finished(), "dropping it lifts it");
}

/// Through the word, and beside a call that waits.
#[test]
fn a_slot_given_back_above_a_ceiling_admits_no_call() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 3, 1);
    let running = [(); 3].map(|()| bulkhead.owned().try_slot().expect("free"));
    let ceiling = bulkhead.handle().ceiling("share");
    ceiling.set(2);
    let mut running = running.into_iter();
    drop(running.next());
    assert_eq!((bulkhead.status().free(), bulkhead.try_slot().is_err()), (0, true));
    let waiting = call(&mut executor, &bulkhead);
    ceiling.set(1);
    drop(running.next());
    executor.run_until_idle();
    assert!(!waiting.is_finished());
    drop(running.next());
    executor.run_until_idle();
    drop(slot(&waiting));
}

#[test]
fn a_cost_is_compared_with_the_capacity() {
    let mut executor = executor();
    let bulkhead = builder(&executor).capacity(10).waiting_room(5).build().expect("valid");
    let ceiling = bulkhead.handle().ceiling("share");
    ceiling.set(3);
    let ask = |cost| bulkhead.with(Request::new().cost(cost)).try_slot().map(drop).map_err(|no| no.reason());
    assert_eq!([ask(3), ask(4), ask(11)], [Ok(()), Err(Reason::Saturated), Err(Reason::InvalidCost)]);
    let heavy = executor.spawn(bulkhead.with(Request::new().cost(4)).slot());
    let behind = call(&mut executor, &bulkhead);
    assert!(!heavy.is_finished() && !behind.is_finished(), "they wait until it is raised");
    assert_eq!(ceiling.set(4), 1);
    executor.run_until_idle();
    assert!(heavy.is_finished() && !behind.is_finished());
}

#[test]
fn one_call_runs_alone_where_the_ceiling_allows_it() {
    let mut executor = executor();
    let bulkhead = builder(&executor).capacity(10).waiting_room(5).build().expect("valid");
    let ceiling = bulkhead.handle().ceiling("half-open");
    ceiling.set_or_one_call(3);
    let ask = |cost| bulkhead.with(Request::new().cost(cost)).try_slot();
    let alone = ask(10).expect("nothing runs");
    assert!(ask(1).is_err());
    let behind = [(); 2].map(|()| call(&mut executor, &bulkhead));
    let heavy = executor.spawn(bulkhead.with(Request::new().cost(4)).slot());
    let last = call(&mut executor, &bulkhead);
    drop(alone);
    executor.run_until_idle();
    assert_eq!((finished(&behind), heavy.is_finished()), ([true; 2], false));
    drop(slot(&behind[0]));
    executor.run_until_idle();
    assert!(!heavy.is_finished(), "another runs");
    drop(slot(&behind[1]));
    executor.run_until_idle();
    assert!(heavy.is_finished() && !last.is_finished());
    drop(heavy.output());
    executor.run_until_idle();
    drop(slot(&last));
    ceiling.set_or_one_call(0);
    assert!(ask(1).is_err() && ask(4).is_err(), "none with zero");
    ceiling.set(3);
    assert!(ask(4).is_err(), "no longer");
}

#[test]
fn a_lone_call_never_passes_a_strict_ceiling() {
    let executor = executor();
    let bulkhead = builder(&executor).capacity(10).build().expect("valid");
    let [half_open, fleet] = ["half-open", "fleet"].map(|by| bulkhead.handle().ceiling(by));
    half_open.set_or_one_call(2);
    fleet.set(5);
    let most = || (1..=10).rev().find(|&cost| bulkhead.with(Request::new().cost(cost)).try_slot().is_ok());
    assert_eq!(most(), Some(5));
    fleet.set(1);
    assert_eq!(most(), Some(1), "the strict one is the least");
    fleet.set(0);
    assert_eq!(most(), None);
    fleet.set_or_one_call(1);
    assert_eq!(most(), Some(10));
    fleet.lift();
    assert_eq!(most(), Some(10));
    half_open.set(2);
    assert_eq!(most(), Some(2));
}

#[test]
fn resizing_and_reconfiguring_take_effect_beside_a_ceiling() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 10, 5);
    let ceiling = bulkhead.handle().ceiling("share");
    ceiling.set(4);
    for (capacity, expected) in [(20, 4), (4, 4), (2, 2), (3, 3), (10, 4)] {
        assert_eq!(bulkhead.resize(capacity).expect("valid").admitted, 0);
        assert_eq!((effective(&bulkhead), takes(&bulkhead)), (expected, expected));
        let binding = (expected < capacity).then_some(("share", 4));
        assert_eq!(shown(bulkhead.status().restriction), binding);
    }
    bulkhead.reconfigure(bulkhead.limits().with_capacity(2).with_waiting_room(3)).expect("valid");
    assert_eq!(takes(&bulkhead), 2);
    ceiling.set(5);
    let calls = [(); 5].map(|()| call(&mut executor, &bulkhead));
    let answer = bulkhead.reconfigure(bulkhead.limits().with_capacity(9)).expect("valid");
    assert_eq!((answer.admitted, effective(&bulkhead)), (3, 5));
    executor.run_until_idle();
    assert_eq!(finished(&calls), [true; 5]);
    drop(ceiling);
    assert_eq!(bulkhead.status().free(), 4);
}

#[test]
fn a_configuration_that_is_applied_leaves_a_ceiling() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 10, 5);
    let registry = Registry::new();
    registry.add(&bulkhead).expect("a new label");
    let ceiling = bulkhead.handle().ceiling("share");
    ceiling.set(4);
    let mut config = Config::default();
    let section = config.bulkheads.entry("test".into()).or_default();
    (section.parallelism, section.waiting_room) = (Some(20), Some(5));
    registry.apply(&config, &executor.runtime()).expect("valid");
    assert_eq!((bulkhead.limits().capacity, effective(&bulkhead), takes(&bulkhead)), (20, 4, 4));
}

#[test]
fn a_pause_and_a_ceiling_both_hold() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 3, 5);
    let ceiling = bulkhead.handle().ceiling("share");
    ceiling.set(1);
    bulkhead.pause();
    let waiting = [(); 3].map(|()| call(&mut executor, &bulkhead));
    assert_eq!(ceiling.set(2), 0, "it is paused");
    let status = bulkhead.status();
    assert_eq!((status.is_paused, status.effective_capacity(), status.free()), (true, 2, 0));
    let rejection = bulkhead.try_slot().expect_err("paused");
    assert_eq!((rejection.is_paused(), shown(rejection.restriction())), (true, Some(("share", 2))));
    bulkhead.resume();
    executor.run_until_idle();
    assert_eq!(finished(&waiting), [true, true, false]);
    ceiling.set(0);
    bulkhead.pause();
    bulkhead.resume();
    assert!(!bulkhead.status().is_paused && bulkhead.status().free() == 0);
    assert_eq!(bulkhead.try_slot().expect_err("none").restriction(), Some(Restriction::new(0, "share")));
}

#[test]
fn closing_lifts_all_ceilings() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 3, 5);
    let ceiling = bulkhead.handle().ceiling("share");
    ceiling.set(0);
    let waiting = call(&mut executor, &bulkhead);
    bulkhead.close();
    executor.run_until_idle();
    assert_eq!(reason(&waiting), Reason::Closed);
    let rejection = bulkhead.try_slot().expect_err("closed");
    assert_eq!((rejection.reason(), rejection.restriction()), (Reason::Closed, None));
    assert_eq!((ceiling.set(2), ceiling.units(), bulkhead.handle().ceilings()), (0, None, vec![]));
    assert_eq!((bulkhead.status().restriction, effective(&bulkhead)), (None, 3));
    let late = bulkhead.handle().ceiling("late");
    assert_eq!((late.set(1), late.lift(), bulkhead.status().restriction), (0, 0, None));
}

#[test]
fn nobody_can_say_when_a_ceiling_of_zero_ends() {
    let mut executor = executor();
    let bulkhead = builder(&executor).capacity(10).waiting_room(5).build().expect("valid");
    let ceiling = bulkhead.handle().ceiling("share");
    let free = Some(Duration::ZERO);
    assert_eq!(bulkhead.estimated_wait(10), free);
    ceiling.set(0);
    assert_eq!(bulkhead.estimated_wait(1), None);
    ceiling.set(2);
    assert_eq!([1, 2, 3].map(|cost| bulkhead.estimated_wait(cost)), [free, free, None]);
    ceiling.set_or_one_call(2);
    assert_eq!([3, 10, 11].map(|cost| bulkhead.estimated_wait(cost)), [free, free, None]);
    // 10 units in a second.
    drop({
        let running = bulkhead.with(Request::new().cost(10)).try_slot().expect("alone");
        executor.advance(Duration::from_secs(1));
        running
    });
    let _running = [(); 2].map(|()| bulkhead.try_slot().expect("free"));
    assert_eq!([1, 3].map(|cost| bulkhead.estimated_wait(cost)), [Some(ms(100)), Some(ms(200))]);
    ceiling.lift();
    assert_eq!(bulkhead.estimated_wait(8), free);
}

#[test]
fn status_and_report_name_the_ceiling_that_binds() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 10, 0);
    let report = || bulkhead.status().capacity_report();
    let [fleet, adaptive] = ["fleet", "adaptive"].map(|by| bulkhead.handle().ceiling(by));
    fleet.set(2);
    adaptive.set(5);
    assert_eq!(report().severity().as_str(), "ok", "a unit is free");
    let _running = [(); 2].map(|()| bulkhead.try_slot().expect("free"));
    let expected = "warning: fleet allows 2 of 10 units, 2 in use, 0 waiting";
    assert!(report().to_string().contains(expected), "{}", report());
    fleet.lift();
    assert_eq!(shown(bulkhead.status().restriction), Some(("adaptive", 5)));
    assert_eq!(report().severity().as_str(), "ok");
}

#[test]
fn a_ceiling_outlives_its_bulkhead_and_does_not_keep_it() {
    let executor = executor();
    let (kept, watched) = (bulkhead(&executor, 2, 0), std::sync::Arc::new(()));
    let inside = std::sync::Arc::clone(&watched);
    kept.handle().add_event_handler(EventFilter::ALL, move |_| _ = &inside);
    let ceiling = kept.handle().ceiling("share");
    ceiling.set(1);
    drop(kept);
    assert_eq!(std::sync::Arc::strong_count(&watched), 1, "the bulkhead is gone");
    assert_eq!((ceiling.units(), ceiling.set(2), ceiling.lift(), ceiling.by()), (None, 0, 0, "share"));
    assert_eq!(format!("{ceiling:?}"), r#"Ceiling { by: "share", units: None, .. }"#);
}

#[test]
fn a_partition_has_ceilings_of_its_own() {
    let executor = executor();
    let tenants: Partitions<String, _> =
        Partitions::builder_on(executor.clock(), "tenants").parallelism(3).max_partitions(1).build().expect("valid");
    drop(tenants.key("ann").try_slot());
    let ann = tenants.partition("ann").expect("it is kept");
    let ceiling = ann.ceiling("share");
    ceiling.set(1);
    let running = tenants.key("ann").try_slot().expect("free");
    let rejection = tenants.key("ann").try_slot().expect_err("one may run");
    assert_eq!(shown(rejection.restriction()), Some(("share", 1)));
    drop((running, ann));
    drop(tenants.key("bob").try_slot().expect("the only partition is made anew"));
    assert_eq!((ceiling.units(), ceiling.set(0)), (None, 0));
    let _all = [(); 3].map(|()| tenants.key("ann").try_slot().expect("a new partition has no ceiling"));
}

#[test]
fn a_ceiling_can_move_to_another_thread() {
    let bulkhead = bulkhead(&executor(), 2, 0);
    let ceiling: Ceiling = bulkhead.handle().ceiling("share");
    thread::spawn(move || assert_eq!(ceiling.set(1), 0)).join().expect("no panic");
    assert_eq!(bulkhead.status().free(), 2, "it was dropped there");
}
