//! Settings as whole numbers, with which a server computes.

use std::time::Duration;

use bulklink_breaker::Settings;
use bulklink_breaker::plumbing::{Span, Threshold};

/// More calls than a server counts.
const NEVER: u64 = 1 << 53;

/// The settings of a circuit as a server takes them. Times are in microseconds.
///
/// A threshold is reached when all of its numbers are: so many calls, such a part of all calls, and
/// enough of all. One that is not set needs more calls than there can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Numbers {
    /// The calls of the window, or 0 for a window of time.
    pub calls: u64,
    /// A tenth of the window of time, or 0 for a window of calls.
    pub part: u64,
    /// For failures: calls, percent, and how many calls are enough.
    pub failures: [u64; 3],
    /// For slow calls: the same.
    pub slow: [u64; 3],
    /// From when on a call is slow, or 0. No server uses it, but it makes settings differ.
    pub slow_after: u64,
    /// The cool-down, and the longest one.
    pub cool_downs: [u64; 2],
    /// The probes at once, how many must succeed, and how many may not fail.
    pub probes: [u64; 3],
    /// The lease of a probe.
    pub lease: u64,
}

impl Numbers {
    /// The numbers of settings.
    #[must_use]
    pub fn of(settings: &Settings) -> Self {
        let parts = settings.parts();
        let limits = |threshold| match threshold {
            Some((Threshold::Calls(calls), enough)) => [calls.into(), 0, u64::from(enough)],
            Some((Threshold::Percent(percent), enough)) => [0, percent.into(), u64::from(enough)],
            None => [NEVER, 0, 1],
        };
        let (calls, part) = match parts.window {
            Span::Calls(calls) => (calls.into(), 0),
            Span::Time(time) => (0, u64::try_from(time.as_micros() / 10).unwrap_or(u64::MAX)),
        };
        let cool_down = micros(parts.cool_down);
        Numbers {
            calls,
            part,
            failures: limits(parts.failures),
            slow: limits(parts.slow),
            slow_after: parts.slow_after.map_or(0, micros),
            cool_downs: [cool_down, parts.longest_cool_down.map_or(cool_down, micros)],
            probes: [parts.probes, parts.close_after, parts.reopen_after].map(u64::from),
            lease: micros(parts.probe_lease),
        }
    }

    /// All of them, in the order of their declaration.
    #[must_use]
    pub fn all(&self) -> Vec<u64> {
        let window = [self.calls, self.part];
        let (slow_after, lease) = ([self.slow_after], [self.lease]);
        let Numbers { failures, slow, cool_downs, probes, .. } = self;
        [&window[..], failures, slow, &slow_after, cool_downs, probes, &lease].concat()
    }
}

/// A duration in whole microseconds, of which a time that is set has at least one.
fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1000)).unwrap_or(u64::MAX)
}
