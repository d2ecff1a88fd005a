//! What is idle can go: for a newcomer, after a while, by name, or at the end.

use super::{Id, Partitions};
use crate::Instant;

impl<P> Partitions<P> {
    /// Makes room: the longest idle goes, and is counted as evicted.
    pub(super) fn evict(&mut self) -> Option<(Id, P)> {
        let gone = self.take_longest_idle()?;
        self.totals.evicted += 1;
        Some(gone)
    }

    fn take_longest_idle(&mut self) -> Option<(Id, P)> {
        let (id, _) = self.longest_idle()?;
        Some((id, self.remove(id)))
    }

    /// Takes the longest idle if it has been idle for the [idle timeout](super::Limits::idle_timeout) at `now`, and counts it as
    /// evicted. To be called until it gives nothing; in batches, if there may be many and others wait for the lock.
    pub fn cleanup_idle(&mut self, now: Instant) -> Option<(Id, P)> {
        let timeout = self.idle_timeout?;
        let (_, since) = self.longest_idle()?;
        if since + timeout <= now { self.evict() } else { None }
    }

    /// Takes the partition if it is idle, and counts it as discarded. One that is leased stays, and nothing comes back.
    pub fn discard(&mut self, id: Id) -> Option<P> {
        if !self.is_idle(id) {
            return None;
        }
        self.totals.discarded += 1;
        Some(self.remove(id))
    }

    /// Takes one of the partitions that are left once all is closed and the last lease has ended,
    /// and counts it nowhere. To be called until it gives nothing, in batches as
    /// [`cleanup_idle`](Partitions::cleanup_idle).
    pub fn take_drained(&mut self) -> Option<(Id, P)> {
        if self.is_drained() { self.take_longest_idle() } else { None }
    }
}
