//! Settings as whole numbers, with which a server computes. Times are in microseconds.
//!
//! | place | number |
//! | --- | --- |
//! | 1 | the calls of the window, or 0 for a window of time |
//! | 2 | a tenth of the window of time, or 0 for a window of calls |
//! | 3 to 5 | for failures: calls, percent, and how many calls are enough |
//! | 6 to 8 | the same for slow calls |
//! | 9 | from when on a call is slow, or 0. No server uses it, but it makes settings differ |
//! | 10, 11 | the cool-down, and the longest one |
//! | 12 to 14 | the probes at once, how many must succeed, and how many may not fail |
//! | 15 | the lease of a probe |
//!
//! A threshold is reached when all of its numbers are. One that is not set needs more calls than
//! there can be.

use std::time::Duration;

use bulklink_breaker::Settings;
use std::sync::Arc;

use bulklink_breaker::plumbing::{Span, Threshold};

use crate::StoreError;

/// More calls than a server counts.
const NEVER: u64 = 1 << 53;

/// Returns the text of settings.
///
/// # Errors
///
/// A [refusal](StoreError::is_refusal) with the code `SETTINGS` if one is impossible.
pub fn text(settings: &Settings) -> Result<String, StoreError> {
    settings.check().map_err(|invalid| StoreError::refused("SETTINGS").with_source(Arc::new(invalid)))?;
    Ok(all(settings).map(|number| number.to_string()).join(" "))
}

fn all(settings: &Settings) -> [u64; 15] {
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
    let ([f, fp, fe], [s, sp, se]) = (limits(parts.failures), limits(parts.slow));
    let cool_down = micros(parts.cool_down);
    let longest = parts.longest_cool_down.map_or(cool_down, micros);
    let [probes, close, reopen] = [parts.probes, parts.close_after, parts.reopen_after].map(u64::from);
    let (slow_after, lease) = (parts.slow_after.map_or(0, micros), micros(parts.probe_lease));
    [calls, part, f, fp, fe, s, sp, se, slow_after, cool_down, longest, probes, close, reopen, lease]
}

/// A duration in whole microseconds, of which a time that is set has at least one.
fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1000)).unwrap_or(u64::MAX)
}

/// Returns the settings of a text, with times as exact as it has them. `None` if it is none.
pub fn settings(text: &str) -> Option<Settings> {
    let numbers: Vec<u64> = text.split(' ').map(|number| number.parse().ok()).collect::<Option<_>>()?;
    let numbers: [u64; 15] = numbers.try_into().ok()?;
    let [calls, part, f, fp, fe, s, sp, se, slow_after, cool_down, longest, probes, close, reopen, lease] = numbers;
    let (small, time) = (|number: u64| u32::try_from(number).ok(), Duration::from_micros);
    let mut settings = match (calls, part) {
        (0, part) => Settings::over(time(part.checked_mul(10)?)),
        (calls, _) => Settings::of_last(small(calls)?),
    };
    let mut enough = None;
    if f != NEVER {
        settings = if f > 0 { settings.failures(small(f)?) } else { settings.failure_rate(small(fp)?) };
        enough = Some(fe);
    }
    if s != NEVER {
        let after = time(slow_after);
        settings = if s > 0 { settings.slow_calls(after, small(s)?) } else { settings.slow_rate(after, small(sp)?) };
        enough = enough.max(Some(se));
    }
    settings = settings.cool_down(time(cool_down)).probe_lease(time(lease));
    settings = settings.probes(small(probes)?).close_after(small(close)?).reopen_after(small(reopen)?);
    if longest > cool_down {
        settings = settings.longest_cool_down(time(longest));
    }
    // Each threshold has its own number of calls that are enough, unless the settings have one.
    if all(&settings) != numbers {
        settings = settings.min_calls(small(enough?)?);
    }
    (settings.check().is_ok() && all(&settings) == numbers).then_some(settings)
}
