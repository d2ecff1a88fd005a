//! Which partitions of something are kept: the account of those who use them, without their keys.
//!
//! [`Partitions`] is to a keyed set of gates what the [`Gate`](crate::Gate) is to its callers: plain data with plain
//! `&mut self` methods, which neither locks nor reads a clock. What a partition is, is the caller's affair: `P` is most often a
//! key with a gate. Nothing here looks into it, and whatever is dropped of it is handed out, to be dropped outside the
//! caller's lock.
//!
//! # Leases
//!
//! A call into a partition has a [`Lease`] of it, from before it asks for admission until it has
//! ended, whether it waits, runs, or is rejected. A partition without leases is *idle*. Idle ones
//! are kept in the order in which they became idle, which is the order in which they go: the
//! longest idle makes room for a newcomer, and [`cleanup_idle`](Partitions::cleanup_idle) takes
//! those that were idle for too long. A partition with a lease stays, whatever happens. Once all is
//! closed and no lease is left, [`take_drained`](Partitions::take_drained) takes the rest.
//! Everything takes O(1).
//!
//! # The contract
//!
//! The caller keeps an index from its keys to [`Id`]s, and looks there first. For a key that is in
//! it, [`lease`](Partitions::lease); for one that is not, [`may_create`](Partitions::may_create),
//! and if so [`create`](Partitions::create). Ids that come back as evicted, cleaned up, discarded
//! or taken leave the index before the lock is left: they will be used again.
//!
//! All three reject without counting. A rejection is handed to [`count`](Partitions::count) when
//! its call is told, which may be later than when it came, or never.
//!
//! ```
//! use bulklink_core::Instant;
//! use bulklink_core::partitions::{Limits, Partitions, Reason};
//! use core::time::Duration;
//!
//! let mut tenants = Partitions::new(Limits { max_partitions: 1, idle_timeout: Some(Duration::from_secs(60)) })?;
//! let now = Instant::from_nanos(0);
//!
//! let ann = tenants.create("ann").map_err(|(_, rejection)| rejection)?.lease;
//! let rejection = tenants.may_create().unwrap_err();
//! assert_eq!(rejection.reason(), Reason::PartitionLimit);
//! tenants.count(&rejection);
//! assert_eq!(tenants.snapshot().totals.limit_rejected, 1);
//!
//! tenants.end(ann, now);
//! let bob = tenants.create("bob").map_err(|(_, rejection)| rejection)?;
//! assert_eq!(bob.evicted.map(|(_, tenant)| tenant), Some("ann"));
//!
//! tenants.end(bob.lease, now);
//! assert!(tenants.cleanup_idle(now + Duration::from_secs(59)).is_none());
//! assert!(tenants.cleanup_idle(now + Duration::from_secs(60)).is_some_and(|(_, tenant)| tenant == "bob"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod leases;
mod limits;
mod rejection;
mod removal;
mod snapshot;

use core::fmt;
use core::time::Duration;

pub use leases::{Created, Id, Lease};
pub use limits::Limits;
pub use rejection::{Occupancy, Reason, Rejection};
pub use snapshot::{Interval, Snapshot, Totals};

use crate::InvalidArgument;
use crate::list::List;
use crate::slab::Slab;
use leases::Partition;

/// The partitions that are kept, who leases them, and which are idle.
///
/// The [module's page](self) has the contract.
///
/// # Panics
///
/// Ids and leases mean something only to the `Partitions` that gave them out, and ids only as long as their partition is kept.
/// Handing in others is a programming error: the account is wrong from then on, or it panics. Nothing else panics.
pub struct Partitions<P> {
    instance: u64,
    snapshots: u64,
    idle_timeout: Option<Duration>,
    kept: Slab<Partition<P>>,
    /// Those without a lease, the longest idle first.
    idle: List,
    closed: bool,
    occupancy: Occupancy,
    peaks: Peaks,
    totals: Totals,
}

#[derive(Default)]
struct Peaks {
    partitions: u32,
    leased: u64,
}

impl<P> Partitions<P> {
    /// None yet.
    ///
    /// # Errors
    ///
    /// If a limit is out of its range; the error names it.
    pub fn new(limits: Limits) -> Result<Self, InvalidArgument> {
        Partitions::with_instance(limits, 0)
    }

    /// As [`new`](Partitions::new), with an identity for its snapshots, so that those of different ones are never compared.
    ///
    /// # Errors
    ///
    /// If a limit is out of its range; the error names it.
    pub fn with_instance(limits: Limits, instance: u64) -> Result<Self, InvalidArgument> {
        let max_partitions = limits.check()?;
        Ok(Partitions {
            instance,
            snapshots: 0,
            idle_timeout: limits.idle_timeout,
            kept: Slab::new(max_partitions),
            idle: List::new(),
            closed: false,
            occupancy: Occupancy { partitions: 0, active: 0, leased: 0, max_partitions },
            peaks: Peaks::default(),
            totals: Totals::default(),
        })
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits { max_partitions: self.occupancy.max_partitions as usize, idle_timeout: self.idle_timeout }
    }

    /// How many there are at this moment.
    #[must_use]
    #[inline]
    pub fn occupancy(&self) -> Occupancy {
        self.occupancy
    }

    /// Nothing is leased from now on; what is leased goes on. Returns whether it was open until then.
    pub fn close(&mut self) -> bool {
        !core::mem::replace(&mut self.closed, true)
    }

    /// Whether it is closed.
    #[must_use]
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether it is closed and the last lease has ended.
    #[must_use]
    #[inline]
    pub fn is_drained(&self) -> bool {
        self.closed && self.occupancy.leased == 0
    }
}

/// Occupancy only: what a partition holds is not shown.
impl<P> fmt::Debug for Partitions<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partitions")
            .field("occupancy", &self.occupancy)
            .field("is_closed", &self.closed)
            .finish_non_exhaustive()
    }
}
