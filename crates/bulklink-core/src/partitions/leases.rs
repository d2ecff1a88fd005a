//! Who uses which partition: leases that begin and end, partitions that are made.

use super::{Partitions, Reason, Rejection};
use crate::Instant;
use crate::list::{Linked, Links};
use crate::slab::Place;

/// Names a partition as long as it is kept. Afterwards it names another, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(Place);

/// The use of a partition by one call, until it [ends](Partitions::end). Neither copied nor forged.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a forgotten lease keeps its partition for good"]
pub struct Lease(Place);

impl Lease {
    /// The partition. It is kept as long as the lease.
    #[must_use]
    #[inline]
    pub fn id(&self) -> Id {
        Id(self.0)
    }
}

/// A partition that was made just now.
#[derive(Debug)]
#[must_use = "a forgotten lease keeps its partition for good"]
pub struct Created<P> {
    /// The first lease of it.
    pub lease: Lease,
    /// The one that made room for it.
    pub evicted: Option<(Id, P)>,
}

/// A partition with the number of its leases.
pub(super) struct Partition<P> {
    pub(super) content: P,
    leases: u64,
    /// Mean something only without leases: the neighbours among the idle, and since when.
    links: Links,
    idle_since: Instant,
}

impl<P> Linked for Partition<P> {
    #[inline]
    fn links(&self) -> Links {
        self.links
    }

    #[inline]
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl<P> Partitions<P> {
    /// What a partition holds.
    #[must_use]
    #[inline]
    pub fn get(&self, id: Id) -> &P {
        &self.kept[id.0].content
    }

    /// What a partition holds, to be worked with.
    #[inline]
    pub fn get_mut(&mut self, id: Id) -> &mut P {
        &mut self.kept[id.0].content
    }

    /// A lease of one that is kept. A rejection is not [counted](Partitions::count) here.
    ///
    /// # Errors
    ///
    /// If all is closed.
    #[inline]
    pub fn lease(&mut self, id: Id) -> Result<Lease, Rejection> {
        if self.closed {
            return Err(self.reject(Reason::Closed));
        }
        let partition = &mut self.kept[id.0];
        partition.leases += 1;
        if partition.leases == 1 {
            self.occupancy.active += 1;
            let links = partition.links;
            self.idle.remove(&mut self.kept, links);
        }
        self.count_lease();
        Ok(Lease(id.0))
    }

    #[inline]
    fn count_lease(&mut self) {
        self.occupancy.leased += 1;
        self.peaks.leased = self.peaks.leased.max(self.occupancy.leased);
    }

    /// Whether there is room for one more, if need be in the place of one that is idle. A rejection
    /// is not [counted](Partitions::count) here.
    ///
    /// # Errors
    ///
    /// If all is closed, or if there is no room.
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

    /// Keeps one more, leased by the call that needs it. If there is no room, the longest idle goes.
    ///
    /// # Errors
    ///
    /// As [`may_create`](Partitions::may_create); `content` comes back.
    pub fn create(&mut self, content: P) -> Result<Created<P>, (P, Rejection)> {
        if let Err(rejection) = self.may_create() {
            return Err((content, rejection));
        }
        let is_full = self.is_full();
        let lease = self.keep(content);
        let evicted = if is_full { self.evict() } else { None };
        self.peaks.partitions = self.peaks.partitions.max(self.occupancy.partitions);
        Ok(Created { lease, evicted })
    }

    fn keep(&mut self, content: P) -> Lease {
        let links = Links::default();
        let place = self.kept.insert(Partition { content, leases: 1, links, idle_since: Instant::EPOCH });
        self.occupancy.partitions += 1;
        self.occupancy.active += 1;
        self.totals.created += 1;
        self.count_lease();
        Lease(place)
    }

    /// Whether [`end`](Partitions::end) makes something of the time.
    #[must_use]
    #[inline]
    pub fn needs_now(&self) -> bool {
        self.idle_timeout.is_some()
    }

    /// Ends a lease at `now`. Returns whether it was the last of its partition, which is idle from now on.
    ///
    /// Without an [idle timeout](super::Limits::idle_timeout) the time is not looked at. While anything is idle, time never runs
    /// back: an earlier instant counts as the latest at which something became idle.
    #[inline]
    pub fn end(&mut self, lease: Lease, now: Instant) -> bool {
        self.occupancy.leased -= 1;
        let partition = &mut self.kept[lease.0];
        partition.leases -= 1;
        let is_idle = partition.leases == 0;
        if is_idle {
            self.occupancy.active -= 1;
            self.becomes_idle(lease.0, now);
        }
        is_idle
    }

    #[inline]
    fn becomes_idle(&mut self, place: Place, now: Instant) {
        let latest = self.idle.last().map_or(now, |last| self.kept[last].idle_since);
        let links = self.idle.links_of_last();
        let partition = &mut self.kept[place];
        (partition.idle_since, partition.links) = (now.max(latest), links);
        self.idle.push_back(&mut self.kept, place);
    }
}

/// What takes partitions away looks at these.
impl<P> Partitions<P> {
    /// The longest idle, and since when it is.
    pub(super) fn longest_idle(&self) -> Option<(Id, Instant)> {
        self.idle.first().map(|place| (Id(place), self.kept[place].idle_since))
    }

    pub(super) fn is_idle(&self, id: Id) -> bool {
        self.kept[id.0].leases == 0
    }

    /// Takes out one that is idle.
    pub(super) fn remove(&mut self, id: Id) -> P {
        let Partition { content, links, .. } = self.kept.remove(id.0);
        self.idle.remove(&mut self.kept, links);
        self.occupancy.partitions -= 1;
        content
    }
}
