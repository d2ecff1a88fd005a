//! Removal of idle partitions: for a new one, after a timeout, by id, or at the end.

use super::{Id, Partitions};
use crate::Instant;

impl<P> Partitions<P> {
    /// Removes the longest idle partition, to make room, and counts it as evicted.
    pub(super) fn evict(&mut self) -> Option<(Id, P)> {
        let gone = self.take_longest_idle()?;
        self.totals.evicted += 1;
        Some(gone)
    }

    fn take_longest_idle(&mut self) -> Option<(Id, P)> {
        let (id, _) = self.longest_idle()?;
        Some((id, self.remove(id)))
    }

    /// Removes the longest idle partition if at `now` it has been idle for the [idle
    /// timeout](super::Limits::idle_timeout), and counts it as evicted.
    ///
    /// Must be called until it returns `None`: in batches, if there may be many and other threads
    /// wait for the lock.
    pub fn cleanup_idle(&mut self, now: Instant) -> Option<(Id, P)> {
        let timeout = self.idle_timeout?;
        let (_, since) = self.longest_idle()?;
        if since + timeout <= now { self.evict() } else { None }
    }

    /// Removes the partition if it is idle, and counts it as discarded. A leased partition stays,
    /// and `None` is returned.
    pub fn discard(&mut self, id: Id) -> Option<P> {
        if !self.is_idle(id) {
            return None;
        }
        self.totals.discarded += 1;
        Some(self.remove(id))
    }

    /// Removes one of the partitions that are left once the set is closed and the last lease has
    /// ended, without counting it.
    ///
    /// Must be called until it returns `None`, in batches as
    /// [`cleanup_idle`](Partitions::cleanup_idle).
    pub fn take_drained(&mut self) -> Option<(Id, P)> {
        if self.is_drained() { self.take_longest_idle() } else { None }
    }
}
