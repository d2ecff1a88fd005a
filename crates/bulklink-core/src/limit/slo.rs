//! A limit by a target for the length of calls.

use core::time::Duration;

use super::{Bounds, CROSSING, Limit, Outcome, Sample, State, Step, nearest};
use crate::Instant;

/// A limit by a target: it keeps nine of ten calls within this length.
///
/// By windows of at least 30 calls and 100 ms: if more than one in ten took longer than the target,
/// or more than one in twenty met an [overload](Outcome::Overload), it falls by a tenth, and by one
/// at least; otherwise it grows by 2 %, and by one at least, if calls [pressed](Sample::pressed).
///
/// It is right where all calls are alike and the target is known; with calls that take longer by
/// themselves it falls to its least. The target is for the time in a slot, without the wait: half
/// of the callers' deadline is a good one, if nine of ten calls take half of that alone.
/// [`Knee`](super::Knee) needs no target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slo {
    target: Duration,
    bounds: Bounds,
    limit: f64,
    /// Since when the window is open; `None` before the first sample.
    from: Option<Instant>,
    calls: u32,
    long: u32,
    overloads: u32,
    pressed: bool,
    step: Step,
    windows: u32,
}

impl Slo {
    /// Creates a limit between these bounds, in units, that keeps nine of ten calls within
    /// `target`. It starts at 20, if that is between them.
    #[must_use]
    pub const fn between(least: usize, most: usize, target: Duration) -> Self {
        let bounds = Bounds::new(least, most);
        Slo {
            target,
            bounds,
            limit: bounds.clamp(20.0),
            from: None,
            calls: 0,
            long: 0,
            overloads: 0,
            pressed: false,
            step: Step::Set,
            windows: 0,
        }
    }

    /// Sets where it starts, in units.
    #[must_use]
    pub const fn starting_at(self, units: usize) -> Self {
        Slo { limit: self.bounds.clamp(super::narrow(units) as f64), ..self }
    }

    fn close(&mut self) {
        self.windows = self.windows.wrapping_add(1);
        let (calls, long, overloads) = (self.calls, self.long, self.overloads);
        // An overload is at least as bad as a call that takes long.
        let is_late = u64::from(long + overloads) * 10 > u64::from(calls);
        let was_told = u64::from(overloads) * 20 > u64::from(calls);
        if is_late || was_told {
            self.limit = (self.limit * 0.9).min(self.limit - 1.0);
            self.step = if was_told { Step::WasTold } else { Step::EnoughIsBusy };
        } else if self.pressed {
            self.limit += (self.limit * 0.02).max(1.0);
            self.step = Step::MoreHelps;
        } else {
            self.step = Step::NotPressed;
        }
        self.limit = self.bounds.clamp(self.limit);
    }

    fn open(&mut self, from: Instant) {
        self.from = Some(from);
        (self.calls, self.long, self.overloads, self.pressed) = (0, 0, 0, false);
    }
}

impl Limit for Slo {
    fn sample(&mut self, sample: &Sample) {
        if sample.outcome == Outcome::Ignore {
            return;
        }
        if self.from.is_some_and(|from| sample.now.saturating_add(CROSSING) < from) {
            // The clock was set back: nothing before it can be compared.
            self.open(sample.now);
        }
        let from = *self.from.get_or_insert(sample.now);
        self.calls = self.calls.saturating_add(1);
        match sample.outcome {
            Outcome::Overload => self.overloads = self.overloads.saturating_add(1),
            _ => self.long = self.long.saturating_add(u32::from(sample.hold > self.target)),
        }
        self.pressed |= sample.pressed;
        let least_age = LEAST_AGE.max(sample.hold);
        if self.calls >= LEAST_CALLS && sample.now.saturating_since(from) >= least_age {
            self.close();
            self.open(sample.now);
        }
    }

    fn limit(&self) -> usize {
        nearest(self.limit) as usize
    }

    fn bounds(&self) -> (usize, usize) {
        self.bounds.to_usize()
    }

    fn state(&self) -> State {
        State { step: self.step, windows: self.windows.into(), ..State::of(self.limit()) }
    }
}

const LEAST_CALLS: u32 = 30;
const LEAST_AGE: Duration = Duration::from_millis(100);
