//! A latch: shut at first, opened once, and awaited by any number of tasks.

use alloc::sync::Arc;
use core::task::Waker;

use bulklink_core::{Gate, Instant, Limits, Request};

use crate::acquire::claim::Claim;
use crate::builder::{CapacityIs, Options};
use crate::gate::shared::Shared;
use crate::identity::Identity;
use crate::time::runtime::DynClock;
use crate::{Clock, Closed, OwnedSlot};

/// Made of a gate with one slot, so that waiting for it is the same future as waiting for a
/// bulkhead to close: the latch is open when the gate is closed and its slot is free. Clones share
/// the gate.
#[derive(Clone)]
pub(crate) struct Latch(Arc<Shared>);

/// The clock of what never asks for the time: a gate in which no call waits, a thread without a
/// deadline.
pub(crate) struct NoTime;

impl Clock for NoTime {
    type Instant = Instant;

    fn now(&self) -> Instant {
        Instant::EPOCH
    }

    fn instant(&self, at: Instant) -> Instant {
        at
    }
}

impl Latch {
    /// Makes a latch. The clock is for threads that wait with a limit until it opens.
    pub(crate) fn new(label: Arc<str>, clock: Arc<dyn DynClock>) -> Self {
        let gate = Gate::new(Limits::new(1)).expect("valid limits");
        let identity = Arc::new(Identity::new(label, gate.occupancy(), Options::default()));
        Latch(Shared::new(gate, identity, CapacityIs::Capacity, clock, None, None))
    }

    /// Takes the only bolt: a slot that keeps the latch shut until it is dropped, even if
    /// [`open`](Latch::open) is called before. Returns `None` if it is taken, or if the latch is
    /// open.
    pub(crate) fn bolt(&self) -> Option<OwnedSlot> {
        let bolt = |grant| OwnedSlot::new(Claim::new(Arc::clone(&self.0), Some(grant)));
        self.0.try_enter(&Request::new(), bolt).ok()
    }

    /// Opens the latch, or lets the drop of its bolt open it. Opening it again does nothing.
    pub(crate) fn open(&self) {
        self.0.input(|state| state.gate.close(Instant::EPOCH));
    }

    /// Wakes `waker` when the latch is open: immediately, if it is open now.
    pub(crate) fn when_open(&self, waker: Waker) {
        self.0.when_drained(waker);
    }

    /// Completes when the latch is open.
    pub(crate) fn opened(&self) -> Closed<'_> {
        self.0.closed()
    }
}
