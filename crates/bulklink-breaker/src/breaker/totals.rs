//! The counters of a breaker, and its health.

use std::fmt;

use super::core::Ending;
use crate::Outcome;
use crate::circuit::{Mark, State};

/// Counters since a breaker was built. Each counts calls of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BreakerTotals {
    /// Calls that succeeded.
    pub successes: u64,
    /// Calls that failed, timed out or panicked.
    pub failures: u64,
    /// Of the successes and failures, the calls that were slow; and slow calls that were cancelled.
    pub slow: u64,
    /// Calls that timed out. They are also among the failures.
    pub timed_out: u64,
    /// Calls that panicked. They are also among the failures.
    pub panicked: u64,
    /// Calls that count for neither side by their result.
    pub ignored: u64,
    /// Calls that were dropped before they had ended.
    pub cancelled: u64,
    /// Calls of all these kinds that changed nothing, because the circuit had changed its state
    /// meanwhile.
    pub stale: u64,
    /// Calls that the circuit rejected.
    pub rejected: u64,
    /// Calls that were let through as probes.
    pub probes: u64,
    /// How often the circuit was opened.
    pub opened: u64,
}

impl BreakerTotals {
    /// Returns the number of calls that were let through and have ended.
    #[must_use]
    pub const fn ended(&self) -> u64 {
        self.successes + self.failures + self.ignored + self.cancelled
    }

    /// Returns the counts after `earlier`.
    #[must_use]
    pub const fn since(&self, earlier: &BreakerTotals) -> BreakerTotals {
        BreakerTotals {
            successes: self.successes.saturating_sub(earlier.successes),
            failures: self.failures.saturating_sub(earlier.failures),
            slow: self.slow.saturating_sub(earlier.slow),
            timed_out: self.timed_out.saturating_sub(earlier.timed_out),
            panicked: self.panicked.saturating_sub(earlier.panicked),
            ignored: self.ignored.saturating_sub(earlier.ignored),
            cancelled: self.cancelled.saturating_sub(earlier.cancelled),
            stale: self.stale.saturating_sub(earlier.stale),
            rejected: self.rejected.saturating_sub(earlier.rejected),
            probes: self.probes.saturating_sub(earlier.probes),
            opened: self.opened.saturating_sub(earlier.opened),
        }
    }

    /// Adds the counts of another breaker.
    pub(crate) fn add(&mut self, other: &BreakerTotals) {
        self.successes += other.successes;
        self.failures += other.failures;
        self.slow += other.slow;
        self.timed_out += other.timed_out;
        self.panicked += other.panicked;
        self.ignored += other.ignored;
        self.cancelled += other.cancelled;
        self.stale += other.stale;
        self.rejected += other.rejected;
        self.probes += other.probes;
        self.opened += other.opened;
    }

    pub(super) fn count(&mut self, ending: Ending, mark: Option<Mark>, counted: bool) {
        match ending {
            Ending::Outcome(Outcome::Success) => self.successes += 1,
            Ending::Outcome(Outcome::Failure) => self.failures += 1,
            Ending::Outcome(Outcome::Ignore) => self.ignored += 1,
            Ending::Cancelled => self.cancelled += 1,
            Ending::Panicked => {
                self.failures += 1;
                self.panicked += 1;
            }
            Ending::TimedOut => {
                self.failures += 1;
                self.timed_out += 1;
            }
        }
        self.slow += u64::from(mark.is_some_and(|mark| mark.slow));
        self.stale += u64::from(!counted);
    }
}

/// How well a dependency does, by the state of its circuit. The worst is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Health {
    /// The circuit is closed.
    Healthy,
    /// The circuit is half-open: the cool-down has passed, whether or not a call has come since.
    Degraded,
    /// The circuit is open.
    Isolated,
}

impl Health {
    /// Returns whether the circuit is closed.
    #[must_use]
    pub const fn is_healthy(self) -> bool {
        matches!(self, Health::Healthy)
    }

    /// Returns the name in snake case, for machines. It never changes.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Health::Healthy => "healthy",
            Health::Degraded => "degraded",
            Health::Isolated => "isolated",
        }
    }
}

impl From<State> for Health {
    fn from(state: State) -> Self {
        match state {
            State::Closed => Health::Healthy,
            State::HalfOpen => Health::Degraded,
            State::Open => Health::Isolated,
        }
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
