//! The values that are inputs and outputs of the gate, with their texts, without the gate.

#![no_std]
#![no_main]

use core::fmt::Display;
use core::time::Duration;

use bulklink_core::{
    Event, Instant, Interval, IntervalError, InvalidArgument, Occupancy, Rejection, Request, ResizeError, Snapshot,
    Totals,
};

code_size::keep!(
    <Instant as core::ops::Add<Duration>>::add,
    <IntervalError as Display>::fmt,
    <InvalidArgument as Display>::fmt,
    <ResizeError as Display>::fmt,
    Event::waited,
    Occupancy::capacity,
    Occupancy::in_flight,
    Occupancy::in_use,
    Occupancy::waiting,
    Occupancy::waiting_room,
    Instant::as_nanos,
    Instant::from_nanos,
    Instant::saturating_add,
    Instant::saturating_since,
    Instant::saturating_sub,
    Interval::has_activity,
    InvalidArgument::field,
    InvalidArgument::for_field,
    (|invalid: InvalidArgument, owner| invalid.of(owner)) as fn(InvalidArgument, &str) -> InvalidArgument,
    InvalidArgument::value,
    Rejection::occupancy,
    Rejection::limit,
    Rejection::reason,
    Rejection::waited,
    Request::before,
    Request::cost,
    Request::may_be_late,
    Request::new,
    Request::now,
    Request::within,
    Snapshot::capacity_excess,
    Snapshot::free,
    Snapshot::is_drained,
    Snapshot::is_over_capacity,
    Snapshot::is_saturated,
    Snapshot::queue_utilization,
    Snapshot::longest_wait,
    Snapshot::since,
    Snapshot::utilization,
    Totals::average_wait,
    Totals::closed,
    Totals::cumulative_wait,
    Totals::direct_admitted,
    Totals::rejected,
    Totals::settled_waiting,
);
