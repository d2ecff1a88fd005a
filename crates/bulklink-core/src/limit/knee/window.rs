//! A window: the calls that ended since it opened, and their measurement.

use super::super::math::ln;
use super::super::{Outcome, Sample, narrow};
use crate::Instant;

/// The calls that ended since it opened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Window {
    /// From when on calls count.
    pub(super) from: Instant,
    pub(super) calls: u32,
    /// With how many calls it is looked at next.
    pub(super) next_look: u32,
    pub(super) pressed: u32,
    /// Calls that met an overload, and began after the window opened.
    pub(super) overloads: u32,
    /// The most units in use at the end of a call.
    pub(super) most: u32,
    /// The units in use at the ends of calls, summed.
    in_flight: f64,
    /// The units of the calls that succeeded, and of those that met an overload.
    done: f64,
    refused: f64,
    /// Seconds for which the calls that succeeded had their slots, and the number of these calls.
    held: f64,
    successes: u32,
}

/// A point of the curve: how long a unit of work takes where so many are in use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// The logarithm of the units in use.
    pub(super) x: f64,
    /// The logarithm of the seconds that a unit of useful work takes a slot.
    pub(super) y: f64,
}

impl Point {
    /// The point in the middle of two.
    pub(super) fn middle(self, other: Point) -> Point {
        Point { x: 0.5 * (self.x + other.x), y: 0.5 * (self.y + other.y) }
    }
}

impl Window {
    pub(super) const fn open(from: Instant) -> Self {
        Window {
            from,
            calls: 0,
            next_look: super::FEWEST,
            pressed: 0,
            overloads: 0,
            most: 0,
            in_flight: 0.0,
            done: 0.0,
            refused: 0.0,
            held: 0.0,
            successes: 0,
        }
    }

    /// Adds a call that ended at `now` after it had its slot for `hold`.
    #[inline]
    pub(super) fn add(&mut self, sample: &Sample, now: Instant, hold: f64, is_pressed: bool) {
        let (in_flight, units) = (narrow(sample.in_flight), f64::from(narrow(sample.units)));
        self.calls = self.calls.saturating_add(1);
        self.in_flight += f64::from(in_flight);
        self.most = self.most.max(in_flight);
        self.pressed = self.pressed.saturating_add(u32::from(is_pressed));
        if sample.outcome == Outcome::Success {
            self.done += units;
            self.held += hold;
            self.successes = self.successes.saturating_add(1);
        } else {
            self.refused += units;
            let began_here = now.saturating_since(self.from) >= sample.hold;
            self.overloads = self.overloads.saturating_add(u32::from(began_here));
        }
    }

    /// The mean number of units in use, at least one.
    pub(super) fn in_use(&self) -> f64 {
        (self.in_flight / f64::from(self.calls.max(1))).max(1.0)
    }

    /// The mean time for which a call that succeeded had its slot, if there were enough of them.
    pub(super) fn mean_hold(&self) -> Option<f64> {
        (self.successes >= 5).then(|| self.held / f64::from(self.successes))
    }

    /// Half of the calls at least found no free slot, or others did.
    pub(super) fn is_pressed(&self) -> bool {
        self.pressed >= self.calls - self.calls / 2
    }

    /// One in fifty calls met an overload and began in this window, or half of all calls met one: a
    /// call that began before may be of a peak that is over.
    pub(super) fn is_told(&self) -> bool {
        let is_share = |part: u32, of: u32| u64::from(part) * u64::from(of) >= u64::from(self.calls);
        self.overloads >= 2 && is_share(self.overloads, 50) || is_share(self.calls - self.successes, 2)
    }

    /// Nine of ten calls at least met an overload.
    pub(super) fn is_hopeless(&self) -> bool {
        u64::from(self.successes) * 10 <= u64::from(self.calls)
    }

    /// Returns the measurement of a window of so many seconds: throughput, and not the length of
    /// calls, because a step of the limit shows in the first at once, and in the second a call
    /// later.
    pub(super) fn point(&self, length: f64) -> Point {
        let in_use = self.in_use();
        // A refusal undoes some of the work. A window without any work counts half a unit.
        let work = (self.done - WASTE * self.refused).max(0.1 * self.done).max(0.5);
        Point { x: ln(in_use), y: ln(in_use * length / work) }
    }
}

/// How much work a refusal undoes.
const WASTE: f64 = 0.1;
