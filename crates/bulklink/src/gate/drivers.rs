//! The drivers of a bulkhead, as its gate's lock holds them: which runtime has one, and when it runs next.

use alloc::vec::Vec;
use core::num::NonZeroU64;
use core::sync::atomic::Ordering;
use core::task::Waker;

use bulklink_core::Instant;

use crate::foreign::contain;
use crate::gate::shared::{GateState, Shared};

/// The drivers of a bulkhead: one for each runtime on which calls wait with a limit.
#[derive(Default)]
pub(crate) struct Drivers {
    entries: Vec<Entry>,
    /// The last runtime that refused a driver. It is not asked again while other calls wait.
    refused: Option<NonZeroU64>,
}

/// One driver, as waiters see it.
pub(crate) struct Entry {
    home: NonZeroU64,
    /// The driver runs then, or before.
    armed: Instant,
    /// `None` while the driver has not been polled since it was woken.
    waker: Option<Waker>,
}

/// No driver lives on this runtime.
pub(crate) struct NoDriver;

impl Shared {
    /// Ends the drivers of a partition that has become idle: they run now, and go on only if another call waits there
    /// by then. The flag is a hint that spares nearly every call the lock.
    #[inline]
    pub(crate) fn dismiss_drivers(&self) {
        if self.has_drivers.load(Ordering::Relaxed) {
            self.dismiss_all();
        }
    }

    #[cold]
    fn dismiss_all(&self) {
        let wakers: Vec<_> = self.beside_the_word(|GateState { drivers, .. }| {
            drivers.entries.iter_mut().filter_map(|entry| entry.hurry(Instant::EPOCH)).collect()
        });
        for waker in wakers {
            wake(Some(waker));
        }
    }

    /// Under the lock, and seen by the last call that leaves a partition, as that takes the lock of all
    /// partitions after every call that has waited here.
    pub(crate) fn note_drivers(&self, drivers: &Drivers) {
        self.has_drivers.store(!drivers.entries.is_empty(), Ordering::Relaxed);
    }
}

pub(crate) fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        contain(|| waker.wake());
    }
}

impl Entry {
    /// Makes the driver run at `deadline` at the latest. Returns its waker, if it must be woken for that.
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

    /// When the driver on this runtime runs at the latest, if there is one.
    #[inline]
    pub(crate) fn armed(&mut self, home: NonZeroU64) -> Option<Instant> {
        self.of(home).map(|entry| entry.armed)
    }

    /// Whether the driver on this runtime runs in time.
    #[inline]
    pub(crate) fn covers(&mut self, home: NonZeroU64, deadline: Instant) -> bool {
        self.armed(home).is_some_and(|armed| armed <= deadline)
    }

    /// Makes the driver on this runtime run at `deadline` at the latest. Returns its waker, if it must be woken for
    /// that.
    pub(crate) fn hurry(&mut self, home: NonZeroU64, deadline: Instant) -> Result<Option<Waker>, NoDriver> {
        self.of(home).ok_or(NoDriver).map(|entry| entry.hurry(deadline))
    }

    /// Adds the driver of a runtime.
    ///
    /// # Errors
    ///
    /// If there is one: that is brought forward, and its waker returned.
    pub(crate) fn register(&mut self, home: NonZeroU64, armed: Instant) -> Result<(), Option<Waker>> {
        match self.hurry(home, armed) {
            Ok(waker) => Err(waker),
            Err(NoDriver) => {
                self.entries.push(Entry { home, armed, waker: None });
                Ok(())
            }
        }
    }

    /// Notes when a driver runs next, and how to wake it before. Returns the waker that this displaces.
    pub(crate) fn settle(&mut self, home: NonZeroU64, armed: Instant, waker: Waker) -> Option<Waker> {
        let entry = self.of(home)?;
        entry.armed = armed;
        entry.waker.replace(waker)
    }

    /// Whether this runtime refused a driver, last of all runtimes.
    pub(crate) fn has_refused(&self, home: NonZeroU64) -> bool {
        self.refused == Some(home)
    }

    /// Notes that a runtime refused a driver.
    pub(crate) fn refuse(&mut self, home: NonZeroU64) {
        self.refused = Some(home);
    }

    /// Lets the runtime that refused a driver be asked again.
    pub(crate) fn forget_refusal(&mut self) {
        self.refused = None;
    }

    pub(crate) fn remove(&mut self, home: NonZeroU64) -> Option<Entry> {
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
