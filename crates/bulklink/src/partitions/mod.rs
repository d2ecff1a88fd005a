//! Keyed bulkheads: the builder, limits, status, sums, report and handle of [`Partitions`].
//!
//! [`Partitions`] itself documents when to use it, and how.

mod builder;
mod control;
#[cfg(feature = "std")]
mod figures;
mod handle;
mod hasher;
mod histograms;
mod inner;
mod key;
mod keys;
mod reconfigure;
mod report;
mod shared;
mod shares;
mod state;
mod status;
mod sums;

use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::hash::BuildHasher;

pub use bulklink_core::partitions::{Interval, Limits, Occupancy, Snapshot, Totals};
pub use bulklink_core::pool::Class;

pub use builder::Builder;
#[cfg(feature = "std")]
pub use figures::Figures;
pub use handle::Handle;
pub use hasher::RandomState;
pub use key::Lookup;
pub(crate) use keys::ShownKey;
pub use keys::{KeyLoad, WorstKeys};
pub use report::{CapacityReport, Finding, FindingCode};
pub(crate) use shares::Sharing;
pub(crate) use state::LimitsFor;
pub use status::Status;

pub use crate::pool::{Share, SharedStatus};
pub use sums::{ClassSums, Sums};

use crate::{BoundRequest, Clock, ReconfigureError, Reconfigured, Request};
use inner::Inner;

/// A bulkhead for each key, such as a tenant, an upstream host or an account.
///
/// The calls of one key cannot use up the capacity of another. Each partition is a bulkhead with
/// the same limits, unless [its key](Builder::limits_for) has others. It is created when a call
/// first needs it, and it is kept while a call of its key waits or runs. Idle partitions are kept
/// too, until the number of partitions reaches the maximum; then the partition that has been idle
/// the longest is evicted for a new key. If none is idle, the call is rejected with
/// [`Reason::PartitionLimit`](crate::Reason::PartitionLimit). So memory is bounded, however many
/// keys there are.
///
/// By default each key has a capacity of its own. Keys can also [share
/// one](Partitions#shared-capacity).
///
/// Clones are cheap and share everything. There is no background cleanup: an idle partition is
/// dropped when a new key needs its room, or by [`cleanup_idle`](Handle::cleanup_idle).
///
/// Status, errors, events and debug output show the label, and never a key. [Worst
/// keys](Handle::worst_keys), and what shows them, do only if the program [allows
/// it](Builder::show_keys).
///
/// ```
/// use bulklink_tokio::{Partitions, Reason};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tenants: Partitions<String> = Partitions::builder("tenants")
///     .parallelism(1)
///     .max_partitions(2)
///     .build()?;
///
/// let ann = tenants.key("ann").slot().await?;
/// let rejection = tenants.key("ann").slot().await.unwrap_err();
/// assert_eq!(rejection.reason(), Reason::Saturated);
/// let bob = tenants.key("bob").slot().await?;
/// let rejection = tenants.key("eve").slot().await.unwrap_err();
/// assert_eq!(rejection.reason(), Reason::PartitionLimit);
///
/// drop(ann);
/// let eve = tenants.key("eve").slot().await?;
/// assert_eq!(tenants.status().totals.evicted, 1);
/// # Ok(())
/// # }
/// ```
///
/// # Leases
///
/// A call enters its partition when its [key](Partitions::key) is bound, not when it is first
/// polled, so its future does not keep the key. From then until the request or the future is
/// dropped or its operation has ended, the call counts as one of the [leased
/// operations](Snapshot::leased_operations), and its partition is kept. As in any bulkhead, it
/// takes its place in the queue when it is first polled. If a call gets no partition, its first
/// poll returns the rejection and counts it; a request that never asks is counted nowhere.
///
/// Dropping the last clone drops all partitions and their keys. Slots and futures that are left
/// continue in their bulkheads, which they keep.
///
/// # Fairness
///
/// Each partition is first come, first served. Partitions share nothing but their maximum number,
/// unless they share a capacity.
///
/// # Shared capacity
///
/// A capacity for each key wastes what idle keys do not use, and one queue for all lets a key that
/// asks much keep the others waiting. With [`shared_capacity`](Builder::shared_capacity), all keys
/// use one capacity, in fair turns. Each key's bulkhead stays one like any other, with its own
/// queue and limits; units come from the shared capacity:
///
/// - While units are free, a call is admitted at once, unless its key is at its ceiling or paused,
///   or the units are kept for others.
/// - While calls wait, units go to the key that has the fewest in use, by the weight of its
///   [share](Share); among equals, in turns, by weight. A key that has asked nothing for a while
///   is next. So what a key gets depends on its weight, and not on how much it asks.
/// - A key within its [floor](Share::floor) comes before all keys beyond theirs. A floor is lent to
///   others while it is unused, unless it is [kept](Share::kept). No key has more than its
///   [ceiling](Share::ceiling); a key at its ceiling holds up no other.
/// - When the [room](Builder::shared_waiting_room) of all is full, a call of a key with few waiters
///   takes the place of the newest waiter of the key with the most for its weight, which is
///   rejected as [`Displaced`](crate::Reason::Displaced).
/// - A call that costs more than is free waits until its turn has come, and then until its units
///   are free; meanwhile only calls within a floor are admitted. One that costs more than is ever
///   free for its key and class, because the rest is kept for others, holds up no other key.
/// - Calls of a better [class](Partitions::class) come before those of lower ones, whatever their
///   keys.
///
/// [`Rejection::bound`](crate::Rejection::bound) is the limit that rejected a call: one of its own
/// key, or one that all share. A wait that has expired has none. A unit that is given back stays
/// with its key's bulkhead while no call waits, so that a busy key takes it again without any lock;
/// when another key needs it, it is taken back.
///
/// # Keys
///
/// Keys are hashed, cloned and dropped outside all locks. They are compared, and given [their own
/// limits](Builder::limits_for), under a lock. Neither may call back into the same partitions, or
/// the call never returns. If one of them panics, the call panics and nothing has changed.
///
/// A call with a key that has a partition clones and allocates nothing: see [`Lookup`].
pub struct Partitions<K, R, S = RandomState> {
    inner: Arc<Inner<K, R, S>>,
    /// The class of the partitions that calls enter.
    class: Class,
}

impl<K, R: Clock + Default> Partitions<K, R> {
    /// Starts to build partitions with this name, on the runtime that their type names.
    ///
    /// See [Labels](crate::Builder#labels) for valid names.
    pub fn builder(label: &str) -> Builder<K, R> {
        Builder::new(R::default(), label)
    }
}

impl<K, R: Clock> Partitions<K, R> {
    /// Starts to build partitions with this name, on this runtime.
    ///
    /// See [Labels](crate::Builder#labels) for valid names.
    pub fn builder_on(runtime: R, label: &str) -> Builder<K, R> {
        Builder::new(runtime, label)
    }
}

impl<K, R: Clock + Clone + Send + Sync + 'static, S> Partitions<K, R, S> {
    /// Returns the name of the partitions.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.inner.identity.label
    }

    /// Returns the runtime that the partitions were built on.
    #[must_use]
    pub fn runtime(&self) -> &R {
        &self.inner.each.runtime
    }

    /// Returns the figures of this moment: a consistent snapshot, numbered higher than every
    /// earlier one.
    ///
    /// ```
    /// # use bulklink_tokio::Partitions;
    /// # let builder = Partitions::builder("tenants").parallelism(1).max_partitions(10);
    /// # let tenants: Partitions<u64> = builder.build()?;
    /// let before = tenants.status();
    /// drop(tenants.key(&7).try_slot()?);
    /// let after = tenants.status();
    /// assert_eq!((after.partitions, after.active_partitions), (1, 0));
    /// assert_eq!(after.since(&before)?.totals.created, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn status(&self) -> Status {
        self.inner.status()
    }

    /// Changes the limits of all partitions, those that are kept and those to come, as
    /// [`Handle::reconfigure`](crate::Handle::reconfigure) does for one bulkhead. Returns what
    /// changed, with the number of waiters admitted in all of them.
    ///
    /// To change one limit, pass those of the [status](Status::each) with that one changed. A
    /// partition that was given other limits by its [handle](Partitions::partition) gets these too.
    /// [Limits by key](Builder::limits_for) are computed anew from these. The maximum number of
    /// partitions stays.
    ///
    /// This takes time in proportion to the number of partitions, during which no call enters or
    /// leaves: with 200,000 of them, about a second. All are checked before the first is changed.
    ///
    /// # Errors
    ///
    /// If the partitions are closed, if a limit is out of its range, or if a waiting call asks for
    /// more units than the new capacity. The error has a reason for each invalid limit, and nothing
    /// has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink_tokio::Partitions;
    /// # let builder = Partitions::builder("tenants").parallelism(1).max_partitions(10);
    /// # let tenants: Partitions<String> = builder.build()?;
    /// let answer = tenants.reconfigure(tenants.status().each.with_capacity(2))?;
    /// assert_eq!((answer.previous.capacity, answer.limits.capacity), (1, 2));
    /// let both = (tenants.key("ann").try_slot()?, tenants.key("ann").try_slot()?);
    /// # drop(both);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reconfigure(&self, limits: crate::Limits) -> Result<Reconfigured, ReconfigureError> {
        self.inner.reconfigure(&limits)
    }

    /// Pauses all partitions, those that are kept and those to come, as
    /// [`Handle::pause`](crate::Handle::pause) does for one bulkhead.
    ///
    /// Returns whether this changed anything: not if all of them were paused already, or the
    /// partitions are closed. A partition that is created meanwhile begins paused, without an
    /// event. This takes time in proportion to the number of partitions. Calls enter and leave
    /// meanwhile, and are admitted where the pause has not come yet; they are held up only while
    /// the list of the partitions is copied, with 200,000 of them for some tens of milliseconds.
    ///
    /// ```
    /// # use bulklink_tokio::Partitions;
    /// # let builder = Partitions::builder("tenants").parallelism(1).max_partitions(10);
    /// # let tenants: Partitions<String> = builder.build()?;
    /// assert!(tenants.pause());
    /// assert!(tenants.key("ann").try_slot().unwrap_err().is_paused());
    /// assert!(tenants.resume());
    /// assert!(tenants.key("ann").try_slot().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pause(&self) -> bool {
        self.inner.set_paused(true)
    }

    /// Resumes all partitions, those that are kept and those to come, as
    /// [`Handle::resume`](crate::Handle::resume) does for one bulkhead.
    ///
    /// Returns whether this changed anything: not if none of them was paused. A partition that was
    /// paused by its [handle](Partitions::partition) is resumed too. This takes time in proportion
    /// to the number of partitions. Calls enter and leave meanwhile, and are held up only as by
    /// [`pause`](Partitions::pause).
    pub fn resume(&self) -> bool {
        self.inner.set_paused(false)
    }

    /// Closes all partitions, and returns whether they were open.
    ///
    /// Waiting calls and new calls are rejected; running operations continue. Closing again does
    /// nothing.
    pub fn close(&self) -> bool {
        self.inner.close()
    }

    /// Closes all partitions immediately, and completes when every call has left its partition and
    /// all partitions have been dropped with their keys.
    ///
    /// For that, the future of each call must be polled to its end or dropped, as for
    /// [`closed`](Handle::closed). The dropped partitions count neither as evicted nor as
    /// discarded.
    ///
    /// The last poll takes time in proportion to the number of partitions, and other calls can take
    /// the lock in between. If several tasks call this, only one of them certainly completes after
    /// the drop.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future opens nothing again. The partitions then stay until another call of this
    /// method completes, or the last clone is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink_tokio::Partitions;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let builder = Partitions::builder("tenants").parallelism(1).max_partitions(10);
    /// # let tenants: Partitions<String> = builder.build()?;
    /// tenants.close_and_wait().await;
    /// let status = tenants.status();
    /// assert!(status.is_drained() && status.partitions == 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn close_and_wait(&self) -> impl Future<Output = ()> {
        self.close();
        async move {
            self.inner.drained.opened().await;
            self.inner.drop_drained();
        }
    }
}

impl<K, R, S> Partitions<K, R, S>
where
    R: Clock + Clone + Send + Sync + 'static,
    S: BuildHasher,
{
    /// Enters the partition of this key, and binds a request to it, with every way to ask.
    ///
    /// If the key has no partition, one is created, in place of the one that has been idle the
    /// longest if there are [`max_partitions`](Builder::max_partitions). If that cannot be, or the
    /// partitions are closed, the call that is then made is rejected.
    ///
    /// ```
    /// # use bulklink_tokio::{Partitions, Request};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let builder = Partitions::builder("tenants").capacity(2).max_partitions(10);
    /// # let tenants: Partitions<String> = builder.build()?;
    /// let receipt = tenants.key("ann").execute(async { "paid" }).await?;
    /// assert_eq!(receipt, "paid");
    ///
    /// let slot = tenants.key("ann").with(Request::new().cost(2)).slot().await?;
    /// # assert_eq!(slot.cost(), 2);
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn key<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> BoundRequest<R> {
        // Before the partition is entered, because the runtime is foreign and may panic.
        let runtime = self.inner.each.runtime.clone();
        match self.inner.enter(key, self.class) {
            Ok(shared) => BoundRequest::new(shared, runtime, Request::new()),
            Err(rejection) => BoundRequest::refused(rejection, runtime),
        }
    }

    /// Returns a handle to the partition of this key, if there is one, to inspect, resize, pause or
    /// close it.
    ///
    /// This creates no partition, and the handle does not keep it. When the partition is evicted,
    /// its resized capacity is forgotten, and the handle refers to a bulkhead that no call enters
    /// any more. To prevent that, hold a slot of the partition.
    ///
    /// ```
    /// # use bulklink_tokio::Partitions;
    /// # let builder = Partitions::builder("tenants").parallelism(1).max_partitions(10);
    /// # let tenants: Partitions<String> = builder.build()?;
    /// assert!(tenants.partition("ann").is_none());
    /// let slot = tenants.key("ann").try_slot()?;
    /// let ann = tenants.partition("ann").expect("it is in use");
    /// ann.resize(2)?;
    /// assert_eq!((ann.status().in_flight, ann.status().limits.capacity), (1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn partition<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<crate::Handle> {
        self.inner.get(key, self.class)
    }

    /// Drops the partition of this key if it is idle, and returns whether it was dropped.
    ///
    /// A partition in use stays.
    pub fn discard<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> bool {
        self.inner.discard(key, self.class)
    }
}

impl<K, R, S> Clone for Partitions<K, R, S> {
    fn clone(&self) -> Self {
        Partitions { inner: Arc::clone(&self.inner), class: self.class }
    }
}

/// Shows the label and the occupancy, and no key.
impl<K, R, S> fmt::Debug for Partitions<K, R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (occupancy, is_closed) =
            self.inner.state.with(|state| (state.account.occupancy(), state.account.is_closed()));
        f.debug_struct("Partitions")
            .field("label", &self.inner.identity.label)
            .field("occupancy", &occupancy)
            .field("is_closed", &is_closed)
            .finish_non_exhaustive()
    }
}
