//! One timer for all calls that wait with a limit on a runtime: a task in its background expires them.
//!
//! A runtime that still exists and is not being run must delay no call on another, so each has a driver of
//! its own. The gate notes with each waiter which runtime it relies on: when a driver ends before its time,
//! its own waiters are woken, and no others.

use alloc::sync::Weak;
use alloc::vec::Vec;
use core::fmt;
use core::future::Future;
use core::num::NonZeroU64;
use core::pin::Pin;
use core::sync::atomic::Ordering;
use core::task::{Context, Poll, Waker};

use bulklink_core::{Instant, Ticket};

use crate::foreign::contain;
use crate::gate::shared::{Shared, State};
use crate::time::timer::Alarm;
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
    alarm: Alarm<R::Sleep>,
    /// Whether waiters may rely on it, so that they must hear of its end.
    registered: bool,
}

/// The drivers of a bulkhead: one for each runtime on which calls wait with a limit.
#[derive(Default)]
pub(crate) struct Drivers {
    entries: Vec<Entry>,
    /// The last runtime that refused a driver. It is not asked again while other calls wait.
    refused: Option<NonZeroU64>,
}

struct Entry {
    home: NonZeroU64,
    /// The driver comes by then, or before.
    armed: Instant,
    /// `None` while the driver has not been polled since it was woken.
    waker: Option<Waker>,
}

/// No driver lives on this runtime.
struct Missing;

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
        let found = self.beside_the_word(|state| {
            let found = state.drivers.hurry(home.id, deadline);
            if found.is_ok() {
                state.gate.rely(ticket, Some(home.id));
            } else if state.gate.occupancy().waiting() <= 1 {
                state.drivers.refused = None;
            }
            found.map_err(|Missing| {
                let was_refused = state.drivers.refused == Some(home.id);
                if was_refused {
                    state.gate.rely(ticket, None);
                }
                was_refused
            })
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
            let waker = state.drivers.register(&mut driver);
            self.note_drivers(&state.drivers);
            waker
        });
        wake(waker);
        if driver.registered {
            (home.spawn)(runtime, driver);
        }
        // The ticket relies on a driver that was taken: one that was refused is gone by now.
        self.beside_the_word(|State { gate, drivers, .. }| {
            let is_driven = drivers.of(home.id).is_some();
            gate.rely(ticket, Some(home.id).filter(|_| is_driven));
            if !is_driven {
                drivers.refused = Some(home.id);
            }
            is_driven
        })
    }

    fn driver<R: Runtime>(&self, runtime: &R, home: NonZeroU64, armed: Instant) -> Driver<R> {
        let mut alarm = Alarm::unset();
        alarm.set(armed, runtime);
        Driver { shared: self.this.clone(), runtime: runtime.clone(), home, armed, alarm, registered: false }
    }

    /// Ends the drivers of a partition that has become idle: they come by now, and go on only if another call
    /// waits there by then. A hint that there is none spares nearly every call the lock.
    #[inline]
    pub(crate) fn dismiss_drivers(&self) {
        if self.has_drivers.load(Ordering::Relaxed) {
            self.dismiss_all();
        }
    }

    #[cold]
    fn dismiss_all(&self) {
        let wakers: Vec<_> = self.beside_the_word(|State { drivers, .. }| {
            drivers.entries.iter_mut().filter_map(|entry| entry.hurry(Instant::EPOCH)).collect()
        });
        for waker in wakers {
            wake(Some(waker));
        }
    }

    /// Under the lock, and seen by the last call that leaves a partition, as that takes the lock of all
    /// partitions after every call that has waited here.
    fn note_drivers(&self, drivers: &Drivers) {
        self.has_drivers.store(!drivers.entries.is_empty(), Ordering::Relaxed);
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        contain(|| waker.wake());
    }
}

impl Entry {
    /// Has the driver come by at `deadline` at the latest. Returns its waker, if it has to be woken for that.
    fn hurry(&mut self, deadline: Instant) -> Option<Waker> {
        if self.armed <= deadline {
            return None;
        }
        self.armed = deadline;
        self.waker.take()
    }
}

impl Drivers {
    fn of(&mut self, home: NonZeroU64) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.home == home)
    }

    /// Whether the driver on this runtime comes by in time.
    #[inline]
    pub(crate) fn covers(&mut self, home: NonZeroU64, deadline: Instant) -> bool {
        self.of(home).is_some_and(|entry| entry.armed <= deadline)
    }

    fn hurry(&mut self, home: NonZeroU64, deadline: Instant) -> Result<Option<Waker>, Missing> {
        self.of(home).ok_or(Missing).map(|entry| entry.hurry(deadline))
    }

    /// Makes it the driver of its runtime, unless there is one: then that is brought forward, and its waker
    /// returned.
    fn register<R: Timer>(&mut self, driver: &mut Driver<R>) -> Option<Waker> {
        self.hurry(driver.home, driver.armed).unwrap_or_else(|Missing| {
            self.entries.push(Entry { home: driver.home, armed: driver.armed, waker: None });
            driver.registered = true;
            None
        })
    }

    fn remove(&mut self, home: NonZeroU64) -> Option<Entry> {
        let position = self.entries.iter().position(|entry| entry.home == home)?;
        let removed = self.entries.swap_remove(position);
        if self.entries.is_empty() {
            // Most bulkheads have no driver most of the time.
            self.entries = Vec::new();
        }
        Some(removed)
    }
}

impl Drop for Drivers {
    /// The bulkhead is gone. Its drivers are to end now, and not when their time comes.
    fn drop(&mut self) {
        for waker in self.entries.drain(..).filter_map(|entry| entry.waker) {
            wake(Some(waker));
        }
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
            let is_wanted = state.drivers.of(self.home).is_some_and(|entry| entry.armed > now);
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
        let displaced = drivers.of(self.home).and_then(|entry| {
            entry.armed = armed;
            entry.waker.replace(waker)
        });
        (displaced, None)
    }

    /// Sets the timer, anew if it is to ring at another time. The clock decides who is late, not the timer.
    fn arm(&mut self, due: Instant, context: &mut Context<'_>) {
        if due != self.armed {
            self.armed = due;
            self.alarm.unset_again();
        }
        self.alarm.arm(due, &self.runtime, context);
    }
}

fn expire(state: &mut State, now: Instant) {
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
