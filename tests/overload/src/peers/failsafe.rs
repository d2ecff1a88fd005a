//! The adaptive limiter of failsafe-go 0.9.7.

use std::ops::RangeInclusive;

use super::{Controller, Outcome, Sample, digest::Digest, float, nanos, unsigned, whole};

/// failsafe-go's `AdaptiveLimiter`, without its queue and its priorities.
///
/// At most once a second, the p90 of the recent holds is compared with its own average of about 10
/// windows; also the correlations of in-flight with throughput and with hold over 50 windows count.
/// All settings but start and bounds are the documented defaults (there 20, and 1 to 200). An
/// overloaded and an ignored call are dropped, as `Permit.Drop`: their holds do not count.
#[derive(Clone, Debug)]
pub struct FailsafeGo {
    limit: f64,
    bounds: RangeInclusive<u32>,
    least_count: u32,
    digest: Digest,
    count: u32,
    least: i64,
    in_flight: u32,
    /// The end of the window, in nanoseconds.
    next: i64,
    median: Median,
    recent: Average,
    baseline: Average,
    throughput: Correlation,
    hold: Correlation,
}

impl FailsafeGo {
    const QUANTILE: f64 = 0.9;
    const LEAST_COUNT: u32 = 50;
    const SHORTEST: i64 = 1_000_000_000;
    const LONGEST: i64 = 30_000_000_000;
    const RECENT_AGE: u32 = 5;
    const BASELINE_AGE: u32 = 10;
    const ALPHA: u32 = 3;
    const BETA: u32 = 6;
    const HEADROOM: f64 = 5.0;

    /// With the given start and bounds.
    pub fn new(start: u32, bounds: RangeInclusive<u32>) -> Self {
        Self {
            limit: f64::from(start),
            bounds,
            least_count: Self::LEAST_COUNT,
            digest: Digest::default(),
            count: 0,
            least: i64::MAX,
            in_flight: 0,
            next: 0,
            median: Median::default(),
            recent: Average::new(Self::RECENT_AGE),
            baseline: Average::new(Self::BASELINE_AGE),
            throughput: Correlation::default(),
            hold: Correlation::default(),
        }
    }

    /// With another number of samples that a window has at least, of 50.
    #[must_use]
    pub fn least_count(self, least_count: u32) -> Self {
        Self { least_count, ..self }
    }

    /// The smoothed p90 of the recent holds, in nanoseconds.
    pub fn recent(&self) -> f64 {
        self.recent.value
    }

    fn update(&mut self, recent: f64, full: bool) {
        let baseline = self.baseline.add(recent);
        let queue = (self.limit * (1.0 - baseline / recent)).ceil();
        let in_flight = f64::from(self.in_flight);
        let throughput = in_flight / (recent / 1e9);
        let (by_throughput, spread) = self.throughput.add(in_flight, throughput);
        let (by_hold, _) = self.hold.add(in_flight, recent);

        let unit = whole(self.limit).checked_ilog10().unwrap_or(0).max(1);
        let lower = self.limit - f64::from(unit);
        let worse = by_throughput < 0.0 || (by_throughput < 0.3 || spread < 0.2) && by_hold > 0.5;
        let mut next = if queue > f64::from(Self::BETA * unit) || full && worse {
            lower
        } else if queue < f64::from(Self::ALPHA * unit) {
            self.limit + f64::from(unit)
        } else {
            self.limit
        };
        let most = in_flight * Self::HEADROOM;
        if next > most {
            next = if self.limit > most { lower } else { most };
        }
        let (min, max) = (f64::from(*self.bounds.start()), f64::from(*self.bounds.end()));
        self.limit = next.clamp(min, max);
    }
}

impl Controller for FailsafeGo {
    fn sample(&mut self, sample: &Sample) {
        if sample.outcome == Outcome::Success {
            let hold = nanos(sample.hold);
            self.digest.add(float(hold));
            self.count += 1;
            self.least = self.least.min(hold);
            self.in_flight = self.in_flight.max(sample.in_flight);
        }
        let now = nanos(sample.now);
        if now <= self.next || self.count < self.least_count {
            return;
        }
        let Some(quantile) = self.digest.quantile(Self::QUANTILE) else { return };
        let recent = self.recent.add(self.median.add(quantile));
        self.update(recent, sample.in_flight_end >= self.limit());
        self.next = now + (self.least * 2).clamp(Self::SHORTEST, Self::LONGEST);
        self.digest.clear();
        (self.count, self.least, self.in_flight) = (0, i64::MAX, 0);
    }

    fn limit(&self) -> u32 {
        whole(self.limit)
    }
}

/// An average with weights that fall exponentially, plain for its first 10 values.
#[derive(Clone, Debug)]
struct Average {
    weight: f64,
    count: u32,
    sum: f64,
    value: f64,
}

impl Average {
    const WARM_UP: u32 = 10;

    fn new(age: u32) -> Self {
        Self { weight: 2.0 / (f64::from(age) + 1.0), count: 0, sum: 0.0, value: 0.0 }
    }

    fn add(&mut self, value: f64) -> f64 {
        if self.count < Self::WARM_UP {
            self.count += 1;
            self.sum += value;
            self.value = self.sum / f64::from(self.count);
        } else {
            self.value = self.value * (1.0 - self.weight) + value * self.weight;
        }
        self.value
    }
}

/// The median of the last five values; each of the first four is given back.
#[derive(Clone, Debug, Default)]
struct Median {
    values: [f64; 5],
    count: usize,
}

impl Median {
    fn add(&mut self, value: f64) -> f64 {
        let size = self.values.len();
        self.values[self.count % size] = value;
        self.count += 1;
        if self.count < size {
            return value;
        }
        let mut sorted = self.values;
        sorted.sort_by(f64::total_cmp);
        sorted[size / 2]
    }
}

/// The last 50 values with their sums. A zero is not added.
#[derive(Clone, Debug, Default)]
struct Values {
    kept: Vec<f64>,
    oldest: usize,
    sum: f64,
    squares: f64,
}

impl Values {
    const MOST: usize = 50;

    /// Gives back the value that falls out.
    fn add(&mut self, value: f64) -> Option<f64> {
        if value == 0.0 {
            return None;
        }
        let mut old = None;
        if self.kept.len() < Self::MOST {
            self.kept.push(value);
        } else {
            let out = std::mem::replace(&mut self.kept[self.oldest], value);
            self.oldest = (self.oldest + 1) % Self::MOST;
            self.sum -= out;
            self.squares -= out * out;
            old = Some(out);
        }
        self.sum += value;
        self.squares += value * value;
        old
    }

    fn count(&self) -> f64 {
        unsigned(self.kept.len() as u64)
    }

    /// The mean and the variance, of at least two values.
    fn spread(&self) -> Option<(f64, f64)> {
        let mean = self.sum / self.count();
        let variance = self.squares / self.count() - mean * mean;
        let known = self.kept.len() >= 2 && variance >= 0.0 && mean != 0.0;
        known.then_some((mean, variance))
    }
}

/// The correlation of two series.
#[derive(Clone, Debug, Default)]
struct Correlation {
    x: Values,
    y: Values,
    products: f64,
}

impl Correlation {
    const WARM_UP: usize = 10;
    const LEAST_SPREAD: f64 = 0.01;

    /// The correlation and the coefficient of variation of the second series, or zeros.
    fn add(&mut self, x: f64, y: f64) -> (f64, f64) {
        if x.is_infinite() || y.is_infinite() {
            return (0.0, 0.0);
        }
        let old = (self.x.add(x), self.y.add(y));
        if let (Some(x), Some(y)) = old {
            self.products -= x * y;
        }
        self.products += x * y;
        let spreads = self.x.spread().zip(self.y.spread());
        let Some(((x_mean, x_variance), (y_mean, y_variance))) = spreads else {
            return (0.0, 0.0);
        };
        if self.x.kept.len() < Self::WARM_UP {
            return (0.0, 0.0);
        }
        let (x_spread, y_spread) = (x_variance.sqrt() / x_mean, y_variance.sqrt() / y_mean);
        if x_spread < Self::LEAST_SPREAD || y_spread < Self::LEAST_SPREAD {
            return (0.0, y_spread);
        }
        let covariance = self.products / self.x.count() - x_mean * y_mean;
        (covariance / (x_variance.sqrt() * y_variance.sqrt()), y_spread)
    }
}
