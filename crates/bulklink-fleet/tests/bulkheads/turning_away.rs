//! Calls do not wait where no unit will come for long, and their rejections say why.

use std::error::Error as _;
use std::time::Duration;

use bulklink::{Reason, Request};
use bulklink_fleet::{Outage, ShareBuilder, StoreError, ceiling};

use crate::scene::{Call, Process, Scene, millis, texts};

/// The reason, the name of the ceiling and the causes.
fn refused(call: &Call) -> (Reason, &'static str, String) {
    let rejection = call.output().expect("it does not wait").expect_err("no unit is free");
    let by = rejection.restriction().expect("the share binds").by;
    (rejection.reason(), by, rejection.source().map_or_else(String::new, texts))
}

#[test]
fn calls_are_rejected_once_the_store_has_been_away_for_a_lease() {
    let mut scene = Scene::new();
    let process = scene.process();
    let slots = scene.slots(&process, 4);
    scene.store.stop();
    scene.advance(9_000);
    let waits = scene.call(&process);
    assert!(!waits.is_finished(), "the outage may be short");
    drop(slots);
    scene.advance(1);
    drop(waits.output().expect("a unit is free until the lease is over").expect("it is admitted"));
    scene.advance(12_000);
    let rejected = refused(&scene.call(&process));
    assert_eq!(rejected, (Reason::Saturated, ceiling::UNAVAILABLE, "the store is unreachable".to_owned()));
    assert_eq!(process.bulkhead.status().waiting, 0);

    scene.store.start();
    scene.advance(5_000);
    let waits = scene.call(&process);
    assert!(!waits.is_finished(), "the store answers again, and recovers");
    let by_deadline = scene.call_of(&process, Request::new().within(millis(10)));
    scene.advance(10);
    let cause = "the store was restarted or has lost data, or the name is new on a server that has just started";
    assert_eq!(refused(&by_deadline), (Reason::Expired, ceiling::RECOVERING, cause.to_owned()));
    scene.advance(15_000);
    assert!(waits.output().expect("the quarantine is over").is_ok());
}

#[test]
fn a_policy_that_admits_calls_lets_them_wait_too() {
    let mut scene = Scene::new();
    let process = scene.process_with(|builder| builder.on_outage(Outage::Share));
    let _all = scene.slots(&process, 4);
    scene.store.stop();
    scene.advance(30_000);
    assert!(!scene.call(&process).is_finished(), "a slot of this process can become free");
}

#[test]
fn a_store_that_was_never_reached_turns_calls_away_after_a_lease() {
    let mut scene = Scene::new();
    scene.store.stop();
    let (fleet, bulkhead) = (scene.fleet(), scene.bulkhead());
    let joining = scene.join(&fleet, &bulkhead, |builder| builder.connect_within(Duration::MAX));
    scene.advance(5_000);
    let waits = scene.call_on(&bulkhead, Request::new());
    assert!(!waits.is_finished());
    scene.advance(6_000);
    let rejected = refused(&scene.call_on(&bulkhead, Request::new()));
    assert_eq!((rejected.0, rejected.1), (Reason::Saturated, ceiling::UNAVAILABLE));
    scene.store.start();
    scene.advance(15_000);
    assert!(joining.output().expect("the store answers").is_ok());
    assert!(waits.output().expect("the name is new, and its time is over").is_ok());
}

/// Whatever its policy: it does not know how many others there are.
#[test]
fn a_process_that_never_reached_the_store_admits_none() {
    for outage in [Outage::Share, Outage::Admit] {
        let mut scene = Scene::new();
        scene.store.stop();
        let (fleet, bulkhead) = (scene.fleet(), scene.bulkhead());
        let patient = |builder: ShareBuilder<_>| builder.connect_within(Duration::MAX).on_outage(outage);
        let _joining = scene.join(&fleet, &bulkhead, patient);
        scene.advance(30_000);
        assert_eq!(refused(&scene.call_on(&bulkhead, Request::new())).1, ceiling::UNAVAILABLE, "{outage:?}");
    }
}

#[test]
fn a_process_that_has_left_turns_calls_away() {
    let mut scene = Scene::new();
    let process = scene.process();
    let slots = scene.slots(&process, 1);
    drop(process.share.leave());
    scene.advance(1);
    let left = (Reason::Saturated, ceiling::LEFT, "the process has left the fleet".to_owned());
    assert_eq!(refused(&scene.call(&process)), left);
    drop(slots);
    scene.advance(1);
    let Process { fleet, bulkhead, share } = process;
    drop((fleet, share));
    scene.advance(1);
    let call = scene.call_on(&bulkhead, Request::new());
    assert_eq!(refused(&call), left);
    assert!(StoreError::of(&bulkhead.try_slot().unwrap_err()).is_none());
}
