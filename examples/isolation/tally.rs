//! The outcomes of requests, and their counts and percentiles.

use std::time::Duration;

use crate::scenario::{PerRoute, Route};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// 200, with the whole body.
    Success,
    /// 503: a bulkhead rejected the request immediately.
    Rejected,
    /// The client gave up, or a wait in the gateway took too long (504).
    TimedOut,
    Failed(String),
}

#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) route: Route,
    pub(crate) outcome: Outcome,
    /// From the instant the request was due to the instant its client knew the outcome.
    pub(crate) latency: Duration,
}

/// The measurements of a phase: all of it together, and the healthy route second by second.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) total: PerRoute<Tally>,
    pub(crate) healthy: Vec<Second>,
}

/// One second of one route, as the plot shows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Second {
    /// Seconds from the start of the phase to the end of this one.
    pub(crate) at: u32,
    /// Successes in percent of the requests; `None` if there were no requests.
    pub(crate) success: Option<u32>,
    pub(crate) p99: Duration,
}

impl Second {
    pub(crate) fn of(at: u32, tally: &Tally) -> Self {
        let success = (tally.successes() * 100).checked_div(tally.requests());
        Self { at, success: success.and_then(|percent| percent.try_into().ok()), p99: tally.percentile(99) }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Tally {
    samples: Vec<Sample>,
}

impl Tally {
    pub(crate) fn add(&mut self, sample: Sample) {
        self.samples.push(sample);
    }

    pub(crate) fn absorb(&mut self, other: Self) {
        self.samples.extend(other.samples);
    }

    pub(crate) fn requests(&self) -> usize {
        self.samples.len()
    }

    pub(crate) fn successes(&self) -> usize {
        self.count(|outcome| *outcome == Outcome::Success)
    }

    pub(crate) fn rejected(&self) -> usize {
        self.count(|outcome| *outcome == Outcome::Rejected)
    }

    pub(crate) fn timed_out(&self) -> usize {
        self.count(|outcome| *outcome == Outcome::TimedOut)
    }

    pub(crate) fn failed(&self) -> usize {
        self.failures().count()
    }

    pub(crate) fn first_failure(&self) -> Option<&str> {
        self.failures().next()
    }

    /// Returns a percentile of the latency of all requests, whatever their outcome; zero if there
    /// are none.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        percentile(self.samples.iter().map(|sample| sample.latency).collect(), percent)
    }

    /// Returns the median latency of the rejections.
    pub(crate) fn rejection_time(&self) -> Duration {
        let rejections = self.samples.iter().filter(|sample| sample.outcome == Outcome::Rejected);
        percentile(rejections.map(|sample| sample.latency).collect(), 50)
    }

    fn count(&self, which: impl Fn(&Outcome) -> bool) -> usize {
        self.samples.iter().filter(|sample| which(&sample.outcome)).count()
    }

    fn failures(&self) -> impl Iterator<Item = &str> {
        self.samples.iter().filter_map(|sample| match &sample.outcome {
            Outcome::Failed(why) => Some(why.as_str()),
            _ => None,
        })
    }
}

/// Returns the smallest latency that at least `percent` in 100 requests do not exceed (nearest
/// rank).
fn percentile(mut latencies: Vec<Duration>, percent: usize) -> Duration {
    latencies.sort_unstable();
    let rank = (latencies.len() * percent).div_ceil(100).max(1);
    latencies.get(rank - 1).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up_to(last: u64) -> Vec<Duration> {
        (1..=last).rev().map(Duration::from_millis).collect()
    }

    #[test]
    fn percentiles_are_nearest_rank() {
        assert_eq!(percentile(up_to(100), 50), Duration::from_millis(50));
        assert_eq!(percentile(up_to(100), 99), Duration::from_millis(99));
        assert_eq!(percentile(up_to(101), 99), Duration::from_millis(100));
        assert_eq!(percentile(up_to(3), 99), Duration::from_millis(3));
        assert_eq!(percentile(up_to(1), 0), Duration::from_millis(1));
        assert_eq!(percentile(up_to(0), 99), Duration::ZERO);
    }
}
