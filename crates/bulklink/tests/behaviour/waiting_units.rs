//! A waiting room that is bounded in units too.

use bulklink::{EventFilter, EventKind, FindingCode, InvalidArgument, Limits, Partitions, Reason, Rejection, Request};

use crate::{Call, TestBulkhead, builder, bulkhead, call, executor, ms, reason, recorder, slot, taken};
use bulklink::testing::Executor;

/// Returns a bulkhead with four units, five places to wait, and this bound on the units.
fn bounded(executor: &Executor, units: usize) -> TestBulkhead {
    builder(executor).capacity(4).waiting_room(5).waiting_room_units(units).build().expect("valid")
}

fn call_of(executor: &mut Executor, bulkhead: &TestBulkhead, cost: usize) -> Call {
    let call = executor.spawn(bulkhead.with(Request::new().cost(cost)).slot());
    executor.run_until_idle();
    call
}

fn rejection(call: &Call) -> Rejection {
    call.output().expect("the call has ended").expect_err("it was rejected")
}

#[test]
fn a_call_beyond_the_units_is_rejected_with_both_figures() {
    let mut executor = executor();
    let bulkhead = bounded(&executor, 6);
    let _running = slot(&call_of(&mut executor, &bulkhead, 4));
    let _waiting = call_of(&mut executor, &bulkhead, 3);
    let rejection = rejection(&call_of(&mut executor, &bulkhead, 4));
    assert_eq!(rejection.reason(), Reason::Saturated);
    assert_eq!((rejection.waiting_units(), rejection.waiting_room_units()), (Some(3), Some(6)));
    assert_eq!((rejection.occupancy().waiting(), rejection.limit()), (1, None));
    let text = "bulkhead test: saturated (4 of 4 in use, 1 of 5 waiting for 3 of 6 units)";
    assert_eq!(rejection.to_string(), text);
    let _last = call_of(&mut executor, &bulkhead, 3);
    let status = bulkhead.status();
    assert_eq!((status.waiting, status.waiting_units, status.totals.saturated), (2, 6, 1));
}

/// The costs are one unit, where the word decides if the gate lets it.
#[test]
fn a_waiter_that_leaves_makes_room_for_another() {
    let mut executor = executor();
    let bulkhead = builder(&executor).capacity(1).waiting_room(5).waiting_room_units(2).wait_limit(ms(50));
    let bulkhead = bulkhead.build().expect("valid");
    let mut running = slot(&call(&mut executor, &bulkhead));
    let mut waiting = [call(&mut executor, &bulkhead), call(&mut executor, &bulkhead)];
    let full = |executor: &mut Executor| rejection(&call(executor, &bulkhead)).waiting_units() == Some(2);
    assert!(full(&mut executor));
    drop(running);
    executor.run_until_idle();
    running = slot(&waiting[0]);
    waiting[0] = call(&mut executor, &bulkhead);
    assert!(full(&mut executor), "one was admitted");
    waiting[1].cancel();
    executor.run_until_idle();
    waiting[1] = call(&mut executor, &bulkhead);
    assert!(full(&mut executor), "one was cancelled");
    executor.advance(ms(50));
    assert_eq!(waiting.each_ref().map(reason), [Reason::Expired; 2]);
    let _waiting = [call(&mut executor, &bulkhead), call(&mut executor, &bulkhead)];
    assert!(full(&mut executor), "both have expired");
    drop(running);
}

#[test]
fn a_call_larger_than_the_bound_is_admitted_but_never_waits() {
    let mut executor = executor();
    let bulkhead = bounded(&executor, 2);
    drop(slot(&call_of(&mut executor, &bulkhead, 3)));
    let _running = slot(&call_of(&mut executor, &bulkhead, 2));
    let rejection = rejection(&call_of(&mut executor, &bulkhead, 3));
    assert_eq!((rejection.waiting_units(), rejection.waiting_room_units()), (Some(0), Some(2)));
}

#[test]
fn other_rejections_have_no_units() {
    let mut executor = executor();
    let bounded = bounded(&executor, 6);
    let _running = slot(&call_of(&mut executor, &bounded, 4));
    let immediate = bounded.try_slot().expect_err("full");
    let _waiting: Vec<_> = (0..5).map(|_| call(&mut executor, &bounded)).collect();
    let by_number = rejection(&call(&mut executor, &bounded));
    let unbounded = bulkhead(&executor, 1, 0);
    let _slot = unbounded.try_slot().expect("free");
    for rejection in [immediate, by_number, unbounded.try_slot().expect_err("full")] {
        assert_eq!(rejection.reason(), Reason::Saturated);
        assert_eq!((rejection.waiting_units(), rejection.waiting_room_units()), (None, None));
        assert!(!rejection.to_string().contains("units"));
    }
}

#[test]
fn without_a_bound_only_the_number_of_calls_counts() {
    let mut executor = executor();
    let bulkhead = builder(&executor).capacity(4).waiting_room(5).build().expect("valid");
    let _running = slot(&call_of(&mut executor, &bulkhead, 4));
    let _waiting: Vec<_> = (0..5).map(|_| call_of(&mut executor, &bulkhead, 4)).collect();
    assert_eq!((bulkhead.status().waiting_units, bulkhead.status().limits.waiting_room_units), (20, None));
}

#[test]
fn a_bound_that_cannot_be_meant_is_refused() {
    let executor = executor();
    let refused = |room: usize, units: usize| -> InvalidArgument {
        let builder = builder(&executor).capacity(4).waiting_room(room).waiting_room_units(units);
        builder.build().map(drop).expect_err("the bound is invalid")
    };
    let zero = refused(5, 0);
    assert_eq!((zero.field(), zero.value().to_string()), ("waiting_room_units", "0".to_owned()));
    assert_eq!(zero.to_string(), "bulkhead test: waiting_room_units must be at least 1, got 0");
    let roomless = "bulkhead test: waiting_room_units must not be set without a waiting room, got 5";
    assert_eq!(refused(0, 5).to_string(), roomless);
    let most = "bulkhead test: waiting_room_units must be at most 2147483647, got 2147483648";
    assert_eq!(refused(5, Limits::MAX + 1).to_string(), most);
}

#[test]
fn the_status_and_the_report_know_the_bound() {
    let mut executor = executor();
    let bulkhead = bounded(&executor, 5);
    assert_eq!(bulkhead.status().limits.waiting_room_units, Some(5));
    let _running = slot(&call_of(&mut executor, &bulkhead, 4));
    let message = |code| bulkhead.status().capacity_report().finding(code).map(|finding| finding.message.clone());
    let _first = call_of(&mut executor, &bulkhead, 4);
    let near = "4 of 5 units in the waiting room taken (80 %)".to_owned();
    assert_eq!(message(FindingCode::WaitingRoomNearCapacity), Some(near));
    let _second = call(&mut executor, &bulkhead);
    let full = "4 of 4 in use, and all 5 units to wait taken".to_owned();
    assert_eq!(message(FindingCode::WaitingRoomFull), Some(full));
}

#[test]
fn a_rejection_for_its_units_is_reported_as_saturated() {
    let mut executor = executor();
    let bulkhead = bounded(&executor, 2);
    let _running = slot(&call_of(&mut executor, &bulkhead, 4));
    let (log, handler) = recorder(|event| (event.kind, event.cost(), event.occupancy.waiting()));
    bulkhead.handle().add_event_handler(EventFilter::ALL, handler);
    drop(rejection(&call_of(&mut executor, &bulkhead, 3)));
    assert_eq!(taken(&log), [(EventKind::Saturated, Some(3), 0)]);
}

#[test]
fn partitions_bound_their_units_too() {
    let mut executor = executor();
    let builder = Partitions::<u8, _>::builder_on(executor.clock(), "test").capacity(4).max_partitions(2);
    let partitions = builder.waiting_room(5).waiting_room_units(2).build().expect("valid");
    assert_eq!(partitions.status().each.waiting_room_units, Some(2));
    let _running = partitions.key(&1).with(Request::new().cost(4)).try_slot().expect("free");
    let rejected = executor.spawn(partitions.key(&1).with(Request::new().cost(3)).slot());
    executor.run_until_idle();
    assert_eq!(rejection(&rejected).waiting_room_units(), Some(2));
}
