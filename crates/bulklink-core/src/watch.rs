//! Those who wait for "closed and drained".

use alloc::collections::BTreeMap;
use core::mem;

/// A place among those who are told when the gate has closed and drained. Neither copied nor forged.
#[derive(Debug)]
#[must_use = "a forgotten watch keeps its waker until the gate has drained"]
pub struct Watch(u64);

/// Parked wakers by the order in which they came.
#[derive(Debug)]
pub(crate) struct Watchers<W> {
    issued: u64,
    parked: BTreeMap<u64, W>,
}

impl<W> Watchers<W> {
    pub(crate) const fn new() -> Self {
        Watchers { issued: 0, parked: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, waker: W) -> Watch {
        self.issued += 1;
        self.parked.insert(self.issued, waker);
        Watch(self.issued)
    }

    /// The displaced waker; the given one itself if the watch is over.
    pub(crate) fn replace(&mut self, watch: &Watch, waker: W) -> W {
        match self.parked.get_mut(&watch.0) {
            Some(parked) => mem::replace(parked, waker),
            None => waker,
        }
    }

    pub(crate) fn get(&self, watch: &Watch) -> Option<&W> {
        self.parked.get(&watch.0)
    }

    pub(crate) fn remove(&mut self, watch: Watch) -> Option<W> {
        self.parked.remove(&watch.0)
    }

    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = W> + use<W> {
        mem::take(&mut self.parked).into_values()
    }
}
