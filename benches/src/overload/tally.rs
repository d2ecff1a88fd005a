//! The figures of one run.

use std::ops::RangeInclusive;
use std::time::Duration;

use tokio::time::Instant;

use super::load::{Fate, Sent};
use super::scene::GREEDY;
use super::upstream::{Begun, WORKERS, Work};
use crate::measure::float;

/// The time that is measured.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// After the warm-up.
    pub begin: Instant,
    /// When the last calls are sent.
    pub end: Instant,
}

/// The measured figures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Answers in time, per second.
    pub in_time: f64,
    /// Half of the answers took no longer.
    pub p50: Option<Duration>,
    /// 99 % of the answers took no longer.
    pub p99: Option<Duration>,
    /// The share of the calls that were rejected.
    pub rejected: f64,
    /// The share of the calls that were given up at the deadline.
    pub given_up: f64,
    /// The share of the upstream's work that was for calls without an answer in time.
    pub wasted: f64,
}

impl Figures {
    /// Returns the share of the calls that were answered in time.
    #[must_use]
    pub fn answered(&self) -> f64 {
        (1.0 - self.rejected - self.given_up).max(0.0)
    }
}

/// The parts of the upstream's capacity that were put to use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    /// For answers in time, but to the tenant beyond its share.
    pub within: f64,
    /// For answers in time to the tenant beyond its share.
    pub beyond: f64,
    /// For calls without an answer in time.
    pub in_vain: f64,
}

impl Used {
    /// Returns the part of all answers in time.
    #[must_use]
    pub fn in_time(&self) -> f64 {
        self.within + self.beyond
    }
}

impl Window {
    fn length(self) -> Duration {
        self.end - self.begin
    }

    /// Returns how much of some work is in the window.
    fn overlap(self, work: &Work) -> Duration {
        work.end.min(self.end).saturating_duration_since(work.begin.max(self.begin))
    }

    fn contains(&self, time: Instant) -> bool {
        self.begin <= time && time < self.end
    }
}

/// Counts answers and work when they happen in the window, and calls when they are sent in it; of
/// these tenants only.
#[must_use]
pub fn figures(sent: &[Sent], begun: &[Begun], window: Window, tenants: RangeInclusive<usize>) -> Figures {
    let is_counted = |call: &&Sent| tenants.contains(&call.tenant);
    let mut latencies: Vec<_> = sent.iter().filter(is_counted).filter_map(|call| latency(call, window)).collect();
    latencies.sort();
    let share = |fate: Fate| {
        let calls = || sent.iter().filter(is_counted).filter(|call| window.contains(call.due));
        ratio(calls().filter(|call| call.fate == fate).count(), calls().count())
    };
    let work = || begun.iter().filter(|begun| window.contains(begun.at)).filter_map(|begun| sent.get(begun.call));
    let work = || work().filter(is_counted);
    let in_vain = |call: &&Sent| !matches!(call.fate, Fate::Answered(_));
    Figures {
        in_time: float(latencies.len() as u128) / window.length().as_secs_f64(),
        p50: percentile(&latencies, 50),
        p99: percentile(&latencies, 99),
        rejected: share(Fate::Rejected),
        given_up: share(Fate::GivenUp),
        wasted: ratio(work().filter(in_vain).count(), work().count()),
    }
}

/// Adds up the time of the workers that is in the window.
#[must_use]
pub fn used(sent: &[Sent], works: &[Work], window: Window) -> Used {
    let capacity = float(WORKERS as u128) * window.length().as_secs_f64();
    let mut used = Used::default();
    for work in works {
        let part = match sent.get(work.call) {
            Some(Sent { fate: Fate::Answered(_), tenant, .. }) if *tenant == GREEDY => &mut used.beyond,
            Some(Sent { fate: Fate::Answered(_), .. }) => &mut used.within,
            _ => &mut used.in_vain,
        };
        *part += window.overlap(work).as_secs_f64() / capacity;
    }
    used
}

fn latency(call: &Sent, window: Window) -> Option<Duration> {
    match call.fate {
        Fate::Answered(at) if window.contains(at) => Some(at - call.due),
        _ => None,
    }
}

/// Returns the smallest of the sorted values that so many percent do not exceed.
#[must_use]
pub fn percentile(sorted: &[Duration], percent: usize) -> Option<Duration> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { float(part as u128) / float(whole as u128) }
}
