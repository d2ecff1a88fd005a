//! A waiter's deadline passes while a slot is released.

use std::collections::BTreeSet;
use std::task::Poll;
use std::time::Duration;

use bulklink::runtime::Instant;
use bulklink::{OwnedSlot, Reason, Request};
use loom::thread;

use crate::call::Call;
use crate::model::{TestBulkhead, model, on_a_thread};

const LIMIT: u64 = 10;

/// Returns a call that may wait until the clock shows [`LIMIT`].
fn limited(bulkhead: &TestBulkhead) -> Call {
    Call::with(bulkhead, Request::new().within(Duration::from_nanos(LIMIT)))
}

/// Polls a call after its deadline, and returns its answer.
fn late_answer(call: &mut Call) -> Result<OwnedSlot, Reason> {
    let Poll::Ready(answer) = call.poll() else { panic!("the call waits after its deadline") };
    answer.map_err(|rejection| rejection.reason())
}

#[test]
fn a_waiter_expires_or_is_admitted_but_not_both() {
    let served = model(1, 1).explore_in_time(|bulkhead, clock| {
        let held = bulkhead.owned().try_slot().unwrap();
        let mut call = limited(bulkhead).queued();
        let release = thread::spawn(move || drop(held));
        clock.set(LIMIT);
        let answer = late_answer(&mut call);
        release.join().unwrap();
        assert_eq!(call.wakes(), 1);
        let (status, served) = (bulkhead.status(), answer.is_ok());
        assert_eq!((status.totals.admitted_from_queue, status.totals.expired), (served.into(), (!served).into()));
        assert_eq!(status.in_flight, usize::from(served));
        assert!(served || matches!(answer, Err(Reason::Expired)));
        served
    });
    assert_eq!(served, BTreeSet::from([false, true]));
}

#[test]
fn a_waiter_gets_no_slot_released_after_its_deadline() {
    model(1, 1).explore_in_time(|bulkhead, clock| {
        let held = bulkhead.owned().try_slot().unwrap();
        let mut call = limited(bulkhead).queued();
        clock.set(LIMIT);
        let release = thread::spawn(move || drop(held));
        assert_eq!(late_answer(&mut call).unwrap_err(), Reason::Expired);
        release.join().unwrap();
    });
}

#[test]
fn a_slot_too_late_for_one_waiter_serves_the_next() {
    let served = model(1, 2).explore_in_time(|bulkhead, clock| {
        let held = bulkhead.owned().try_slot().unwrap();
        let (mut first, second) = (limited(bulkhead).queued(), Call::new(bulkhead).queued());
        let release = thread::spawn(move || drop(held));
        clock.set(LIMIT);
        let answer = late_answer(&mut first);
        release.join().unwrap();
        let served = answer.is_ok();
        assert_eq!(second.wakes(), usize::from(!served));
        drop(answer);
        drop(second.granted());
        served
    });
    assert_eq!(served, BTreeSet::from([false, true]));
}

#[test]
fn two_waiters_that_are_late_together_are_both_rejected() {
    // The one that is polled first expires both, and must wake the other.
    model(1, 2).explore_in_time(|bulkhead, clock| {
        let held = bulkhead.owned().try_slot().unwrap();
        let (mut first, mut second) = (limited(bulkhead).queued(), limited(bulkhead).queued());
        clock.set(LIMIT);
        let other = thread::spawn(move || {
            assert_eq!(late_answer(&mut first).unwrap_err(), Reason::Expired);
            first
        });
        assert_eq!(late_answer(&mut second).unwrap_err(), Reason::Expired);
        assert_eq!((other.join().unwrap().wakes(), second.wakes()), (1, 1));
        drop(held);
        assert_eq!(bulkhead.status().totals.expired, 2);
    });
}

#[test]
fn a_late_waiter_takes_no_place_from_a_new_call() {
    model(1, 1).explore_in_time(|bulkhead, clock| {
        let held = bulkhead.owned().try_slot().unwrap();
        let mut late = limited(bulkhead).queued();
        clock.set(LIMIT);
        let other = thread::spawn(move || {
            assert_eq!(late_answer(&mut late).unwrap_err(), Reason::Expired);
            late
        });
        let new_call = Call::new(bulkhead).queued();
        assert_eq!(other.join().unwrap().wakes(), 1);
        drop(held);
        drop(new_call.granted());
    });
}

#[test]
fn a_late_waiter_expires_even_during_the_close() {
    model(1, 1).explore_in_time(|bulkhead, clock| {
        let held = bulkhead.owned().try_slot().unwrap();
        let mut late = limited(bulkhead).queued();
        clock.set(LIMIT);
        let close = on_a_thread(bulkhead, |bulkhead| bulkhead.close());
        assert_eq!(late_answer(&mut late).unwrap_err(), Reason::Expired);
        close.join().unwrap();
        assert_eq!(late.wakes(), 1);
        drop(held);
    });
}

#[test]
fn a_late_waiter_that_is_dropped_is_counted_once() {
    let counts = model(1, 2).explore_in_time(|bulkhead, clock| {
        let held = bulkhead.owned().try_slot().unwrap();
        let (late, next) = (limited(bulkhead).queued(), Call::new(bulkhead).queued());
        let release = on_a_thread(clock, move |clock| {
            clock.set(LIMIT);
            drop(held);
        });
        drop(late);
        release.join().unwrap();
        drop(next.granted());
        let totals = bulkhead.status().totals;
        (totals.cancelled, totals.abandoned, totals.expired)
    });
    assert_eq!(counts, BTreeSet::from([(0, 0, 1), (1, 0, 0)]));
}

/// A request for a call that must be over when the clock shows twice [`LIMIT`], and whose wait
/// leaves half of that.
fn whole() -> Request<Instant> {
    Request::new().deadline(Instant::from_nanos(2 * LIMIT)).leaving(Duration::from_nanos(LIMIT))
}

#[test]
fn a_slot_with_a_deadline_is_released_beside_the_fast_path() {
    let late = model(2, 0).explore_in_time(|bulkhead, clock| {
        drop([bulkhead.try_slot().unwrap(), bulkhead.try_slot().unwrap()]);
        let held = bulkhead.with(whole()).try_slot().unwrap();
        let release = thread::spawn(move || drop(held));
        let other = on_a_thread(bulkhead, |bulkhead| drop(bulkhead.try_slot().unwrap()));
        clock.set(2 * LIMIT + 1);
        (release.join().unwrap(), other.join().unwrap());
        let status = bulkhead.status();
        assert_eq!((status.in_flight, status.totals.admitted, status.totals.finished), (0, 4, 4));
        status.ended_late
    });
    assert_eq!(late, BTreeSet::from([0, 1]));
}

#[test]
fn a_call_with_a_deadline_expires_early_or_is_admitted() {
    let outcomes = model(1, 1).explore_in_time(|bulkhead, clock| {
        let held = bulkhead.owned().try_slot().unwrap();
        let mut call = Call::with(bulkhead, whole()).queued();
        let release = thread::spawn(move || drop(held));
        clock.set(LIMIT);
        let answer = late_answer(&mut call);
        release.join().unwrap();
        let served = answer.is_ok();
        clock.set(2 * LIMIT + 1);
        drop(answer);
        let status = bulkhead.status();
        assert_eq!((status.ended_late, status.totals.expired), (served.into(), (!served).into()));
        served
    });
    assert_eq!(outcomes, BTreeSet::from([false, true]));
}
