//! The policies for a store that is out of reach.

use bulklink_fleet::{Outage, Reason};

use crate::scene::{Scene, rejected};

#[test]
fn calls_are_rejected_unless_something_else_is_asked_for() {
    let mut scene = Scene::new();
    let process = scene.process(4);
    scene.store.stop();
    scene.advance(1_000);
    assert_eq!(rejected(&scene.acquire(&process)).reason(), Reason::Unavailable);
}

#[test]
fn a_share_is_the_limit_divided_by_the_processes_that_lived_last() {
    let mut scene = Scene::new();
    let share = |builder: bulklink_fleet::BulkheadBuilder<_>| builder.limit(4).on_outage(Outage::Share);
    let (one, _two) = (scene.process_with(share), scene.process_with(share));
    scene.advance(1_000);
    let held = scene.permit(&one);
    scene.store.stop();
    scene.advance(1_000);
    let permit = scene.permit(&one);
    assert_eq!((permit.token(), permit.is_valid()), (None, true));
    assert_eq!(rejected(&scene.acquire(&one)).reason(), Reason::Saturated, "two of four units");
    scene.release(permit);
    let permit = scene.permit(&one);
    scene.store.start();
    scene.advance(3_000);
    assert!(held.is_valid());
    scene.release(permit);
    scene.release(held);
    // A process that never reached the store knows no share.
    scene.store.stop();
    let late = scene.process_with(share);
    scene.advance(1_000);
    assert_eq!(rejected(&scene.acquire(&late)).reason(), Reason::Unavailable);
}

#[test]
fn all_calls_are_admitted_if_that_is_asked_for() {
    let mut scene = Scene::new();
    let process = scene.process_with(|builder| builder.limit(1).on_outage(Outage::Admit));
    scene.store.stop();
    scene.advance(1_000);
    let permits = [scene.permit(&process), scene.permit(&process)];
    assert!(permits.iter().all(|permit| permit.token().is_none()));
}
