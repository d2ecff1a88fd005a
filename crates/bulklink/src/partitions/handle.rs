//! Partitions without the types of their keys and their runtime.

use alloc::sync::{Arc, Weak};
use core::fmt;
use core::future::Future;
use core::panic::RefUnwindSafe;

use bulklink_core::{EventFilter, InvalidArgument, Limits};

#[cfg(feature = "std")]
use super::Figures;
use super::inner::Inner;
use super::shares::no_keys;
use super::{CapacityReport, Status, Sums, WorstKeys};
use crate::gate::latch::Latch;
use crate::identity::Identity;
use crate::observe::channel::EventSource;
use crate::observe::event::{Handler, Handlers};
use crate::pool::Setup;
use crate::reconfigure::Refused;
use crate::time::runtime::DynClock;
use crate::{Clock, Closed, Event, EventReceiver, HandlerId, Partitions, ReconfigureError, Reconfigured};

/// Partitions without the types of their keys, runtime and hasher, so that different ones can be
/// kept together.
///
/// Made by [`Partitions::handle`]; a [`Registry`](crate::Registry) lists them. It keeps the
/// partitions as a clone of them does. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    pub(crate) inner: Arc<dyn AnyPartitions>,
}

/// The state that all clones of partitions share, whatever their types.
pub(crate) trait AnyPartitions: Send + Sync + RefUnwindSafe {
    fn identity(&self) -> &Arc<Identity>;
    fn drained(&self) -> &Latch;
    fn status(&self) -> Status;
    fn sums(&self) -> Sums;
    #[cfg(feature = "std")]
    fn figures(&self, into: &mut Figures);
    fn capacity_report(&self, earlier: Option<&Sums>) -> CapacityReport;
    fn setup(&self) -> Option<Setup>;
    fn shows_keys(&self) -> bool;
    fn worst_keys(&self, most: usize) -> Option<WorstKeys>;
    fn reconfigure(&self, limits: &Limits) -> Result<Reconfigured, ReconfigureError>;
    fn try_reconfigure(&self, limits: &Limits, setup: Option<&Setup>) -> Result<Reconfigured, Refused>;
    fn check(&self, limits: &Limits, setup: Option<&Setup>) -> Result<(), Refused>;
    fn set_paused(&self, is_paused: bool) -> bool;
    fn close(&self) -> bool;
    fn cleanup_idle(&self) -> usize;
    fn drop_drained(&self);
    fn change_handlers(&self, change: &dyn Fn(&Handlers) -> Option<Handlers>) -> bool;
    fn clock(&self) -> Arc<dyn DynClock>;
    fn event_source(self: Arc<Self>) -> Weak<dyn EventSource>;
}

impl<K, R, S> AnyPartitions for Inner<K, R, S>
where
    K: Send + 'static,
    R: Clock + Clone + Send + Sync + 'static,
    S: Send + Sync + 'static,
{
    fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    fn drained(&self) -> &Latch {
        &self.drained
    }

    fn status(&self) -> Status {
        self.status()
    }

    fn sums(&self) -> Sums {
        self.read(None, |_, _| ()).1
    }

    #[cfg(feature = "std")]
    fn figures(&self, into: &mut Figures) {
        self.figures(into);
    }

    fn capacity_report(&self, earlier: Option<&Sums>) -> CapacityReport {
        CapacityReport::of(self, earlier)
    }

    fn setup(&self) -> Option<Setup> {
        Some(self.pool()?.setup())
    }

    fn shows_keys(&self) -> bool {
        self.show_key.is_some()
    }

    fn worst_keys(&self, most: usize) -> Option<WorstKeys> {
        self.worst_keys(most)
    }

    fn reconfigure(&self, limits: &Limits) -> Result<Reconfigured, ReconfigureError> {
        self.reconfigure(limits)
    }

    fn try_reconfigure(&self, limits: &Limits, setup: Option<&Setup>) -> Result<Reconfigured, Refused> {
        self.try_change(limits, None, setup, no_keys, || ())
    }

    fn check(&self, limits: &Limits, setup: Option<&Setup>) -> Result<(), Refused> {
        self.check_change(limits, None, setup, no_keys)
    }

    fn set_paused(&self, is_paused: bool) -> bool {
        self.set_paused(is_paused)
    }

    fn close(&self) -> bool {
        self.close()
    }

    fn cleanup_idle(&self) -> usize {
        self.cleanup_idle()
    }

    fn drop_drained(&self) {
        self.drop_drained();
    }

    fn change_handlers(&self, change: &dyn Fn(&Handlers) -> Option<Handlers>) -> bool {
        self.change_handlers(change)
    }

    fn clock(&self) -> Arc<dyn DynClock> {
        Arc::new(self.each.runtime.clone())
    }

    fn event_source(self: Arc<Self>) -> Weak<dyn EventSource> {
        let source: Arc<dyn EventSource> = self;
        Arc::downgrade(&source)
    }
}

impl<K, R, S> Partitions<K, R, S>
where
    K: Send + 'static,
    R: Clock + Clone + Send + Sync + 'static,
    S: Send + Sync + 'static,
{
    /// Returns these partitions without the types of their keys and their runtime, to inspect,
    /// change and close them.
    ///
    /// ```
    /// use bulklink_tokio::{Partitions, partitions};
    ///
    /// let builder = Partitions::builder("tenants").parallelism(1).max_partitions(10);
    /// let tenants: Partitions<String> = builder.build()?;
    /// let builder = Partitions::builder("hosts").parallelism(8).max_partitions(100);
    /// let hosts: Partitions<u32> = builder.build()?;
    /// let all: Vec<partitions::Handle> = vec![tenants.handle(), hosts.handle()];
    /// assert!(all.iter().all(|partitions| partitions.close()));
    /// assert!(tenants.status().is_closed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle { inner: Arc::<Inner<K, R, S>>::clone(&self.inner) }
    }
}

impl Handle {
    /// Returns the name of the partitions.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.inner.identity().label
    }

    /// Returns the figures of this moment, as [`Partitions::status`] does.
    #[must_use]
    pub fn status(&self) -> Status {
        self.inner.status()
    }

    /// Changes the limits of all partitions, as [`Partitions::reconfigure`] does.
    ///
    /// # Errors
    ///
    /// As [`Partitions::reconfigure`].
    pub fn reconfigure(&self, limits: Limits) -> Result<Reconfigured, ReconfigureError> {
        self.inner.reconfigure(&limits)
    }

    /// Pauses all partitions, as [`Partitions::pause`] does.
    pub fn pause(&self) -> bool {
        self.inner.set_paused(true)
    }

    /// Resumes all partitions, as [`Partitions::resume`] does.
    pub fn resume(&self) -> bool {
        self.inner.set_paused(false)
    }

    /// Drops the partitions that have been idle for the [idle
    /// timeout](super::Builder::idle_timeout) or longer, and returns their number.
    ///
    /// They count as evicted. Call this periodically to give memory back; a new key finds room
    /// without it. It takes time in proportion to the number of partitions it drops, and other
    /// calls can take the lock in between.
    ///
    /// ```
    /// use bulklink_tokio::Partitions;
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let tenants: Partitions<u64> = Partitions::builder("tenants")
    ///     .parallelism(1)
    ///     .max_partitions(10)
    ///     .idle_timeout(Duration::from_secs(60))
    ///     .build()?;
    /// drop(tenants.key(&7).slot().await?);
    /// tokio::time::sleep(Duration::from_secs(60)).await;
    /// assert_eq!(tenants.handle().cleanup_idle(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn cleanup_idle(&self) -> usize {
        self.inner.cleanup_idle()
    }

    /// Closes all partitions, as [`Partitions::close`] does, and returns whether they were open.
    pub fn close(&self) -> bool {
        self.inner.close()
    }

    /// Completes when the partitions are closed and every call has left its partition.
    ///
    /// It closes nothing itself, and drops no partition.
    ///
    /// A call leaves when its request or its future is dropped or rejected, or its slot is dropped.
    /// This does not complete while the future of a call is kept without being polled or dropped,
    /// even if it was never polled, or has been granted a slot.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    #[doc(alias = "wait_closed")]
    pub fn closed(&self) -> Closed<'_> {
        self.inner.drained().opened()
    }

    /// Closes all partitions immediately, and completes when every call has left its partition and
    /// all partitions have been dropped, as [`Partitions::close_and_wait`] does.
    ///
    /// # Cancel safety
    ///
    /// As [`Partitions::close_and_wait`].
    pub fn close_and_wait(&self) -> impl Future<Output = ()> + Send {
        self.close();
        async move {
            self.closed().await;
            self.inner.drop_drained();
        }
    }

    /// Calls `handler` for every transition in every partition from now on, as
    /// [`Handle::add_event_handler`](crate::Handle::add_event_handler) does for one bulkhead.
    /// Returns an id to [remove](Handle::remove_event_handler) it by.
    ///
    /// Events carry the label, and not the key; each partition numbers its own events. This takes
    /// time in proportion to the number of partitions. Calls enter and leave meanwhile, so *from
    /// now on* is from when this returns; they are held up only as by
    /// [`pause`](Partitions::pause).
    pub fn add_event_handler(
        &self,
        filter: EventFilter,
        handler: impl Fn(&Event) + Send + Sync + 'static,
    ) -> HandlerId {
        let handler = Handler::new(filter, handler);
        self.inner.change_handlers(&|handlers| Some(handlers.with(&handler)));
        handler.id()
    }

    /// Stops calling a handler, and returns whether it was removed.
    ///
    /// It was not if it had been removed before, or belongs to other partitions. An event whose
    /// delivery has begun may still reach it: pausing, resuming and reconfiguring begin with one of
    /// each partition. It stays with the bulkhead of an evicted partition while a
    /// [handle](Partitions::partition) keeps that. Calls are held up only as by
    /// [`pause`](Partitions::pause).
    pub fn remove_event_handler(&self, id: HandlerId) -> bool {
        self.inner.change_handlers(&|handlers| handlers.without(id))
    }

    /// Subscribes to the events of all partitions, those that are kept and those to come, for one
    /// async consumer, as [`Handle::subscribe`](crate::Handle::subscribe) does for one bulkhead.
    ///
    /// Events carry the label, and not the key; each partition numbers its own events. The receiver
    /// ends when the last clone of the partitions, the last handle of a partition, and the last
    /// slot and call have been dropped. Dropping the receiver removes its handler. Both subscribing
    /// and dropping take time in proportion to the number of partitions. Calls enter and leave
    /// meanwhile, and are held up only as by [`pause`](Partitions::pause).
    ///
    /// # Errors
    ///
    /// If the capacity is zero.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink_tokio::{EventFilter, EventKind, Partitions};
    /// # let builder = Partitions::builder("tenants").parallelism(1).max_partitions(10);
    /// # let tenants: Partitions<String> = builder.build()?;
    /// let mut events = tenants.handle().subscribe(EventFilter::ALL, 1000)?;
    /// let slots = (tenants.key("ann").try_slot()?, tenants.key("bob").try_slot()?);
    /// let kinds = [events.try_recv()?.kind, events.try_recv()?.kind];
    /// assert_eq!(kinds, [EventKind::Admitted; 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "event_channel")]
    pub fn subscribe(&self, filter: EventFilter, capacity: usize) -> Result<EventReceiver, InvalidArgument> {
        let source = Arc::clone(&self.inner).event_source();
        let clock = self.inner.clock();
        EventReceiver::new(format_args!("partitions {}", self.label()), filter, capacity, clock, source)
    }
}

/// Shows the label and the occupancy, and no key.
impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status();
        f.debug_struct("Partitions")
            .field("label", &status.label)
            .field("partitions", &status.partitions)
            .field("active_partitions", &status.active_partitions)
            .field("is_closed", &status.is_closed)
            .finish_non_exhaustive()
    }
}
