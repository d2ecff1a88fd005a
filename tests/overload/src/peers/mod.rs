//! The rules of other libraries for a limit, after their sources.

pub mod placeholder;

/// A rule that adapts a concurrency limit to the calls that end.
pub trait Controller {
    /// Learns of a call that ended.
    fn sample(&mut self, sample: &Sample);

    /// Returns the limit from now on.
    fn limit(&self) -> u32;
}

/// A call that ended. Times are in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// When it ended.
    pub now: f64,
    /// The time from its admission to its end.
    pub hold: f64,
    /// The time that it waited for its admission.
    pub wait: f64,
    /// The calls in flight at its admission, itself included.
    pub in_flight: u32,
    /// The calls in flight at its end, itself included.
    pub in_flight_end: u32,
    /// The calls that wait at its end.
    pub waiting: u32,
    /// Whether it waited, or another one was rejected or began to wait since the last sample.
    pub pressed: bool,
    /// How it ended.
    pub outcome: Outcome,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As its caller wished.
    Success,
    /// It failed because the backend has too much to do.
    Overload,
    /// It failed for a reason that says nothing about the load.
    Ignore,
}
