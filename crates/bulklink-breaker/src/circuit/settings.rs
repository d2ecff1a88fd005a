//! When a circuit opens, and how it closes again.

use core::time::Duration;

use bulklink::InvalidArgument;

/// The settings of a circuit.
///
/// They are checked when a circuit is made of them. The default is five failures in a row, and a
/// cool-down of 30 s, after which one probe that succeeds closes the circuit.
///
/// ```
/// use bulklink_breaker::Settings;
/// use std::time::Duration;
///
/// // Opens at the fifth failure among the last ten calls.
/// let by_count = Settings::of_last(10).failures(5);
///
/// // Opens when half of the calls of ten seconds have failed or a fifth took over a
/// // second, once there have been 20.
/// let by_time = Settings::over(Duration::from_secs(10))
///     .failure_rate(50)
///     .slow_rate(Duration::from_secs(1), 20)
///     .min_calls(20);
///
/// // Opens after five failures in a row, for half a minute; then two probes must succeed.
/// let in_a_row = Settings::consecutive(5)
///     .cool_down(Duration::from_secs(30))
///     .probes(1)
///     .close_after(2);
/// # by_count.check().and(by_time.check()).and(in_a_row.check()).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Settings {
    pub(super) window: Span,
    pub(super) failures: Option<Threshold>,
    pub(super) slow_after: Option<Duration>,
    pub(super) slow: Option<Threshold>,
    /// A number that has replaced a rate, or a rate that has replaced a number, and what it has
    /// replaced.
    replaced: Option<[&'static str; 2]>,
    pub(super) min_calls: Option<u32>,
    pub(super) cool_down: Duration,
    pub(super) longest_cool_down: Option<Duration>,
    pub(super) probes: u32,
    pub(super) close_after: u32,
    pub(super) reopen_after: u32,
    pub(super) probe_lease: Duration,
}

/// The calls that a closed circuit looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Span {
    /// The last ones.
    Calls(u32),
    /// Those that ended within this time.
    Time(Duration),
}

/// How many of these calls are too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Threshold {
    /// So many.
    Calls(u32),
    /// Such a part of all.
    Percent(u32),
}

/// All settings of a circuit, for a server that does its steps.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// The calls that count.
    pub window: Span,
    /// How many failures open the circuit, from how many calls on.
    pub failures: Option<(Threshold, u32)>,
    /// How many slow calls open the circuit, from how many calls on.
    pub slow: Option<(Threshold, u32)>,
    /// From which duration on a call is slow.
    pub slow_after: Option<Duration>,
    /// The first cool-down.
    pub cool_down: Duration,
    /// The longest cool-down.
    pub longest_cool_down: Option<Duration>,
    /// The probes at once.
    pub probes: u32,
    /// How many probes must succeed.
    pub close_after: u32,
    /// How many probes must fail.
    pub reopen_after: u32,
    /// The lease of a probe.
    pub probe_lease: Duration,
}

/// The largest number of calls in a window, and of probes that must succeed or fail.
const MOST_CALLS: u32 = 10_000;

/// The largest number of probes at once.
const MOST_PROBES: u32 = 100;

/// The number of calls that a rate over time needs, if none is given.
const ENOUGH_CALLS: u32 = 20;

/// The shortest window of time: a millisecond for each of its parts.
const SHORTEST_WINDOW: Duration = Duration::from_millis(10);

/// Far beyond any use, and far from the end of the clock.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

impl Settings {
    /// The circuit opens after this many failures in a row: the last `failures` calls all failed.
    #[must_use]
    pub const fn consecutive(failures: u32) -> Self {
        Settings::of_last(failures).failures(failures)
    }

    /// The circuit looks at the last `calls` calls, from 1 to 10,000. Set also the threshold that
    /// opens it.
    #[must_use]
    pub const fn of_last(calls: u32) -> Self {
        Settings::new(Span::Calls(calls))
    }

    /// The circuit looks at the calls that ended within this time, at least 10 ms. Set also the
    /// threshold that opens it.
    ///
    /// Time is counted in tenths of the window, so the calls of between nine tenths of it and the
    /// whole are looked at.
    #[must_use]
    pub const fn over(time: Duration) -> Self {
        Settings::new(Span::Time(time))
    }

    const fn new(window: Span) -> Self {
        Settings {
            window,
            failures: None,
            slow_after: None,
            slow: None,
            replaced: None,
            min_calls: None,
            cool_down: Duration::from_secs(30),
            longest_cool_down: None,
            probes: 1,
            close_after: 1,
            reopen_after: 1,
            probe_lease: Duration::from_secs(30),
        }
    }

    /// Opens when at least `calls` of the window have failed. The number is absolute: with
    /// `of_last(10).failures(5)`, five failures open the circuit also if there have been no other
    /// calls. It cannot be set together with [`failure_rate`](Settings::failure_rate).
    #[must_use]
    pub const fn failures(mut self, calls: u32) -> Self {
        if let Some(Threshold::Percent(_)) = self.failures {
            self.replaced = Some(["failures", "failure_rate"]);
        }
        self.failures = Some(Threshold::Calls(calls));
        self
    }

    /// Opens when at least this part of the window's calls has failed, in percent. It cannot be set
    /// together with [`failures`](Settings::failures).
    #[must_use]
    pub const fn failure_rate(mut self, percent: u32) -> Self {
        if let Some(Threshold::Calls(_)) = self.failures {
            self.replaced = Some(["failure_rate", "failures"]);
        }
        self.failures = Some(Threshold::Percent(percent));
        self
    }

    /// Opens when at least `calls` of the window took `after` or longer, whether or not they
    /// failed. It cannot be set together with [`slow_rate`](Settings::slow_rate).
    #[must_use]
    pub const fn slow_calls(mut self, after: Duration, calls: u32) -> Self {
        if let Some(Threshold::Percent(_)) = self.slow {
            self.replaced = Some(["slow_calls", "slow_rate"]);
        }
        self.slow_after = Some(after);
        self.slow = Some(Threshold::Calls(calls));
        self
    }

    /// Opens when at least this part of the window's calls, in percent, took `after` or longer,
    /// whether or not they failed. It cannot be set together with
    /// [`slow_calls`](Settings::slow_calls).
    #[must_use]
    pub const fn slow_rate(mut self, after: Duration, percent: u32) -> Self {
        if let Some(Threshold::Calls(_)) = self.slow {
            self.replaced = Some(["slow_rate", "slow_calls"]);
        }
        self.slow_after = Some(after);
        self.slow = Some(Threshold::Percent(percent));
        self
    }

    /// Opens only when the window has at least this many calls. If it is not set, a number of calls
    /// needs no others, and a rate needs a full window of calls, or 20 calls in a window of time.
    #[must_use]
    pub const fn min_calls(mut self, calls: u32) -> Self {
        self.min_calls = Some(calls);
        self
    }

    /// Sets how long the circuit stays open before it lets probes through: 30 s if it is not set.
    #[must_use]
    pub const fn cool_down(mut self, time: Duration) -> Self {
        self.cool_down = time;
        self
    }

    /// Doubles the cool-down each time that the probes fail, up to this. If it is not set, the
    /// cool-down is always the same.
    #[must_use]
    pub const fn longest_cool_down(mut self, time: Duration) -> Self {
        self.longest_cool_down = Some(time);
        self
    }

    /// Sets how many probes run at once while the circuit is half-open, from 1 to 100: 1 if it is
    /// not set.
    #[must_use]
    pub const fn probes(mut self, probes: u32) -> Self {
        self.probes = probes;
        self
    }

    /// The circuit closes when this many probes have succeeded: 1 if it is not set.
    #[must_use]
    pub const fn close_after(mut self, successes: u32) -> Self {
        self.close_after = successes;
        self
    }

    /// The circuit opens again when this many probes have failed or were slow: 1 if it is not set.
    #[must_use]
    pub const fn reopen_after(mut self, failures: u32) -> Self {
        self.reopen_after = failures;
        self
    }

    /// After this time, another probe may take the place of one that has not ended: 30 s if it is
    /// not set. It should be longer than a call can take.
    #[must_use]
    pub const fn probe_lease(mut self, time: Duration) -> Self {
        self.probe_lease = time;
        self
    }

    /// Returns from which duration on a call is slow, or `None` if durations do not matter.
    #[must_use]
    pub const fn slow_after(&self) -> Option<Duration> {
        self.slow_after
    }

    /// Returns all settings.
    #[doc(hidden)]
    #[must_use]
    pub fn parts(&self) -> Parts {
        let enough = |threshold| (threshold, self.enough(threshold));
        Parts {
            window: self.window,
            failures: self.failures.map(enough),
            slow: self.slow.map(enough),
            slow_after: self.slow_after,
            cool_down: self.cool_down,
            longest_cool_down: self.longest_cool_down,
            probes: self.probes,
            close_after: self.close_after,
            reopen_after: self.reopen_after,
            probe_lease: self.probe_lease,
        }
    }

    /// Returns how many calls a window of calls has, or `None` for one of time.
    #[must_use]
    pub const fn window_calls(&self) -> Option<u32> {
        match self.window {
            Span::Calls(calls) => Some(calls),
            Span::Time(_) => None,
        }
    }

    /// How many calls the window needs before this threshold is looked at.
    pub(super) fn enough(&self, threshold: Threshold) -> u32 {
        self.min_calls.unwrap_or(match (threshold, self.window) {
            (Threshold::Calls(_), _) => 1,
            (Threshold::Percent(_), Span::Calls(calls)) => calls,
            (Threshold::Percent(_), Span::Time(_)) => ENOUGH_CALLS,
        })
    }

    /// Whether the circuit opens by numbers of failed or slow calls alone, so that successes matter
    /// only where they push other calls out of the window.
    pub(super) fn counts_alone(&self) -> bool {
        let is_rate = |threshold| matches!(threshold, Some(Threshold::Percent(_)));
        self.min_calls.is_none() && !is_rate(self.failures) && !is_rate(self.slow)
    }

    /// The cool-down after the probes have failed `reopened` times.
    pub(super) fn cool_down_after(&self, reopened: u32) -> Duration {
        let Some(longest) = self.longest_cool_down else { return self.cool_down };
        // After 64, even a nanosecond is beyond every longest.
        (0..reopened.min(64)).fold(self.cool_down, |time, _| time.saturating_mul(2).min(longest))
    }

    /// Checks all settings.
    ///
    /// # Errors
    ///
    /// Names the first setting that is impossible, and its value.
    pub fn check(&self) -> Result<(), InvalidArgument> {
        if let Some([name, other]) = self.replaced {
            return Err(beside(name, other));
        }
        let most = match self.window {
            Span::Calls(calls) => {
                number("window", calls, 1..=MOST_CALLS)?;
                calls
            }
            Span::Time(time) => {
                duration("window", time, SHORTEST_WINDOW)?;
                u32::MAX
            }
        };
        if self.failures.is_none() && self.slow.is_none() {
            let requirement = "or slow_calls must be set, or the circuit would never open";
            return Err(InvalidArgument::new("failures", "neither", requirement));
        }
        threshold("failures", "failure_rate", self.failures, most)?;
        threshold("slow_calls", "slow_rate", self.slow, most)?;
        if let Some(after) = self.slow_after {
            duration("slow_after", after, Duration::from_nanos(1))?;
        }
        if let Some(calls) = self.min_calls {
            number("min_calls", calls, 1..=most)?;
        }
        duration("cool_down", self.cool_down, Duration::from_nanos(1))?;
        if let Some(longest) = self.longest_cool_down {
            duration("longest_cool_down", longest, self.cool_down)?;
        }
        number("probes", self.probes, 1..=MOST_PROBES)?;
        number("close_after", self.close_after, 1..=MOST_CALLS)?;
        number("reopen_after", self.reopen_after, 1..=MOST_CALLS)?;
        duration("probe_lease", self.probe_lease, Duration::from_nanos(1))
    }
}

impl Default for Settings {
    /// Five failures in a row.
    fn default() -> Self {
        Settings::consecutive(5)
    }
}

fn threshold(
    calls: &'static str,
    rate: &'static str,
    set: Option<Threshold>,
    most: u32,
) -> Result<(), InvalidArgument> {
    match set {
        Some(Threshold::Calls(value)) => number(calls, value, 1..=most),
        Some(Threshold::Percent(value)) => number(rate, value, 1..=100),
        None => Ok(()),
    }
}

pub(crate) fn number(
    name: &'static str,
    value: u32,
    range: core::ops::RangeInclusive<u32>,
) -> Result<(), InvalidArgument> {
    if range.contains(&value) {
        return Ok(());
    }
    let (least, most) = range.into_inner();
    Err(match most {
        u32::MAX => InvalidArgument::new(name, value, format_args!("must be at least {least}")),
        most => InvalidArgument::new(name, value, format_args!("must be from {least} to {most}")),
    })
}

/// Checks a duration, which must be at least `least`.
///
/// # Errors
///
/// Names the setting and its value.
pub fn duration(name: &'static str, value: Duration, least: Duration) -> Result<(), InvalidArgument> {
    if (least..=LONGEST).contains(&value) {
        return Ok(());
    }
    Err(InvalidArgument::new(name, format_args!("{value:?}"), format_args!("must be from {least:?} to 100 years")))
}

/// The error of two settings of which only one can count.
pub(crate) fn beside(name: &'static str, other: &'static str) -> InvalidArgument {
    InvalidArgument::new(name, "both", format_args!("must not be set beside {other}"))
}
