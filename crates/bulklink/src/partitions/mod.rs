//! Keyed bulkheads: [`Partitions`], and what they are made with, give out and say of themselves.

mod acquire;
mod admission;
mod builder;
mod hasher;
mod inner;
mod key;
mod lease;
mod slot;
mod state;
mod status;

use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::hash::BuildHasher;

pub use bulklink_core::partitions::{Interval, Limits, Occupancy, Snapshot, Totals};

pub use acquire::{OwnedSlotFuture, SlotFuture};
pub use builder::Builder;
pub use hasher::RandomState;
pub use key::Lookup;
pub use slot::{OwnedSlot, Slot};
pub use status::Status;

use crate::{Closed, EventHandler, Handle, Runtime};
use inner::Inner;

/// A bulkhead for each key: for each tenant, each upstream host, each account. What one of them uses up, no other misses.
///
/// Each partition is a bulkhead with the same limits. It is made when a call first needs it, and kept while any call of its key
/// waits or runs. Of those that nobody uses, as many are kept as there may be partitions in all; then the one that has been idle
/// the longest makes room for a newcomer. Where none is idle, the call is rejected for
/// [`Reason::PartitionLimit`](crate::Reason::PartitionLimit). So memory is bounded, however many keys there are.
///
/// Clones are cheap and share everything. Nobody keeps house in the background: what has been idle for long goes when there is a
/// newcomer, or in a [`cleanup_idle`](Partitions::cleanup_idle).
///
/// Status, errors, events and debug output show the label, and never a key.
///
/// ```
/// use bulklink::testing::FakeClock;
/// use bulklink::{Partitions, Reason};
///
/// let tenants: Partitions<String, _> = Partitions::builder_on(FakeClock::new(), "tenants")
///     .parallelism(1)
///     .max_partitions(2)
///     .build()?;
///
/// let ann = tenants.try_slot("ann")?;
/// assert_eq!(tenants.try_slot("ann").unwrap_err().reason(), Reason::Saturated);
/// let bob = tenants.try_slot("bob")?;
/// assert_eq!(tenants.try_slot("eve").unwrap_err().reason(), Reason::PartitionLimit);
///
/// drop(ann);
/// let eve = tenants.try_slot("eve")?;
/// assert_eq!(tenants.status().totals.evicted, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Leases
///
/// A call enters its partition when it is made, not when it is first polled: so no future has to keep its key. From then until it is
/// dropped, or its operation has ended, it is one of the [leased operations](Snapshot::leased_operations), and its partition stays.
/// Its place in the queue it takes when it is first polled, as in any bulkhead. A call that gets no
/// partition is told so, and counted as rejected, when it is first polled.
///
/// # Fairness
///
/// First come, first served in each partition. Between partitions there is nothing to share but their number.
///
/// # Keys
///
/// They are hashed, cloned and dropped outside of all locks, and compared under one. `Eq` must not call back into the same
/// partitions, or the call never returns. If it panics, so does the call, and nothing has changed.
///
/// Looking a key up that has a partition clones and allocates nothing: see [`Lookup`].
pub struct Partitions<K, R, S = RandomState> {
    inner: Arc<Inner<K, R, S>>,
}

impl<K, R: Runtime + Default> Partitions<K, R> {
    /// Begins partitions with this name, on the runtime that their type says.
    /// [Labels](crate::Builder#labels) says which names there can be.
    pub fn builder(label: &str) -> Builder<K, R> {
        Builder::new(R::default(), label)
    }
}

impl<K, R: Runtime> Partitions<K, R> {
    /// Begins partitions with this name, on this runtime. [Labels](crate::Builder#labels) says
    /// which names there can be.
    pub fn builder_on(runtime: R, label: &str) -> Builder<K, R> {
        Builder::new(runtime, label)
    }
}

impl<K, R: Runtime, S> Partitions<K, R, S> {
    fn new(inner: Inner<K, R, S>) -> Self {
        Partitions { inner: Arc::new(inner) }
    }

    /// The name of them all.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.inner.plan.identity.label
    }

    /// All figures at this moment. They belong together, and every status has a larger number than the one before.
    ///
    /// ```
    /// # use bulklink::{Partitions, testing::FakeClock};
    /// # let builder = Partitions::builder_on(FakeClock::new(), "tenants");
    /// # let tenants: Partitions<u64, _> = builder.parallelism(1).max_partitions(10).build()?;
    /// let before = tenants.status();
    /// drop(tenants.try_slot(&7)?);
    /// let after = tenants.status();
    /// assert_eq!((after.partitions, after.active_partitions), (1, 0));
    /// assert_eq!(after.since(&before)?.totals.created, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn status(&self) -> Status {
        let snapshot = self.inner.state.with(|state| state.account.snapshot());
        let plan = &self.inner.plan;
        Status { label: Arc::clone(&plan.identity.label), each: plan.limits, snapshot }
    }

    /// Drops the partitions that have been idle for the [idle timeout](Builder::idle_timeout) or longer, and returns how many that
    /// were. They count as evicted. To be called now and then where memory is wanted back; a newcomer finds room without it.
    ///
    /// Takes time in proportion to what it drops. Others come in between.
    ///
    /// ```
    /// # use bulklink::{Partitions, testing::FakeClock};
    /// # use std::time::Duration;
    /// # let clock = FakeClock::new();
    /// let tenants: Partitions<u64, _> = Partitions::builder_on(clock.clone(), "tenants")
    ///     .parallelism(1)
    ///     .max_partitions(10)
    ///     .idle_timeout(Duration::from_secs(60))
    ///     .build()?;
    /// drop(tenants.try_slot(&7)?);
    /// clock.advance(Duration::from_secs(60));
    /// assert_eq!(tenants.cleanup_idle(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cleanup_idle(&self) -> usize {
        self.inner.cleanup_idle()
    }

    /// Closes all partitions: everyone who waits and everyone who comes is rejected, what runs goes on. Returns whether they were
    /// open until then; closing again does nothing.
    pub fn close(&self) -> bool {
        self.inner.close()
    }

    /// Whether they are closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.inner.state.with(|state| state.account.is_closed())
    }

    /// Completes when all is closed and every call has left its partition. It closes nothing
    /// itself, and drops no partition.
    ///
    /// A call leaves when its future is dropped or rejected, or its slot is dropped. While a future
    /// is kept that is neither polled nor dropped, this does not complete, whether that future was
    /// never polled, waits, or has been granted a slot.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    #[doc(alias = "wait_closed")]
    pub fn closed(&self) -> Closed<'_> {
        self.inner.drained.opened()
    }

    /// Closes all partitions immediately, and completes when every call has left its partition, as
    /// [`closed`](Partitions::closed), and all partitions have been dropped with their keys. They
    /// count neither as evicted nor as discarded. Each call's future has to be polled to its end or
    /// dropped for that.
    ///
    /// The last poll takes time in proportion to the number of partitions kept. Others come in
    /// between. Where several tasks wait, only one of them is sure to complete after the drop.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future does not open anything again. What is kept then stays until another call
    /// of this completes, or the last clone is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink::{Partitions, testing::{Executor, FakeClock}};
    /// # let mut executor = Executor::new(FakeClock::new());
    /// # let builder = Partitions::builder_on(executor.clock(), "tenants");
    /// # let tenants: Partitions<u64, _> = builder.parallelism(1).max_partitions(10).build()?;
    /// # executor.block_on(async move {
    /// tenants.close_and_wait().await;
    /// let status = tenants.status();
    /// assert!(status.is_drained() && status.partitions == 0);
    /// # });
    /// # Ok::<(), bulklink::InvalidArgument>(())
    /// ```
    pub fn close_and_wait(&self) -> impl Future<Output = ()> {
        self.close();
        async move {
            self.closed().await;
            self.inner.drop_drained();
        }
    }

    /// Tells `handler` of every transition in every partition from now on, as
    /// [`Handle::add_event_handler`] does for one bulkhead. Returns whether it was added: adding it again does nothing.
    ///
    /// Events carry the label, and not the key; each partition numbers its own. Takes time in proportion to the number of partitions
    /// kept, during which no call comes in or leaves.
    pub fn add_event_handler(&self, handler: &EventHandler) -> bool {
        self.inner.change_handlers(|handlers| handlers.with(handler))
    }

    /// Stops calling `handler`. Returns whether it was removed: removing one that is missing does nothing.
    /// An event that another thread is delivering may still reach it.
    pub fn remove_event_handler(&self, handler: &EventHandler) -> bool {
        self.inner.change_handlers(|handlers| handlers.without(handler))
    }

    /// How often a handler has panicked, in all partitions.
    #[must_use]
    pub fn handler_panics(&self) -> usize {
        self.inner.plan.identity.handler_panics()
    }
}

impl<K, R: Runtime, S: BuildHasher> Partitions<K, R, S> {
    /// The partition of this key as it is kept now, if there is one: to look at, to resize or to close it.
    ///
    /// That makes no partition and does not keep it. Once it has made room for another, what it was resized to is forgotten, and the
    /// handle leads to a bulkhead that nobody enters any more. Whoever holds a slot of it prevents that.
    ///
    /// ```
    /// # use bulklink::{Partitions, testing::FakeClock};
    /// # let builder = Partitions::builder_on(FakeClock::new(), "tenants");
    /// # let tenants: Partitions<String, _> = builder.parallelism(1).max_partitions(10).build()?;
    /// assert!(tenants.handle("ann").is_none());
    /// let slot = tenants.try_slot("ann")?;
    /// let ann = tenants.handle("ann").expect("it is in use");
    /// ann.resize(2)?;
    /// assert_eq!((ann.status().in_flight, ann.status().limits.capacity), (1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn handle<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> Option<Handle> {
        self.inner.get(key)
    }

    /// Drops the partition of this key, if there is one and it is idle. Returns whether it was dropped. One that is in use stays.
    pub fn discard<Q: Lookup<K> + ?Sized>(&self, key: &Q) -> bool {
        self.inner.discard(key)
    }
}

impl<K, R, S> Clone for Partitions<K, R, S> {
    fn clone(&self) -> Self {
        Partitions { inner: Arc::clone(&self.inner) }
    }
}

/// Occupancy only, and no key.
impl<K, R, S> fmt::Debug for Partitions<K, R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (occupancy, is_closed) =
            self.inner.state.with(|state| (state.account.occupancy(), state.account.is_closed()));
        f.debug_struct("Partitions")
            .field("label", &self.inner.plan.identity.label)
            .field("occupancy", &occupancy)
            .field("is_closed", &is_closed)
            .finish()
    }
}
