//! The share of a key in a shared capacity, and the figures of the whole.

use bulklink_core::InvalidArgument;
use bulklink_core::pool::{self, Pool};

/// The share of a key in the
/// [capacity that all keys share](crate::partitions::Builder::shared_capacity).
///
/// ```
/// use bulklink_tokio::Partitions;
/// use bulklink_tokio::partitions::Share;
///
/// let models: Partitions<String> = Partitions::builder("models")
///     .shared_capacity(40)
///     .shared_waiting_room(500)
///     .max_partitions(100_000)
///     .build()?;
/// // Under load four times as much as another tenant, up to eight slots before others, and
/// // never more than twenty.
/// let share = Share::new().weight(4).floor(8).ceiling(20);
/// models.set_share("ann", share)?;
/// assert_eq!(models.share("ann").map(|share| share.weight), Some(4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Share {
    /// The weight, at least 1: while keys wait, each gets units in proportion to it.
    pub weight: usize,
    /// Up to so many units in use, the key's calls come before those of all keys beyond their
    /// floors. Zero for no floor.
    pub floor: usize,
    /// Whether the floor is kept free for the key.
    pub is_kept: bool,
    /// The most units that the key may have in use, if its own limits allow more.
    pub ceiling: Option<usize>,
    /// The most calls of the key that may wait, in all its classes together, if its own limits
    /// allow more.
    pub waiting_room: Option<usize>,
    /// Whether no call of the key is admitted.
    pub is_paused: bool,
}

impl Share {
    /// A share of weight one, without a floor and a ceiling.
    #[must_use]
    pub const fn new() -> Self {
        Share { weight: 1, floor: 0, is_kept: false, ceiling: None, waiting_room: None, is_paused: false }
    }

    /// Sets the weight.
    #[must_use]
    pub const fn weight(self, weight: usize) -> Self {
        Share { weight, ..self }
    }

    /// Sets the floor, in units. Other keys use what the key leaves unused of it, so a call within
    /// the floor waits for the next unit that one of them gives back; unless the floor is
    /// [kept](Share::kept).
    #[must_use]
    pub const fn floor(self, units: usize) -> Self {
        Share { floor: units, ..self }
    }

    /// Keeps the floor free for the key: its calls are admitted at once within it, and its units
    /// are idle while the key does not use them.
    ///
    /// Only a key with a share of its own can have it: the kept floors of all keys must be within
    /// the capacity.
    #[must_use]
    pub const fn kept(self) -> Self {
        Share { is_kept: true, ..self }
    }

    /// Sets the ceiling: so many units the key may have in use, at most. A call that costs more
    /// waits until the ceiling is raised, or its time is up.
    #[must_use]
    pub const fn ceiling(self, units: usize) -> Self {
        Share { ceiling: Some(units), ..self }
    }

    /// Sets how many calls of the key may wait, in all its [classes](crate::Partitions::class)
    /// together. The waiting room of a partition is for each class.
    #[must_use]
    pub const fn waiting_room(self, operations: usize) -> Self {
        Share { waiting_room: Some(operations), ..self }
    }

    /// Pauses the key, or not: no call of it is admitted. Running operations go on. Calls wait as
    /// before, until their time is up. That is no pause of the key's bulkhead, so
    /// [`Rejection::is_paused`](crate::Rejection::is_paused) says nothing of it.
    #[must_use]
    pub const fn paused(self, is_paused: bool) -> Self {
        Share { is_paused, ..self }
    }

    /// Checks the share of all keys that have none of their own.
    pub(crate) fn check_for_all(&self, limits: &pool::Limits) -> Result<(), InvalidArgument> {
        self.inner().check(limits)?;
        if self.is_kept {
            let requirement = "must not be kept: a key needs a share of its own for that";
            return Err(InvalidArgument::new("floor", self.floor, requirement));
        }
        Ok(())
    }
}

impl Default for Share {
    fn default() -> Self {
        Share::new()
    }
}

impl Share {
    /// Returns the share as the pool has it.
    pub(crate) fn inner(&self) -> pool::Share {
        let most = |limit: Option<usize>| limit.map_or(u32::MAX, narrow);
        let mut inner = pool::Share::new();
        inner.weight = narrow(self.weight);
        inner.floor = narrow(self.floor);
        inner.is_kept = self.is_kept;
        inner.ceiling = most(self.ceiling);
        inner.waiting_room = most(self.waiting_room);
        inner.is_paused = self.is_paused;
        inner
    }

    /// Returns a share of the pool as users have it.
    pub(crate) fn of(inner: &pool::Share) -> Self {
        let bounded = |limit: u32| (limit < u32::MAX).then_some(limit as usize);
        Share {
            weight: inner.weight as usize,
            floor: inner.floor as usize,
            is_kept: inner.is_kept,
            ceiling: bounded(inner.ceiling),
            waiting_room: bounded(inner.waiting_room),
            is_paused: inner.is_paused,
        }
    }
}

/// No limit may be so large.
pub(super) fn narrow(limit: usize) -> u32 {
    u32::try_from(limit).unwrap_or(u32::MAX)
}

/// The figures of a capacity that many keys share, of one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SharedStatus {
    /// The units that may be in use, in all partitions together.
    pub capacity: usize,
    /// The units in use.
    pub in_use: usize,
    /// The most units that were ever in use together.
    pub peak_in_use: usize,
    /// How many calls may wait, in all partitions together; `None` for as many as their own waiting
    /// rooms have places.
    pub waiting_room: Option<usize>,
    /// How many calls wait.
    pub waiting: usize,
    /// How many calls gave up their place in the waiting room to calls of other keys.
    pub displaced: u64,
}

impl SharedStatus {
    pub(super) fn of(pool: &Pool) -> Self {
        let limits = pool.limits();
        SharedStatus {
            capacity: limits.capacity as usize,
            in_use: pool.in_use() as usize,
            peak_in_use: pool.peak_in_use() as usize,
            waiting_room: (limits.waiting_room < pool::Limits::ANY_ROOM).then_some(limits.waiting_room as usize),
            waiting: pool.waiting() as usize,
            displaced: pool.displaced(),
        }
    }
}
