//! The controller of Vector's adaptive request concurrency, as of August 2026 (commit c3445d42).

use std::time::Duration;

use super::{Controller, Outcome, Sample, float, nanos, whole};

/// Vector's ARC: about once a round trip, the mean hold against an average and deviation of the
/// past.
///
/// One more if the limit was reached and the mean has not risen, a tenth less after an overloaded
/// call or above 2.5 deviations. All settings but start and upper bound (there 1 and 200) are the
/// documented defaults; the lower bound is 1. The original notes that the limit is reached when a
/// call begins, here when it ends, from the calls in flight at its admission. An ignored call is
/// an error that is not to be retried: its hold does not count, but it may end the round.
#[derive(Clone, Debug)]
pub struct Vector {
    limit: u32,
    max: u32,
    /// Mean and variance of the past, in seconds.
    past: Option<(f64, f64)>,
    /// The mean of this round, in seconds.
    mean: f64,
    count: i64,
    /// In nanoseconds.
    next: i64,
    overloaded: bool,
    reached: bool,
}

impl Vector {
    const DECREASE: f64 = 0.9;
    const WEIGHT: f64 = 0.4;
    const DEVIATIONS: f64 = 2.5;

    /// With the given start and upper bound.
    pub fn new(start: u32, max: u32) -> Self {
        Self { limit: start, max, past: None, mean: 0.0, count: 0, next: 0, overloaded: false, reached: false }
    }

    /// The mean of the past plus one deviation, in seconds.
    pub fn past(&self) -> Option<f64> {
        self.past.map(|(mean, variance)| mean + variance.sqrt())
    }

    fn round(&mut self, past: (f64, f64), current: Option<f64>) {
        let (mean, variance) = past;
        let above = mean + variance.sqrt() * Self::DEVIATIONS;
        let fast = current.is_some_and(|current| current <= mean);
        if self.limit < self.max && self.reached && !self.overloaded && fast {
            self.limit += 1;
        } else if self.limit > 1 && (self.overloaded || current.unwrap_or(0.0) >= above) {
            self.limit = whole(f64::from(self.limit) * Self::DECREASE).max(1);
        }
    }
}

impl Controller for Vector {
    fn sample(&mut self, sample: &Sample) {
        let now = nanos(sample.now);
        self.reached |= sample.in_flight >= self.limit;
        match sample.outcome {
            Outcome::Success => {
                self.count += 1;
                let hold = Duration::from_nanos(nanos(sample.hold).unsigned_abs()).as_secs_f64();
                self.mean += (hold - self.mean) / float(self.count);
            }
            Outcome::Overload => self.overloaded = true,
            Outcome::Ignore => {}
        }
        let current = (self.count > 0).then_some(self.mean);
        let Some(past) = self.past else {
            if let Some(current) = current {
                self.past = Some((current, 0.0));
                self.next = now + nanos(current);
            }
            return;
        };
        if now < self.next {
            return;
        }
        self.round(past, current);
        let mut mean = past.0;
        if let Some(current) = current {
            let difference = current - mean;
            let increment = Self::WEIGHT * difference;
            mean += increment;
            let variance = (1.0 - Self::WEIGHT) * libm::fma(difference, increment, past.1);
            self.past = Some((mean, variance));
        }
        self.next = now + nanos(mean);
        (self.mean, self.count, self.overloaded, self.reached) = (0.0, 0, false, false);
    }

    fn limit(&self) -> u32 {
        self.limit
    }
}
