//! The limits of Netflix' concurrency-limits, as of January 2026 (commit 78a74b98, 4 after
//! 0.5.4).
//!
//! All have the documented defaults but for start and bounds, which are the caller's: the originals
//! have 20 for the start, 20 to 200 for AIMD and Gradient2, and up to 1,000 for Vegas. An ignored
//! call is no sample.

use std::ops::RangeInclusive;

use super::{Controller, Outcome, Sample, float, nanos, whole};

/// `AIMDLimit`: one more for each call with at least half of the limit in flight, a tenth less for
/// each drop.
///
/// It knows a timeout (5 s by default), above which a call counts as dropped: in the table, the
/// deadline of the calls.
#[derive(Clone, Debug)]
pub struct Aimd {
    limit: u32,
    bounds: RangeInclusive<u32>,
    timeout: i64,
}

impl Aimd {
    const BACKOFF: f64 = 0.9;

    /// With a timeout in seconds.
    pub fn new(start: u32, bounds: RangeInclusive<u32>, timeout: f64) -> Self {
        Self { limit: start, bounds, timeout: nanos(timeout) }
    }
}

impl Controller for Aimd {
    fn sample(&mut self, sample: &Sample) {
        let dropped = match sample.outcome {
            Outcome::Success => nanos(sample.hold) > self.timeout,
            Outcome::Overload => true,
            Outcome::Ignore => return,
        };
        if dropped {
            self.limit = whole(f64::from(self.limit) * Self::BACKOFF);
        } else if sample.in_flight * 2 >= self.limit {
            self.limit += 1;
        }
        self.limit = self.limit.clamp(*self.bounds.start(), *self.bounds.end());
    }

    fn limit(&self) -> u32 {
        self.limit
    }
}

/// `VegasLimit`: the calls that queue are estimated from the least hold.
///
/// The least hold is forgotten after 15 to 30 calls for each unit of the limit: then the next call
/// gives it. The lower bound is 1. A hold of less than a nanosecond counts as one, where the
/// original throws an exception.
#[derive(Clone, Debug)]
pub struct Vegas<Draws> {
    estimate: f64,
    max: u32,
    /// In nanoseconds; 0 if there is none yet.
    least: i64,
    probes: u32,
    jitter: f64,
    draws: Draws,
}

impl<Draws: Iterator<Item = f64>> Vegas<Draws> {
    const PROBE_MULTIPLIER: f64 = 30.0;
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
        self.jitter = 0.5 + 0.5 * self.draws.next().unwrap_or(0.5);
    }

    /// Integer part of the logarithm of the limit, at least 1.
    fn unit(&self) -> u32 {
        whole(self.estimate).checked_ilog10().unwrap_or(0).max(1)
    }
}

impl<Draws: Iterator<Item = f64>> Controller for Vegas<Draws> {
    fn sample(&mut self, sample: &Sample) {
        if sample.outcome == Outcome::Ignore {
            return;
        }
        let hold = nanos(sample.hold).max(1);
        self.probes += 1;
        if self.jitter * Self::PROBE_MULTIPLIER * self.estimate <= f64::from(self.probes) {
            self.draw();
            self.probes = 0;
            self.least = hold;
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

/// `Gradient2Limit`: the hold of each sample against an average of about 600.
///
/// A drop is a sample like any other. The limit never falls by more than a tenth at once.
#[derive(Clone, Debug)]
pub struct Gradient2 {
    estimate: f64,
    bounds: RangeInclusive<u32>,
    long: f64,
    sum: f64,
    count: u32,
}

impl Gradient2 {
    const SMOOTHING: f64 = 0.2;
    const QUEUE: f64 = 4.0;
    const TOLERANCE: f64 = 1.5;
    const WINDOW: u32 = 600;
    const WARM_UP: u32 = 10;
    const DRIFT: f64 = 0.95;

    /// With the given start and bounds.
    pub fn new(start: u32, bounds: RangeInclusive<u32>) -> Self {
        Self { estimate: f64::from(start), bounds, long: 0.0, sum: 0.0, count: 0 }
    }

    /// The limit before it is cut to an integer.
    pub fn estimate(&self) -> f64 {
        self.estimate
    }

    fn average(&mut self, hold: f64) -> f64 {
        if self.count < Self::WARM_UP {
            self.count += 1;
            self.sum += hold;
            self.long = self.sum / f64::from(self.count);
        } else {
            let weight = 2.0 / f64::from(Self::WINDOW + 1);
            self.long = self.long * (1.0 - weight) + hold * weight;
        }
        self.long
    }
}

impl Controller for Gradient2 {
    fn sample(&mut self, sample: &Sample) {
        if sample.outcome == Outcome::Ignore {
            return;
        }
        let short = float(nanos(sample.hold));
        let long = self.average(short);
        if long / short > 2.0 {
            self.long *= Self::DRIFT;
        }
        if f64::from(sample.in_flight) < self.estimate / 2.0 {
            return;
        }
        let gradient = (Self::TOLERANCE * long / short).clamp(0.5, 1.0);
        let next = self.estimate * gradient + Self::QUEUE;
        let next = self.estimate * (1.0 - Self::SMOOTHING) + next * Self::SMOOTHING;
        let (min, max) = (f64::from(*self.bounds.start()), f64::from(*self.bounds.end()));
        self.estimate = next.clamp(min, max);
    }

    fn limit(&self) -> u32 {
        whole(self.estimate)
    }
}

/// `WindowedLimit` with the average window: another limit gets one sample a second.
///
/// The sample has the mean hold, the most calls in flight and whether any was dropped. Holds below
/// 0.1 ms do not count, and a window of fewer than 10 samples is thrown away.
#[derive(Clone, Debug)]
pub struct Windowed<Limit> {
    inner: Limit,
    next: i64,
    sum: i64,
    count: u32,
    in_flight: u32,
    dropped: bool,
}

impl<Limit: Controller> Windowed<Limit> {
    /// In nanoseconds. The original has the same for the shortest and the longest window.
    const WINDOW: i64 = 1_000_000_000;
    const LEAST_HOLD: i64 = 100_000;
    const LEAST_COUNT: u32 = 10;

    /// Around another limit.
    pub fn new(inner: Limit) -> Self {
        Self { inner, next: 0, sum: 0, count: 0, in_flight: 0, dropped: false }
    }

    /// The limit that gets the samples.
    pub fn inner(&self) -> &Limit {
        &self.inner
    }
}

impl<Limit: Controller> Controller for Windowed<Limit> {
    fn sample(&mut self, sample: &Sample) {
        let hold = nanos(sample.hold);
        if sample.outcome == Outcome::Ignore || hold < Self::LEAST_HOLD {
            return;
        }
        self.sum += hold;
        self.count += 1;
        self.in_flight = self.in_flight.max(sample.in_flight);
        self.dropped |= sample.outcome == Outcome::Overload;
        let now = nanos(sample.now);
        if now <= self.next {
            return;
        }
        self.next = now + Self::WINDOW;
        if self.count >= Self::LEAST_COUNT {
            // The original divides integers.
            let mean = self.sum / i64::from(self.count);
            let outcome = if self.dropped { Outcome::Overload } else { Outcome::Success };
            let hold = float(mean) / 1e9;
            self.inner.sample(&Sample { hold, in_flight: self.in_flight, outcome, ..*sample });
        }
        (self.sum, self.count, self.in_flight, self.dropped) = (0, 0, 0, false);
    }

    fn limit(&self) -> u32 {
        self.inner.limit()
    }
}
