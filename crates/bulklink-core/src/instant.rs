//! A point in time, counted by the caller.

use core::ops::Add;
use core::time::Duration;

/// A point in time: nanoseconds since an epoch that the caller chooses.
///
/// All arithmetic saturates. 2⁶⁴ ns are 584 years, so only sentinel values such as `Duration::MAX`
/// reach the end, which has the intended meaning: [`FAR_FUTURE`](Instant::FAR_FUTURE), never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The earliest instant. An input at this time stands for one at an unknown time: by it, no
    /// wait expires, and no [use](crate::Calls::note_use) is counted from it on.
    pub const EPOCH: Instant = Instant(0);

    /// The latest instant. As a deadline it means none.
    pub const FAR_FUTURE: Instant = Instant(u64::MAX);

    /// Returns the instant `nanos` nanoseconds after the epoch.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Instant(nanos)
    }

    /// Returns the nanoseconds since the epoch.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the time from `earlier` to this instant, or zero if `earlier` is later.
    #[must_use]
    pub const fn saturating_since(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.nanos_since(earlier))
    }

    pub(crate) const fn nanos_since(self, earlier: Instant) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns this instant moved forward by `by`, at most to [`FAR_FUTURE`](Instant::FAR_FUTURE).
    #[must_use]
    pub fn saturating_add(self, by: Duration) -> Self {
        Instant(self.0.saturating_add(nanos(by)))
    }

    pub(crate) const fn saturating_add_nanos(self, nanos: u64) -> Self {
        Instant(self.0.saturating_add(nanos))
    }

    /// Returns this instant moved back by `by`, at most to [`EPOCH`](Instant::EPOCH).
    #[must_use]
    pub fn saturating_sub(self, by: Duration) -> Self {
        Instant(self.0.saturating_sub(nanos(by)))
    }
}

/// Saturates, as [`saturating_add`](Instant::saturating_add) does.
impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, by: Duration) -> Instant {
        self.saturating_add(by)
    }
}

/// Returns the nanoseconds of a duration, at most `u64::MAX`.
#[inline]
pub(crate) const fn nanos(duration: Duration) -> u64 {
    let whole = duration.as_secs().saturating_mul(1_000_000_000);
    whole.saturating_add(duration.subsec_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        let some = Instant::from_nanos(5);
        assert_eq!(some + Duration::MAX, Instant::FAR_FUTURE);
        assert_eq!(some.saturating_sub(Duration::MAX), Instant::EPOCH);
        assert_eq!(Instant::EPOCH.saturating_since(some), Duration::ZERO);
        assert_eq!((some + Duration::from_nanos(7)).saturating_since(some), Duration::from_nanos(7));
    }
}
