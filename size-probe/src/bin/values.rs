//! Without the gate: the values that go into it and come out of it, and their texts.

#![no_std]
#![no_main]

use core::fmt::Display;
use core::time::Duration;

use bulklink_core::{
    Event, Figures, Instant, Interval, IntervalError, Invalid, Rejection, Request, ResizeError, Snapshot, Totals,
};

size_probe::keep!(
    <Instant as core::ops::Add<Duration>>::add,
    <IntervalError as Display>::fmt,
    <Invalid as Display>::fmt,
    <ResizeError as Display>::fmt,
    Event::waited,
    Figures::capacity,
    Figures::in_flight,
    Figures::in_use,
    Figures::waiting,
    Figures::waiting_room,
    Instant::as_nanos,
    Instant::from_nanos,
    Instant::saturating_add,
    Instant::saturating_since,
    Instant::saturating_sub,
    Interval::has_activity,
    Invalid::field,
    Invalid::for_field,
    (|invalid: Invalid, owner| invalid.of(owner)) as fn(Invalid, &str) -> Invalid,
    Invalid::value,
    Rejection::figures,
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
