//! A clock that tests move by hand.

#[cfg(feature = "std")]
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;

use bulklink_core::Instant;

use crate::gate::lock::Lock;
use crate::{Clock, Timer};

/// A clock and its timers, which a test moves by hand. Clones share the time.
#[derive(Clone)]
pub struct FakeClock(Arc<Lock<Time>>);

struct Time {
    now: Instant,
    sleeps: u64,
    /// The wakers of the timers that were polled, by deadline and then in the order of creation.
    sleepers: BTreeMap<(Instant, u64), Waker>,
}

impl FakeClock {
    /// Creates a clock whose time is centuries after its epoch and centuries before its end, as on
    /// the clock of a runtime. So a test fails where code takes the epoch or the end for a time.
    #[must_use]
    pub fn new() -> Self {
        FakeClock::at(Instant::from_nanos(1 << 63))
    }

    /// Creates a clock at the time `now`.
    #[must_use]
    pub fn at(now: Instant) -> Self {
        FakeClock(Arc::new(Lock::new(Time { now, sleeps: 0, sleepers: BTreeMap::new() })))
    }

    /// Sets the time, forward or back, and wakes the tasks of due timers, in order. Does not run
    /// them.
    pub fn set(&self, now: Instant) {
        self.0.with(|time| time.now = now);
        while let Some(waker) = self.0.with(Time::take_due) {
            waker.wake();
        }
    }

    /// Moves the time forward and wakes the tasks of due timers, in order. Does not run them: an
    /// executor runs them after all of the time has passed. To stop at each timer, use
    /// [`Executor::advance`](super::Executor::advance).
    pub fn advance(&self, by: Duration) {
        self.set(self.now() + by);
    }

    /// Returns when the next timer is due.
    #[must_use]
    pub fn next_timer(&self) -> Option<Instant> {
        self.0.with(|time| time.sleepers.first_key_value().map(|((due, _), _)| *due))
    }

    /// Creates a timer that completes `by` from now.
    pub fn sleep(&self, by: Duration) -> FakeSleep {
        self.sleep_until(self.now() + by)
    }
}

impl Time {
    fn take_due(&mut self) -> Option<Waker> {
        let sleeper = self.sleepers.first_entry().filter(|sleeper| sleeper.key().0 <= self.now)?;
        Some(sleeper.remove())
    }
}

impl Default for FakeClock {
    fn default() -> Self {
        FakeClock::new()
    }
}

impl fmt::Debug for FakeClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FakeClock").field(&self.now()).finish()
    }
}

impl Clock for FakeClock {
    type Instant = Instant;

    fn now(&self) -> Instant {
        self.0.with(|time| time.now)
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }

    #[cfg(feature = "std")]
    fn blocking_sleep_until(&self, deadline: Instant) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>> {
        Some(Box::pin(self.sleep_until(deadline)))
    }
}

impl Timer for FakeClock {
    type Sleep = FakeSleep;

    fn sleep_until(&self, deadline: Instant) -> FakeSleep {
        let number = self.0.with(|time| {
            time.sleeps += 1;
            time.sleeps
        });
        FakeSleep { clock: self.clone(), key: (deadline, number) }
    }
}

/// A timer of a [`FakeClock`].
#[must_use = "futures do nothing unless polled"]
pub struct FakeSleep {
    clock: FakeClock,
    key: (Instant, u64),
}

impl Future for FakeSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let waker = context.waker().clone();
        let (poll, _displaced) = self.clock.0.with(|time| {
            if self.key.0 <= time.now {
                return (Poll::Ready(()), Some(waker));
            }
            (Poll::Pending, time.sleepers.insert(self.key, waker))
        });
        poll
    }
}

impl fmt::Debug for FakeSleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeSleep").field("due", &self.key.0).finish_non_exhaustive()
    }
}

impl Drop for FakeSleep {
    fn drop(&mut self) {
        let _displaced = self.clock.0.with(|time| time.sleepers.remove(&self.key));
    }
}
