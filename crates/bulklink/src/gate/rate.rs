//! How fast units become free, by samples of the counters, which are taken only where a wait is
//! estimated.

use core::time::Duration;

use bulklink_core::{Instant, Totals};

// All times are in nanoseconds: seconds and nanoseconds apart would cost a division at each step.
const SECOND: u64 = 1_000_000_000;
/// A sample that is younger than this has no weight, however much was given back since.
const SHORTEST: u64 = 1_000_000;
/// A sample that is younger than this needs [`MANY`] slots since then to have weight.
const SHORT: u64 = 100 * SHORTEST;
/// From this age on, and with [`MANY`] slots since then, the younger sample is preferred.
const RECENT: u64 = SECOND;
/// The age at which the younger sample becomes the older one, if [`MANY`] slots were given back
/// since then.
const STEP: u64 = 5 * SECOND;
/// The age at which it does with fewer slots, but at least one.
const LONG_STEP: u64 = 5 * 60 * SECOND;
/// If the older sample is older than this, the younger one needs no more than [`MANY`] slots.
const OLD: u64 = 10 * SECOND;
/// After so much time without an estimate, both samples are forgotten: the bulkhead may have had
/// little to do meanwhile.
const FORGOTTEN: u64 = 30 * SECOND;
/// The number of slots whose rate is no coincidence.
const MANY: u64 = 8;

/// Two samples of a gate's counters. The rate is that since one of them.
pub(crate) struct ReleaseRate {
    older: Sample,
    newer: Sample,
    /// The time of the last estimate.
    asked: Instant,
}

/// The units that had been given back at a time, by finished and by abandoned calls.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    at: Instant,
    units: u64,
    slots: u64,
}

/// The units given back since a sample.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    nanos: u64,
    units: u64,
    slots: u64,
}

impl Sample {
    pub(crate) fn new(at: Instant, totals: &Totals) -> Self {
        Sample {
            at,
            units: totals.finished_units.wrapping_add(totals.abandoned_units),
            slots: totals.finished.wrapping_add(totals.abandoned),
        }
    }

    fn since(&self, earlier: &Sample) -> Window {
        let slots = self.slots.wrapping_sub(earlier.slots);
        Window {
            nanos: nanos_since(self.at, earlier.at),
            units: self.units.wrapping_sub(earlier.units),
            // A split makes two slots of one, so the difference can be below zero.
            slots: if i64::try_from(slots).is_ok() { slots } else { 0 },
        }
    }
}

impl From<Sample> for ReleaseRate {
    fn from(first: Sample) -> Self {
        ReleaseRate { older: first, newer: first, asked: first.at }
    }
}

impl ReleaseRate {
    /// Returns the window from a sample to the present counters, from which a rate can be
    /// estimated, and keeps a sample of them if the others are old.
    pub(crate) fn window_to(&mut self, present: Sample) -> Option<Window> {
        // Threads arrive in another order than that in which they read the clock, so a time that is
        // slightly before the younger sample is usual, and does no harm. A time before both samples
        // means that the clock was set back, and then neither of them is of use. It may also mean
        // that both are of nearly the same moment: then they have little weight, and are no loss.
        if nanos_since(present.at, self.asked) > FORGOTTEN || present.at < self.older.at {
            *self = ReleaseRate::from(present);
        }
        self.asked = present.at;
        if present.since(&self.newer).is_step() {
            (self.older, self.newer) = (self.newer, present);
        }
        let (short, long) = (present.since(&self.newer), present.since(&self.older));
        let least = if long.nanos > OLD { SHORTEST } else { RECENT };
        if short.nanos >= least && short.slots >= MANY {
            return Some(short);
        }
        if !long.says_enough() {
            return None;
        }
        // A few slots are no proof of a faster rate. But if there are fewer than the older one
        // promises, even with the next, then the rate has fallen.
        let with_next = short.with_a_slot_of(long);
        Some(if with_next.is_slower_than(&long) { with_next } else { long })
    }

    /// Leaves a slot of so many units out of the windows that include now: it is given back unused,
    /// which does not depend on how long operations keep theirs.
    pub(crate) fn leave_out(&mut self, units: u64) {
        for sample in [&mut self.older, &mut self.newer] {
            sample.units = sample.units.wrapping_add(units);
            sample.slots = sample.slots.wrapping_add(1);
        }
    }
}

impl Window {
    fn says_enough(&self) -> bool {
        let is_long = self.nanos >= SHORT || self.nanos >= SHORTEST && self.slots >= MANY;
        is_long && self.units > 0
    }

    /// Returns whether a sample at its end can take the place of the one at its beginning. A window
    /// in which nothing was given back cannot: it would leave none that has a rate.
    fn is_step(&self) -> bool {
        self.nanos >= STEP && self.slots >= MANY || self.nanos >= LONG_STEP && self.units > 0
    }

    /// Returns this window with the units of one slot more, of the mean size in another one.
    fn with_a_slot_of(self, other: Window) -> Window {
        let mean = other.units.div_ceil(other.slots.max(1));
        Window { units: self.units.saturating_add(mean), ..self }
    }

    fn is_slower_than(&self, other: &Window) -> bool {
        product(self.units, other.nanos) < product(other.units, self.nanos)
    }

    /// Returns how long it takes at this rate until so many units have been given back.
    pub(crate) fn time_for(&self, units: u64) -> Duration {
        let nanos = product(units, self.nanos).div_ceil(u128::from(self.units.max(1)));
        u64::try_from(nanos).map_or(Duration::MAX, Duration::from_nanos)
    }
}

fn nanos_since(at: Instant, earlier: Instant) -> u64 {
    at.as_nanos().saturating_sub(earlier.as_nanos())
}

fn product(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}
