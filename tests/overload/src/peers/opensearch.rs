//! The Vegas of `OpenSearch`, module `concurrency-limit`, as of August 2026 (commit 00e85853).

use super::{Controller, Outcome, Sample, float, nanos, whole};

/// `OpenSearchVegasLimit`: Netflix' Vegas, but a probe gives the least hold only with at most half
/// of the limit in flight.
///
/// Its steps are larger: the logarithm of the limit is rounded up. At 1 it is 0, so that a limit
/// of 1 stays. All settings but start and upper bound (there 20 and 200) are the documented
/// defaults, with which the barriers against steps and the burst capacity are off. Without its
/// first 5 minutes, in which it refuses no call. Like it, an overloaded call is a drop, an ignored
/// one no sample. A hold of less than a nanosecond counts as one, where the original throws an
/// exception.
#[derive(Clone, Debug)]
pub struct OpenSearch<Draws> {
    estimate: f64,
    max: u32,
    /// In nanoseconds; 0 if there is none yet.
    least: i64,
    probes: u32,
    jitter: f64,
    draws: Draws,
}

impl<Draws: Iterator<Item = f64>> OpenSearch<Draws> {
    const PROBE_MULTIPLIER: f64 = 30.0;
    const PROBE_LOAD: f64 = 0.5;
    const ALPHA: u32 = 3;
    const BETA: u32 = 6;

    /// With draws from [0, 1), which vary the time between two probes.
    pub fn new(start: u32, max: u32, draws: Draws) -> Self {
        let estimate = f64::from(start);
        let mut vegas = Self { estimate, max, least: 0, probes: 0, jitter: 0.0, draws };
        vegas.draw();
        vegas
    }

    /// The limit before it is cut to an integer.
    pub fn estimate(&self) -> f64 {
        self.estimate
    }

    fn draw(&mut self) {
        self.jitter = 0.5 + self.draws.next().unwrap_or(0.5) * 0.5;
    }

    /// The logarithm of the limit, rounded up.
    fn unit(&self) -> u32 {
        (whole(self.estimate) - 1).checked_ilog10().map_or(0, |digits| digits + 1)
    }
}

impl<Draws: Iterator<Item = f64>> Controller for OpenSearch<Draws> {
    fn sample(&mut self, sample: &Sample) {
        if sample.outcome == Outcome::Ignore {
            return;
        }
        let hold = nanos(sample.hold).max(1);
        self.probes += 1;
        if self.jitter * Self::PROBE_MULTIPLIER * self.estimate <= f64::from(self.probes) {
            self.draw();
            self.probes = 0;
            if f64::from(sample.in_flight) <= self.estimate * Self::PROBE_LOAD {
                self.least = hold;
            }
            return;
        }
        if self.least == 0 || hold < self.least {
            self.least = hold;
            return;
        }
        let queue = (self.estimate * (1.0 - float(self.least) / float(hold))).ceil();
        let unit = self.unit();
        let times = |count: u32| f64::from(count * unit);
        let next = if sample.outcome == Outcome::Overload {
            self.estimate - times(1)
        } else if f64::from(sample.in_flight * 2) < self.estimate {
            return;
        } else if queue <= times(1) {
            self.estimate + times(Self::BETA)
        } else if queue < times(Self::ALPHA) {
            self.estimate + times(1)
        } else if queue > times(Self::BETA) {
            self.estimate - times(1)
        } else {
            return;
        };
        self.estimate = next.min(f64::from(self.max)).max(1.0);
    }

    fn limit(&self) -> u32 {
        whole(self.estimate)
    }
}
