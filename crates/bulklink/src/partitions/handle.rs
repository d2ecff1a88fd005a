//! Partitions without the types of their keys and their runtime.

use alloc::sync::{Arc, Weak};
use core::fmt;
use core::future::Future;
use core::panic::RefUnwindSafe;

use bulklink_core::{EventFilter, InvalidArgument, Limits};

#[cfg(feature = "std")]
use super::Figures;
use super::inner::Inner;
use super::{CapacityReport, Status, Sums};
use crate::gate::latch::Latch;
use crate::observe::channel::EventSource;
use crate::observe::event::{Handler, Handlers};
use crate::reconfigure::Refused;
use crate::rejection::Identity;
use crate::time::runtime::DynClock;
use crate::{Clock, Closed, Event, EventReceiver, HandlerId, Partitions, ReconfigureError, Reconfigured};

/// Partitions without the types of their keys, runtime and hasher, so that different ones can be
/// kept together.
///
/// Made by [`Partitions::to_handle`]; a [`Registry`](crate::Registry) lists them. It keeps the
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
    fn reconfigure(&self, limits: &Limits) -> Result<Reconfigured, ReconfigureError>;
    fn try_reconfigure(&self, limits: &Limits) -> Result<Reconfigured, Refused>;
    fn check(&self, limits: &Limits) -> Result<(), Refused>;
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
        self.state.with(|state| self.status(state))
    }

    fn sums(&self) -> Sums {
        self.read(None, |_| ()).1
    }

    #[cfg(feature = "std")]
    fn figures(&self, into: &mut Figures) {
        self.figures(into);
    }

    fn capacity_report(&self, earlier: Option<&Sums>) -> CapacityReport {
        CapacityReport::of(self, earlier)
    }

    fn reconfigure(&self, limits: &Limits) -> Result<Reconfigured, ReconfigureError> {
        self.reconfigure(limits)
    }

    fn try_reconfigure(&self, limits: &Limits) -> Result<Reconfigured, Refused> {
        self.try_reconfigure(limits)
    }

    fn check(&self, limits: &Limits) -> Result<(), Refused> {
        self.check(limits, None)
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
    /// # use bulklink::{Partitions, partitions, testing::FakeClock};
    /// # let builder = Partitions::builder_on(FakeClock::new(), "tenants").parallelism(1);
    /// let tenants: Partitions<String, _> = builder.max_partitions(10).build()?;
    /// # let builder = Partitions::builder_on(FakeClock::new(), "hosts").parallelism(1);
    /// let hosts: Partitions<u32, _> = builder.max_partitions(10).build()?;
    /// let all: Vec<partitions::Handle> = vec![tenants.to_handle(), hosts.to_handle()];
    /// assert!(all.iter().all(|partitions| partitions.close()));
    /// assert!(tenants.is_closed());
    /// # Ok::<(), bulklink::InvalidArgument>(())
    /// ```
    #[must_use]
    pub fn to_handle(&self) -> Handle {
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

    /// Returns the figures of all partitions together, as [`Partitions::sums`] does.
    #[must_use]
    pub fn sums(&self) -> Sums {
        self.inner.sums()
    }

    /// Reports the findings of the partitions about capacity, as [`Partitions::capacity_report`]
    /// does.
    #[must_use]
    pub fn capacity_report(&self) -> CapacityReport {
        self.inner.capacity_report(None)
    }

    /// Reports the findings of the partitions about capacity since an earlier time, as
    /// [`Partitions::capacity_report_since`] does.
    #[must_use]
    pub fn capacity_report_since(&self, earlier: &Sums) -> CapacityReport {
        self.inner.capacity_report(Some(earlier))
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

    /// Returns whether the partitions are paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.status().is_paused
    }

    /// Drops the partitions that have reached the idle timeout, as [`Partitions::cleanup_idle`]
    /// does, and returns their number.
    pub fn cleanup_idle(&self) -> usize {
        self.inner.cleanup_idle()
    }

    /// Closes all partitions, as [`Partitions::close`] does, and returns whether they were open.
    pub fn close(&self) -> bool {
        self.inner.close()
    }

    /// Returns whether the partitions are closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.status().is_closed
    }

    /// Completes when the partitions are closed and every call has left its partition, as
    /// [`Partitions::closed`] does.
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

    /// Calls `handler` for every transition in every partition, as
    /// [`Partitions::add_event_handler`] does. Returns an id to remove it by.
    pub fn add_event_handler(&self, handler: impl Fn(&Event) + Send + Sync + 'static) -> HandlerId {
        self.add_event_handler_for(EventFilter::ALL, handler)
    }

    /// Calls `handler` for the events of the filter, as [`Partitions::add_event_handler_for`] does.
    pub fn add_event_handler_for(
        &self,
        filter: EventFilter,
        handler: impl Fn(&Event) + Send + Sync + 'static,
    ) -> HandlerId {
        let handler = Handler::new(filter, handler);
        self.inner.change_handlers(&|handlers| Some(handlers.with(&handler)));
        handler.id()
    }

    /// Stops calling a handler, as [`Partitions::remove_event_handler`] does, and returns whether
    /// it was removed.
    pub fn remove_event_handler(&self, id: HandlerId) -> bool {
        self.inner.change_handlers(&|handlers| handlers.without(id))
    }

    /// Subscribes to the events of all partitions, as [`Partitions::subscribe`] does.
    ///
    /// # Errors
    ///
    /// If the capacity is zero.
    pub fn subscribe(&self, capacity: usize) -> Result<EventReceiver, InvalidArgument> {
        self.subscribe_for(EventFilter::ALL, capacity)
    }

    /// Subscribes to the events of the filter, as [`Partitions::subscribe_for`] does.
    ///
    /// # Errors
    ///
    /// If the capacity is zero.
    pub fn subscribe_for(&self, filter: EventFilter, capacity: usize) -> Result<EventReceiver, InvalidArgument> {
        let source = Arc::clone(&self.inner).event_source();
        let clock = self.inner.clock();
        EventReceiver::new(format_args!("partitions {}", self.label()), filter, capacity, clock, source)
    }

    /// Returns how often a handler has panicked, in all partitions.
    #[must_use]
    pub fn handler_panics(&self) -> usize {
        self.inner.identity().handler_panics()
    }

    /// Returns how many events no handler was called for, in all partitions, as
    /// [of one bulkhead](crate::Handle::dropped_events).
    #[must_use]
    pub fn dropped_events(&self) -> usize {
        self.inner.identity().dropped_events()
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
