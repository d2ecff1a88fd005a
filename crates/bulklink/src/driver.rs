//! One timer for all who wait on a runtime: a task in its background that expires them.
//!
//! A runtime that still exists and is not being driven must stall nobody on another, so each has a driver of its own.

use alloc::sync::Weak;
use alloc::vec::Vec;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use bulklink_core::Instant;

use crate::alarm::Alarm;
use crate::foreign::contain;
use crate::shared::{Due, Shared, State};
use crate::{Runtime, Timer};

/// A runtime that can run a [`Driver`], as [`Timer::home`] names it.
pub struct Home<R: Timer> {
    id: u64,
    spawn: fn(&R, Driver<R>),
}

impl<R: Timer> Home<R> {
    /// A home that is told from others that live by `id`, and a function that runs a driver there, detached. One that is
    /// refused is to be dropped.
    pub fn new(id: u64, spawn: fn(&R, Driver<R>)) -> Self {
        Home { id, spawn }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }
}

impl<R: Timer> fmt::Debug for Home<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Home").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Expires those who wait at a bulkhead on one runtime. It ends when its timer has come and nobody waits with a deadline, and
/// when the bulkhead is gone.
#[must_use = "futures do nothing unless polled"]
pub struct Driver<R: Timer> {
    shared: Weak<Shared>,
    runtime: R,
    home: u64,
    /// When it is to come by next: what its timer is set to, and no later than what is told to others.
    armed: Instant,
    alarm: Alarm<R::Sleep>,
    /// Whether others count on it, so that they must hear of its end.
    registered: bool,
}

/// The drivers of a bulkhead, one for each runtime that has waiters with deadlines.
#[derive(Default)]
pub(crate) struct Drivers(Vec<Entry>);

struct Entry {
    home: u64,
    /// It comes by then, or before.
    armed: Instant,
    /// Gone while it has not been polled since somebody woke it.
    waker: Option<Waker>,
}

/// No driver lives on this runtime.
struct Missing;

/// Another thread has made a driver for this runtime meanwhile, which is to be woken.
struct Faster {
    waker: Option<Waker>,
}

impl Shared {
    /// Sees to it that a driver on this runtime comes by at `deadline` at the latest. Returns the runtime if one does.
    ///
    /// # Panics
    ///
    /// If the runtime has no timer to give. Nothing has been promised to anyone by then.
    pub(crate) fn drive<R: Runtime>(&self, runtime: &R, home: Home<R>, deadline: Instant) -> Option<u64> {
        let is_driven = match self.look(|state| state.drivers.hurry(home.id, deadline)) {
            Ok(waker) => wake(waker),
            Err(Missing) => self.spawn_driver(runtime, &home, deadline),
        };
        is_driven.then_some(home.id)
    }

    fn spawn_driver<R: Runtime>(&self, runtime: &R, home: &Home<R>, deadline: Instant) -> bool {
        let mut driver = self.driver(runtime, home.id, deadline);
        if let Err(faster) = self.look(|state| state.drivers.register(&mut driver)) {
            return wake(faster.waker);
        }
        (home.spawn)(runtime, driver);
        self.look(|state| state.drivers.of(home.id).is_some())
    }

    fn driver<R: Runtime>(&self, runtime: &R, home: u64, armed: Instant) -> Driver<R> {
        let mut alarm = Alarm::unset();
        alarm.set(armed, runtime);
        Driver { shared: self.this.clone(), runtime: runtime.clone(), home, armed, alarm, registered: false }
    }
}

fn wake(waker: Option<Waker>) -> bool {
    waker.is_none_or(|waker| contain(|| waker.wake()))
}

impl Drivers {
    fn of(&mut self, home: u64) -> Option<&mut Entry> {
        self.0.iter_mut().find(|entry| entry.home == home)
    }

    /// Who sees to the end of a wait on this runtime: its driver, if that comes by in time.
    #[inline]
    pub(crate) fn due(&mut self, home: Option<u64>, deadline: Option<Instant>) -> Due {
        let Some(deadline) = deadline else { return Due::Never };
        let in_time = home.filter(|&home| self.of(home).is_some_and(|entry| entry.armed <= deadline));
        in_time.map_or(Due::At(deadline), Due::Driven)
    }

    /// Whoever finds the driver of its runtime too late for itself brings it forward, and wakes it.
    fn hurry(&mut self, home: u64, deadline: Instant) -> Result<Option<Waker>, Missing> {
        let entry = self.of(home).ok_or(Missing)?;
        if entry.armed <= deadline {
            return Ok(None);
        }
        entry.armed = deadline;
        Ok(entry.waker.take())
    }

    /// Makes it the driver of its runtime, unless there is one: then that is brought forward.
    fn register<R: Timer>(&mut self, driver: &mut Driver<R>) -> Result<(), Faster> {
        if let Ok(waker) = self.hurry(driver.home, driver.armed) {
            return Err(Faster { waker });
        }
        self.0.push(Entry { home: driver.home, armed: driver.armed, waker: None });
        driver.registered = true;
        Ok(())
    }

    fn remove(&mut self, home: u64) -> Option<Entry> {
        let position = self.0.iter().position(|entry| entry.home == home)?;
        Some(self.0.swap_remove(position))
    }
}

impl Drop for Drivers {
    /// The bulkhead is gone. Its drivers are to see that now, and not when their time comes.
    fn drop(&mut self) {
        for waker in self.0.drain(..).filter_map(|entry| entry.waker) {
            wake(Some(waker));
        }
    }
}

impl<R: Timer> Driver<R> {
    /// Expires the late, and settles when to come by again. That and what it tells others are one step under the lock, so
    /// whoever comes with a nearer deadline is either seen here or wakes it.
    fn round(&mut self, shared: &Shared, waker: Waker) -> Option<Instant> {
        let now = shared.now();
        let (due, _displaced) = shared.input(|state| {
            expire(state, now);
            // A timer that runs is kept, even if nobody waits any more: a queue that flickers costs one driver, not many.
            let running = Some(self.armed).filter(|&armed| armed > now);
            let due = running.into_iter().chain(state.gate.next_deadline()).min();
            (due, self.tell(&mut state.drivers, due, waker))
        });
        due
    }

    /// Returns what is to be dropped outside the lock.
    fn tell(&mut self, drivers: &mut Drivers, due: Option<Instant>, waker: Waker) -> (Option<Waker>, Option<Entry>) {
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
        state.gate.advance(now);
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
    /// Its runtime ends, or refused it. Whoever counts on it and is polled elsewhere looks for another now.
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade().filter(|_| self.registered) {
            let _displaced = shared.input(|state| {
                state.gate.rouse();
                state.drivers.remove(self.home)
            });
        }
    }
}

impl<R: Timer> fmt::Debug for Driver<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("home", &self.home).field("armed", &self.armed).finish_non_exhaustive()
    }
}
