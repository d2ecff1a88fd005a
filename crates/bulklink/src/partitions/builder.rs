//! The builder of partitions.

use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;

use bulklink_core::partitions::Limits;

use super::RandomState;
use super::inner::Inner;
use crate::{Clock, InvalidArgument, Partitions, Reserve};

/// Configures and builds [`Partitions`]; returned by [`Partitions::builder`].
#[must_use = "a builder does nothing until `build`"]
pub struct Builder<K, R, S = RandomState> {
    each: crate::Builder<R>,
    max_partitions: Option<usize>,
    idle_timeout: Option<Duration>,
    hasher: S,
    key: PhantomData<fn(&K)>,
}

impl<K, R: Clock> Builder<K, R> {
    pub(super) fn new(runtime: R, label: &str) -> Self {
        let each = crate::Builder::new(runtime, label);
        Builder { each, max_partitions: None, idle_timeout: None, hasher: RandomState::default(), key: PhantomData }
    }
}

impl<K, R: Clock, S> Builder<K, R, S> {
    /// Sets another name, so that one configuration can be cloned for several partitions, as
    /// [`Builder::label`](crate::Builder::label).
    pub fn label(self, label: &str) -> Self {
        self.each(|each| each.label(label))
    }

    /// Sets how many partitions may exist at the same time, from 1 to
    /// [`partitions::Limits::MAX`](super::Limits::MAX). It must be set.
    ///
    /// When one more is needed, the partition that has been idle the longest is evicted. If none is
    /// idle, calls are rejected with [`Reason::PartitionLimit`](crate::Reason::PartitionLimit), so
    /// choose more than are ever in use at the same time.
    pub fn max_partitions(mut self, partitions: usize) -> Self {
        self.max_partitions = Some(partitions);
        self
    }

    /// Sets how long a partition must have been idle for [`cleanup_idle`](Partitions::cleanup_idle)
    /// to drop it.
    ///
    /// With zero, a cleanup drops every idle partition. Without an idle timeout, a cleanup drops
    /// none, and the end of a call does not read the clock.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = Some(timeout);
        self
    }

    /// Sets the hasher of keys. It runs outside all locks.
    pub fn hasher<T>(self, hasher: T) -> Builder<K, R, T> {
        let Builder { each, max_partitions, idle_timeout, key, .. } = self;
        Builder { each, max_partitions, idle_timeout, hasher, key }
    }

    /// Sets how many operations may run concurrently in each partition, as
    /// [`Builder::parallelism`](crate::Builder::parallelism).
    pub fn parallelism(self, operations: usize) -> Self {
        self.each(|each| each.parallelism(operations))
    }

    /// Sets how many units may be in use concurrently in each partition, as
    /// [`Builder::capacity`](crate::Builder::capacity).
    pub fn capacity(self, units: usize) -> Self {
        self.each(|each| each.capacity(units))
    }

    /// Sets how many operations may wait in each partition, as
    /// [`Builder::waiting_room`](crate::Builder::waiting_room).
    pub fn waiting_room(self, operations: usize) -> Self {
        self.each(|each| each.waiting_room(operations))
    }

    /// Bounds the waiting room of each partition in units as well, as
    /// [`Builder::waiting_room_units`](crate::Builder::waiting_room_units).
    pub fn waiting_room_units(self, units: usize) -> Self {
        self.each(|each| each.waiting_room_units(units))
    }

    /// Sets the longest time that a call may wait, as
    /// [`Builder::wait_limit`](crate::Builder::wait_limit).
    #[doc(alias = "timeout")]
    pub fn wait_limit(self, limit: Duration) -> Self {
        self.each(|each| each.wait_limit(limit))
    }

    /// Sets whether waits are measured, as
    /// [`Builder::measure_waits`](crate::Builder::measure_waits).
    pub fn measure_waits(self, measured: bool) -> Self {
        self.each(|each| each.measure_waits(measured))
    }

    /// Sets whether the time is measured for which operations hold their slots, as
    /// [`Builder::measure_holds`](crate::Builder::measure_holds).
    pub fn measure_holds(self, measured: bool) -> Self {
        self.each(|each| each.measure_holds(measured))
    }

    /// Sets how long a slot that was handed to a waiting call may be not collected, as
    /// [`Builder::collect_within`](crate::Builder::collect_within). The call's future still keeps
    /// its partition, until it is polled or dropped.
    pub fn collect_within(self, limit: Duration) -> Self {
        self.each(|each| each.collect_within(limit))
    }

    /// Sets how much time the wait of a call with a deadline leaves to the operation, as
    /// [`Builder::reserve`](crate::Builder::reserve). Each partition follows its own calls.
    pub fn reserve(self, reserve: Reserve) -> Self {
        self.each(|each| each.reserve(reserve))
    }

    fn each(mut self, change: impl FnOnce(crate::Builder<R>) -> crate::Builder<R>) -> Self {
        self.each = change(self.each);
        self
    }
}

impl<K, R, S> Builder<K, R, S>
where
    K: Send + 'static,
    R: Clock + Clone + Send + Sync + 'static,
    S: Send + Sync + 'static,
{
    /// Builds the partitions. Each is created when it is first needed.
    ///
    /// # Errors
    ///
    /// If a number is out of its range; if the number of partitions was not set, or neither
    /// parallelism nor capacity was; or if the label is blank or contains control or invisible
    /// characters (see [Labels](crate::Builder#labels)). The error names the field and the value.
    pub fn build(self) -> Result<Partitions<K, R, S>, InvalidArgument> {
        let Builder { each, max_partitions, idle_timeout, hasher, .. } = self;
        let identity = each.check()?;
        let max_partitions =
            max_partitions.ok_or_else(|| InvalidArgument::new("max_partitions", "nothing", "must be set"));
        let inner = max_partitions
            .and_then(|max_partitions| Inner::new(each, &identity, Limits { max_partitions, idle_timeout }, hasher));
        let inner = inner.map_err(|invalid| invalid.of(format_args!("bulkhead {}", identity.label)))?;
        Ok(Partitions { inner })
    }
}

impl<K, R: Clone, S: Clone> Clone for Builder<K, R, S> {
    fn clone(&self) -> Self {
        let Builder { each, max_partitions, idle_timeout, hasher, key } = self;
        Builder {
            each: each.clone(),
            max_partitions: *max_partitions,
            idle_timeout: *idle_timeout,
            hasher: hasher.clone(),
            key: *key,
        }
    }
}

impl<K, R: fmt::Debug, S> fmt::Debug for Builder<K, R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("each", &self.each)
            .field("max_partitions", &self.max_partitions)
            .field("idle_timeout", &self.idle_timeout)
            .finish_non_exhaustive()
    }
}
