//! The clock of the standard library.

use std::sync::OnceLock;
use std::time::Instant as Std;

use bulklink_core::Instant;

use crate::Clock;

/// The anchor in the gate's time. It is centuries away from either end, so instants before the
/// anchor can be represented too.
const ANCHOR: Instant = Instant::from_nanos(1 << 62);

/// Returns the anchor: one point in time for the whole process, so that all its bulkheads count
/// alike.
fn anchor() -> Std {
    static ANCHOR: OnceLock<Std> = OnceLock::new();
    *ANCHOR.get_or_init(Std::now)
}

/// The clock of the standard library: for bulkheads that only [threads](crate#threads) use, and for
/// adapters of runtimes without a clock of their own.
///
/// It has no timers, so it is no [`Runtime`](crate::Runtime): a task cannot await a slot of a
/// bulkhead on it. If threads and tasks share a bulkhead, build it on the tasks' runtime. An
/// adapter forwards its own [`Clock`] to this one, and adds the timers.
///
/// ```
/// use bulklink::runtime::Clock;
/// use bulklink::StdClock;
/// use std::time::{Duration, Instant};
///
/// let (begun, second) = (Instant::now(), Duration::from_secs(1));
/// let passed = StdClock.instant(begun + second).saturating_since(StdClock.instant(begun));
/// assert_eq!(passed, second);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StdClock;

impl Clock for StdClock {
    type Instant = Std;

    #[inline]
    fn now(&self) -> Instant {
        ANCHOR.saturating_add(anchor().elapsed())
    }

    fn instant(&self, at: Std) -> Instant {
        match at.checked_duration_since(anchor()) {
            Some(after) => ANCHOR.saturating_add(after),
            None => ANCHOR.saturating_sub(anchor().duration_since(at)),
        }
    }
}

impl StdClock {
    /// Converts an instant of the gate, such as [`Event::at`](crate::Event::at), to an instant of
    /// the standard library.
    ///
    /// Returns `None` if the standard library cannot represent it, and for [`Instant::FAR_FUTURE`],
    /// which stands for never.
    #[must_use]
    pub fn to_std(self, at: Instant) -> Option<Std> {
        if at == Instant::FAR_FUTURE {
            return None;
        }
        let (after, before) = (at.saturating_since(ANCHOR), ANCHOR.saturating_since(at));
        anchor().checked_add(after)?.checked_sub(before)
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn instants_go_there_and_back_on_both_sides_of_the_anchor() {
        for at in [Some(anchor()), Some(anchor() + MINUTE), anchor().checked_sub(MINUTE)].into_iter().flatten() {
            assert_eq!(StdClock.to_std(StdClock.instant(at)), Some(at));
        }
    }

    #[test]
    fn distances_stay_across_the_anchor() {
        let Some(before) = anchor().checked_sub(MINUTE) else { return };
        let distance = StdClock.instant(anchor() + MINUTE).saturating_since(StdClock.instant(before));
        assert_eq!(distance, 2 * MINUTE);
    }

    #[test]
    fn the_present_lies_between_two_looks_at_the_clock() {
        let first = StdClock.instant(Std::now());
        let present = StdClock.now();
        assert!(first <= present && present <= StdClock.instant(Std::now()));
    }

    #[test]
    fn far_future_has_no_std_instant_and_the_ends_of_time_do_not_overflow() {
        assert_eq!(StdClock.to_std(Instant::FAR_FUTURE), None);
        assert!(StdClock.to_std(Instant::EPOCH).is_none_or(|epoch| epoch < anchor()));
    }
}
