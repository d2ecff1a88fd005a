//! Distributions of times: of holds, of gaps between calls, and of limits that calls bring.

use std::sync::Arc;
use std::time::Duration;

use bulklink_core::InvalidArgument;

use crate::random::{Random, whole};

/// The 99th percentile of the standard normal distribution.
const NORMAL_P99: f64 = 2.326_347_874_040_841;

/// How many times the median the 99th percentile may be: beyond that, a simulation would have to be
/// too long to see the longest holds often enough.
const LONGEST_TAIL: f64 = 100.0;

/// A distribution of times.
///
/// ```
/// use bulklink_plan::Distribution;
/// use std::time::Duration;
///
/// let ms = Duration::from_millis;
/// let hold = Distribution::quantiles(ms(20), ms(200))?;
/// assert_eq!(hold.mean().as_millis(), 32);
/// # Ok::<(), bulklink_plan::InvalidArgument>(())
/// ```
#[derive(Clone, Debug)]
pub struct Distribution(Kind);

/// All numbers are nanoseconds.
#[derive(Clone, Debug)]
enum Kind {
    Constant(f64),
    Exponential { mean: f64 },
    LogNormal { median: f64, spread: f64 },
    Sampled { times: Arc<[f64]> },
}

impl Distribution {
    /// Always the same time.
    #[must_use]
    pub fn constant(time: Duration) -> Self {
        Distribution(Kind::Constant(nanos(time)))
    }

    /// The exponential distribution: short times are frequent, and long ones happen.
    #[must_use]
    pub fn exponential(mean: Duration) -> Self {
        Self::exponential_nanos(nanos(mean))
    }

    pub(crate) fn exponential_nanos(mean: f64) -> Self {
        Distribution(Kind::Exponential { mean })
    }

    /// The log-normal distribution with this median and 99th percentile, as most holds of services
    /// are.
    ///
    /// # Errors
    ///
    /// If the median is zero, or if the 99th percentile is less than the median or more than 100
    /// times as long.
    pub fn quantiles(p50: Duration, p99: Duration) -> Result<Self, InvalidArgument> {
        if p50.is_zero() {
            return Err(InvalidArgument::new("p50", format!("{p50:?}"), "must be more than zero"));
        }
        let ratio = nanos(p99) / nanos(p50);
        if !(1.0..=LONGEST_TAIL).contains(&ratio) {
            let requirement = format!("must be from 1 to {LONGEST_TAIL} times p50, which is {p50:?}");
            return Err(InvalidArgument::new("p99", format!("{p99:?}"), requirement));
        }
        Ok(Distribution(Kind::LogNormal { median: nanos(p50), spread: libm::log(ratio) / NORMAL_P99 }))
    }

    /// Times that were measured: each is drawn as often as the others.
    ///
    /// # Errors
    ///
    /// If there are none.
    pub fn sampled(times: &[Duration]) -> Result<Self, InvalidArgument> {
        if times.is_empty() {
            return Err(InvalidArgument::new("times", "none", "must be at least one"));
        }
        Ok(Distribution(Kind::Sampled { times: times.iter().copied().map(nanos).collect() }))
    }

    /// Returns the same distribution with times that are so many times as long.
    #[must_use]
    pub fn scaled(&self, by: f64) -> Self {
        Distribution(match &self.0 {
            Kind::Constant(time) => Kind::Constant(time * by),
            Kind::Exponential { mean } => Kind::Exponential { mean: mean * by },
            &Kind::LogNormal { median, spread } => Kind::LogNormal { median: median * by, spread },
            Kind::Sampled { times } => Kind::Sampled { times: times.iter().map(|time| time * by).collect() },
        })
    }

    /// Returns the mean.
    #[must_use]
    pub fn mean(&self) -> Duration {
        Duration::from_nanos(whole(self.mean_nanos().round()))
    }

    pub(crate) fn mean_nanos(&self) -> f64 {
        match &self.0 {
            Kind::Constant(mean) | Kind::Exponential { mean } => *mean,
            Kind::LogNormal { median, spread } => median * libm::exp(spread * spread / 2.0),
            Kind::Sampled { times } => average(times, |time| time),
        }
    }

    /// Returns the variance in units of the squared mean: zero if all times are the same, one for
    /// the exponential distribution.
    #[must_use]
    pub fn variation(&self) -> f64 {
        match &self.0 {
            Kind::Constant(_) => 0.0,
            Kind::Exponential { .. } => 1.0,
            Kind::LogNormal { spread, .. } => libm::exp(spread * spread) - 1.0,
            Kind::Sampled { times } => {
                let mean = self.mean_nanos();
                if mean > 0.0 { average(times, |time| (time - mean) * (time - mean)) / (mean * mean) } else { 0.0 }
            }
        }
    }

    /// Draws a time in nanoseconds.
    pub(crate) fn draw(&self, random: &mut Random) -> u64 {
        whole(
            0.5 + match &self.0 {
                Kind::Constant(time) => *time,
                Kind::Exponential { mean } => mean * random.exponential(),
                Kind::LogNormal { median, spread } => median * libm::exp(spread * random.normal()),
                Kind::Sampled { times } => times[random.below(times.len())],
            },
        )
    }
}

/// Times are at most a few days, whose nanoseconds are exact.
pub(crate) fn nanos(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 times")]
fn average(times: &[f64], of: impl Fn(f64) -> f64) -> f64 {
    times.iter().map(|&time| of(time)).sum::<f64>() / times.len() as f64
}

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "times are far below 2^52 ns")]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn all() -> [Distribution; 4] {
        let sampled = Distribution::sampled(&[MS(5), MS(5), MS(5), MS(25)]).unwrap();
        let log_normal = Distribution::quantiles(MS(8), MS(30)).unwrap();
        [Distribution::constant(MS(10)), Distribution::exponential(MS(10)), log_normal, sampled]
    }

    #[test]
    fn draws_have_the_mean_and_the_variation_that_are_stated() {
        for distribution in all() {
            let mut random = Random::new(1);
            let times: Vec<f64> = (0..200_000).map(|_| distribution.draw(&mut random) as f64).collect();
            let mean = average(&times, |time| time);
            let variation = average(&times, |time| (time / mean - 1.0).powi(2));
            assert!((mean / distribution.mean_nanos() - 1.0).abs() < 0.01, "{distribution:?}: {mean}");
            assert!((variation - distribution.variation()).abs() < 0.02, "{distribution:?}: {variation}");
        }
    }

    #[test]
    fn quantiles_are_those_of_the_draws() {
        let distribution = Distribution::quantiles(MS(20), MS(200)).unwrap();
        let mut random = Random::new(2);
        let mut times: Vec<_> = (0..200_000).map(|_| distribution.draw(&mut random)).collect();
        times.sort_unstable();
        let (p50, p99) = (times[100_000] as f64 / 20e6, times[198_000] as f64 / 200e6);
        assert!((p50 - 1.0).abs() < 0.02 && (p99 - 1.0).abs() < 0.03, "{p50}, {p99}");
    }

    #[test]
    fn scaled_times_are_so_many_times_as_long() {
        for distribution in all() {
            let scaled = distribution.scaled(3.0);
            assert!((scaled.mean_nanos() / distribution.mean_nanos() - 3.0).abs() < 1e-9);
            assert!((scaled.variation() - distribution.variation()).abs() < 1e-9);
        }
    }

    #[test]
    fn impossible_times_are_named() {
        let text = |p50, p99| Distribution::quantiles(MS(p50), MS(p99)).unwrap_err().to_string();
        assert_eq!(text(0, 5), "p50 must be more than zero, got 0ns");
        assert_eq!(text(20, 10), "p99 must be from 1 to 100 times p50, which is 20ms, got 10ms");
        assert!(text(1, 101).ends_with("got 101ms"));
        assert!(Distribution::sampled(&[]).is_err());
    }
}
