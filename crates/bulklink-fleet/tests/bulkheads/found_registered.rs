//! Faults that were found in shares that a configuration begins.

use std::time::Duration;

use bulklink::testing::{FakeRuntime, Task};
use bulklink::{Bulkhead, Request};
use bulklink_fleet::ShareConfig;

use crate::scene::Scene;
use crate::service::{admitted, sections, service};

/// The program has shared a bulkhead that is in no registry, by code.
#[test]
fn a_bulkhead_in_use_keeps_its_share_when_a_section_is_for_another_of_its_label() {
    let mut scene = Scene::new();
    let (_registry, fleet) = service(&scene, &["payments"]);
    let own = scene.bulkhead();
    let joined = scene.join(&fleet, &own, |builder| builder);
    joined.output().unwrap().unwrap();
    let slots = admitted(&mut scene, &own, 10);
    assert_eq!(slots.len(), 4);
    let applied = fleet.apply(&sections(&[("payments", 4)]));
    scene.advance(100);
    let _more = admitted(&mut scene, &own, 10);
    assert_eq!(own.status().in_use, 4, "after {applied:?}");
    let error = "shares.payments has a share that is of another bulkhead of this label";
    assert_eq!(applied.unwrap_err().to_string(), error);
}

#[test]
fn a_refused_configuration_leaves_the_ceiling_of_a_process_that_leaves() {
    let mut scene = Scene::new();
    let (_registry, fleet) = service(&scene, &["payments"]);
    let own = scene.bulkhead();
    scene.join(&fleet, &own, |builder| builder).output().unwrap().unwrap();
    let _slots = admitted(&mut scene, &own, 1);
    drop(fleet.close());
    scene.advance(10);
    assert!(own.try_slot().is_err(), "the process leaves");
    let applied = fleet.apply(&sections(&[("payments", 4)]));
    assert!(applied.is_err());
    assert!(own.try_slot().is_err(), "nothing was changed: {applied:?}");
}

#[test]
fn labels_are_trimmed() {
    let mut scene = Scene::new();
    let (registry, fleet) = service(&scene, &["orders"]);
    let applied = fleet.apply(&sections(&[("  orders ", 4)]));
    assert_eq!(applied.unwrap(), "share orders: added");
    let bulkhead = registry.bulkhead::<FakeRuntime>("orders").unwrap();
    assert_eq!(admitted(&mut scene, &bulkhead, 9).len(), 4);
    assert_eq!(fleet.apply(&sections(&[("orders", 4)])).unwrap(), "");
}

#[test]
fn odd_labels_are_shared() {
    let mut scene = Scene::new();
    let odd = ["a:b", "a\\b", "ä\u{1f600}", "a b", "a.b", "%3A", "\"x\""];
    let (registry, fleet) = service(&scene, &odd);
    let applied = fleet.apply(&sections(&odd.map(|label| (label, 2)))).unwrap();
    assert_eq!(applied.lines().count(), odd.len(), "{applied}");
    for label in odd {
        let bulkhead = registry.bulkhead::<FakeRuntime>(label).unwrap();
        assert_eq!(admitted(&mut scene, &bulkhead, 3).len(), 2, "{label}");
    }
    assert_eq!(fleet.apply(&sections(&odd.map(|label| (label, 2)))).unwrap(), "");
}

/// As `config::follow` does: all parts are checked before the first is applied.
#[test]
fn a_section_of_a_bulkhead_that_comes_with_it_is_checked_before_anything_changes() {
    let scene = Scene::new();
    let (registry, fleet) = service(&scene, &["orders"]);
    fleet.apply(&sections(&[("orders", 4)])).unwrap();
    let mut next = sections(&[("orders", 4)]);
    next.insert("search".to_owned(), ShareConfig::default());
    let checked = fleet.check(&next);
    registry.add(&scene.named("search")).unwrap();
    let applied = fleet.apply(&next);
    assert_eq!(
        checked.is_err(),
        applied.is_err(),
        "checked {checked:?}, and then {applied:?}; a bulkhead without a share"
    );
}

#[test]
fn a_fetch_of_zero_without_a_waiting_room_is_found_by_the_check_after_it() {
    let scene = Scene::new();
    let (registry, fleet) = service(&scene, &["orders"]);
    let builder = Bulkhead::builder_on(scene.executor.runtime(), "search").parallelism(9);
    registry.add(&builder.build().unwrap()).unwrap();
    let mut next = sections(&[("orders", 4), ("search", 4)]);
    next.get_mut("search").unwrap().fetch = Some(Duration::ZERO);
    assert!(fleet.check(&next).is_err());
    assert!(fleet.apply(&next).is_err());
    assert!(fleet.shares().is_empty());
}

#[test]
fn two_threads_apply_and_close() {
    for _ in 0..50 {
        let scene = Scene::new();
        let labels = ["a", "b", "c", "d"];
        let (registry, fleet) = service(&scene, &labels);
        let all = sections(&labels.map(|label| (label, 4)));
        let results: Vec<_> = std::thread::scope(|scope| {
            let apply = || scope.spawn(|| fleet.apply(&all).map_err(|error| error.to_string()));
            let threads = [apply(), apply(), apply()];
            drop(fleet.close());
            threads.map(|thread| thread.join().unwrap()).into()
        });
        let shares = fleet.shares().len();
        // Those that have begun before it was closed leave.
        let ceilings: usize = registry.handles().iter().map(|handle| handle.ceilings().len()).sum();
        assert_eq!(shares, ceilings, "{results:?}");
    }
}

/// A bulkhead has the label of a key of shared partitions.
#[test]
fn a_key_keeps_its_share_when_a_section_is_for_a_bulkhead_of_its_name() {
    let mut scene = Scene::new();
    let (_registry, fleet) = service(&scene, &["tenants:ann"]);
    let tenants = bulklink::Partitions::<String, _>::builder_on(scene.executor.runtime(), "tenants").parallelism(50);
    let tenants = tenants.waiting_room(50).max_partitions(9).build().unwrap();
    fleet.share_partitions(&tenants, |_, share| share.limit(2)).unwrap();
    let take = |scene: &mut Scene| {
        let calls: Vec<_> = (0..9).map(|_| scene.executor.spawn(tenants.key("ann").slot())).collect();
        scene.advance(2_500);
        calls.iter().filter_map(Task::output).filter_map(Result::ok).collect::<Vec<_>>()
    };
    let first = take(&mut scene);
    assert_eq!(first.len(), 2);
    let applied = fleet.apply(&sections(&[("tenants:ann", 2)]));
    let more = take(&mut scene);
    assert_eq!(more.len(), 0, "after {applied:?}");
}

/// A bulkhead is removed while a share of its label is declined, and comes again.
#[test]
fn a_bulkhead_that_comes_again_many_times_has_one_ceiling_and_its_units() {
    let mut scene = Scene::new();
    let (registry, fleet) = service(&scene, &["payments"]);
    for round in 0..20 {
        fleet.apply(&sections(&[("payments", 4)])).unwrap();
        let bulkhead = registry.bulkhead::<FakeRuntime>("payments").unwrap();
        let slots = admitted(&mut scene, &bulkhead, 9);
        assert_eq!((slots.len(), bulkhead.handle().ceilings().len(), fleet.shares().len()), (4, 1, 1), "{round}");
        drop(slots);
        let own = registry.clone();
        let removed = scene.executor.spawn(async move { own.remove("payments").await.is_ok() });
        scene.advance(1);
        assert_eq!(removed.output(), Some(true));
        registry.add(&scene.bulkhead()).unwrap();
    }
}

/// The fleet ends while a share of the registry is without calls.
#[test]
fn a_closed_fleet_turns_calls_of_all_shares_away() {
    let mut scene = Scene::new();
    let (registry, fleet) = service(&scene, &["a", "b"]);
    fleet.apply(&sections(&[("a", 4), ("b", 4)])).unwrap();
    scene.advance(15_000);
    drop(fleet.close());
    scene.advance(10);
    for label in ["a", "b"] {
        let bulkhead = registry.bulkhead::<FakeRuntime>(label).unwrap();
        let call = scene.call_on(&bulkhead, Request::new());
        assert!(call.output().expect("it does not wait").is_err());
    }
    assert!(fleet.apply(&sections(&[("a", 4), ("b", 4)])).is_err());
    let handles = registry.handles();
    assert!(handles.iter().all(|handle| handle.status().effective_capacity() == 0));
}
