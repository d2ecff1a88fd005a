//! The gradient controller of Envoy's filter for adaptive concurrency, as of August 2026 (commit
//! 149521d8).

use std::collections::BTreeMap;

use super::{Controller, Outcome, Sample, nanos, unsigned, whole};

/// Envoy's `GradientController`: the median hold of each tenth of a second against the median hold
/// with at most 3 calls in flight, which is measured about once a minute.
///
/// It starts at its own least limit, 3. The two intervals have no default: they are those of the
/// documented example, 0.1 s and 60 s; all other settings but the upper bound (there 1,000) are the
/// defaults. A response counts whatever it says, so an overloaded call is a sample; an ignored one
/// is cancelled. Its timers fire at the next sample, if before it, as of their own times.
#[derive(Clone, Debug)]
pub struct Envoy<Draws> {
    limit: u32,
    max: u32,
    holds: Holds,
    /// The least hold of calls without a queue, in nanoseconds.
    least: f64,
    /// The median of the last window, in microseconds.
    median: u32,
    /// The limit before the measurement of the least hold, during one.
    deferred: Option<u32>,
    /// When that measurement began. All times are in nanoseconds.
    epoch: i64,
    next_window: i64,
    next_measurement: i64,
    /// How often in a row the limit has stayed at the least.
    at_least: u32,
    draws: Draws,
}

impl<Draws: Iterator<Item = f64>> Envoy<Draws> {
    const MIN: u32 = 3;
    const WINDOW: i64 = 100 * Self::MILLISECOND;
    const INTERVAL: u32 = 60_000;
    const JITTER: f64 = 0.15;
    const COUNT: u64 = 50;
    const QUANTILE: f64 = 0.5;
    const BUFFER: f64 = 0.25;
    const MOST_AT_LEAST: u32 = 5;
    const MILLISECOND: i64 = 1_000_000;

    /// With an upper bound, and draws from [0, 1), which vary the time between two measurements.
    pub fn new(max: u32, draws: Draws) -> Self {
        Self {
            limit: Self::MIN,
            max,
            holds: Holds::default(),
            least: 0.0,
            median: 0,
            deferred: Some(Self::MIN),
            epoch: 0,
            next_window: Self::WINDOW,
            next_measurement: i64::MAX,
            at_least: 0,
            draws,
        }
    }

    /// The median hold of the last window, in microseconds.
    pub fn median(&self) -> f64 {
        f64::from(self.median)
    }

    fn fire_timers(&mut self, now: i64) {
        // During a measurement, the window's timer gives up and the other one is not set.
        while self.deferred.is_none() {
            if self.next_measurement <= now.min(self.next_window) {
                self.measure(self.next_measurement);
            } else if self.next_window <= now {
                self.end_window();
            } else {
                return;
            }
        }
    }

    fn measure(&mut self, now: i64) {
        self.deferred = Some(self.limit);
        self.limit = Self::MIN;
        self.at_least = 0;
        self.holds.clear();
        self.epoch = now;
        self.next_measurement = i64::MAX;
    }

    fn end_measurement(&mut self, before: u32, now: i64) {
        self.least = f64::from(self.holds.quantile(Self::QUANTILE)) * 1e3;
        self.holds.clear();
        self.limit = before;
        self.deferred = None;
        let range = (f64::from(Self::INTERVAL) * Self::JITTER).ceil();
        let jitter = whole(self.draws.next().unwrap_or(0.5) * range);
        self.next_measurement = now + i64::from(Self::INTERVAL + jitter) * Self::MILLISECOND;
        self.next_window = now + Self::WINDOW;
    }

    fn end_window(&mut self) {
        let now = self.next_window;
        self.next_window = now + Self::WINDOW;
        if self.holds.count == 0 {
            return;
        }
        self.median = self.holds.quantile(Self::QUANTILE);
        self.holds.clear();
        let buffered = self.least + self.least * Self::BUFFER;
        let gradient = (buffered / (f64::from(self.median) * 1e3)).clamp(0.5, 2.0);
        let scaled = f64::from(self.limit) * gradient;
        let next = whole(scaled + scaled.sqrt()).min(self.max).max(Self::MIN);
        let stays = self.limit == Self::MIN && next == Self::MIN;
        self.at_least = if stays { self.at_least + 1 } else { 0 };
        self.limit = next;
        if self.at_least >= Self::MOST_AT_LEAST {
            self.next_measurement = now;
        }
    }
}

impl<Draws: Iterator<Item = f64>> Controller for Envoy<Draws> {
    fn sample(&mut self, sample: &Sample) {
        let (now, hold) = (nanos(sample.now), nanos(sample.hold));
        self.fire_timers(now);
        if sample.outcome == Outcome::Ignore || now - hold < self.epoch {
            return;
        }
        self.holds.add(hold / 1_000);
        let complete = self.holds.count >= Self::COUNT;
        if let Some(before) = self.deferred.filter(|_| complete) {
            self.end_measurement(before, now);
        }
    }

    fn limit(&self) -> u32 {
        self.limit
    }
}

/// Holds in microseconds with two decimal digits each: libcircllhist 0.3.2.
#[derive(Clone, Debug, Default)]
struct Holds {
    /// By exponent of ten and the two digits.
    counts: BTreeMap<(u32, u32), u64>,
    count: u64,
}

impl Holds {
    fn clear(&mut self) {
        self.counts.clear();
        self.count = 0;
    }

    fn add(&mut self, micros: i64) {
        let micros = u32::try_from(micros).unwrap_or(if micros < 0 { 0 } else { u32::MAX });
        let exponent = micros.checked_ilog10().unwrap_or(0);
        let digits = u64::from(micros) * 10 / 10_u64.pow(exponent);
        *self.counts.entry((exponent, u32::try_from(digits).unwrap_or(0))).or_default() += 1;
        self.count += 1;
    }

    /// The value below which a share of the holds is, estimated within its bin.
    fn quantile(&self, share: f64) -> u32 {
        let rank = unsigned(self.count) * share;
        let mut below = 0.0;
        for ((exponent, digits), count) in &self.counts {
            let count = unsigned(*count);
            if below + count >= rank {
                let power = f64::from(10_u32.pow(*exponent));
                let left = f64::from(*digits) / 10.0 * power;
                let width = if *digits == 0 { 0.0 } else { power / 10.0 };
                return whole(left + (rank - below).ceil() / (count + 1.0) * width);
            }
            below += count;
        }
        0
    }
}
