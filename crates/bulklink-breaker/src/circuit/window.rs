//! The outcomes that a closed circuit looks at.

use alloc::collections::VecDeque;
use core::ops::AddAssign;

use bulklink::runtime::Instant;

use super::settings::{Settings, Span, Threshold};

/// The parts of a window of time.
pub(super) const PARTS: usize = 10;

/// The outcome of a call that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mark {
    /// Whether it failed.
    pub failed: bool,
    /// Whether it took [`Settings::slow_after`] or longer.
    pub slow: bool,
}

/// Numbers of calls by their outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counts {
    /// All that count.
    pub calls: u64,
    /// Those that failed.
    pub failures: u64,
    /// Those that were slow, whether or not they failed.
    pub slow: u64,
}

impl From<Mark> for Counts {
    fn from(mark: Mark) -> Self {
        Counts { calls: 1, failures: u64::from(mark.failed), slow: u64::from(mark.slow) }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.failures += other.failures;
        self.slow += other.slow;
    }
}

impl Counts {
    fn remove(&mut self, other: Self) {
        self.calls -= other.calls;
        self.failures -= other.failures;
        self.slow -= other.slow;
    }

    /// Whether the calls are enough and the failed or slow ones too many.
    pub(super) fn trip(self, settings: &Settings) -> bool {
        let reached = |threshold: Option<Threshold>, calls| {
            threshold.is_some_and(|threshold| self.reached(settings, threshold, calls))
        };
        reached(settings.failures, self.failures) || reached(settings.slow, self.slow)
    }

    #[inline]
    fn reached(self, settings: &Settings, threshold: Threshold, calls: u64) -> bool {
        let many = match threshold {
            Threshold::Calls(most) => calls >= u64::from(most),
            Threshold::Percent(most) => calls.saturating_mul(100) >= self.calls.saturating_mul(u64::from(most)),
        };
        many && self.calls >= u64::from(settings.enough(threshold))
    }

    /// Returns the setting by which these counts have opened the circuit, by the name of a
    /// configuration.
    #[cfg(feature = "tracing")]
    pub(crate) fn cause(self, settings: &Settings) -> &'static str {
        let by_failures = settings.failures.filter(|threshold| self.reached(settings, *threshold, self.failures));
        match (by_failures, settings.slow) {
            (Some(Threshold::Calls(_)), _) => "failures",
            (Some(Threshold::Percent(_)), _) => "failure_rate",
            (None, Some(Threshold::Percent(_))) => "slow_rate",
            (None, _) => "slow_calls",
        }
    }
}

/// Outcomes of several calls, in the order in which they ended.
///
/// A process that shares a circuit collects them, and reports them in one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    counts: Counts,
    /// The last of them, as many as a window of calls has.
    marks: VecDeque<Mark>,
}

impl Outcomes {
    /// Adds an outcome, for a circuit with these settings.
    pub fn push(&mut self, settings: &Settings, mark: Mark) {
        self.counts += mark.into();
        let Span::Calls(most) = settings.window else { return };
        if self.marks.len() >= most as usize {
            self.marks.pop_front();
        }
        self.marks.push_back(mark);
    }

    /// Returns the numbers of all that were added.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the last outcomes, the oldest first: as many as the window has calls, and none for a
    /// window of time.
    pub fn marks(&self) -> impl ExactSizeIterator<Item = Mark> + '_ {
        self.marks.iter().copied()
    }

    /// Returns whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.counts.calls == 0
    }

    /// Becomes the outcomes of a window of time, which has no order.
    #[doc(hidden)]
    pub fn set_counts(&mut self, counts: Counts) {
        self.counts = counts;
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.counts = Counts::default();
        self.marks.clear();
    }
}

/// The window of a circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Window {
    /// The last calls.
    Calls {
        /// The most calls.
        size: u64,
        /// All calls since it was empty.
        ended: u64,
        /// The calls that failed or were slow, each with the number of those before it.
        spoilt: VecDeque<(u64, Mark)>,
        /// Their sum.
        counts: Counts,
    },
    /// Those of a time.
    Time {
        /// Nanoseconds of a part.
        part: u64,
        /// The number of the newest part, since the clock's epoch.
        newest: u64,
        /// Each part has the place of its number's remainder.
        parts: [Counts; PARTS],
    },
}

impl Window {
    /// Makes an empty window.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        match settings.window {
            Span::Calls(calls) => {
                Window::Calls { size: calls.into(), ended: 0, spoilt: VecDeque::new(), counts: Counts::default() }
            }
            Span::Time(time) => {
                let part = u64::try_from(time.as_nanos() / PARTS as u128).unwrap_or(u64::MAX);
                Window::Time { part, newest: 0, parts: [Counts::default(); PARTS] }
            }
        }
    }

    /// Becomes the window of other settings.
    pub(crate) fn fit(&mut self, settings: &Settings) {
        match (&mut *self, Window::new(settings)) {
            (Window::Calls { size, .. }, Window::Calls { size: wanted, .. }) => {
                *size = wanted;
                self.lengthen(0);
            }
            (Window::Time { part, .. }, Window::Time { part: wanted, .. }) if *part == wanted => {}
            (_, other) => *self = other,
        }
    }

    /// Removes all calls.
    pub fn clear(&mut self) {
        match self {
            Window::Calls { ended, spoilt, counts, .. } => {
                *ended = 0;
                spoilt.clear();
                *counts = Counts::default();
            }
            Window::Time { newest, parts, .. } => {
                *newest = 0;
                *parts = [Counts::default(); PARTS];
            }
        }
    }

    /// Adds a call.
    pub fn push(&mut self, now: Instant, mark: Mark) {
        match self {
            Window::Calls { .. } => self.push_mark(mark),
            Window::Time { .. } => self.add(now, mark.into()),
        }
    }

    /// Adds calls.
    pub fn append(&mut self, now: Instant, outcomes: &Outcomes) {
        match self {
            Window::Calls { .. } => outcomes.marks().for_each(|mark| self.push_mark(mark)),
            Window::Time { .. } => self.add(now, outcomes.counts()),
        }
    }

    /// Adds successes that were not slow.
    pub(crate) fn add_successes(&mut self, now: Instant, successes: u64) {
        match self {
            Window::Calls { .. } => self.lengthen(successes),
            Window::Time { .. } if successes == 0 => {}
            Window::Time { .. } => self.add(now, Counts { calls: successes, ..Counts::default() }),
        }
    }

    fn push_mark(&mut self, mark: Mark) {
        let Window::Calls { ended, spoilt, counts, .. } = self else { return };
        if mark != Mark::default() {
            spoilt.push_back((*ended, mark));
            *counts += Counts { calls: 0, ..mark.into() };
        }
        self.lengthen(1);
    }

    /// Adds calls, of which those that are spoilt have been added, and removes those that are too
    /// old.
    fn lengthen(&mut self, calls: u64) {
        let Window::Calls { size, ended, spoilt, counts } = self else { return };
        *ended += calls;
        counts.calls = (counts.calls + calls).min(*size);
        while let Some(&(_, mark)) = spoilt.front().filter(|(before, _)| before + counts.calls < *ended) {
            counts.remove(Counts { calls: 0, ..mark.into() });
            spoilt.pop_front();
        }
    }

    fn add(&mut self, now: Instant, added: Counts) {
        let Window::Time { part, newest, parts } = self else { return };
        // A clock that steps back counts for the newest part, or in a new window if all would be of
        // the future.
        let number = now.as_nanos() / *part;
        if *newest > number.saturating_add(PARTS as u64) {
            (*newest, *parts) = (number, [Counts::default(); PARTS]);
        }
        let number = number.max(*newest);
        for passed in 0..(number - *newest).min(PARTS as u64) {
            parts[index(number - passed)] = Counts::default();
        }
        *newest = number;
        parts[index(number)] += added;
    }

    /// The calls of the window at `now`.
    #[must_use]
    pub fn counts(&self, now: Instant) -> Counts {
        match self {
            Window::Calls { counts, .. } => *counts,
            Window::Time { part, newest, parts } => {
                let passed = (now.as_nanos() / *part).saturating_sub(*newest);
                let mut sum = Counts::default();
                for age in passed..PARTS as u64 {
                    // The part that is `age` old at `now`, counted from the newest.
                    if let Some(number) = newest.checked_sub(age - passed) {
                        sum += parts[index(number)];
                    }
                }
                sum
            }
        }
    }

    /// Whether no success that is not slow opens the circuit.
    pub(crate) fn is_calm(&self, settings: &Settings) -> bool {
        // Such a success changes no numbers but that of the calls, unless it makes others fewer.
        let (is_full, counts) = match self {
            Window::Calls { size, counts, .. } => (counts.calls == *size, *counts),
            Window::Time { parts, .. } => (false, sum(parts)),
        };
        // At a change of settings, the window may have reached the new ones: any outcome opens.
        (is_full || settings.counts_alone()) && !counts.trip(settings)
    }
}

fn sum(parts: &[Counts]) -> Counts {
    let mut sum = Counts::default();
    for part in parts {
        sum += *part;
    }
    sum
}

/// The place of a part.
pub(super) fn index(number: u64) -> usize {
    usize::try_from(number % PARTS as u64).unwrap_or(0)
}
