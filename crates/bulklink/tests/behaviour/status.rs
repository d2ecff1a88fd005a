//! The status, which is of one moment, and the interval between two of them.

use bulklink::{IntervalError, Limits, Request};

use crate::{builder, bulkhead, call, executor, ms, slot};

#[test]
fn free_units_are_those_of_the_status() {
    let mut executor = executor();
    let bulkhead = builder(&executor).capacity(3).waiting_room(2).build().expect("valid");
    let free = || (bulkhead.status().free(), bulkhead.status().free());
    assert_eq!(free(), (3, 3));
    let running = bulkhead.with(Request::new().cost(2)).try_slot().expect("free");
    assert_eq!(free(), (1, 1));
    bulkhead.pause();
    assert_eq!(free(), (0, 0));
    bulkhead.resume();
    bulkhead.resize(1).expect("open");
    assert_eq!(free(), (0, 0));
    bulkhead.resize(3).expect("open");
    let _large = executor.spawn(bulkhead.with(Request::new().cost(3)).slot());
    executor.run_until_idle();
    assert_eq!(free(), (1, 1), "the call that waits is too large for it");
    bulkhead.close();
    drop(running);
    assert_eq!(free(), (3, 3));
}

#[test]
fn intervals_are_differences() {
    let mut executor = executor();
    let bulkhead = builder(&executor).parallelism(1).waiting_room(5).build().expect("valid");
    let running = slot(&call(&mut executor, &bulkhead));
    let earlier = bulkhead.status();
    let waiting = call(&mut executor, &bulkhead);
    executor.advance(ms(40));
    drop(running);
    executor.run_until_idle();
    let _running = slot(&waiting);
    let later = bulkhead.status();
    assert!(later.number > earlier.number);
    let interval = later.since(&earlier).expect("in order");
    assert!(interval.has_activity());
    let totals = interval.totals;
    assert_eq!((totals.admitted, totals.admitted_from_queue, totals.queued, totals.finished), (1, 1, 1, 1));
    assert_eq!(totals.average_wait(), Some(ms(40)));
    assert_eq!(later.longest_wait(), ms(40));
    assert_eq!(later.totals.direct_admitted(), 1);
}

#[test]
fn an_interval_needs_two_statuses_of_one_bulkhead_in_order() {
    let executor = executor();
    let (one, other) = (bulkhead(&executor, 1, 0), bulkhead(&executor, 1, 0));
    let (first, second) = (one.status(), one.status());
    assert!(matches!(first.since(&second), Err(IntervalError::Reversed { earlier: 2, later: 1 })));
    assert!(matches!(second.since(&other.status()), Err(IntervalError::DifferentInstance { .. })));
    assert!(!second.since(&first).expect("in order").has_activity());
}

#[test]
fn an_interval_across_a_reconfiguration_has_both_limits() {
    let executor = executor();
    let bulkhead = bulkhead(&executor, 1, 0);
    let running = bulkhead.try_slot().expect("free");
    let earlier = bulkhead.status();
    bulkhead.try_slot().expect_err("full");
    let limits = bulkhead.limits().with_waiting_room(3);
    bulkhead.reconfigure(limits).expect("valid");
    drop(running);
    let interval = bulkhead.status().since(&earlier).expect("of one bulkhead");
    assert_eq!((interval.limits_before, interval.limits_after), (earlier.limits, limits));
    assert_eq!((interval.totals.saturated, interval.totals.finished), (1, 1));
}

#[test]
fn derived_figures_are_computed_from_the_status() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 2, 4);
    let _running = [(); 2].map(|()| slot(&call(&mut executor, &bulkhead)));
    let _waiting = call(&mut executor, &bulkhead);
    let status = bulkhead.status();
    assert_eq!(&*status.label, "test");
    assert!(status.is_saturated());
    assert!((status.utilization() - 1.0).abs() < f64::EPSILON);
    assert!((status.queue_utilization() - 0.25).abs() < f64::EPSILON);
    assert_eq!(status.totals.average_wait(), None);
}

#[test]
fn a_status_has_the_label_the_limits_and_the_occupancy() {
    let mut executor = executor();
    let bulkhead = builder(&executor).parallelism(2).waiting_room(4).wait_limit(ms(50)).build().expect("valid");
    let _running = [(); 2].map(|()| slot(&call(&mut executor, &bulkhead)));
    let _waiting = call(&mut executor, &bulkhead);
    let status = bulkhead.status();
    let Limits { capacity, waiting_room, wait_limit, .. } = status.limits;
    assert_eq!((&*status.label, capacity, waiting_room, wait_limit), ("test", 2, 4, Some(ms(50))));
    assert_eq!((status.in_flight, status.waiting, status.is_closed), (2, 1, false));
    bulkhead.close();
    let later = bulkhead.status();
    assert_eq!((later.instance, later.is_closed), (status.instance, true));
    assert!(later.number > status.number);
}
