//! Limits that find themselves: machines that turn the calls that end into a limit.
//!
//! A [`Limit`] takes a [`Sample`] of each call that ends, and returns how many units may be in use.
//! It has no clock, lock or memory of its own beyond its fields, so the same machine decides in a
//! service, in a simulation and on a microcontroller, bit for bit.
//!
//! - [`Fixed`] never moves.
//! - [`Slo`] keeps nine of ten calls within a target for their length.
//! - [`Knee`] needs no target: it finds the number of slots from which on more of them give no more
//!   completed calls.
//!
//! ```
//! use bulklink_core::Instant;
//! use bulklink_core::limit::{Knee, Limit, Sample};
//! use core::time::Duration;
//!
//! let mut limit = Knee::between(4, 200);
//! let (mut now, hold) = (Instant::EPOCH, Duration::from_millis(20));
//! // However many calls run at once, each of them takes 20 ms, and others wait.
//! for _ in 0..5_000 {
//!     let in_flight = limit.limit();
//!     now = now.saturating_add(hold / in_flight as u32);
//!     limit.sample(&Sample::new(now, hold).in_flight(in_flight).pressed(true));
//! }
//! assert!(limit.limit() > 150);
//! ```

mod fixed;
mod knee;
mod math;
mod slo;

use core::time::Duration;

pub use fixed::Fixed;
pub use knee::Knee;
pub use slo::Slo;

use crate::Instant;

/// How a call ended, as a sign of whether its dependency can take more of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// The dependency did the work.
    #[default]
    Success,
    /// The dependency refused the work because it has too much: a response of 429 or 503, or a
    /// timeout.
    Overload,
    /// The end is no sign of the dependency's load: the call was cancelled, or it failed for a
    /// reason of its own. It changes no limit.
    Ignore,
}

/// A call that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// The time of its end. Those of several threads may cross.
    pub now: Instant,
    /// How long it had its slot.
    pub hold: Duration,
    /// Its units, times the number of calls that it stands for.
    pub units: usize,
    /// Units in use at its end, with its own.
    pub in_flight: usize,
    /// Whether more calls came than were admitted: it waited, or since the last sample another
    /// one has begun to wait or was turned away. Not because all units are in use: compare
    /// [`in_flight`](Sample::in_flight) with the limit for that, as [`Knee`] does.
    pub pressed: bool,
    /// How it ended.
    pub outcome: Outcome,
}

impl Sample {
    /// Returns the sample of a call of one unit that succeeded, ran alone, and did not wait.
    #[must_use]
    pub const fn new(now: Instant, hold: Duration) -> Self {
        Sample { now, hold, units: 1, in_flight: 1, pressed: false, outcome: Outcome::Success }
    }

    /// Returns this sample with other [`units`](Sample::units).
    #[must_use]
    pub const fn units(self, units: usize) -> Self {
        Sample { units, ..self }
    }

    /// Returns this sample with other units [in use](Sample::in_flight).
    #[must_use]
    pub const fn in_flight(self, in_flight: usize) -> Self {
        Sample { in_flight, ..self }
    }

    /// Returns this sample with another [`pressed`](Sample::pressed).
    #[must_use]
    pub const fn pressed(self, pressed: bool) -> Self {
        Sample { pressed, ..self }
    }

    /// Returns this sample with another [`outcome`](Sample::outcome).
    #[must_use]
    pub const fn outcome(self, outcome: Outcome) -> Self {
        Sample { outcome, ..self }
    }
}

/// A machine that finds a limit.
///
/// It is pure: the same samples give the same limits. A program with an idea of its own implements
/// it, and has it run in a bulkhead as the ones of this crate do.
///
/// ```
/// use bulklink_core::Instant;
/// use bulklink_core::limit::{Limit, Outcome, Sample, State, Step};
/// use core::time::Duration;
///
/// /// One more after each success, half after each overload.
/// #[derive(Clone)]
/// struct Halving(usize, Step);
///
/// impl Limit for Halving {
///     fn sample(&mut self, sample: &Sample) {
///         let (limit, step) = match sample.outcome {
///             Outcome::Success if sample.pressed => (self.0 + 1, Step::MoreHelps),
///             Outcome::Overload => (self.0 / 2, Step::WasTold),
///             _ => return,
///         };
///         *self = Halving(limit.clamp(4, 100), step);
///     }
///
///     fn limit(&self) -> usize {
///         self.0
///     }
///
///     fn bounds(&self) -> (usize, usize) {
///         (4, 100)
///     }
///
///     fn state(&self) -> State {
///         let mut state = State::of(self.0);
///         state.step = self.1;
///         state
///     }
/// }
///
/// let mut limit = Halving(20, Step::Set);
/// let sample = Sample::new(Instant::EPOCH, Duration::from_millis(30)).pressed(true);
/// limit.sample(&sample);
/// assert_eq!(limit.limit(), 21);
/// limit.sample(&sample.outcome(Outcome::Overload));
/// assert_eq!((limit.limit(), limit.state().step), (10, Step::WasTold));
/// ```
pub trait Limit {
    /// Takes a call into account that has ended.
    fn sample(&mut self, sample: &Sample);

    /// Returns how many units may be in use.
    fn limit(&self) -> usize;

    /// Returns the least and the greatest value of the [limit](Limit::limit).
    fn bounds(&self) -> (usize, usize);

    /// Returns the limit, and the figures that explain it.
    fn state(&self) -> State {
        State::of(self.limit())
    }
}

/// A limit, and the figures that explain it. Those that a machine does not have are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct State {
    /// How many units may be in use.
    pub limit: usize,
    /// Why the limit is this one: the reason of the latest step.
    pub step: Step,
    /// How much more useful work a second one more slot gives, as a share of what an equal share of
    /// more slots would give: 1 while each slot works alone, 0 where more of them change nothing,
    /// and less where they do harm.
    pub slope: f64,
    /// How many times as long calls take as they would alone, by the estimate of the
    /// [baseline](State::baseline): under a constant load that rises, and this is too low.
    pub inflation: f64,
    /// How many calls would run if each took as long as it takes alone.
    pub useful: f64,
    /// How long a call takes alone: an estimate.
    pub baseline: Duration,
    /// From how many units on it became worse, if that is remembered.
    pub edge: Option<usize>,
    /// How often it has judged: each time by a window of calls.
    pub windows: u64,
    /// How often it has forgotten all, because the dependency has changed.
    pub changes: u64,
    /// How often a reduction was taken back because calls became no faster.
    pub unpaid_falls: u64,
    /// How often nothing ended for long, and then all at once.
    pub stalls: u64,
}

impl State {
    /// Returns the state of a machine that explains nothing.
    #[must_use]
    pub fn of(limit: usize) -> Self {
        State { limit, ..State::default() }
    }
}

/// The reason of a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Step {
    /// It has not learnt anything yet, or never moves.
    #[default]
    Set,
    /// Calls neither waited nor were turned away, so there is no need for more, and nothing to
    /// learn.
    NotPressed,
    /// At the start: twice as many slots gave twice as much work, so it doubles them again.
    Ramp,
    /// After the start: it looks how fast calls are at a quarter of the slots.
    Calibrate,
    /// More slots give more work.
    MoreHelps,
    /// More slots give hardly more work, so fewer are enough.
    EnoughIsBusy,
    /// Calls met an overload of the dependency.
    WasTold,
    /// Fewer slots made calls no faster, so it goes back to where the fall began.
    FallDidNotPay,
    /// The dependency has changed, and all that was learnt of it is forgotten.
    WorldChanged,
    /// More slots made it worse at once: it went back, and stays below that place for a while.
    RememberedPlace,
    /// Nothing ended for long, and then all at once: that time is not counted.
    Stalled,
}

impl Step {
    /// All of them.
    pub const ALL: [Step; 11] = [
        Step::Set,
        Step::NotPressed,
        Step::Ramp,
        Step::Calibrate,
        Step::MoreHelps,
        Step::EnoughIsBusy,
        Step::WasTold,
        Step::FallDidNotPay,
        Step::WorldChanged,
        Step::RememberedPlace,
        Step::Stalled,
    ];

    /// Returns its name for metrics and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Step::Set => "set",
            Step::NotPressed => "not_pressed",
            Step::Ramp => "ramp",
            Step::Calibrate => "calibrate",
            Step::MoreHelps => "more_helps",
            Step::EnoughIsBusy => "enough_is_busy",
            Step::WasTold => "was_told",
            Step::FallDidNotPay => "fall_did_not_pay",
            Step::WorldChanged => "world_changed",
            Step::RememberedPlace => "remembered_place",
            Step::Stalled => "stalled",
        }
    }

    /// Returns the reason in words. For human readers; the wording may change.
    #[must_use]
    pub const fn explanation(self) -> &'static str {
        match self {
            Step::Set => "has not learnt anything yet",
            Step::NotPressed => "no call waits, so there is nothing to learn",
            Step::Ramp => "twice as many slots gave twice as much work",
            Step::Calibrate => "looks how fast calls are at a quarter of the slots",
            Step::MoreHelps => "more slots give more work",
            Step::EnoughIsBusy => "more slots give hardly more work",
            Step::WasTold => "the dependency said that it is overloaded",
            Step::FallDidNotPay => "fewer slots made calls no faster",
            Step::WorldChanged => "the dependency has changed",
            Step::RememberedPlace => "more slots made it worse before",
            Step::Stalled => "nothing ended for long, and then all at once",
        }
    }
}

/// Bounds as a machine keeps them: at least one, and the greatest not below the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    least: u32,
    most: u32,
}

impl Bounds {
    /// Keeps bounds as they are, also empty ones: the program that applies the limit checks them.
    const fn new(least: usize, most: usize) -> Self {
        Bounds { least: narrow(least), most: narrow(most) }
    }

    /// Returns a limit within the bounds; the least one if they are empty.
    const fn clamp(self, limit: f64) -> f64 {
        let (least, most) = (self.least as f64, self.most as f64);
        let limit = if limit < most { limit } else { most };
        if limit > least { limit } else { least }
    }

    const fn to_usize(self) -> (usize, usize) {
        (self.least as usize, self.most as usize)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "31 bits at most")]
const fn narrow(units: usize) -> u32 {
    if units > crate::Limits::MAX { crate::Limits::MAX as u32 } else { units as u32 }
}

/// Returns the nearest whole number of a limit.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a limit is between zero and 2³¹")]
const fn nearest(limit: f64) -> u32 {
    (limit + 0.5) as u32
}

/// Returns a duration in seconds. A product is faster than a quotient, and there is one a sample.
#[inline]
fn seconds(duration: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "exact up to 285 million years")]
    let whole = duration.as_secs() as f64;
    whole + f64::from(duration.subsec_nanos()) * NANO
}

/// Returns the seconds from one time to a later one; zero if it is not later. As
/// [`seconds`], without the division of integers that a duration takes.
#[inline]
#[expect(clippy::cast_precision_loss, reason = "exact to a second, which is 2³⁰")]
fn seconds_since(now: Instant, earlier: Instant) -> f64 {
    let nanos = now.nanos_since(earlier);
    if nanos < SECOND { nanos as f64 * NANO } else { seconds(Duration::from_nanos(nanos)) }
}

/// A time that is so much before the latest one is that of a clock that was set back.
const CROSSING: Duration = Duration::from_secs(1);
const NANO: f64 = 1e-9;
const SECOND: u64 = 1_000_000_000;
