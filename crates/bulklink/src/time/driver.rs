//! One timer for all calls that wait with a limit on a runtime: a task in its background expires them.
//!
//! A runtime that still exists and is not being run must delay no call on another, so each has a driver of
//! its own. The gate notes with each waiter which runtime it relies on: when a driver ends before its time,
//! its own waiters are woken, and no others.

use alloc::sync::Weak;
use core::fmt;
use core::future::Future;
use core::num::NonZeroU64;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use bulklink_core::{Instant, Ticket};

use crate::gate::drivers::{Drivers, Entry, NoDriver, wake};
use crate::gate::shared::{GateState, Shared};
use crate::time::timer::LazySleep;
use crate::{Runtime, Timer};

/// A runtime that can run a [`Driver`], as [`Timer::home`] names it.
pub struct DriverHome<R: Timer> {
    id: NonZeroU64,
    spawn: fn(&R, Driver<R>),
}

impl<R: Timer> DriverHome<R> {
    /// A runtime with the number `id`, which no other has that lives at the same time, and a function that
    /// runs a driver there, detached. A driver that is refused is to be dropped.
    pub fn new(id: NonZeroU64, spawn: fn(&R, Driver<R>)) -> Self {
        DriverHome { id, spawn }
    }

    pub(crate) fn id(&self) -> NonZeroU64 {
        self.id
    }
}

impl<R: Timer> fmt::Debug for DriverHome<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DriverHome").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Expires the calls that wait at a bulkhead on one runtime. It ends when its timer has come and no call
/// waits with a limit, when its partition becomes idle, and when the bulkhead is gone.
#[must_use = "futures do nothing unless polled"]
pub struct Driver<R: Timer> {
    shared: Weak<Shared>,
    runtime: R,
    home: NonZeroU64,
    /// What its timer is set to.
    armed: Instant,
    sleep: LazySleep<R::Sleep>,
    /// Whether waiters may rely on it, so that they must hear of its end.
    registered: bool,
}

impl Shared {
    /// Has a driver on this runtime come by at `deadline` at the latest, for a ticket that relies on it from
    /// then on. Returns whether there is one.
    ///
    /// # Panics
    ///
    /// If the runtime has no timer to give. No ticket relies on the driver by then.
    pub(crate) fn drive<R: Runtime>(
        &self,
        runtime: &R,
        home: &DriverHome<R>,
        deadline: Instant,
        ticket: &Ticket,
    ) -> bool {
        let found = self.beside_the_word(|GateState { gate, drivers, .. }| match drivers.hurry(home.id, deadline) {
            Ok(waker) => {
                gate.rely(ticket, Some(home.id));
                Ok(waker)
            }
            Err(NoDriver) => {
                if gate.occupancy().waiting() <= 1 {
                    drivers.forget_refusal();
                }
                let was_refused = drivers.has_refused(home.id);
                if was_refused {
                    gate.rely(ticket, None);
                }
                Err(was_refused)
            }
        });
        match found {
            Ok(waker) => wake(waker),
            Err(was_refused) => return !was_refused && self.spawn_driver(runtime, home, deadline, ticket),
        }
        true
    }

    fn spawn_driver<R: Runtime>(&self, runtime: &R, home: &DriverHome<R>, deadline: Instant, ticket: &Ticket) -> bool {
        let mut driver = self.driver(runtime, home.id, deadline);
        // Another thread may have made one meanwhile: then that is brought forward.
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
        // The ticket relies on a driver that was taken: one that was refused is gone by now.
        self.beside_the_word(|GateState { gate, drivers, .. }| {
            let is_driven = drivers.armed(home.id).is_some();
            gate.rely(ticket, Some(home.id).filter(|_| is_driven));
            if !is_driven {
                drivers.refuse(home.id);
            }
            is_driven
        })
    }

    fn driver<R: Runtime>(&self, runtime: &R, home: NonZeroU64, armed: Instant) -> Driver<R> {
        let mut sleep = LazySleep::new();
        sleep.set(armed, runtime);
        Driver { shared: self.this.clone(), runtime: runtime.clone(), home, armed, sleep, registered: false }
    }
}

impl<R: Timer> Driver<R> {
    /// Expires the late, and settles when to come by again. That and what the entry says of it are one step
    /// under the lock: a call with a nearer deadline either is seen here, or wakes the driver.
    fn round(&mut self, shared: &Shared, waker: Waker) -> Option<Instant> {
        let now = shared.now();
        let (due, displaced) = shared.input(|state| {
            expire(state, now);
            // A timer that runs is kept, even if no call waits any more, so that a queue that flickers costs
            // one driver; unless the driver was dismissed, which brings its entry forward to the past.
            let is_wanted = state.drivers.armed(self.home).is_some_and(|armed| armed > now);
            let running = Some(self.armed).filter(|&armed| armed > now && is_wanted);
            let due = running.into_iter().chain(state.gate.next_deadline()).min();
            let displaced = self.settle(&mut state.drivers, due, waker);
            shared.note_drivers(&state.drivers);
            (due, displaced)
        });
        drop(displaced);
        due
    }

    /// Returns what is to be dropped outside the lock.
    fn settle(&mut self, drivers: &mut Drivers, due: Option<Instant>, waker: Waker) -> (Option<Waker>, Option<Entry>) {
        let Some(armed) = due else {
            self.registered = false;
            return (Some(waker), drivers.remove(self.home));
        };
        (drivers.settle(self.home, armed, waker), None)
    }

    /// Sets the timer, anew if it is to ring at another time. The clock decides who is late, not the timer.
    fn arm(&mut self, due: Instant, context: &mut Context<'_>) {
        if due != self.armed {
            self.armed = due;
            self.sleep.reset();
        }
        self.sleep.arm(due, &self.runtime, context);
    }
}

fn expire(state: &mut GateState, now: Instant) {
    if state.gate.next_deadline().is_some_and(|deadline| deadline <= now) {
        state.gate.advance(Some(now));
    }
}

/// Nothing in it is pinned but what is behind a box.
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
    /// Its runtime ends, or refused it. A call that relies on it looks for another when it is polled.
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
