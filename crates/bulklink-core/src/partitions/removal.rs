//! What is idle can go: for a newcomer, after a while, or because somebody says so.

use super::{Id, Partitions};
use crate::Instant;

impl<P> Partitions<P> {
    /// Makes room: the longest idle goes, and is counted as evicted.
    pub(super) fn evict(&mut self) -> Option<(Id, P)> {
        let (id, _) = self.longest_idle()?;
        self.totals.evicted += 1;
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
}
