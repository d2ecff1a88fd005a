//! Changing all limits while calls run and wait.

use std::time::Duration;

use bulklink::testing::Task;
use bulklink::{EventFilter, EventKind, Limits, Occupancy, Reason, ReconfigureError, Request};

use crate::{builder, bulkhead, call, executor, ms, reason, recorder, slot, taken};

fn room(occupancy: Occupancy) -> (usize, usize) {
    (occupancy.waiting(), occupancy.waiting_room())
}

#[test]
fn all_limits_change_in_one_step() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let _running = bulkhead.try_slot().expect("free");
    let waiting = call(&mut executor, &bulkhead);
    let before = bulkhead.limits();
    let limits = Limits::new(2).with_waiting_room(4).with_waiting_room_units(Some(3)).with_wait_limit(Some(ms(50)));
    let answer = bulkhead.reconfigure(limits).expect("valid");
    assert_eq!((answer.previous, answer.limits, answer.admitted), (before, limits, 1));
    assert!(answer.has_changed());
    executor.run_until_idle();
    assert!(waiting.is_finished());
    assert_eq!((bulkhead.limits(), bulkhead.status().limits), (limits, limits));
}

#[test]
fn a_smaller_room_rejects_no_call_that_waits() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 3);
    let running = slot(&call(&mut executor, &bulkhead));
    let waiting = [(); 3].map(|()| call(&mut executor, &bulkhead));
    bulkhead.reconfigure(bulkhead.limits().with_waiting_room(1)).expect("valid");
    executor.run_until_idle();
    assert_eq!(waiting.each_ref().map(Task::is_finished), [false; 3]);
    let rejection = call(&mut executor, &bulkhead).output().expect("rejected").expect_err("no room");
    assert_eq!((rejection.reason(), room(rejection.occupancy())), (Reason::Saturated, (3, 1)));
    drop(running);
    executor.run_until_idle();
    for (place, waiting) in waiting.iter().enumerate() {
        let slot = slot(waiting);
        let fits = place == 2;
        assert_eq!(call(&mut executor, &bulkhead).is_finished(), !fits, "one may wait");
        drop(slot);
        executor.run_until_idle();
    }
}

/// Without a waiting room, the word rejects calls of one unit.
#[test]
fn a_larger_room_lets_calls_wait() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let running = slot(&call(&mut executor, &bulkhead));
    assert_eq!(reason(&call(&mut executor, &bulkhead)), Reason::Saturated);
    bulkhead.reconfigure(bulkhead.limits().with_waiting_room(2)).expect("valid");
    let waiting = call(&mut executor, &bulkhead);
    assert_eq!(bulkhead.status().waiting, 1);
    drop(running);
    executor.run_until_idle();
    drop(slot(&waiting));
}

/// Whether the word or the gate rejects, and wherever it does.
#[test]
fn a_rejection_has_the_waiting_room_of_its_moment() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let _running = slot(&call(&mut executor, &bulkhead));
    let immediate = || room(bulkhead.try_slot().expect_err("full").occupancy());
    let set = |waiting_room| bulkhead.reconfigure(bulkhead.limits().with_waiting_room(waiting_room)).expect("valid");
    let mut seen = vec![immediate()];
    for waiting_room in [3, 0, 1] {
        set(waiting_room);
        seen.push(immediate());
    }
    assert_eq!(seen, [(0, 1), (0, 3), (0, 0), (0, 1)]);
    set(0);
    let rejection = call(&mut executor, &bulkhead).output().expect("rejected").expect_err("no room");
    assert_eq!(room(rejection.occupancy()), (0, 0));
    set(2);
    let _waiting = [call(&mut executor, &bulkhead), call(&mut executor, &bulkhead)];
    assert_eq!(immediate(), (2, 2));
    bulkhead.close();
    assert_eq!(immediate(), (0, 2));
}

#[test]
fn a_wait_limit_holds_for_later_calls_only() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 5);
    let _running = slot(&call(&mut executor, &bulkhead));
    let unlimited = call(&mut executor, &bulkhead);
    let set = |wait_limit| bulkhead.reconfigure(bulkhead.limits().with_wait_limit(wait_limit)).expect("valid");
    set(Some(ms(50)));
    let limited = call(&mut executor, &bulkhead);
    set(Some(ms(10)));
    let hurried = call(&mut executor, &bulkhead);
    set(None);
    let patient = call(&mut executor, &bulkhead);
    executor.advance(ms(10));
    let finished = || [&unlimited, &limited, &hurried, &patient].map(Task::is_finished);
    assert_eq!(finished(), [false, false, true, false]);
    executor.advance(ms(40));
    assert_eq!(finished(), [false, true, true, false]);
    executor.advance(ms(10_000));
    assert_eq!(finished(), [false, true, true, false]);
    let limits = [&limited, &hurried].map(|call| call.output().expect("expired").expect_err("too late").limit());
    assert_eq!(limits, [Some(ms(50)), Some(ms(10))]);
}

#[test]
fn a_bound_in_units_holds_for_later_calls_only() {
    let mut executor = executor();
    let bulkhead = builder(&executor).capacity(4).waiting_room(5).build().expect("valid");
    let _running = bulkhead.with(Request::new().cost(4)).try_slot().expect("free");
    let ask = |cost| bulkhead.with(Request::new().cost(cost)).slot();
    let waiting = executor.spawn(ask(4));
    executor.run_until_idle();
    bulkhead.reconfigure(bulkhead.limits().with_waiting_room_units(Some(2))).expect("valid");
    let rejected = executor.spawn(ask(1));
    executor.run_until_idle();
    assert!(!waiting.is_finished());
    let rejection = rejected.output().expect("rejected").expect_err("no room");
    assert_eq!((rejection.waiting_units(), rejection.waiting_room_units()), (Some(4), Some(2)));
}

#[test]
fn a_refusal_names_every_reason_and_changes_nothing() {
    let mut executor = executor();
    let bulkhead = builder(&executor).capacity(4).waiting_room(5).build().expect("valid");
    let _running = bulkhead.with(Request::new().cost(4)).try_slot().expect("free");
    let _waiting = executor.spawn(bulkhead.with(Request::new().cost(3)).slot());
    executor.run_until_idle();
    let before = bulkhead.limits();
    let (log, handler) = recorder(|event| event.kind);
    bulkhead.handle().add_event_handler(EventFilter::ALL, handler);
    let limits = Limits::new(2)
        .with_waiting_room(Limits::MAX + 1)
        .with_waiting_room_units(Some(0))
        .with_wait_limit(Some(Duration::ZERO));
    let error = bulkhead.reconfigure(limits).expect_err("invalid");
    let ReconfigureError::Invalid(reasons) = &error else { panic!("{error}") };
    let named: Vec<_> = reasons.iter().map(|reason| (reason.field(), reason.value().to_string())).collect();
    let expected =
        [("capacity", "2"), ("waiting_room", "2147483648"), ("waiting_room_units", "0"), ("wait_limit", "0 s")];
    assert_eq!(named, expected.map(|(field, value)| (field, value.to_owned())));
    let text = error.to_string();
    assert!(text.starts_with("bulkhead test: capacity must be at least 3, which a waiter asks for, got 2; "), "{text}");
    assert_eq!(text.matches("bulkhead test: ").count(), 4);
    assert_eq!((bulkhead.limits(), taken(&log).len()), (before, 0));
    let roomless = before.with_waiting_room(0).with_waiting_room_units(Some(5));
    let text = bulkhead.reconfigure(roomless).expect_err("invalid").to_string();
    assert_eq!(text, "bulkhead test: waiting_room_units must not be set without a waiting room, got 5");
}

#[test]
fn a_closed_bulkhead_cannot_be_reconfigured() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    bulkhead.close();
    assert_eq!(bulkhead.reconfigure(bulkhead.limits()), Err(ReconfigureError::Closed { label: "test".into() }));
}

#[test]
fn passing_the_limits_in_force_changes_nothing() {
    let executor = executor();
    let bulkhead = builder(&executor).parallelism(2).waiting_room(3).wait_limit(ms(50)).build().expect("valid");
    let (log, handler) = recorder(|event| event.kind);
    bulkhead.handle().add_event_handler(EventFilter::ALL, handler);
    let answer = bulkhead.reconfigure(bulkhead.limits()).expect("valid");
    assert!(!answer.has_changed());
    assert_eq!((answer.previous, answer.admitted, taken(&log).len()), (answer.limits, 0, 0));
}

#[test]
fn events_tell_of_a_reconfiguration() {
    use EventKind::{Admitted, Reconfigured, Resized};
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 2);
    let _running = slot(&call(&mut executor, &bulkhead));
    let _waiting = call(&mut executor, &bulkhead);
    let (log, handler) = recorder(|event| {
        let previous = (event.previous_waiting_room(), event.previous_capacity());
        (event.kind, previous, event.occupancy.waiting_room(), event.occupancy.capacity(), event.affected_waiters())
    });
    bulkhead.handle().add_event_handler(EventFilter::ALL, handler);
    bulkhead.reconfigure(bulkhead.limits().with_capacity(3).with_waiting_room(5)).expect("valid");
    let expected = [
        (Reconfigured, (Some(2), None), 5, 1, 0),
        (Resized, (None, Some(1)), 5, 3, 1),
        (Admitted, (None, None), 5, 3, 0),
    ];
    assert_eq!(taken(&log), expected);
    bulkhead.reconfigure(bulkhead.limits().with_wait_limit(Some(ms(5)))).expect("valid");
    assert_eq!(taken(&log), [(Reconfigured, (Some(5), None), 5, 3, 0)]);
    bulkhead.reconfigure(bulkhead.limits().with_capacity(1)).expect("valid");
    assert_eq!(taken(&log), [(Resized, (None, Some(3)), 5, 1, 0)], "only the capacity");
}

#[test]
fn a_reconfiguration_while_paused_admits_no_call() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 5);
    bulkhead.pause();
    let waiting = [call(&mut executor, &bulkhead), call(&mut executor, &bulkhead)];
    let limits = bulkhead.limits().with_capacity(2).with_waiting_room(2);
    assert_eq!(bulkhead.reconfigure(limits).expect("valid").admitted, 0);
    assert!(bulkhead.status().is_paused);
    bulkhead.resume();
    executor.run_until_idle();
    assert!(waiting.iter().all(Task::is_finished));
}
