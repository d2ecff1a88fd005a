//! The driver: a background task with one timer that expires all calls which wait with a limit on a
//! runtime.
//!
//! Each runtime has its own driver, because a runtime that exists but is not being run must not
//! delay calls on another. The gate notes for each waiter which runtime's driver it relies on. If a
//! driver ends early, only the waiters that rely on it are woken.

use alloc::sync::Weak;
use core::fmt;
use core::future::Future;
use core::num::NonZeroU64;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use bulklink_core::{Instant, Ticket};

use crate::foreign::wake;
use crate::gate::drivers::{Drivers, Entry};
use crate::gate::shared::Shared;
use crate::gate::state::GateState;
use crate::time::timer::LazySleep;
use crate::{DriverHome, Runtime, Timer};

/// A background task that expires the calls which wait at a bulkhead on one runtime, and takes back
/// slots that are not [collected](crate::Builder::collect_limit).
///
/// It ends when its timer fires and there is nothing left for it to do, when its partition becomes
/// idle, and when the bulkhead is gone.
#[must_use = "futures do nothing unless polled"]
pub struct Driver<R: Timer> {
    shared: Weak<Shared>,
    runtime: R,
    home: NonZeroU64,
    /// The time for which the timer is set.
    armed: Instant,
    sleep: LazySleep<R::Sleep>,
    /// Whether the bulkhead has an entry for this driver. If so, waiters may rely on it, and must
    /// be woken when it ends.
    registered: bool,
}

impl Shared {
    /// Makes the driver of this runtime run at `deadline` at the latest, and spawns one if there is
    /// none. Returns whether there is a driver; if so, the ticket relies on it from now on.
    ///
    /// # Panics
    ///
    /// If the runtime cannot make a timer. No ticket relies on the driver then.
    pub(crate) fn drive<R: Runtime>(
        &self,
        runtime: &R,
        home: &DriverHome<R>,
        deadline: Instant,
        ticket: &Ticket,
    ) -> bool {
        let found = self.beside_the_word(|GateState { gate, drivers, .. }| {
            if let Some(entry) = drivers.of(home.id) {
                gate.rely(ticket, Some(home.id));
                return Ok(entry.hurry(deadline));
            }
            // No other call waits, so this is a new busy period: ask the runtime again.
            if gate.occupancy().waiting() <= 1 {
                drivers.forget_refusal();
            }
            let was_refused = drivers.has_refused(home.id);
            if was_refused {
                gate.rely(ticket, None);
            }
            Err(was_refused)
        });
        match found {
            Ok(waker) => wake(waker),
            Err(was_refused) => return !was_refused && self.spawn_driver(runtime, home, deadline, ticket),
        }
        true
    }

    fn spawn_driver<R: Runtime>(&self, runtime: &R, home: &DriverHome<R>, deadline: Instant, ticket: &Ticket) -> bool {
        let mut driver = self.driver(runtime, home.id, deadline);
        // Another thread may have registered a driver meanwhile: then that is brought forward, and
        // ours dropped.
        let waker = self.beside_the_word(|state| {
            let registered = state.drivers.register(home.id, deadline);
            driver.registered = registered.is_ok();
            self.note_drivers(&state.drivers);
            registered.err().flatten()
        });
        wake(waker);
        if driver.registered {
            (home.spawn)(runtime, driver);
        }
        // The entry is checked again: a driver that the runtime refused has been dropped, and its
        // entry with it.
        self.beside_the_word(|GateState { gate, drivers, .. }| {
            let is_driven = drivers.armed(home.id).is_some();
            gate.rely(ticket, Some(home.id).filter(|_| is_driven));
            if !is_driven {
                drivers.refuse(home.id);
            }
            is_driven
        })
    }

    /// Makes a driver with its timer set, not registered yet.
    fn driver<R: Runtime>(&self, runtime: &R, home: NonZeroU64, armed: Instant) -> Driver<R> {
        let mut sleep = LazySleep::new(());
        sleep.set(armed, runtime);
        Driver { shared: self.this.clone(), runtime: runtime.clone(), home, armed, sleep, registered: false }
    }
}

impl<R: Timer> Driver<R> {
    /// Expires the waiters that are past their deadline, and returns the time of the next run, or
    /// `None` if the driver ends. The time and the driver's entry are settled in one step under the
    /// lock: a call with an earlier deadline is either seen here or wakes the driver.
    fn round(&mut self, shared: &Shared, waker: Waker) -> Option<Instant> {
        let now = shared.now();
        let (due, displaced) = shared.input(|state| {
            expire(state, now);
            // A timer that has not fired is kept even if no call waits any more, so that a queue
            // which empties and fills again does not spawn a driver each time. A dismissed driver
            // does not keep it: a dismissal sets the entry to a time in the past.
            let is_wanted = state.drivers.armed(self.home).is_some_and(|armed| armed > now);
            let running = Some(self.armed).filter(|&armed| armed > now && is_wanted);
            let due = running.into_iter().chain(state.next_deadline()).min();
            let displaced = self.settle(&mut state.drivers, due, waker);
            shared.note_drivers(&state.drivers);
            (due, displaced)
        });
        // Foreign wakers, dropped outside the lock.
        drop(displaced);
        due
    }

    /// Updates the driver's entry, or removes it if the driver ends. The caller must drop the entry
    /// that this returns outside the lock.
    fn settle(&mut self, drivers: &mut Drivers, due: Option<Instant>, waker: Waker) -> (Option<Waker>, Option<Entry>) {
        let Some(armed) = due else {
            self.registered = false;
            return (Some(waker), drivers.remove(self.home));
        };
        (drivers.settle(self.home, armed, waker), None)
    }

    /// Polls the timer, and makes a new one if the deadline has changed. The clock decides which
    /// calls have expired, not the timer.
    fn arm(&mut self, due: Instant, context: &mut Context<'_>) {
        if due != self.armed {
            self.armed = due;
            self.sleep.reset();
        }
        self.sleep.arm(due, &self.runtime, context);
    }
}

/// Advances the gate if a waiter is past its deadline. If slots that are not collected are taken
/// back, it always does: the time of the next look follows from this one.
fn expire(state: &mut GateState, now: Instant) {
    if state.takes_back() || state.next_deadline().is_some_and(|deadline| deadline <= now) {
        state.advance(Some(now));
    }
}

/// Only the timer is pinned, and it is boxed.
impl<R: Timer> Unpin for Driver<R> {}

impl<R: Timer> Future for Driver<R> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(shared) = self.shared.upgrade().filter(|_| self.registered) else { return Poll::Ready(()) };
        let Some(due) = self.round(&shared, context.waker().clone()) else { return Poll::Ready(()) };
        self.arm(due, context);
        Poll::Pending
    }
}

impl<R: Timer> Drop for Driver<R> {
    /// Wakes the calls that rely on this driver, because its runtime shuts down or has refused it.
    /// When they are polled, they look for another driver.
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade().filter(|_| self.registered) {
            let displaced = shared.input(|state| {
                state.gate.rouse(self.home);
                let removed = state.drivers.remove(self.home);
                shared.note_drivers(&state.drivers);
                removed
            });
            drop(displaced);
        }
    }
}

impl<R: Timer> fmt::Debug for Driver<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("home", &self.home).field("armed", &self.armed).finish_non_exhaustive()
    }
}
