//! The clock of the standard library, for bulkheads that only threads enter.

/// What a [`blocking::Bulkhead`](super::Bulkhead) runs on that has no async runtime: the clock of the standard library.
///
/// It has no timers to give, so it is no [`Runtime`](crate::Runtime), and nobody can await a slot of such a bulkhead. Where
/// threads and tasks are to share one, make it on the tasks' runtime and let the threads in by
/// [`blocking`](crate::Bulkhead::blocking).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Threads;

#[cfg(feature = "std")]
mod clock {
    use std::sync::OnceLock;
    use std::time::Instant as Std;

    use bulklink_core::Instant;

    use super::Threads;
    use crate::Clock;

    /// Where the anchor lies in the gate's time: centuries from either end, so that instants before it have room.
    const ANCHOR: Instant = Instant::from_nanos(1 << 62);

    /// One point in time for the whole process, so that all of its bulkheads have one time.
    fn anchor() -> Std {
        static ANCHOR: OnceLock<Std> = OnceLock::new();
        *ANCHOR.get_or_init(Std::now)
    }

    impl Clock for Threads {
        type Instant = Std;

        fn now(&self) -> Instant {
            self.instant(Std::now())
        }

        fn instant(&self, at: Std) -> Instant {
            match at.checked_duration_since(anchor()) {
                Some(after) => ANCHOR.saturating_add(after),
                None => ANCHOR.saturating_sub(anchor().duration_since(at)),
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use core::time::Duration;

        use super::*;

        #[test]
        fn instants_on_both_sides_of_the_anchor_keep_their_distance() {
            let (hour, here) = (Duration::from_secs(3600), Threads.instant(anchor()));
            assert_eq!(Threads.instant(anchor() + hour).saturating_since(here), hour);
            if let Some(before) = anchor().checked_sub(hour) {
                assert_eq!(here.saturating_since(Threads.instant(before)), hour);
            }
        }
    }
}
