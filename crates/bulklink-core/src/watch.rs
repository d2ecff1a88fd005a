//! Those who wait for "closed and drained".

use alloc::vec::Vec;
use core::mem;

/// A place among those who are told when the gate has closed and drained. Neither copied nor forged.
#[derive(Debug)]
#[must_use = "a forgotten watch keeps its waker until the gate has drained"]
pub struct Watch(u64);

/// Parked wakers with the numbers of their watches, in the order in which they came.
#[derive(Debug)]
pub(crate) struct Watchers<W> {
    issued: u64,
    parked: Vec<(u64, W)>,
}

impl<W> Watchers<W> {
    pub(crate) const fn new() -> Self {
        Watchers { issued: 0, parked: Vec::new() }
    }

    pub(crate) fn add(&mut self, waker: W) -> Watch {
        self.issued += 1;
        self.parked.push((self.issued, waker));
        Watch(self.issued)
    }

    /// The displaced waker; the given one itself if the watch is over.
    pub(crate) fn replace(&mut self, watch: &Watch, waker: W) -> W {
        match self.position(watch) {
            Some(position) => mem::replace(&mut self.parked[position].1, waker),
            None => waker,
        }
    }

    pub(crate) fn get(&self, watch: &Watch) -> Option<&W> {
        Some(&self.parked[self.position(watch)?].1)
    }

    pub(crate) fn remove(&mut self, watch: Watch) -> Option<W> {
        let position = self.position(&watch)?;
        let mut carried = self.parked.pop()?;
        // Moves the later ones up: few ever watch, and a loop is less code than the `memmove` of `Vec::remove`.
        for parked in self.parked[position..].iter_mut().rev() {
            mem::swap(parked, &mut carried);
        }
        Some(carried.1)
    }

    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = W> + use<W> {
        mem::take(&mut self.parked).into_iter().map(|(_, waker)| waker)
    }

    #[inline(never)]
    fn position(&self, watch: &Watch) -> Option<usize> {
        self.parked.binary_search_by_key(&watch.0, |&(number, _)| number).ok()
    }
}
