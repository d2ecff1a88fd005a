//! Keyed partitions: which are kept, and how many calls use each, without their keys.
//!
//! [`Partitions`] serves a keyed set of gates as the [`Gate`](crate::Gate) serves its callers:
//! plain data with plain `&mut self` methods, which neither locks nor reads a clock. The caller
//! chooses the type `P` of a partition: usually a key with a gate. This module never looks into a
//! `P`, and hands out every `P` that it removes, so that the caller can drop it outside its lock.
//!
//! # Leases
//!
//! A call into a partition leases it, from before it asks for admission until it has ended, whether
//! it waits, runs, or is rejected. The account only counts the leases of each partition, so a lease
//! is no value: the caller knows which partition a call has leased. A partition without leases is
//! *idle*. Idle partitions are kept in the order in which they became idle, and are removed in that
//! order: the longest idle makes room for a new one, and [`cleanup_idle`](Partitions::cleanup_idle)
//! removes those that were idle for too long. A partition with a lease always stays. Once the set
//! is closed and no lease is left, [`take_drained`](Partitions::take_drained) removes the rest.
//! Everything takes O(1).
//!
//! # The contract
//!
//! The caller keeps an index from its keys to [`Id`]s, and looks there first. For a key in the
//! index, it calls [`lease`](Partitions::lease); for any other,
//! [`may_create`](Partitions::may_create), and if that succeeds [`create`](Partitions::create),
//! which leases the new partition too. Each lease must [end](Partitions::end) once. Ids that are
//! returned as evicted, cleaned up, discarded or taken must leave the index before the lock is
//! released, because they are reused.
//!
//! All three reject without counting. The caller passes a rejection to [`count`](Partitions::count)
//! when it reports the rejection to the call, which may be later, or never.
//!
//! ```
//! use bulklink_core::Instant;
//! use bulklink_core::partitions::{Limits, Partitions, Reason};
//! use core::time::Duration;
//!
//! let idle_timeout = Some(Duration::from_secs(60));
//! let mut tenants = Partitions::new(Limits::new(1).with_idle_timeout(idle_timeout))?;
//! let now = Instant::from_nanos(0);
//!
//! let ann = tenants.create("ann").map_err(|(_, rejection)| rejection)?.id;
//! let rejection = tenants.may_create().unwrap_err();
//! assert_eq!(rejection.reason(), Reason::PartitionLimit);
//! tenants.count(&rejection);
//! assert_eq!(tenants.snapshot().totals.limit_rejected, 1);
//!
//! tenants.end(ann, now);
//! let bob = tenants.create("bob").map_err(|(_, rejection)| rejection)?;
//! assert_eq!(bob.evicted.map(|(_, tenant)| tenant), Some("ann"));
//!
//! tenants.end(bob.id, now);
//! assert!(tenants.cleanup_idle(now + Duration::from_secs(59)).is_none());
//! let cleaned_up = tenants.cleanup_idle(now + Duration::from_secs(60));
//! assert!(cleaned_up.is_some_and(|(_, tenant)| tenant == "bob"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod leases;
mod limits;
mod rejection;
mod removal;
mod snapshot;

use core::fmt;
use core::time::Duration;

pub use leases::{Created, Id};
pub use limits::Limits;
pub use rejection::{Occupancy, Reason, Rejection};
pub use snapshot::{Interval, Snapshot, Totals};

use crate::InvalidArgument;
use crate::fork::Fork;
use crate::list::List;
use crate::slab::Slab;
use leases::Partition;

/// The partitions that are kept, their leases, and the order in which they became idle.
///
/// The [module's page](self) has the contract.
///
/// # Panics
///
/// An id is valid only for the `Partitions` that issued it, and only as long as its partition is
/// kept. Passing another is a programming error: the account is wrong from then on, or it panics.
/// Apart from that, only an [`end`](Partitions::end) without a lease panics.
pub struct Partitions<P> {
    instance: u64,
    snapshots: u64,
    idle_timeout: Option<Duration>,
    kept: Slab<Partition<P>>,
    /// The partitions without a lease, the longest idle first.
    idle: List,
    closed: bool,
    occupancy: Occupancy,
    peaks: Peaks,
    totals: Totals,
}

#[derive(Clone, Copy, Default)]
struct Peaks {
    partitions: u32,
    leased: u64,
}

impl<P: Clone> Fork for Partitions<P> {
    fn fork(&self) -> Self {
        Partitions { kept: self.kept.clone(), idle: self.idle.clone(), ..*self }
    }
}

impl<P> Partitions<P> {
    /// Creates an empty set of partitions.
    ///
    /// # Errors
    ///
    /// If a limit is out of range; the error names it.
    pub fn new(limits: Limits) -> Result<Self, InvalidArgument> {
        Partitions::with_instance(limits, 0)
    }

    /// Creates an empty set as [`new`](Partitions::new) does, with an identity for its snapshots.
    ///
    /// Snapshots with different identities cannot be compared, so those of different sets are never
    /// mixed up.
    ///
    /// # Errors
    ///
    /// If a limit is out of range; the error names it.
    pub fn with_instance(limits: Limits, instance: u64) -> Result<Self, InvalidArgument> {
        let max_partitions = limits.check()?;
        Ok(Partitions {
            instance,
            snapshots: 0,
            idle_timeout: limits.idle_timeout,
            kept: Slab::new(),
            idle: List::new(),
            closed: false,
            occupancy: Occupancy { partitions: 0, active: 0, leased: 0, max_partitions },
            peaks: Peaks::default(),
            totals: Totals::default(),
        })
    }

    /// Returns the limits of the set.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits { max_partitions: self.occupancy.max_partitions as usize, idle_timeout: self.idle_timeout }
    }

    /// Returns the occupancy at this moment.
    #[must_use]
    #[inline]
    pub fn occupancy(&self) -> Occupancy {
        self.occupancy
    }

    /// Returns all counters since the set was created.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Closes the set: nothing is leased from now on, and existing leases go on. Returns whether it
    /// was open until then.
    pub fn close(&mut self) -> bool {
        !core::mem::replace(&mut self.closed, true)
    }

    /// Returns whether the set is closed.
    #[must_use]
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Returns whether the set is closed and the last lease has ended.
    #[must_use]
    #[inline]
    pub fn is_drained(&self) -> bool {
        self.closed && self.occupancy.leased == 0
    }
}

/// Shows the occupancy only, not the contents of the partitions.
impl<P> fmt::Debug for Partitions<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partitions")
            .field("occupancy", &self.occupancy)
            .field("is_closed", &self.closed)
            .finish_non_exhaustive()
    }
}
