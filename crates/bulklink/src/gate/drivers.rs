//! The entries of a bulkhead's drivers, under its lock: which runtime has a driver, and when it
//! runs next.

use alloc::vec::Vec;
use core::num::NonZeroU64;
use core::sync::atomic::Ordering;
use core::task::Waker;

use bulklink_core::Instant;

use crate::foreign::wake;
use crate::gate::patience::{finish, inside};
use crate::gate::shared::Shared;
use crate::gate::state::GateState;

/// The drivers of a bulkhead, one for each runtime on which calls wait with a limit.
#[derive(Default)]
pub(crate) struct Drivers {
    entries: Vec<Entry>,
    /// The last runtime that refused a driver. It is not asked again while other calls wait.
    refused: Option<NonZeroU64>,
}

/// The time of a driver's next run, and its waker.
pub(crate) struct Entry {
    home: NonZeroU64,
    /// The driver runs at this time or earlier.
    armed: Instant,
    /// `None` while the driver has not been polled since it was woken.
    waker: Option<Waker>,
}

impl Shared {
    /// Ends the drivers of a partition that has become idle. Each of them runs now, and continues
    /// only if another call waits in the partition by then. The flag is a hint: because of it,
    /// nearly every call can skip the lock.
    #[inline]
    pub(crate) fn dismiss_drivers(&self) {
        // Relaxed suffices: see `note_drivers`.
        if self.has_drivers.load(Ordering::Relaxed) {
            self.dismiss_all();
        }
    }

    #[cold]
    fn dismiss_all(&self) {
        let wakers: Vec<_> = self.beside_the_word(|GateState { drivers, .. }| {
            drivers.entries.iter_mut().filter_map(|entry| entry.hurry(Instant::EPOCH)).collect()
        });
        inside(|| wake(wakers));
        finish();
    }

    /// Updates the hint that [`dismiss_drivers`](Shared::dismiss_drivers) reads. Called under the
    /// lock. The last call that leaves a partition sees the current value: it takes the lock of the
    /// `Partitions`, which every call that waited here took before it when it left.
    pub(crate) fn note_drivers(&self, drivers: &Drivers) {
        self.has_drivers.store(!drivers.entries.is_empty(), Ordering::Relaxed);
    }
}

impl Entry {
    /// Makes the driver run at `deadline` at the latest. Returns its waker if it must be woken for
    /// that.
    pub(crate) fn hurry(&mut self, deadline: Instant) -> Option<Waker> {
        if self.armed <= deadline {
            return None;
        }
        self.armed = deadline;
        self.waker.take()
    }
}

impl Drivers {
    /// Returns the entry of this runtime's driver, if it has one.
    pub(crate) fn of(&mut self, home: NonZeroU64) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.home == home)
    }

    /// Returns the time of the next run of this runtime's driver, if it has one.
    #[inline]
    pub(crate) fn armed(&mut self, home: NonZeroU64) -> Option<Instant> {
        self.of(home).map(|entry| entry.armed)
    }

    /// Returns this runtime's driver, if it has one, and the time of its next run.
    #[inline]
    pub(crate) fn driver(&mut self, home: Option<NonZeroU64>) -> Option<(NonZeroU64, Instant)> {
        home.and_then(|home| Some((home, self.armed(home)?)))
    }

    /// Adds the driver of a runtime.
    ///
    /// # Errors
    ///
    /// If the runtime has a driver already. That driver is brought forward, and its waker returned.
    pub(crate) fn register(&mut self, home: NonZeroU64, armed: Instant) -> Result<(), Option<Waker>> {
        if let Some(entry) = self.of(home) {
            return Err(entry.hurry(armed));
        }
        self.entries.push(Entry { home, armed, waker: None });
        Ok(())
    }

    /// Notes the time of a driver's next run, and the waker to wake it earlier. Returns the waker
    /// that this displaces.
    pub(crate) fn settle(&mut self, home: NonZeroU64, armed: Instant, waker: Waker) -> Option<Waker> {
        let entry = self.of(home)?;
        entry.armed = armed;
        entry.waker.replace(waker)
    }

    /// Returns whether this is the last runtime that refused a driver.
    pub(crate) fn has_refused(&self, home: NonZeroU64) -> bool {
        self.refused == Some(home)
    }

    /// Notes that a runtime refused a driver.
    pub(crate) fn refuse(&mut self, home: NonZeroU64) {
        self.refused = Some(home);
    }

    /// Forgets which runtime refused a driver, so that it is asked again.
    pub(crate) fn forget_refusal(&mut self) {
        self.refused = None;
    }

    pub(crate) fn remove(&mut self, home: NonZeroU64) -> Option<Entry> {
        let position = self.entries.iter().position(|entry| entry.home == home)?;
        let removed = self.entries.swap_remove(position);
        if self.entries.is_empty() {
            // Frees the allocation: most bulkheads have no driver most of the time.
            self.entries = Vec::new();
        }
        Some(removed)
    }
}

impl Drop for Drivers {
    /// Wakes the drivers, so that they end now that the bulkhead is gone, and not at their next
    /// run.
    fn drop(&mut self) {
        inside(|| wake(self.entries.drain(..).filter_map(|entry| entry.waker)));
        finish();
    }
}
