//! Pausing: no call is admitted, and everything else goes on.

use bulklink::runtime::Instant;
use bulklink::testing::Task;
use bulklink::{EventFilter, EventKind, FindingCode, Reason, Request, Severity};

use crate::{Call, TestBulkhead, builder, bulkhead, call, executor, ms, reason, recorder, slot, taken};

fn finished<const N: usize>(calls: &[Call; N]) -> [bool; N] {
    calls.each_ref().map(Task::is_finished)
}

fn saturated(bulkhead: &TestBulkhead, request: Request<Instant>) -> bool {
    bulkhead.with(request).try_slot().is_err_and(|rejection| rejection.reason() == Reason::Saturated)
}

/// The slots were in use before, so that the word could admit without the gate.
#[test]
fn a_paused_bulkhead_admits_no_call() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 2, 1);
    drop([bulkhead.try_slot().expect("free"), bulkhead.try_slot().expect("free")]);
    assert!(bulkhead.pause());
    assert!(saturated(&bulkhead, Request::new()) && saturated(&bulkhead, Request::new().cost(2)));
    let waiting = call(&mut executor, &bulkhead);
    assert!(!waiting.is_finished());
    assert_eq!((bulkhead.status().in_flight, bulkhead.status().waiting), (0, 1));
}

#[test]
fn slots_released_while_paused_admit_no_call() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 2, 1);
    let mut running = vec![bulkhead.try_slot().expect("free"), bulkhead.try_slot().expect("free")];
    bulkhead.pause();
    running.pop();
    assert!(saturated(&bulkhead, Request::new()), "no call waits");
    let waiting = call(&mut executor, &bulkhead);
    running.pop();
    executor.run_until_idle();
    assert!(!waiting.is_finished() && saturated(&bulkhead, Request::new()));
    assert_eq!(bulkhead.status().totals.finished, 2, "running operations go on");
}

#[test]
fn resuming_admits_waiters_in_order() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 2, 5);
    let running = slot(&call(&mut executor, &bulkhead));
    bulkhead.pause();
    let waiting = [(); 3].map(|()| call(&mut executor, &bulkhead));
    drop(running);
    executor.run_until_idle();
    assert_eq!(finished(&waiting), [false; 3]);
    assert!(bulkhead.resume());
    executor.run_until_idle();
    assert_eq!(finished(&waiting), [true, true, false]);
    drop(slot(&waiting[0]));
    executor.run_until_idle();
    drop([&waiting[1], &waiting[2]].map(slot));
}

#[test]
fn waiters_keep_their_places_and_expire_while_paused() {
    let mut executor = executor();
    let bulkhead = builder(&executor).parallelism(1).waiting_room(5).wait_limit(ms(50)).build().expect("valid");
    let running = slot(&call(&mut executor, &bulkhead));
    let early = call(&mut executor, &bulkhead);
    executor.advance(ms(30));
    bulkhead.pause();
    let late = call(&mut executor, &bulkhead);
    drop(running);
    executor.advance(ms(19));
    assert!(!early.is_finished() && !late.is_finished());
    executor.advance(ms(1));
    let rejection = early.output().expect("it has expired").expect_err("too late");
    assert_eq!(
        rejection.to_string(),
        "bulkhead test: expired after 50 ms of 50 ms (paused, 0 of 1 in use, 1 of 5 waiting)"
    );
    bulkhead.resume();
    executor.run_until_idle();
    drop(slot(&late));
}

#[test]
fn a_waiter_that_is_late_at_the_resumption_expires() {
    let mut executor = executor();
    let bulkhead = builder(&executor).parallelism(1).waiting_room(5).wait_limit(ms(50)).build().expect("valid");
    bulkhead.pause();
    let waiting = call(&mut executor, &bulkhead);
    executor.clock().advance(ms(50));
    bulkhead.resume();
    executor.run_until_idle();
    assert_eq!(reason(&waiting), Reason::Expired);
}

#[test]
fn a_full_waiting_room_rejects_as_saturated_while_paused() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 4, 1);
    bulkhead.pause();
    let _waiting = call(&mut executor, &bulkhead);
    let rejected = call(&mut executor, &bulkhead);
    let rejection = rejected.output().expect("rejected").expect_err("no room");
    assert!(rejection.is_paused());
    assert_eq!(rejection.to_string(), "bulkhead test: saturated (paused, 0 of 4 in use, 1 of 1 waiting)");
    bulkhead.resume();
    let _running: Vec<_> = (0..3).map(|_| bulkhead.try_slot().expect("free")).collect();
    let rejection = bulkhead.try_slot().expect_err("four run");
    assert!(!rejection.is_paused() && !rejection.to_string().contains("paused"));
}

#[test]
fn pausing_and_resuming_say_whether_they_changed_something() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    assert!(!bulkhead.status().is_paused && !bulkhead.resume());
    assert!(bulkhead.pause() && bulkhead.status().is_paused && !bulkhead.pause());
    assert!(bulkhead.status().is_paused && bulkhead.resume());
    assert!(!bulkhead.status().is_paused && !bulkhead.resume());
    drop(bulkhead.try_slot().expect("free"));
}

#[test]
fn closing_ends_a_pause_and_rejects_the_waiters() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 2, 1);
    let running = slot(&call(&mut executor, &bulkhead));
    bulkhead.pause();
    let waiting = call(&mut executor, &bulkhead);
    assert!(bulkhead.close());
    executor.run_until_idle();
    assert_eq!(reason(&waiting), Reason::Closed);
    assert!(!bulkhead.status().is_paused && !bulkhead.status().is_paused);
    assert!(!bulkhead.pause() && !bulkhead.resume(), "closing wins");
    assert_eq!(bulkhead.try_slot().expect_err("closed").reason(), Reason::Closed);
    drop(running);
    assert!(bulkhead.status().is_drained());
}

#[test]
fn a_waiter_can_be_cancelled_while_paused() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 2);
    bulkhead.pause();
    let waiting = [call(&mut executor, &bulkhead), call(&mut executor, &bulkhead)];
    waiting[0].cancel();
    executor.run_until_idle();
    assert_eq!((bulkhead.status().waiting, bulkhead.status().totals.cancelled), (1, 1));
    bulkhead.resume();
    executor.run_until_idle();
    drop(slot(&waiting[1]));
}

#[test]
fn a_capacity_set_while_paused_applies_at_the_resumption() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 5);
    bulkhead.pause();
    let waiting = [(); 3].map(|()| call(&mut executor, &bulkhead));
    let resized = bulkhead.resize(2).expect("open");
    assert_eq!((resized.previous, resized.admitted), (1, 0));
    executor.run_until_idle();
    assert_eq!(finished(&waiting), [false; 3]);
    assert_eq!((bulkhead.status().is_paused, bulkhead.status().limits.capacity), (true, 2));
    bulkhead.resume();
    executor.run_until_idle();
    assert_eq!(finished(&waiting), [true, true, false]);
}

#[test]
fn the_status_counts_no_free_slot_while_paused() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 2, 1);
    let _running = bulkhead.try_slot().expect("free");
    bulkhead.pause();
    let status = bulkhead.status();
    assert!(status.is_paused && status.is_saturated());
    assert_eq!((status.free(), status.limits.capacity, status.capacity_excess()), (0, 2, 0));
    assert!((status.utilization() - 0.5).abs() < f64::EPSILON);
    bulkhead.resume();
    let status = bulkhead.status();
    assert_eq!((status.is_paused, status.is_saturated(), status.free()), (false, false, 1));
}

#[test]
fn the_capacity_report_names_the_pause() {
    let mut executor = executor();
    let bulkhead = builder(&executor).parallelism(2).waiting_room(2).wait_limit(ms(50)).build().expect("valid");
    let summary = || bulkhead.status().capacity_report();
    bulkhead.pause();
    assert_eq!(summary().to_string(), "bulkhead test: notice: paused, 0 waiting");
    assert_eq!(summary().findings[0].code.as_str(), "admission_paused");
    let _first = call(&mut executor, &bulkhead);
    assert_eq!(summary().severity(), Severity::Warning, "a call waits");
    assert!(summary().finding(FindingCode::ExecutionFull).is_none(), "no slot is in use");
    let _second = call(&mut executor, &bulkhead);
    let full = summary().finding(FindingCode::WaitingRoomFull).expect("it is full").message.clone();
    assert_eq!(full, "paused with 0 of 2 in use, and all 2 places to wait taken");
    bulkhead.resume();
    assert!(summary().finding(FindingCode::AdmissionPaused).is_none());
}

#[test]
fn events_tell_of_a_pause_and_of_its_end() {
    use EventKind::{Admitted, Closed, ClosedRejection, Drained, Paused, Queued, Resumed};
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 5);
    let (log, handler) = recorder(|event| (event.kind, event.affected_waiters(), event.cost()));
    bulkhead.handle().add_event_handler(EventFilter::ALL, handler);
    assert!(bulkhead.pause() && !bulkhead.pause());
    let waiting = call(&mut executor, &bulkhead);
    assert!(bulkhead.resume() && !bulkhead.resume());
    let expected = [(Paused, 0, None), (Queued, 0, Some(1)), (Resumed, 1, None), (Admitted, 0, Some(1))];
    assert_eq!(taken(&log), expected);
    executor.run_until_idle();
    drop(slot(&waiting));
    bulkhead.pause();
    let _waiting = call(&mut executor, &bulkhead);
    taken(&log);
    bulkhead.close();
    let expected = [(Closed, 1, None), (ClosedRejection, 0, Some(1)), (Drained, 0, None)];
    assert_eq!(taken(&log), expected, "closing ends the pause without another event");
}
