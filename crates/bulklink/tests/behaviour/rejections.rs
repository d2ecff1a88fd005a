//! Rejections: their reason, label and figures.

use std::error::Error;
use std::io;
use std::time::Duration;

use bulklink::runtime::Instant;
use bulklink::{ExecuteError, JoinError, Occupancy, Reason, Rejection, Request, SubmitError};

use crate::{TestBulkhead, bulkhead, chain, executor, ms};

/// Returns a rejection of each reason except an invalid cost. The bulkhead has one slot and one
/// place to wait.
fn each_reason(bulkhead: &TestBulkhead) -> Vec<Rejection> {
    let past = Request::new().before(Instant::EPOCH);
    let running = bulkhead.try_slot().expect("free");
    let rejections =
        [bulkhead.owned().try_slot(), bulkhead.with(past).try_slot()].map(|call| call.expect_err("rejected"));
    drop(running);
    bulkhead.close();
    rejections.into_iter().chain(bulkhead.try_slot().err()).collect()
}

fn occupancy(occupancy: Occupancy) -> (usize, usize, usize, usize) {
    (occupancy.in_flight(), occupancy.capacity(), occupancy.waiting(), occupancy.waiting_room())
}

#[test]
fn each_rejection_has_its_reason_label_and_occupancy() {
    let bulkhead = bulkhead(&executor(), 1, 1);
    let rejections = each_reason(&bulkhead);
    let fields: Vec<_> = rejections.iter().map(|no| (no.reason(), no.label(), occupancy(no.occupancy()))).collect();
    let expected = [
        (Reason::Saturated, "test", (1, 1, 0, 1)),
        (Reason::Expired, "test", (1, 1, 0, 1)),
        (Reason::Closed, "test", (0, 1, 0, 1)),
    ];
    assert_eq!(fields, expected);
}

#[test]
fn a_rejection_has_the_cost_that_was_asked_for() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 4, 1);
    let _running = bulkhead.with(Request::new().cost(2)).try_slot().expect("free");
    let ask = |cost| bulkhead.with(Request::new().cost(cost)).try_slot().expect_err("rejected").cost();
    assert_eq!([ask(3), ask(5), ask(0)], [3, 5, 0]);
    let late = executor.spawn(bulkhead.with(Request::new().cost(4).within(ms(1))).slot());
    executor.run_until_idle();
    executor.advance(ms(2));
    assert_eq!(late.output().expect("it is time").expect_err("too late").cost(), 4);
    let builder = bulklink::Partitions::builder_on(executor.clock(), "tenants").capacity(3).max_partitions(1);
    let tenants: bulklink::Partitions<String, _> = builder.build().expect("valid");
    let _ann = tenants.key("ann").try_slot().expect("free");
    assert_eq!(tenants.key("bob").with(Request::new().cost(2)).try_slot().expect_err("no partition").cost(), 2);
    bulkhead.close();
    assert_eq!([ask(1), ask(3)], [1, 3]);
}

#[test]
fn only_an_expired_rejection_has_a_limit() {
    let limits: Vec<_> = each_reason(&bulkhead(&executor(), 1, 1)).iter().map(Rejection::limit).collect();
    assert_eq!(limits, [None, Some(ms(0)), None]);
}

#[test]
fn a_message_has_rounded_times_and_an_error_of_a_closed_bulkhead_its_name() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let running = bulkhead.owned().try_slot().expect("free");
    let late = executor.spawn(bulkhead.within(ms(50)).slot());
    executor.run_until_idle();
    executor.clock().advance(Duration::from_nanos(51_284_113));
    executor.run_until_idle();
    let rejection = late.output().expect("it is time").expect_err("too late");
    assert_eq!(rejection.to_string(), "bulkhead test: expired after 51.3 ms of 50 ms (1 of 1 in use, 0 of 1 waiting)");
    drop(running);
    bulkhead.close();
    let resized = bulkhead.resize(2).expect_err("closed");
    assert_eq!(resized.to_string(), "bulkhead test: closed, and cannot be resized");
    let reconfigured = bulkhead.reconfigure(bulkhead.limits()).expect_err("closed");
    assert_eq!(reconfigured.to_string(), "bulkhead test: closed, and cannot be reconfigured");
}

/// They are labels of metrics.
#[test]
fn the_names_of_reasons_never_change() {
    let reasons = [
        Reason::Saturated,
        Reason::Expired,
        Reason::Closed,
        Reason::Uncollected,
        Reason::InvalidCost,
        Reason::PartitionLimit,
    ];
    let names = ["saturated", "expired", "closed", "uncollected", "invalid_cost", "partition_limit"];
    assert_eq!(reasons.map(Reason::as_str), names);
    assert_eq!(reasons.map(|reason| reason.to_string().replace(' ', "_")), names);
}

/// Searches the error for a network timeout in the way retry layers do.
#[test]
fn a_rejection_does_not_look_like_a_network_timeout() {
    let mut executor = executor();
    let bulkhead = bulkhead(&executor, 1, 1);
    let _running = bulkhead.try_slot().expect("free");
    let late = executor.spawn(bulkhead.within(ms(10)).slot());
    executor.advance(ms(10));
    let rejection = late.output().expect("it is time").expect_err("too late");
    assert_eq!(rejection.reason(), Reason::Expired);
    let error: Box<dyn Error + Send + Sync> = rejection.into();
    assert!(error.is::<Rejection>() && !error.is::<io::Error>() && error.source().is_none());
}

/// A chain has each text once, and the cause is found by its type.
#[test]
fn an_error_around_a_rejection_has_it_as_its_source() {
    let bulkhead = bulkhead(&executor(), 1, 0);
    let _running = bulkhead.try_slot().expect("free");
    let rejection = bulkhead.try_slot().expect_err("full");
    let executed = ExecuteError::<io::Error>::from(rejection.clone());
    let submitted = SubmitError::from(rejection.clone());
    let joined = JoinError::Rejected(rejection.clone());
    for error in [&executed as &(dyn Error + 'static), &submitted, &joined] {
        assert_eq!(chain(error), format!("the call was not admitted: {rejection}"));
        assert_eq!(error.source().expect("the rejection").downcast_ref(), Some(&rejection));
    }
    let own = ExecuteError::Operation(io::Error::other("its own"));
    assert_eq!(chain(&own), "the operation failed: its own");
    assert_eq!(*executed.into_boxed().downcast::<Rejection>().expect("the rejection itself"), rejection);
    assert_eq!(chain(&*own.into_boxed()), "its own");
}
