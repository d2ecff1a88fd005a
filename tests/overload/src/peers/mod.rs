//! Controllers of other projects, each after its original source.
//!
//! A recording of each original is under `recorded`; the test `peers` replays it.

mod digest;
pub mod envoy;
pub mod failsafe;
pub mod netflix;
pub mod opensearch;
pub mod tower_resilience;
pub mod vector;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As it should.
    Success,
    /// Refused or given up because the other side is overloaded.
    Overload,
    /// For another reason, about which a controller learns nothing.
    Ignore,
}

/// A call that ended. Times are in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// When it ended.
    pub now: f64,
    /// From its admission to its end.
    pub hold: f64,
    /// From its arrival to its admission.
    pub wait: f64,
    /// Calls in flight at its admission, itself included.
    pub in_flight: u32,
    /// Calls in flight at its end, itself included.
    pub in_flight_end: u32,
    /// Calls that wait at its end.
    pub waiting: u32,
    /// Whether a call has waited or has been turned away since the previous sample.
    pub pressed: bool,
    /// How it ended.
    pub outcome: Outcome,
}

/// Finds a limit from the calls that end.
pub trait Controller {
    /// Learns from a call that ended.
    fn sample(&mut self, sample: &Sample);
    /// The number of calls that may be in flight.
    fn limit(&self) -> u32;
}

/// Draws from [0, 1), the same for a seed everywhere.
pub fn draws(seed: u64) -> impl Iterator<Item = f64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        // 53 bits, as many as a fraction has.
        unsigned(mixed >> 11) / unsigned(1 << 53)
    })
}

/// Whole nanoseconds, in which most originals count.
#[expect(clippy::cast_possible_truncation, reason = "a run is shorter than 292 years")]
fn nanos(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

/// An integer as a float, as the originals convert it.
#[expect(clippy::cast_precision_loss, reason = "they lose the same bits")]
fn float(integer: i64) -> f64 {
    integer as f64
}

/// Like [`float`].
#[expect(clippy::cast_precision_loss, reason = "they lose the same bits")]
fn unsigned(integer: u64) -> f64 {
    integer as f64
}

/// The limit below or at an estimate.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in bounds")]
fn whole(estimate: f64) -> u32 {
    estimate as u32
}
