//! Leases that begin and end, and partitions that are created.

use super::{Partitions, Reason, Rejection};
use crate::Instant;
use crate::list::{Linked, Links};
use crate::slab::Place;

/// The identity of a partition, as long as it is kept. Afterwards it names another partition, or
/// none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(Place);

impl Id {
    /// Returns the id as a number that is never zero, so that it can be stored in an atomic.
    #[must_use]
    #[inline]
    pub fn to_bits(self) -> u32 {
        self.0.number().get()
    }

    /// Returns the id that [`to_bits`](Id::to_bits) gave the number for, or `None` for zero.
    #[must_use]
    #[inline]
    pub fn from_bits(bits: u32) -> Option<Self> {
        Place::from_number(bits).map(Id)
    }
}

/// The result of creating a partition, which has its first lease.
#[derive(Debug)]
#[non_exhaustive]
#[must_use = "a lease that never ends keeps its partition for good"]
pub struct Created<P> {
    /// The new partition.
    pub id: Id,
    /// The idle partition that was removed to make room.
    pub evicted: Option<(Id, P)>,
}

/// A partition with the number of its leases.
#[derive(Clone)]
pub(super) struct Partition<P> {
    pub(super) content: P,
    leases: u64,
    /// The neighbours among the idle partitions. Meaningful only without leases, as is
    /// `idle_since`.
    links: Links,
    idle_since: Instant,
}

impl<P> Linked for Partition<P> {
    #[inline]
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl<P> Partitions<P> {
    /// Returns the contents of a partition.
    #[must_use]
    #[inline]
    pub fn get(&self, id: Id) -> &P {
        &self.kept[id.0].content
    }

    /// Returns the contents of a partition, to be changed.
    #[inline]
    pub fn get_mut(&mut self, id: Id) -> &mut P {
        &mut self.kept[id.0].content
    }

    /// Leases a partition that is kept, until [`end`](Partitions::end). A rejection is not
    /// [counted](Partitions::count) here.
    ///
    /// # Errors
    ///
    /// If the set is closed.
    #[inline]
    pub fn lease(&mut self, id: Id) -> Result<(), Rejection> {
        if self.closed {
            return Err(self.reject(Reason::Closed));
        }
        let partition = &mut self.kept[id.0];
        partition.leases += 1;
        // The first lease: the partition is no longer idle.
        if partition.leases == 1 {
            self.occupancy.active += 1;
            let links = partition.links;
            self.idle.remove(&mut self.kept, links);
        }
        self.count_lease();
        Ok(())
    }

    /// Leases a partition once more for an operation that has a lease of it, also if the set is
    /// closed.
    pub fn lease_again(&mut self, id: Id) {
        let leases = &mut self.kept[id.0].leases;
        debug_assert!(*leases > 0, "an idle partition is leased by `lease`");
        *leases += 1;
        self.count_lease();
    }

    #[inline]
    fn count_lease(&mut self) {
        self.occupancy.leased += 1;
        self.peaks.leased = self.peaks.leased.max(self.occupancy.leased);
    }

    /// Checks whether there is room for another partition, if necessary in the place of an idle
    /// one. A rejection is not [counted](Partitions::count) here.
    ///
    /// # Errors
    ///
    /// If the set is closed, or if there is no room.
    pub fn may_create(&self) -> Result<(), Rejection> {
        if self.closed {
            return Err(self.reject(Reason::Closed));
        }
        if self.is_full() && self.idle.first().is_none() {
            return Err(self.reject(Reason::PartitionLimit));
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.occupancy.partitions >= self.occupancy.max_partitions
    }

    /// Adds a partition and leases it. If there is no room, the longest idle partition is evicted.
    ///
    /// # Errors
    ///
    /// As [`may_create`](Partitions::may_create); `content` is returned.
    pub fn create(&mut self, content: P) -> Result<Created<P>, (P, Rejection)> {
        if let Err(rejection) = self.may_create() {
            return Err((content, rejection));
        }
        let is_full = self.is_full();
        // The new partition is kept first: so the evicted id differs from the new one. The peak is
        // taken after both.
        let id = self.keep(content);
        let evicted = if is_full { self.evict() } else { None };
        self.peaks.partitions = self.peaks.partitions.max(self.occupancy.partitions);
        Ok(Created { id, evicted })
    }

    fn keep(&mut self, content: P) -> Id {
        let links = Links::default();
        let partition = Partition { content, leases: 1, links, idle_since: Instant::EPOCH };
        let place = self.kept.insert(partition, self.occupancy.max_partitions);
        self.occupancy.partitions += 1;
        self.occupancy.active += 1;
        self.totals.created += 1;
        self.count_lease();
        Id(place)
    }

    /// Returns whether [`end`](Partitions::end) uses the time.
    #[must_use]
    #[inline]
    pub fn needs_now(&self) -> bool {
        self.idle_timeout.is_some()
    }

    /// Ends a lease of the partition at `now`. Returns whether it was the last, so that the
    /// partition is idle from now on.
    ///
    /// Without an [idle timeout](super::Limits::idle_timeout) the time is ignored. While a
    /// partition is idle, time never runs back: an earlier instant counts as the latest at which a
    /// partition became idle.
    ///
    /// # Panics
    ///
    /// If the partition has no lease.
    #[inline]
    pub fn end(&mut self, id: Id, now: Instant) -> bool {
        let partition = &mut self.kept[id.0];
        let Some(left) = partition.leases.checked_sub(1) else { no_lease() };
        partition.leases = left;
        self.occupancy.leased -= 1;
        let is_idle = left == 0;
        if is_idle {
            self.occupancy.active -= 1;
            self.becomes_idle(id.0, now);
        }
        is_idle
    }

    #[inline]
    fn becomes_idle(&mut self, place: Place, now: Instant) {
        // The list stays sorted by `idle_since`, even if clock readings arrive out of order.
        let latest = self.idle.last().map_or(now, |last| self.kept[last].idle_since);
        let links = self.idle.links_for_push();
        let partition = &mut self.kept[place];
        (partition.idle_since, partition.links) = (now.max(latest), links);
        self.idle.push_back(&mut self.kept, place);
    }
}

#[cold]
fn no_lease() -> ! {
    panic!("the end of a lease that had not begun")
}

/// The working memory of the removal of partitions.
impl<P> Partitions<P> {
    /// Returns the longest idle partition, and since when it is idle.
    pub(super) fn longest_idle(&self) -> Option<(Id, Instant)> {
        self.idle.first().map(|place| (Id(place), self.kept[place].idle_since))
    }

    pub(super) fn is_idle(&self, id: Id) -> bool {
        self.kept[id.0].leases == 0
    }

    /// Removes a partition that is idle.
    pub(super) fn remove(&mut self, id: Id) -> P {
        let Partition { content, links, .. } = self.kept.remove(id.0);
        self.idle.remove(&mut self.kept, links);
        self.occupancy.partitions -= 1;
        content
    }
}
