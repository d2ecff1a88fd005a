//! When the clock is read: by calls that wait, for deadlines, and by releases while a call waits.
//! Also: waits that are not measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use bulklink::runtime::{Clock, Instant, Timer};
use bulklink::testing::{Executor, FakeClock, FakeSleep};
use bulklink::{Builder, Bulkhead, EventFilter, EventKind, Readiness, Reason, Request};

use crate::{Call, ms, recorder, slot};

/// A fake clock that counts how often it is read.
#[derive(Clone, Default)]
pub(crate) struct Counted(pub(crate) FakeClock, Arc<AtomicUsize>);

impl Counted {
    /// Runs the work, and returns how often the clock was read meanwhile.
    pub(crate) fn reads<T>(&self, work: impl FnOnce() -> T) -> (usize, T) {
        let before = self.1.load(SeqCst);
        let result = work();
        (self.1.load(SeqCst) - before, result)
    }
}

impl Clock for Counted {
    type Instant = Instant;

    fn now(&self) -> Instant {
        self.1.fetch_add(1, SeqCst);
        self.0.now()
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Timer for Counted {
    type Sleep = FakeSleep;

    fn sleep_until(&self, deadline: Instant) -> FakeSleep {
        self.0.sleep_until(deadline)
    }
}

type CountedBulkhead = Bulkhead<Counted>;

fn setup() -> (Counted, Executor, Builder<Counted>) {
    let clock = Counted::default();
    let builder = Bulkhead::builder_on(clock.clone(), "test").capacity(2).waiting_room(2);
    (clock.clone(), Executor::new(clock.0), builder)
}

/// Spawns a call that waits, and polls it once.
fn call(executor: &mut Executor, bulkhead: &CountedBulkhead, request: Request<Instant>) -> Call {
    let call = executor.spawn(bulkhead.with(request).slot());
    executor.run_until_idle();
    call
}

#[test]
fn a_call_with_a_deadline_reads_the_clock_at_both_ends() {
    let (clock, _, builder) = setup();
    let bulkhead = builder.build().expect("valid");
    let request = Request::new().deadline(clock.0.now() + ms(10));
    let (reads, slot) = clock.reads(|| bulkhead.with(request).try_slot().expect("free"));
    assert_eq!(reads, 1);
    let (reads, ()) = clock.reads(|| drop(slot));
    assert_eq!(reads, 1);
}

#[test]
fn the_clock_is_not_read_while_no_call_waits() {
    let (clock, mut executor, builder) = setup();
    let bulkhead = builder.wait_limit(ms(10)).build().expect("valid");
    let (reads, ()) = clock.reads(|| {
        for _ in 0..3 {
            let heavy = bulkhead.with(Request::new().cost(2)).try_slot().expect("free");
            assert!(bulkhead.try_slot().is_err());
            drop(heavy);
            let both = [bulkhead.try_slot().expect("free"), bulkhead.try_slot().expect("free")];
            assert!(bulkhead.try_slot().is_err());
            drop(both);
            drop(slot(&call(&mut executor, &bulkhead, Request::new().within(ms(5)))));
        }
    });
    assert_eq!(reads, 0);
    let (reads, _) = clock.reads(|| bulkhead.status());
    assert_eq!(reads, 1, "a status says when it was taken");
}

#[test]
fn a_watched_bulkhead_reads_no_clock_while_no_call_waits() {
    let (clock, mut executor, builder) = setup();
    let bulkhead = builder.measure_waits(false).build().expect("valid");
    let readiness = Readiness::new(ms(10)).expect("valid");
    readiness.watch(&bulkhead);
    let running = bulkhead.with(Request::new().cost(2)).try_slot().expect("free");
    let used = || bulkhead.try_slot().is_err() && readiness.is_ready();
    assert_eq!(clock.reads(used), (0, true));
    let (reads, waiting) = clock.reads(|| call(&mut executor, &bulkhead, Request::new()));
    assert_eq!(reads, 1, "the beginning of the wait");
    assert_eq!(clock.reads(|| readiness.is_ready()), (1, true));
    drop(running);
    executor.run_until_idle();
    drop(slot(&waiting));
    assert_eq!(clock.reads(|| readiness.is_ready()), (0, true));
}

#[test]
fn while_a_call_waits_each_input_reads_the_clock_once() {
    let (clock, mut executor, builder) = setup();
    let bulkhead = builder.build().expect("valid");
    let both = [bulkhead.try_slot().expect("free"), bulkhead.try_slot().expect("free")];
    let (reads, waiting) = clock.reads(|| call(&mut executor, &bulkhead, Request::new()));
    assert_eq!(reads, 1, "the call queues");
    assert_eq!(clock.reads(|| bulkhead.try_slot().expect_err("full")).0, 1, "a later call is rejected");
    let [first, second] = both;
    assert_eq!(clock.reads(|| drop(first)).0, 1, "the slot is handed over");
    assert_eq!(clock.reads(|| drop(second)).0, 0, "the slot is released while no call waits");
    assert_eq!(clock.reads(|| executor.run_until_idle()).0, 0, "the granted slot is collected");
    drop(slot(&waiting));
}

#[test]
fn the_clock_is_read_once_for_a_deadline() {
    let (clock, _executor, builder) = setup();
    let bulkhead = builder.build().expect("valid");
    let request = Request::new().before(clock.0.now() + ms(5));
    assert_eq!(clock.reads(|| drop(bulkhead.with(request).try_slot().expect("in time"))).0, 1);
}

#[test]
fn a_cancel_reads_the_clock_only_if_a_waiter_gains() {
    let (clock, mut executor, builder) = setup();
    let bulkhead = builder.build().expect("valid");
    let light = bulkhead.try_slot().expect("free");
    let heavy = call(&mut executor, &bulkhead, Request::new().cost(2));
    let behind = call(&mut executor, &bulkhead, Request::new().cost(2));
    assert_eq!(clock.reads(|| behind.cancel()).0, 0, "the call is behind the head");
    assert_eq!(clock.reads(|| heavy.cancel()).0, 1, "the head leaves, and a unit is free");
    let other = bulkhead.try_slot().expect("free");
    let only = call(&mut executor, &bulkhead, Request::new());
    assert_eq!(clock.reads(|| only.cancel()).0, 0, "the head leaves, and no unit is free");
    let granted = call(&mut executor, &bulkhead, Request::new());
    let next = call(&mut executor, &bulkhead, Request::new());
    drop(light);
    assert_eq!(clock.reads(|| granted.cancel()).0, 1, "the slot goes to the next waiter");
    executor.run_until_idle();
    drop(slot(&next));
    let last = call(&mut executor, &bulkhead, Request::new().cost(2));
    drop(other);
    assert_eq!(clock.reads(|| last.cancel()).0, 0, "no call waits for the slot");
    assert_eq!(bulkhead.status().totals.cancelled + bulkhead.status().totals.abandoned, 5);
}

/// Without measured waits, the time is not needed to queue, to hand over, or to cancel.
#[test]
fn unmeasured_waits_without_a_limit_read_no_clock() {
    let (clock, mut executor, builder) = setup();
    let bulkhead = builder.measure_waits(false).build().expect("valid");
    let (reads, ()) = clock.reads(|| {
        let both = [bulkhead.try_slot().expect("free"), bulkhead.try_slot().expect("free")];
        let calls = [(); 2].map(|()| call(&mut executor, &bulkhead, Request::new()));
        let occupancy = bulkhead.try_slot().expect_err("full").occupancy();
        assert_eq!(occupancy.waiting(), 2);
        drop(both);
        executor.run_until_idle();
        let running = calls.map(|call| slot(&call));
        let heavy = call(&mut executor, &bulkhead, Request::new().cost(2));
        let light = call(&mut executor, &bulkhead, Request::new());
        let [one, other] = running;
        drop(one);
        heavy.cancel();
        executor.run_until_idle();
        drop((slot(&light), other));
    });
    assert_eq!(reads, 0);
    let totals = bulkhead.status().totals;
    assert_eq!((totals.admitted, totals.admitted_from_queue, totals.cancelled), (5, 3, 1));
    assert_eq!(totals.cumulative_wait(), Duration::ZERO);
}

#[test]
fn a_requests_limit_applies_if_waits_are_not_measured() {
    let (clock, mut executor, builder) = setup();
    let bulkhead = builder.measure_waits(false).build().expect("valid");
    let _both = [bulkhead.try_slot().expect("free"), bulkhead.try_slot().expect("free")];
    let unlimited = call(&mut executor, &bulkhead, Request::new());
    let (reads, limited) = clock.reads(|| call(&mut executor, &bulkhead, Request::new().within(ms(10))));
    assert_eq!(reads, 1, "the call queues with a limit");
    executor.advance(ms(10));
    let rejection = limited.output().expect("the limit has passed").expect_err("too late");
    assert_eq!((rejection.reason(), rejection.waited()), (Reason::Expired, ms(10)));
    assert!(!unlimited.is_finished());
}

#[test]
fn the_bulkheads_limit_applies_if_waits_are_not_measured() {
    let (clock, mut executor, builder) = setup();
    let bulkhead = builder.measure_waits(false).wait_limit(ms(10)).build().expect("valid");
    let both = [bulkhead.try_slot().expect("free"), bulkhead.try_slot().expect("free")];
    let (reads, late) = clock.reads(|| call(&mut executor, &bulkhead, Request::new()));
    assert_eq!(reads, 1, "the call queues");
    clock.0.advance(ms(10));
    assert_eq!(clock.reads(|| drop(both)).0, 1, "a call waits for only one of the slots");
    executor.run_until_idle();
    assert_eq!(late.output().expect("the limit has passed").expect_err("too late").reason(), Reason::Expired);
}

/// A waiter with a deadline is measured. The waiters beside it in the queue are not.
#[test]
fn without_measured_waits_only_waiters_with_a_deadline_are_measured() {
    let (clock, mut executor, builder) = setup();
    let bulkhead = builder.waiting_room(3).measure_waits(false).build().expect("valid");
    let [one, other] = [bulkhead.try_slot().expect("free"), bulkhead.try_slot().expect("free")];
    let before = call(&mut executor, &bulkhead, Request::new());
    let limited = call(&mut executor, &bulkhead, Request::new().before(clock.0.now() + ms(20)));
    let behind = call(&mut executor, &bulkhead, Request::new());
    clock.0.advance(ms(10));
    drop((one, other));
    executor.run_until_idle();
    assert_eq!(bulkhead.status().totals.cumulative_wait(), ms(10), "the wait of the waiter with a deadline");
    clock.0.advance(ms(30));
    let (reads, ()) = clock.reads(|| drop((slot(&before), slot(&limited))));
    executor.run_until_idle();
    drop(slot(&behind));
    assert_eq!(reads, 0, "the waiter with a deadline has left");
    let status = bulkhead.status();
    assert_eq!((status.totals.cumulative_wait(), status.longest_wait()), (ms(10), ms(10)));
}

#[test]
fn a_slot_skips_an_expired_waiter_even_if_unmeasured() {
    let (clock, mut executor, builder) = setup();
    let bulkhead = builder.measure_waits(false).build().expect("valid");
    let [one, _other] = [bulkhead.try_slot().expect("free"), bulkhead.try_slot().expect("free")];
    let limited = call(&mut executor, &bulkhead, Request::new().before(clock.0.now() + ms(20)));
    let unlimited = call(&mut executor, &bulkhead, Request::new());
    clock.0.advance(ms(20));
    drop(one);
    executor.run_until_idle();
    assert_eq!(limited.output().expect("the limit has passed").expect_err("too late").reason(), Reason::Expired);
    drop(slot(&unlimited));
}

#[test]
fn events_show_unmeasured_waits_as_zero() {
    let (clock, mut executor, builder) = setup();
    let bulkhead = builder.measure_waits(false).build().expect("valid");
    let [one, _other] = [bulkhead.try_slot().expect("free"), bulkhead.try_slot().expect("free")];
    let (seen, handler) = recorder(|event| (event.kind, event.waited(), event.at()));
    bulkhead.handle().add_event_handler(EventFilter::ALL, handler);
    let begun = clock.0.now();
    let waiting = [(); 2].map(|()| call(&mut executor, &bulkhead, Request::new()));
    clock.0.advance(ms(10));
    let [granted, cancelled] = waiting;
    cancelled.cancel();
    drop(one);
    executor.run_until_idle();
    drop(slot(&granted));
    let (zero, later) = (Some(Duration::ZERO), begun + ms(10));
    let expected = [
        (EventKind::Queued, None, begun),
        (EventKind::Queued, None, begun),
        (EventKind::Cancelled, zero, later),
        (EventKind::Released, None, later),
        (EventKind::Admitted, zero, later),
        (EventKind::Released, None, later),
    ];
    assert_eq!(*seen.lock().expect("no panic"), expected);
}

#[test]
fn waits_are_measured_by_default() {
    for (setting, waited) in [(None, ms(10)), (Some(true), ms(10)), (Some(false), Duration::ZERO)] {
        let (clock, mut executor, builder) = setup();
        let builder = builder.capacity(1);
        let builder = if let Some(measured) = setting { builder.measure_waits(measured) } else { builder };
        let bulkhead = builder.build().expect("valid");
        let running = bulkhead.try_slot().expect("free");
        let waiting = call(&mut executor, &bulkhead, Request::new());
        clock.0.advance(ms(10));
        drop(running);
        executor.run_until_idle();
        drop(slot(&waiting));
        assert_eq!(bulkhead.status().longest_wait(), waited, "{setting:?}");
    }
}
