//! Making partitions.

use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;

use bulklink_core::partitions::Limits;

use super::RandomState;
use super::inner::Inner;
use crate::{InvalidArgument, Partitions, Runtime};

/// The configuration of partitions to be; made by [`Partitions::builder`].
#[must_use = "a builder does nothing until `build`"]
pub struct Builder<K, R, S = RandomState> {
    each: crate::Builder<R>,
    max_partitions: Option<usize>,
    idle_timeout: Option<Duration>,
    hasher: S,
    key: PhantomData<fn(&K)>,
}

impl<K, R: Runtime> Builder<K, R> {
    pub(super) fn new(runtime: R, label: &str) -> Self {
        let each = crate::Builder::new(runtime, label);
        Builder { each, max_partitions: None, idle_timeout: None, hasher: RandomState::default(), key: PhantomData }
    }
}

impl<K, R: Runtime, S> Builder<K, R, S> {
    /// How many partitions are kept at once, from 1 to [`partitions::Limits::MAX`](super::Limits::MAX). It must be set.
    ///
    /// Where one more is needed, the longest idle makes room. Choose more than are ever in use at once, or calls are rejected for
    /// [`Reason::PartitionLimit`](crate::Reason::PartitionLimit).
    pub fn max_partitions(mut self, partitions: usize) -> Self {
        self.max_partitions = Some(partitions);
        self
    }

    /// How long a partition has been idle when [`cleanup_idle`](Partitions::cleanup_idle) drops it. Zero drops whatever is idle
    /// then. Without it, a cleanup drops none, and no clock is read when a call ends.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = Some(timeout);
        self
    }

    /// How keys are hashed. It runs outside of all locks.
    pub fn hasher<T>(self, hasher: T) -> Builder<K, R, T> {
        let Builder { each, max_partitions, idle_timeout, key, .. } = self;
        Builder { each, max_partitions, idle_timeout, hasher, key }
    }

    /// How many operations may run at once in each partition, as [`Builder::parallelism`](crate::Builder::parallelism).
    pub fn parallelism(self, operations: usize) -> Self {
        self.each(|each| each.parallelism(operations))
    }

    /// How many units may be in use at once in each partition, as [`Builder::capacity`](crate::Builder::capacity).
    pub fn capacity(self, units: usize) -> Self {
        self.each(|each| each.capacity(units))
    }

    /// How many operations may wait in each partition, as [`Builder::waiting_room`](crate::Builder::waiting_room).
    pub fn waiting_room(self, operations: usize) -> Self {
        self.each(|each| each.waiting_room(operations))
    }

    /// The longest that anyone waits, as [`Builder::wait_limit`](crate::Builder::wait_limit).
    #[doc(alias = "timeout")]
    pub fn wait_limit(self, limit: Duration) -> Self {
        self.each(|each| each.wait_limit(limit))
    }

    /// Whether waits are measured, as [`Builder::measure_waits`](crate::Builder::measure_waits).
    pub fn measure_waits(self, measured: bool) -> Self {
        self.each(|each| each.measure_waits(measured))
    }

    fn each(mut self, change: impl FnOnce(crate::Builder<R>) -> crate::Builder<R>) -> Self {
        self.each = change(self.each);
        self
    }

    /// Makes the partitions: none yet, each as it is needed.
    ///
    /// # Errors
    ///
    /// If a number is out of its range, if the number of partitions was not set, or neither
    /// parallelism nor capacity was, or if the label is blank or holds control or invisible
    /// characters (see [Labels](crate::Builder#labels)). The error names the field and the value.
    pub fn build(self) -> Result<Partitions<K, R, S>, InvalidArgument> {
        let Builder { each, max_partitions, idle_timeout, hasher, .. } = self;
        let plan = each.plan()?;
        let label = Arc::clone(&plan.identity.label);
        let max_partitions =
            max_partitions.ok_or_else(|| InvalidArgument::new("max_partitions", "nothing", "must be set"));
        let inner =
            max_partitions.and_then(|count| Inner::new(plan, Limits { max_partitions: count, idle_timeout }, hasher));
        Ok(Partitions::new(inner.map_err(|invalid| invalid.of(format_args!("bulkhead {label}")))?))
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
