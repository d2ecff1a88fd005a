//! Rules of other projects, until they come from the package with the simulation: that of
//! failsafe-go 0.9.7, and Gradient2 of Netflix' concurrency-limits (commit 78a74b98). They have the
//! documented defaults but for the bounds.

use std::ops::RangeInclusive;

use bulklink::limit::{self, Limit, Outcome};
use bulklink::runtime::Instant;

/// Where both begin.
const START: u32 = 20;

/// A rule as a limit of ours.
#[derive(Clone, Debug)]
pub struct Rule<C> {
    controller: C,
    bounds: (usize, usize),
}

impl Rule<FailsafeGo> {
    /// The adaptive limiter of failsafe-go.
    #[must_use]
    pub fn failsafe_go(bounds: (usize, usize)) -> Self {
        Rule { controller: FailsafeGo::new(START, range(bounds)), bounds }
    }
}

impl Rule<Windowed<Gradient2>> {
    /// Netflix' Gradient2 with a sample a second.
    #[must_use]
    pub fn gradient2(bounds: (usize, usize)) -> Self {
        Rule { controller: Windowed::new(Gradient2::new(START, range(bounds))), bounds }
    }
}

impl<C: Controller> Limit for Rule<C> {
    fn sample(&mut self, sample: &limit::Sample) {
        let now = sample.now.saturating_since(Instant::EPOCH).as_secs_f64();
        let in_flight = u32::try_from(sample.in_flight).unwrap_or(u32::MAX);
        let (hold, outcome) = (sample.hold.as_secs_f64(), sample.outcome);
        self.controller.sample(&Sample { now, hold, in_flight, outcome });
    }

    fn limit(&self) -> usize {
        self.controller.limit() as usize
    }

    fn bounds(&self) -> (usize, usize) {
        self.bounds
    }
}

fn range((least, most): (usize, usize)) -> RangeInclusive<u32> {
    u32::try_from(least).unwrap_or(u32::MAX)..=u32::try_from(most).unwrap_or(u32::MAX)
}

/// A call that ended. Times are in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    now: f64,
    hold: f64,
    /// At its end. The originals count at its admission.
    in_flight: u32,
    outcome: Outcome,
}

/// Finds a limit from the calls that end.
pub trait Controller {
    /// Learns from a call that ended.
    fn sample(&mut self, sample: &Sample);
    /// The number of calls that may be in flight.
    fn limit(&self) -> u32;
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

/// The holds of a window. The original has a t-digest in its place.
#[derive(Clone, Debug, Default)]
struct Digest(Vec<f64>);

impl Digest {
    fn clear(&mut self) {
        self.0.clear();
    }

    fn add(&mut self, value: f64) {
        self.0.push(value);
    }

    /// The value that a share of the values does not exceed.
    fn quantile(&mut self, share: f64) -> Option<f64> {
        self.0.sort_by(f64::total_cmp);
        let last = self.0.len().checked_sub(1)?;
        self.0.get(whole(share * unsigned(last as u64)) as usize).copied()
    }
}

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

    fn new(start: u32, bounds: RangeInclusive<u32>) -> Self {
        Self {
            limit: f64::from(start),
            bounds,
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
        if now <= self.next || self.count < Self::LEAST_COUNT {
            return;
        }
        let Some(quantile) = self.digest.quantile(Self::QUANTILE) else { return };
        let recent = self.recent.add(self.median.add(quantile));
        self.update(recent, sample.in_flight >= self.limit());
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

    fn new(start: u32, bounds: RangeInclusive<u32>) -> Self {
        Self { estimate: f64::from(start), bounds, long: 0.0, sum: 0.0, count: 0 }
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
pub struct Windowed<C> {
    inner: C,
    next: i64,
    sum: i64,
    count: u32,
    in_flight: u32,
    dropped: bool,
}

impl<C: Controller> Windowed<C> {
    /// In nanoseconds. The original has the same for the shortest and the longest window.
    const WINDOW: i64 = 1_000_000_000;
    const LEAST_HOLD: i64 = 100_000;
    const LEAST_COUNT: u32 = 10;

    fn new(inner: C) -> Self {
        Self { inner, next: 0, sum: 0, count: 0, in_flight: 0, dropped: false }
    }
}

impl<C: Controller> Controller for Windowed<C> {
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
