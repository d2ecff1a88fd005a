//! The sums over all partitions, those that are no longer kept included.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use bulklink_core::{Instant, Snapshot, Totals};

use super::{Class, Handle, Status};
use crate::foreign::discard;
use crate::gate::shared::Shared;
use crate::limit::Adaptive;

/// The figures of all partitions together; returned by [`Handle::sums`].
///
/// Operations and waiters are counted in the partitions that are kept. The counters are those of
/// all partitions that ever were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sums {
    /// The name of the partitions.
    pub label: Arc<str>,
    /// Partitions kept.
    pub partitions: usize,
    /// Operations running, including those that were handed a slot and have not collected it yet.
    pub in_flight: usize,
    /// Units that the running operations use.
    pub in_use: usize,
    /// Units that the partitions have together.
    pub capacity: usize,
    /// Those of the units in use that are
    /// [beyond the capacity](crate::Snapshot::capacity_excess) of their partition.
    pub capacity_excess: usize,
    /// Calls that may wait in the partitions together.
    pub waiting_room: usize,
    /// Those of the units in use that were [written off](crate::Snapshot::written_off).
    pub written_off: usize,
    /// Units that the [adaptive limits](super::Builder::adaptive) of the partitions allow together;
    /// `None` if none of them has one.
    pub adaptive_limit: Option<usize>,
    /// Those of the adaptive limits that have [failed](crate::limit::Adaptive::has_failed).
    pub failed_limits: usize,
    /// Calls waiting.
    pub waiting: usize,
    /// Units that the waiting calls ask for.
    pub waiting_units: u64,
    /// Slots that were [handed over](crate::Snapshot::uncollected) and are not collected yet.
    pub uncollected: usize,
    /// Slots that were [taken back](crate::Snapshot::taken_back).
    pub taken_back: u64,
    /// Operations of calls with a deadline that [ended late](crate::Snapshot::ended_late).
    pub ended_late: u64,
    /// Operations that ended and whose hold was [measured](super::Builder::measure_holds).
    pub holds: u64,
    /// The sum of the measured holds.
    pub cumulative_hold: Duration,
    /// The units in use, [summed over time](crate::Snapshot::busy), where holds are measured.
    #[cfg(feature = "std")]
    pub busy: Duration,
    /// The capacity, [summed over time](crate::Snapshot::offered) for each partition while it was
    /// kept, where holds are measured.
    #[cfg(feature = "std")]
    pub offered: Duration,
    /// Calls that got no partition: those [counted](super::Totals::limit_rejected) in the status.
    pub limit_rejected: u64,
    /// Calls that got no partition because all were closed.
    pub closed_rejected: u64,
    /// All counters of the partitions' bulkheads.
    pub totals: Totals,
    /// The calls of each [class](crate::Partitions::class), in the order of
    /// [`Class::ALL`](super::Class::ALL). Without classes, all are of the normal one.
    pub classes: [ClassSums; Class::ALL.len()],
}

/// The figures of the calls of a [class](crate::Partitions::class), in all partitions together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassSums {
    /// Units in use.
    pub in_use: usize,
    /// Calls waiting.
    pub waiting: usize,
    /// All counters.
    pub totals: Totals,
}

impl Handle {
    /// Returns the operations and waiters of all partitions together, and how many calls they have
    /// admitted and rejected since the partitions were built.
    ///
    /// Partitions that have been evicted or discarded are counted too, so no counter is lower than
    /// in an earlier call of this. The partitions are read one after the other, while calls go on.
    /// This takes time in proportion to the number of partitions that are kept; calls can enter and
    /// leave meanwhile.
    ///
    /// ```
    /// # use bulklink_tokio::Partitions;
    /// # let builder = Partitions::builder("tenants").parallelism(1).max_partitions(10);
    /// # let tenants: Partitions<String> = builder.build()?;
    /// let running = (tenants.key("ann").try_slot()?, tenants.key("bob").try_slot()?);
    /// assert!(tenants.key("ann").try_slot().is_err());
    /// let sums = tenants.handle().sums();
    /// assert_eq!((sums.in_flight, sums.totals.admitted, sums.totals.saturated), (2, 2, 1));
    /// drop(running);
    /// assert!(tenants.discard("ann"));
    /// assert_eq!(tenants.handle().sums().totals.finished, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn sums(&self) -> Sums {
        self.inner.sums()
    }
}

impl Sums {
    /// Returns the number of calls rejected: by a partition, as
    /// [`Totals::rejected`](crate::Totals::rejected) counts, or because they got none.
    #[must_use]
    pub const fn rejected(&self) -> u64 {
        self.totals.rejected().wrapping_add(self.limit_rejected).wrapping_add(self.closed_rejected)
    }

    /// Reads the bulkheads of partitions, and passes each to `look`. `counted` is of those that are
    /// gone.
    pub(super) fn read(
        status: &Status,
        mut counted: Gone,
        bulkheads: Vec<(Class, Arc<Shared>)>,
        now: Option<Instant>,
        mut look: impl FnMut(&Snapshot, Option<&Adaptive>),
    ) -> Sums {
        let mut sums = Sums {
            label: Arc::clone(&status.label),
            partitions: status.partitions,
            limit_rejected: status.totals.limit_rejected,
            closed_rejected: status.totals.closed_rejected,
            ..Sums::default()
        };
        for (class, shared) in bulkheads {
            let (snapshot, adaptive) = shared.with_gate(|state| (state.snapshot(now), state.adaptive()));
            sums.in_flight += snapshot.in_flight;
            sums.in_use += snapshot.in_use;
            // Three of the largest limits are beyond 32 bits.
            sums.capacity = sums.capacity.saturating_add(snapshot.limits.capacity);
            sums.capacity_excess = sums.capacity_excess.saturating_add(snapshot.capacity_excess());
            sums.waiting_room = sums.waiting_room.saturating_add(snapshot.limits.waiting_room);
            sums.written_off += snapshot.written_off;
            sums.waiting += snapshot.waiting;
            let of_class = &mut sums.classes[class as usize];
            of_class.in_use += snapshot.in_use;
            of_class.waiting += snapshot.waiting;
            sums.waiting_units += snapshot.waiting_units;
            sums.uncollected += snapshot.uncollected;
            if let Some(adaptive) = &adaptive {
                let limit = sums.adaptive_limit.get_or_insert_default();
                *limit = limit.saturating_add(adaptive.state.limit);
                sums.failed_limits += usize::from(adaptive.has_failed);
            }
            counted.count(class, &snapshot);
            look(&snapshot, adaptive.as_ref());
            // The partition may be gone by now, and its own handlers are foreign.
            discard(shared);
        }
        if let Some(shared) = status.shared {
            sums.capacity = shared.capacity;
            sums.capacity_excess = shared.in_use.saturating_sub(shared.capacity);
            sums.waiting_room = shared.waiting_room.unwrap_or(sums.waiting_room);
        }
        (sums.taken_back, sums.ended_late) = (counted.taken_back, counted.ended_late);
        for (of_class, totals) in sums.classes.iter_mut().zip(counted.totals) {
            of_class.totals = totals;
            sums.totals += totals;
        }
        (sums.holds, sums.cumulative_hold) = (counted.holds, counted.cumulative_hold);
        #[cfg(feature = "std")]
        {
            (sums.busy, sums.offered) = (counted.busy, counted.offered);
        }
        sums
    }

    /// Returns these sums with the calls that were counted since earlier ones.
    pub(super) fn since(&self, earlier: &Sums) -> Sums {
        let mut classes = self.classes;
        for (now, before) in classes.iter_mut().zip(&earlier.classes) {
            now.totals = now.totals.since(&before.totals);
        }
        Sums {
            limit_rejected: self.limit_rejected.wrapping_sub(earlier.limit_rejected),
            closed_rejected: self.closed_rejected.wrapping_sub(earlier.closed_rejected),
            totals: self.totals.since(&earlier.totals),
            classes,
            ..self.clone()
        }
    }
}

/// The counters of the partitions that are gone. Nothing ran or waited in them, and units that were
/// written off are free again.
#[derive(Clone, Copy, Default)]
pub(super) struct Gone {
    taken_back: u64,
    ended_late: u64,
    holds: u64,
    cumulative_hold: Duration,
    #[cfg(feature = "std")]
    busy: Duration,
    #[cfg(feature = "std")]
    offered: Duration,
    /// By class.
    totals: [Totals; Class::ALL.len()],
}

impl Gone {
    pub(super) fn count(&mut self, class: Class, one: &Snapshot) {
        self.taken_back = self.taken_back.wrapping_add(one.taken_back);
        self.ended_late = self.ended_late.wrapping_add(one.ended_late);
        self.holds = self.holds.wrapping_add(one.holds);
        self.cumulative_hold = self.cumulative_hold.saturating_add(one.cumulative_hold());
        #[cfg(feature = "std")]
        {
            self.busy = self.busy.saturating_add(one.busy());
            self.offered = self.offered.saturating_add(one.offered());
        }
        self.totals[class as usize] += one.totals;
    }
}
