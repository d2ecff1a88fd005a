//! Calls that may not wait get units that are elsewhere; and rejections have the reason why there
//! are none.

use bulklink::{Bulkhead, Reason, Request};
use bulklink_fleet::ceiling;

use crate::scene::{Process, Scene, millis};

/// A process with a bulkhead without a waiting room.
fn narrow(scene: &mut Scene) -> Process {
    let (fleet, runtime) = (scene.fleet(), scene.executor.runtime());
    let bulkhead = Bulkhead::builder_on(runtime, "payments").parallelism(100).build().expect("valid");
    let share = scene.join(&fleet, &bulkhead, |builder| builder).output().expect("the store answers");
    Process { fleet, bulkhead, share: share.expect("it joins") }
}

/// Why a call of this process is rejected that may not wait, after this time.
fn rejected(scene: &mut Scene, process: &Process, after: u64) -> (Reason, &'static str) {
    let call = scene.call_of(process, Request::new().now());
    assert_eq!(call.is_finished(), after == 0);
    scene.advance(after);
    let rejection = call.output().expect("it is over").expect_err("no unit is free");
    (rejection.reason(), rejection.restriction().expect("the share binds").by)
}

#[test]
fn a_call_that_may_not_wait_gets_a_unit_that_another_process_has_idle() {
    let mut scene = Scene::new();
    let (first, second) = (narrow(&mut scene), narrow(&mut scene));
    let now = Request::new().now();
    assert!(second.bulkhead.try_slot().is_err(), "which decides by what the process has");
    let mut slots = vec![];
    for process in [&first, &second, &first, &second] {
        let call = scene.call_of(process, now);
        scene.advance(5);
        slots.push(call.output().expect("it is over").expect("the fleet has room"));
    }
    assert_eq!(rejected(&mut scene, &first, 10), (Reason::Expired, ceiling::SHARE));
    slots.truncate(2);
    scene.advance(50);
    let call = scene.call_of(&first, now.cost(2));
    scene.advance(9);
    assert_eq!(call.output().expect("it is over").expect("two units are free").cost(), 2);
    assert_eq!(first.bulkhead.status().totals.saturated, 0);
}

#[test]
fn how_long_it_waits_can_be_chosen() {
    let mut scene = Scene::new();
    let patient = scene.process_with(|builder| builder.fetch(millis(300)));
    let hurried = scene.process_with(|builder| builder.fetch(millis(0)));
    let _all = scene.slots(&patient, 4);
    assert_eq!(rejected(&mut scene, &patient, 300), (Reason::Expired, ceiling::SHARE));
    assert_eq!(rejected(&mut scene, &hurried, 0), (Reason::Saturated, ceiling::SHARE));
}

#[test]
fn rejections_say_that_the_store_is_away_or_recovers() {
    let mut scene = Scene::new();
    let process = scene.process();
    let slots = scene.slots(&process, 4);
    let waiting = scene.call_of(&process, Request::new().within(millis(3_000)));
    scene.store.stop();
    scene.advance(1);
    assert_eq!(rejected(&mut scene, &process, 0), (Reason::Saturated, ceiling::UNAVAILABLE));
    scene.advance(3_000);
    let rejection = waiting.output().expect("its time is over").expect_err("all is in use");
    assert_eq!(
        rejection.to_string(),
        "bulkhead payments: expired after 3 s of 3 s \
        (4 of 100 in use, 4 allowed by fleet (unavailable), 0 of 1000 waiting)"
    );
    // Its data may be lost: others may have units that it does not know of.
    scene.store.start();
    scene.advance(5_000);
    assert_eq!(rejected(&mut scene, &process, 0), (Reason::Saturated, ceiling::RECOVERING));
    assert!(process.share.status().quarantine.is_some_and(|rest| rest > millis(1_000) && rest <= millis(10_000)));
    scene.advance(13_000);
    assert_eq!(process.share.status().quarantine, None);
    assert_eq!(rejected(&mut scene, &process, 10), (Reason::Expired, ceiling::SHARE));

    let leaving = scene.executor.spawn(process.share.leave());
    scene.advance(1);
    assert_eq!(rejected(&mut scene, &process, 0), (Reason::Saturated, ceiling::LEFT));
    drop(slots);
    scene.advance(1);
    assert!(leaving.is_finished());
    assert_eq!(rejected(&mut scene, &process, 0), (Reason::Saturated, ceiling::LEFT));
}

/// As a server that is stopped: it keeps its connections.
#[test]
fn a_rejection_after_the_timeout_of_a_store_that_does_not_answer_says_so() {
    let mut scene = Scene::new();
    let process = scene.process();
    let _all = scene.slots(&process, 4);
    scene.store.stall(true);
    let waiting = scene.call_of(&process, Request::new().within(millis(600)));
    scene.advance(600);
    let rejection = waiting.output().expect("its time is over").expect_err("no unit is free");
    assert_eq!(rejection.restriction().expect("the share binds").by, ceiling::UNAVAILABLE);
}
