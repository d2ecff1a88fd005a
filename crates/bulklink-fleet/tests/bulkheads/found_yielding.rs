//! Faults that were found in processes that their fleet contradicts.

use bulklink::testing::FakeRuntime;
use bulklink::{Bulkhead, Request};
use bulklink_fleet::Fleet;

use crate::scene::{Process, Scene, millis};
use crate::service::{admitted, sections, service};

/// A process with a limit of 4, and one whose configuration has 7, with its bulkhead.
fn contradicted() -> (Scene, Process, Fleet<FakeRuntime>, Bulkhead<FakeRuntime>) {
    let mut scene = Scene::new();
    let first = scene.process();
    let (registry, fleet) = service(&scene, &["payments"]);
    fleet.apply(&sections(&[("payments", 7)])).unwrap();
    let bulkhead = registry.bulkhead("payments").unwrap();
    (scene, first, fleet, bulkhead)
}

/// The correct process of a fleet ends, and the server loses its data.
#[test]
fn processes_that_have_yielded_serve_after_a_loss_of_data() {
    let mut scene = Scene::new();
    let first = scene.process();
    let services = [7, 9].map(|limit| {
        let (registry, fleet) = service(&scene, &["payments"]);
        fleet.apply(&sections(&[("payments", limit)])).unwrap();
        (registry.bulkhead::<FakeRuntime>("payments").unwrap(), fleet)
    });
    let of_first = scene.slots(&first, 1);
    let mut held = vec![];
    for (bulkhead, fleet) in &services {
        held.extend(admitted(&mut scene, bulkhead, 1));
        let status = fleet.shares()[0].status();
        assert!(status.declined.is_some() && status.refusal.is_none());
    }
    assert_eq!(held.len(), 2);
    drop((first, of_first));
    scene.advance(1_000);
    scene.store.forget();
    scene.advance(40_000);
    for (bulkhead, fleet) in &services {
        let status = fleet.shares()[0].status();
        let admits = admitted(&mut scene, bulkhead, 1).len();
        assert_eq!((&status.refusal, admits), (&None, 1), "{status:?}");
    }
}

#[test]
fn a_process_that_has_yielded_is_not_alone_with_the_limit_that_was_refused() {
    let (mut scene, first, fleet, bulkhead) = contradicted();
    let held = scene.slots(&first, 1);
    let one = admitted(&mut scene, &bulkhead, 1);
    drop((first, held, one));
    scene.store.forget();
    scene.advance(40_000);
    let slots = admitted(&mut scene, &bulkhead, 10);
    let status = fleet.shares()[0].status();
    assert_eq!((slots.len(), status.declined.is_some()), (4, true));
}

#[test]
fn a_process_is_not_declined_any_more_when_the_fleet_has_moved_on() {
    let (mut scene, first, fleet, bulkhead) = contradicted();
    let _held = scene.slots(&first, 1);
    let _one = admitted(&mut scene, &bulkhead, 1);
    let mut next = sections(&[("payments", 7)]);
    next.get_mut("payments").unwrap().config = Some(2);
    first.fleet.apply(&next).unwrap();
    scene.advance(60_000);
    let status = fleet.shares()[0].status();
    assert_eq!((status.limit, status.declined), (7, None));
}

#[test]
fn the_same_file_again_is_no_change_for_a_process_that_was_declined() {
    let (mut scene, first, fleet, bulkhead) = contradicted();
    let _held = scene.slots(&first, 1);
    let _one = admitted(&mut scene, &bulkhead, 1);
    let before = fleet.shares()[0].status().declined;
    assert!(before.is_some());
    let applied = fleet.apply(&sections(&[("payments", 7)])).unwrap();
    assert_eq!((applied.as_str(), fleet.shares()[0].status().declined), ("", before));
}

#[test]
fn a_process_that_has_left_takes_no_units_after_a_reload() {
    let mut scene = Scene::new();
    let first = scene.process();
    let (registry, fleet) = service(&scene, &["payments"]);
    fleet.apply(&sections(&[("payments", 4)])).unwrap();
    let bulkhead = registry.bulkhead::<FakeRuntime>("payments").unwrap();
    drop(admitted(&mut scene, &bulkhead, 1));
    drop(fleet.shares()[0].leave());
    scene.advance(3_000);
    let applied = fleet.apply(&sections(&[("payments", 4)])).unwrap();
    let mut refused = 0;
    for _ in 0..10 {
        refused += usize::from(scene.call_on(&bulkhead, Request::new()).output().is_some_and(|it| it.is_err()));
        scene.advance(300);
    }
    let granted: usize = fleet.shares().iter().map(|share| share.status().granted).sum();
    let by = bulkhead.handle().ceilings();
    assert!(
        refused == 0 || granted == 0,
        "{refused} calls of 10 are refused, and {granted} units are taken, after {applied:?}; {by:?}"
    );
    drop(first);
}

/// The other processes end, and the process that has yielded is alone.
#[test]
fn a_process_that_has_yielded_keeps_to_the_limit_of_the_fleet_when_it_is_alone() {
    let (mut scene, first, fleet, bulkhead) = contradicted();
    let held = scene.slots(&first, 1);
    drop(admitted(&mut scene, &bulkhead, 1));
    drop((first, held));
    scene.advance(60_000);
    let slots = admitted(&mut scene, &bulkhead, 10);
    let status = fleet.shares()[0].status();
    assert_eq!((slots.len(), status.declined.is_some()), (4, true));
}

/// A fleet refuses a joined share that declares a new configuration, and agrees again later.
#[test]
fn a_refused_share_serves_again_without_any_call_when_the_fleet_agrees() {
    let mut scene = Scene::new();
    let first = scene.process();
    let held = scene.slots(&first, 1);
    let (fleet, bulkhead) = (scene.fleet(), scene.bulkhead());
    let joined = scene.join(&fleet, &bulkhead, |builder| builder.limit(9));
    assert!(joined.output().unwrap().is_err());
    assert!(bulkhead.try_slot().is_ok(), "it is as it was before");
    drop((held, first));
    scene.advance(60_000);
    assert!(scene.join(&fleet, &bulkhead, |builder| builder.limit(9)).output().unwrap().is_ok());
    assert_eq!(admitted(&mut scene, &bulkhead, 20).len(), 9);
}

/// Each reload says the same again, and the store refuses again.
#[test]
fn a_reload_of_a_refused_config_two_goes_on_with_the_first() {
    let mut scene = Scene::new();
    let [one, other] = [scene.process(), scene.process()];
    let mut held = scene.slots(&one, 1);
    held.extend(scene.slots(&other, 1));
    let with = |limit, config| {
        let mut all = sections(&[("payments", limit)]);
        all.get_mut("payments").unwrap().config = Some(config);
        all
    };
    one.fleet.apply(&with(8, 2)).unwrap();
    scene.advance(1_500);
    for _ in 0..5 {
        other.fleet.apply(&with(9, 2)).unwrap();
        scene.advance(3_000);
        let status = other.share.status();
        assert!(status.declined.is_some() && status.refusal.is_none(), "{status:?}");
    }
    one.fleet.apply(&with(9, 3)).unwrap();
    scene.advance(3_000);
    other.fleet.apply(&with(9, 3)).unwrap();
    scene.advance(3_000);
    assert_eq!((other.share.status().limit, other.share.status().declined), (9, None));
}

/// Its lease is longer than that of the fleet, and so is its beat.
#[test]
fn a_process_that_yields_renews_its_units_by_the_lease_of_the_fleet() {
    let mut scene = Scene::new();
    let make = |lease: u64, beat: u64, scene: &Scene| {
        let fleet = scene.fleet();
        let tenants = bulklink::Partitions::<String, _>::builder_on(scene.executor.runtime(), "tenants").parallelism(9);
        let tenants = tenants.waiting_room(50).max_partitions(9).build().unwrap();
        let tuning = bulklink_fleet::share::Tuning::default().with_beat(millis(beat));
        let shared = fleet.share_partitions(&tenants, move |_, share| {
            share.limit(2).lease(millis(lease)).claim(millis(3 * beat)).tuning(tuning)
        });
        shared.unwrap();
        (fleet, tenants)
    };
    let [(_one, first), (_other, second)] = [make(10_000, 1_000, &scene), make(60_000, 15_000, &scene)];
    let held = scene.executor.spawn(first.key("ann").slot());
    scene.advance(100);
    let held = held.output().unwrap().unwrap();
    let own = scene.executor.spawn(second.key("ann").slot());
    scene.advance(40_000);
    let own = own.output().expect("a unit is free");
    let own = own.unwrap();
    let more: Vec<_> = (0..4).map(|_| scene.executor.spawn(first.key("ann").slot())).collect();
    let mut most = 0;
    for _ in 0..600 {
        scene.advance(100);
        most = most.max(2 + more.iter().filter(|call| call.is_finished()).count());
    }
    assert_eq!(most, 2, "units in use of 2");
    drop((held, own));
}

/// A section has begun the share, and all of its units are given back at its end.
#[test]
fn units_come_back_after_processes_that_yield_have_gone() {
    let mut scene = Scene::new();
    let first = scene.process();
    let _held = scene.slots(&first, 1);
    for limit in [7, 8, 9] {
        let (registry, fleet) = service(&scene, &["payments"]);
        fleet.apply(&sections(&[("payments", limit)])).unwrap();
        let bulkhead = registry.bulkhead::<FakeRuntime>("payments").unwrap();
        let slots = admitted(&mut scene, &bulkhead, 20);
        assert_eq!(slots.len(), 3, "{limit}");
        drop(fleet.close());
        drop(slots);
        scene.advance(100);
    }
    assert_eq!(scene.slots(&first, 3).len(), 3);
}

/// The store answers at once: with its refusal, and with the next statement.
#[test]
fn the_first_call_of_a_process_that_yields_has_its_unit_at_once() {
    let mut scene = Scene::new();
    let first = scene.process();
    let _held = scene.slots(&first, 1);
    let (registry, fleet) = service(&scene, &["payments"]);
    fleet.apply(&sections(&[("payments", 7)])).unwrap();
    let bulkhead = registry.bulkhead::<FakeRuntime>("payments").unwrap();
    let call = scene.call_on(&bulkhead, Request::new());
    scene.advance(500);
    assert!(call.is_finished(), "the store has answered without a delay, and three of four units are free");
}
