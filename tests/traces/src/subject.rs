//! The subject of a replay.

use std::time::Duration;

use bulklink_core::{Event, Instant, InvalidArgument, Limits, Reason, Rejection, Resized, partitions};
use serde_json::{Map, Value};

use crate::trace::{Config, Enter, Mode};
use crate::words::Kind;

/// The result of a step, or why it was impossible.
pub type Done<T = ()> = Result<T, String>;

/// The subject of a replay: the gate or the async front, a single one or partitions.
pub trait Subject: Sized {
    /// Makes a subject with these limits, unless they are out of range.
    fn new(config: &Config) -> Result<Self, InvalidArgument>;
    /// Lets time pass. Stops at every deadline on the way and runs all tasks until they are idle.
    fn pass_time(&mut self, to: Instant);
    fn enter(&mut self, enter: &Enter, now: Instant) -> Done;
    fn release(&mut self, id: usize) -> Done;
    fn cancel(&mut self, id: usize) -> Done;
    fn close(&mut self);
    /// Returns the calls with a new state since the last time, and this state, in the words of the
    /// traces.
    fn outcomes(&mut self) -> Vec<(usize, &'static str)>;
    /// Returns the status in the words of the traces.
    fn status(&mut self, kind: Kind) -> Map<String, Value>;

    /// Ends the operation `id`, and drops the waiting call that gets its slot before it runs. If
    /// one of the two is missing, the other is still done.
    fn release_then_cancel(&mut self, _id: usize, _cancel: usize) -> Done {
        Err(no_such_step())
    }

    fn resize(&mut self, _to: usize) -> Done<&'static str> {
        Err(no_such_step())
    }

    /// Evicts idle partitions, and returns their number.
    fn cleanup_idle(&mut self) -> Done<usize> {
        Err(no_such_step())
    }

    /// Discards a partition, and returns whether it was removed.
    fn discard(&mut self, _partition: &str) -> Done<bool> {
        Err(no_such_step())
    }

    /// Returns the events since the last time.
    fn events(&mut self) -> Vec<Event> {
        vec![]
    }
}

fn no_such_step() -> String {
    "not a step of this kind of trace".to_owned()
}

pub fn not_running(id: usize) -> String {
    format!("no such call: {id} does not run")
}

pub fn not_waiting(id: usize) -> String {
    format!("no such call: {id} does not wait")
}

pub fn not_ended(id: usize) -> String {
    format!("call {id} has not ended")
}

/// The instant of the traces' time 0. Some deadlines are before it.
const START: Duration = Duration::from_hours(1);

pub fn instant(millis: u64) -> Instant {
    Instant::EPOCH + START + Duration::from_millis(millis)
}

/// Returns the instant of a `before`.
pub fn deadline(millis: i64) -> Instant {
    let distance = Duration::from_millis(millis.unsigned_abs());
    let start = instant(0);
    if millis < 0 { start.saturating_sub(distance) } else { start + distance }
}

pub fn limits(config: &Config) -> Limits {
    let wait_limit = config.wait_limit_ms.map(Duration::from_millis);
    Limits::new(config.capacity).with_waiting_room(config.waiting_room).with_wait_limit(wait_limit)
}

/// Returns the limit on a wait, unless no call can wait. The reference accepts it all the same, and
/// the front does not. An invalid limit stays, so that it is refused.
pub fn meant(limits: &Limits) -> Option<Duration> {
    limits.wait_limit.filter(|limit| limits.waiting_room > 0 || limit.is_zero())
}

pub fn partition_limits(config: &Config) -> partitions::Limits {
    let idle_timeout = config.idle_timeout_us.map(Duration::from_micros);
    partitions::Limits::new(config.max_partitions).with_idle_timeout(idle_timeout)
}

pub fn outcome(rejection: &Rejection) -> &'static str {
    match rejection.reason() {
        Reason::Saturated => "saturated",
        Reason::Expired => "expired",
        Reason::Closed => "closed",
        _ => "unknown",
    }
}

/// Returns the outcome of a resize, with the error of the gate or the front.
pub fn result<E>(resized: &Result<Resized, E>, is_closed: impl FnOnce(&E) -> bool) -> &'static str {
    match resized {
        Ok(_) => "ok",
        Err(error) if is_closed(error) => "closed",
        Err(_) => "invalid",
    }
}

/// Applies one of the four modes of a call to the subject's request type.
pub fn ask<R>(
    enter: &Enter,
    request: R,
    now: fn(R) -> R,
    within: fn(R, Duration) -> R,
    before: impl FnOnce(R, Instant) -> R,
) -> R {
    match enter.mode {
        Mode::Plain => request,
        Mode::Now => now(request),
        Mode::Within { within_ms } => within(request, Duration::from_millis(within_ms)),
        Mode::Before { before_ms } => before(request, deadline(before_ms)),
    }
}
