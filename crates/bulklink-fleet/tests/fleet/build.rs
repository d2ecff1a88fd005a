//! What is checked before anything begins, and how a process leaves.

use bulklink_fleet::{BuildError, ConnectError, Fleet, Reason};

use crate::scene::{Scene, admitted, millis, rejected};

#[test]
fn invalid_values_are_named_and_change_nothing() {
    let mut scene = Scene::new();
    let runtime = scene.executor.runtime();
    let unnamed = Fleet::builder(scene.store.clone(), runtime.clone()).build().unwrap_err();
    assert_eq!(unnamed.to_string(), "namespace must be a valid name: the name is empty, got \"\"");
    let builder = Fleet::builder(scene.store.clone(), runtime).namespace("a b");
    assert!(matches!(builder.build(), Err(BuildError::Invalid(_))));

    let fleet = scene.fleet();
    let payments = || fleet.bulkhead("payments");
    let cases = [
        (payments(), "bulkhead payments: limit must be between 1 and 1099511627776, got 0"),
        (payments().limit(1).config(0), "bulkhead payments: config must be between 1 and 1099511627776, got 0"),
        (
            payments().limit(1).remote_waiters(0),
            "bulkhead payments: remote_waiters must be between 1 and 100000, got 0",
        ),
        (payments().limit(1).beat(millis(0)), "bulkhead payments: beat must be at least 1 ms, got 0ns"),
        (payments().limit(1).claim(millis(9)), "bulkhead payments: claim must be at least two beats, 2s, got 9ms"),
        (
            payments().limit(1).lease(millis(9)),
            "bulkhead payments: lease must be at least the claim, 3s, and at most a day, got 9ms",
        ),
        (payments().limit(1).reuse(1_001), "bulkhead payments: reuse must be at most 1000, got 1001"),
        (payments().limit(1).idle(millis(1_001)), "bulkhead payments: idle must be at most the beat, 1s, got 1.001s"),
        (fleet.bulkhead("  ").limit(1), "label must be a valid name: the name is empty, got \"  \""),
    ];
    for (builder, text) in cases {
        assert_eq!(builder.build().unwrap_err().to_string(), text);
    }
    assert_eq!(scene.store.commands(), 0);
}

#[test]
fn a_name_is_built_once_in_a_fleet_and_again_after_it_was_closed() {
    let mut scene = Scene::new();
    let process = scene.process(1);
    let again = process.fleet.bulkhead("payments").limit(1).build().unwrap_err();
    assert_eq!(again.to_string(), "label must be built once in a fleet, got \"payments\"");
    let closing = process.bulkhead.close();
    scene.executor.block_on(closing);
    scene.executor.run_until_idle();
    process.fleet.bulkhead("payments").limit(1).build().unwrap();
}

#[test]
fn connect_reports_what_the_store_says() {
    let mut scene = Scene::new();
    let process = scene.process(2);
    let fleet = scene.fleet();
    let other = fleet.bulkhead("payments").limit(3);
    let error = scene.executor.block_on(other.connect()).unwrap_err();
    assert_eq!(error.to_string(), "another process declared limit 2 for configuration 1");
    scene.executor.run_until_idle();
    let same = fleet.bulkhead("payments").limit(2);
    assert!(scene.executor.block_on(same.connect()).is_ok());
    drop(process);

    scene.store.stop();
    let fleet = scene.fleet();
    let unreachable = fleet.bulkhead("payments").limit(2).connect();
    assert_eq!(scene.executor.block_on(unreachable).unwrap_err(), ConnectError::Unavailable);
}

#[test]
fn close_rejects_waiting_calls_and_completes_after_the_last_permit() {
    let mut scene = Scene::new();
    let (process, other) = (scene.process(1), scene.process(1));
    let permit = scene.permit(&process);
    let waiting = scene.acquire(&process);
    let theirs = scene.acquire(&other);
    let closing = scene.executor.spawn(process.fleet.close());
    scene.executor.run_until_idle();
    assert_eq!(rejected(&waiting).reason(), Reason::Closed);
    assert_eq!(rejected(&scene.acquire(&process)).reason(), Reason::Closed);
    assert!(!closing.is_finished());
    // It is renewed as long as it is held.
    scene.advance(60_000);
    assert!(permit.is_valid() && !theirs.is_finished());
    scene.release(permit);
    assert!(closing.is_finished());
    drop(admitted(&theirs));
    let bulkhead = other.bulkhead.clone();
    let status = scene.executor.block_on(async move { bulkhead.status().await }).unwrap();
    assert_eq!(status.session_page.len(), 1, "the other process only");
}

#[test]
fn no_beat_is_due_while_the_store_is_slow_to_answer_the_last_command() {
    for moment in (0..2_000).step_by(100) {
        let mut scene = Scene::new();
        let process = scene.process(1);
        scene.advance(moment);
        scene.store.stall(true);
        let closing = scene.executor.spawn(process.fleet.close());
        scene.executor.run_until_idle();
        scene.advance(400);
        assert!(!closing.is_finished());
        scene.store.stall(false);
        scene.advance(1);
        assert!(closing.is_finished(), "closed after {moment} ms");
    }
}

#[test]
fn a_process_that_drops_its_handles_leaves_and_its_permits_stay() {
    let mut scene = Scene::new();
    let (process, other) = (scene.process(1), scene.process(1));
    let permit = scene.permit(&process);
    drop(process);
    scene.advance(60_000);
    assert!(permit.is_valid());
    let theirs = scene.acquire(&other);
    scene.release(permit);
    drop(admitted(&theirs));
    assert!(scene.executor.clock().next_timer().is_some(), "the other process beats");
}

#[test]
fn calls_end_when_the_task_of_the_fleet_is_dropped() {
    let mut scene = Scene::new();
    let process = scene.process(1);
    let permit = scene.permit(&process);
    // The executor is the runtime: with it, the task ends.
    let bulkhead = process.bulkhead.clone();
    drop(scene);
    assert!(!bulkhead.local_status().is_connected);
    let mut executor = bulklink::testing::Executor::new(bulklink::testing::FakeClock::new());
    let rejection = executor.block_on(async move { bulkhead.acquire().await }).unwrap_err();
    assert_eq!(rejection.reason(), Reason::Closed);
    drop(permit);
}
