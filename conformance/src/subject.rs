//! What a trace is replayed against.

use std::time::Duration;

use bulklink_core::{Event, Instant, Limits, Reason, Rejection, ResizeError, Resized, Snapshot};

use crate::trace::{Config, Enter, Mode};

/// Whatever admits: the bare gate, or the async front over it.
pub trait Subject: Sized {
    fn new(limits: Limits) -> Self;
    /// Lets time pass, stopping at every deadline on the way, with all tasks run to idle there.
    fn pass_time(&mut self, to: Instant);
    fn enter(&mut self, enter: &Enter, now: Instant);
    fn release(&mut self, id: usize);
    fn cancel(&mut self, id: usize);
    /// The operation `id` ends, and the waiting call that its slot goes to is dropped before it runs.
    fn release_then_cancel(&mut self, id: usize, cancel: usize);
    fn resize(&mut self, to: usize) -> &'static str;
    fn close(&mut self);
    /// The events since the last call.
    fn events(&mut self) -> Vec<Event>;
    /// The calls whose state changed since the last call, with that state, in the words of the traces.
    fn outcomes(&mut self) -> Vec<(usize, &'static str)>;
    fn snapshot(&mut self) -> Snapshot;
}

/// Where the traces' time 0 lies. Some deadlines lie before it.
const START: Duration = Duration::from_hours(1);

pub fn instant(millis: u64) -> Instant {
    Instant::EPOCH + START + Duration::from_millis(millis)
}

/// The instant of a `before`.
pub fn deadline(millis: i64) -> Instant {
    let distance = Duration::from_millis(millis.unsigned_abs());
    let start = instant(0);
    if millis < 0 { start.saturating_sub(distance) } else { start + distance }
}

pub fn limits(config: &Config) -> Limits {
    let wait_limit = config.wait_limit_ms.map(Duration::from_millis);
    Limits { capacity: config.capacity, waiting_room: config.waiting_room, wait_limit }
}

pub fn outcome(rejection: &Rejection) -> &'static str {
    match rejection.reason() {
        Reason::Saturated => "saturated",
        Reason::Expired => "expired",
        Reason::Closed => "closed",
        _ => "unknown",
    }
}

pub fn result(resized: &Result<Resized, ResizeError>) -> &'static str {
    match resized {
        Ok(_) => "ok",
        Err(ResizeError::Closed) => "closed",
        Err(_) => "invalid",
    }
}

/// The four ways of asking, handed to whichever request type the subject uses.
pub fn ask<R>(
    enter: &Enter,
    request: R,
    now: fn(R) -> R,
    within: fn(R, Duration) -> R,
    before: fn(R, Instant) -> R,
) -> R {
    match enter.mode {
        Mode::Plain => request,
        Mode::Now => now(request),
        Mode::Within { within_ms } => within(request, Duration::from_millis(within_ms)),
        Mode::Before { before_ms } => before(request, deadline(before_ms)),
    }
}
