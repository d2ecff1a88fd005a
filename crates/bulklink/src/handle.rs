//! The part of a bulkhead that needs no runtime: status, limits, pause, close and events.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use bulklink_core::{self as gate, EventFilter, InvalidArgument, Limits, Resized};

use crate::foreign::attempt;
use crate::gate::shared::{LimitsRefused, Shared};
use crate::observe::event::Handler;
use crate::reconfigure::{Refused, invalid, unused_wait_limit};
use crate::{Closed, Event, EventReceiver, HandlerId, ReconfigureError, Reconfigured, ResizeError, Status};

/// A bulkhead without its runtime, so that bulkheads of different runtimes can be kept together.
///
/// Cheap to clone; returned by [`Bulkhead::handle`](crate::Bulkhead::handle), and listed by a
/// [`Registry`](crate::Registry).
///
/// ```
/// use bulklink_tokio::{Bulkhead, Handle, Registry};
///
/// fn line(bulkhead: &Handle) -> String {
///     let status = bulkhead.status();
///     format!("{}: {} of {}", bulkhead.label(), status.in_use, status.limits.capacity)
/// }
///
/// let registry = Registry::new();
/// let payments = registry.create(Bulkhead::builder("payments").parallelism(10))?;
/// payments.handle().resize(20)?;
/// let lines: Vec<_> = registry.handles().iter().map(line).collect();
/// assert_eq!(lines, ["payments: 0 of 20"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Handle {
    pub(crate) shared: Arc<Shared>,
}

impl Handle {
    /// Returns the bulkhead's name.
    #[must_use]
    pub fn label(&self) -> &str {
        self.shared.label()
    }

    /// Returns all figures at this moment. They are consistent with each other, and every status
    /// has a larger number than the one before.
    ///
    /// Reads the clock once, and takes O(1). While a slot is
    /// [not collected](crate::Snapshot::uncollected), it takes O(n) in the largest number of calls
    /// that ever waited at the same time: some microseconds for a thousand.
    ///
    /// ```
    /// use bulklink_tokio::Bulkhead;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let payments = Bulkhead::builder("payments").parallelism(10).build()?;
    /// let before = payments.status();
    /// let receipt = payments.execute(async { "paid" }).await?;
    /// # assert_eq!(receipt, "paid");
    /// let interval = payments.status().since(&before)?;
    /// assert_eq!((interval.totals.admitted, interval.totals.rejected()), (1, 0));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn status(&self) -> Status {
        // A clock that panics must not hide the figures.
        let now = attempt(|| self.shared.now());
        let (snapshot, oldest_wait, adaptive) =
            self.shared.with_gate(|state| (state.snapshot(now), state.oldest_wait(now), state.adaptive()));
        let (label, identity) = (Arc::clone(self.shared.label()), self.shared.identity());
        let (handler_panics, dropped_events) = (identity.handler_panics(), identity.dropped_events());
        Status { label, handler_panics, dropped_events, oldest_wait, adaptive, snapshot }
    }

    /// Changes the parallelism, or the capacity in units. Returns the effect of the change.
    ///
    /// Growing admits waiting calls in order. Shrinking cancels nothing: while more is in use than
    /// the new capacity allows, no call is admitted. Setting the same capacity again changes
    /// nothing.
    ///
    /// # Errors
    ///
    /// If the bulkhead is closed, if the capacity is zero or more than
    /// [`Limits::MAX`](crate::Limits::MAX), or if a waiting call asks for more units than the new
    /// capacity.
    ///
    /// # Examples
    ///
    /// ```
    /// use bulklink_tokio::Bulkhead;
    ///
    /// let payments = Bulkhead::builder("payments").parallelism(10).build()?;
    /// assert_eq!(payments.resize(20)?.previous, 10);
    /// let error = payments.resize(0).unwrap_err();
    /// assert_eq!(error.to_string(), "the capacity was not changed");
    /// let text = "bulkhead payments: parallelism must be at least 1, got 0";
    /// assert_eq!(std::error::Error::source(&error).unwrap().to_string(), text);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resize(&self, capacity: usize) -> Result<Resized, ResizeError> {
        let now = self.shared.now_if_sound();
        let resized = self.shared.input(|state| {
            state.take_back_due(now);
            let resized = state.gate.resize(capacity, now);
            state.note_use(now);
            self.shared.note_restriction(state);
            resized
        });
        resized.map_err(|error| match error {
            gate::ResizeError::Invalid(invalid) => ResizeError::Invalid(
                invalid.for_field(self.shared.capacity_field()).of(format_args!("bulkhead {}", self.label())),
            ),
            _ => ResizeError::Closed { label: Arc::clone(self.shared.label()) },
        })
    }

    /// Returns the limits in force.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.shared.beside_the_word(|state| state.gate.limits())
    }

    /// Changes all limits in one step: the capacity, the waiting room, its bound in units, and the
    /// wait limit. Returns what changed. To change one limit, pass those [in
    /// force](Handle::limits) with that one changed.
    ///
    /// The capacity changes as in [`resize`](Handle::resize). A smaller waiting room rejects no
    /// call that waits: new calls are rejected until there is room again. A new wait limit holds
    /// for later calls only. Passing the limits in force changes nothing. If two threads change
    /// limits at the same time, the last one sets all of them.
    ///
    /// A change of anything but the capacity is an event
    /// [`Reconfigured`](crate::EventKind::Reconfigured), and a change of the capacity is
    /// [`Resized`](crate::EventKind::Resized). While the waiting room is another than the bulkhead
    /// was built with, a rejection takes the lock.
    ///
    /// # Errors
    ///
    /// If the bulkhead is closed, if a limit is out of its range (see [`Limits`]), if there is a
    /// wait limit and no waiting room, or if a waiting call asks for more units than the new
    /// capacity. The error has a reason for each invalid limit, and nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use bulklink_tokio::Bulkhead;
    /// use std::time::Duration;
    ///
    /// let payments = Bulkhead::builder("payments").parallelism(10).build()?;
    /// let answer = payments.reconfigure(payments.limits().with_waiting_room(50))?;
    /// assert_eq!((answer.previous.waiting_room, answer.limits.waiting_room), (0, 50));
    /// let invalid = payments.limits().with_capacity(0).with_wait_limit(Some(Duration::ZERO));
    /// assert_eq!(
    ///     payments.reconfigure(invalid).unwrap_err().to_string(),
    ///     "bulkhead payments: parallelism must be at least 1, got 0; \
    ///      bulkhead payments: wait_limit must be longer than zero, got 0 s"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reconfigure(&self, limits: Limits) -> Result<Reconfigured, ReconfigureError> {
        self.try_reconfigure(&limits).map_err(|refused| match refused {
            Refused::Closed => ReconfigureError::Closed { label: Arc::clone(self.shared.label()) },
            Refused::Invalid(reasons) => {
                let (reasons, capacity) = (reasons.into_iter(), self.shared.capacity_field());
                ReconfigureError::invalid(reasons, format_args!("bulkhead {}", self.label()), capacity)
            }
        })
    }

    pub(crate) fn try_reconfigure(&self, limits: &Limits) -> Result<Reconfigured, Refused> {
        let now = self.shared.now_if_sound();
        let changed = self.shared.input(|state| {
            if unused_wait_limit(limits).is_some() && !state.gate.is_closed() {
                // As the gate does before it judges: a waiter that expires now is no reason.
                state.advance(Some(now));
                return Err(LimitsRefused::Invalid { largest_cost: state.gate.largest_waiting_cost() });
            }
            self.shared.set_limits(state, limits, now)
        });
        changed.map_err(|refused| match refused {
            LimitsRefused::Closed => Refused::Closed,
            LimitsRefused::Invalid { largest_cost } => Refused::Invalid(invalid(limits, largest_cost).collect()),
        })
    }

    /// Returns why the limits could not be changed so now.
    pub(crate) fn check(&self, limits: &Limits) -> Result<(), Refused> {
        let now = self.shared.now_if_sound();
        let largest_cost = self.shared.input(|state| {
            state.advance(Some(now));
            (!state.gate.is_closed()).then(|| state.gate.largest_waiting_cost())
        });
        let reasons: Vec<_> = invalid(limits, largest_cost.ok_or(Refused::Closed)?).collect();
        if reasons.is_empty() { Ok(()) } else { Err(Refused::Invalid(reasons)) }
    }

    /// Pauses the bulkhead: once this has returned, no call is admitted until
    /// [`resume`](Handle::resume). Returns whether this changed anything: not if the bulkhead was
    /// paused already, or is closed.
    ///
    /// Running operations go on. Waiting calls keep their places and their limits, and expire when
    /// these pass. Calls that come meanwhile wait too; those that may not wait, or find the waiting
    /// room full, are rejected as if all slots were taken. While paused,
    /// [`Status::free`](crate::Snapshot::free) is zero and the capacity report has
    /// [`AdmissionPaused`](crate::FindingCode::AdmissionPaused). [Closing](Handle::close) ends the
    /// pause, and rejects the calls that wait.
    ///
    /// # Examples
    ///
    /// ```
    /// use bulklink_tokio::Bulkhead;
    ///
    /// let payments = Bulkhead::builder("payments").parallelism(10).build()?;
    /// assert!(payments.pause());
    /// let rejection = payments.try_slot().unwrap_err();
    /// assert_eq!(
    ///     rejection.to_string(),
    ///     "bulkhead payments: saturated (paused, 0 of 10 in use, 0 of 0 waiting)"
    /// );
    /// assert!(payments.resume());
    /// assert!(payments.try_slot().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pause(&self) -> bool {
        self.shared.input(|state| state.gate.pause())
    }

    /// Ends a [pause](Handle::pause), and admits waiting calls in order. Returns whether the
    /// bulkhead was paused.
    pub fn resume(&self) -> bool {
        let now = self.shared.now_if_sound();
        self.shared.input(|state| state.resume(now))
    }

    /// Closes the bulkhead. All waiting calls and all later calls are rejected; running operations
    /// go on.
    ///
    /// Returns whether it was open before. Closing it again does nothing.
    pub fn close(&self) -> bool {
        let now = self.shared.now_if_sound();
        self.shared.input(|state| {
            state.take_back_due(now);
            state.gate.close(now)
        })
    }

    /// Returns whether the bulkhead is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.beside_the_word(|state| state.gate.is_closed())
    }

    /// Takes back the slots that were handed to a waiting call at least `least_age` ago and have
    /// not been collected, and gives them to the next calls. Returns their number.
    ///
    /// Their calls are rejected as [`Uncollected`](crate::Reason::Uncollected). The
    /// [status](Handle::status) has the number and the age of such slots. This does by hand what
    /// [`Builder::collect_limit`](crate::Builder::collect_limit) does by itself: for an operator,
    /// or after a [close](Handle::close) that does not end. A slot whose call's wait was not
    /// [measured](crate::Builder::measure_waits) is never old enough.
    ///
    /// ```
    /// # use bulklink_tokio::Bulkhead;
    /// # use futures_util::FutureExt;
    /// # use std::time::Duration;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let db = Bulkhead::builder("db").parallelism(1).waiting_room(2).build()?;
    /// let running = db.slot().await?;
    /// let mut forgotten = Box::pin(db.slot());
    /// assert!((&mut forgotten).now_or_never().is_none(), "it waits");
    /// drop(running);
    /// tokio::time::sleep(Duration::from_secs(5)).await;
    /// assert_eq!(db.status().oldest_uncollected(), Some(Duration::from_secs(5)));
    /// assert_eq!(db.handle().take_back_uncollected(Duration::from_secs(1)), 1);
    /// let slot = db.slot().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn take_back_uncollected(&self, least_age: Duration) -> usize {
        let now = self.shared.now_if_sound();
        self.shared.input(|state| state.take_back(least_age, now))
    }

    /// Completes when the bulkhead is closed and the last operation has ended. Does not close it.
    ///
    /// A future that has been granted a slot, and is neither polled nor dropped, holds that slot.
    /// While such a future is kept, this does not complete, unless the slot is [taken
    /// back](crate::Builder::collect_limit).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    #[doc(alias = "wait_closed")]
    pub fn closed(&self) -> Closed<'_> {
        self.shared.closed()
    }

    /// Closes the bulkhead immediately, and completes when the last operation has ended, as
    /// [`closed`](Handle::closed) does. A future that has been granted a slot must be polled or
    /// dropped for that, unless its slot is [taken back](crate::Builder::collect_limit).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future does not open the bulkhead again.
    ///
    /// # Examples
    ///
    /// ```
    /// use bulklink_tokio::Bulkhead;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let payments = Bulkhead::builder("payments").parallelism(10).build()?;
    /// payments.close_and_wait().await;
    /// assert!(payments.status().is_drained());
    /// # Ok(())
    /// # }
    /// ```
    pub fn close_and_wait(&self) -> Closed<'_> {
        self.close();
        self.closed()
    }

    /// Calls `handler` for every later transition, and for those that are queued for handlers.
    /// Returns an id to [remove](Handle::remove_event_handler) it by. The n-th handler costs O(n).
    ///
    /// Handlers are called for one event at a time, in order, and in order of registration. They
    /// run outside all locks, on a thread that causes events: that of a call, of a dropped slot, or
    /// of the task that expires calls. A call wakes all that it has to wake before it calls a
    /// handler. Events that a handler causes are delivered after it has returned.
    ///
    /// # Slow handlers
    ///
    /// The calls that cause events pay for them. A call delivers, in order, as many events as its
    /// own and 64. While another thread delivers, a call leaves its events to that one and goes on.
    /// If more are queued than that one delivers, the call blocks its thread, async or not, until
    /// its events are delivered, or until it takes over. So where events come faster than a handler
    /// takes them, calls become as slow as the handler. Do slow work behind
    /// [`subscribe`](Handle::subscribe): a channel is filled at once, and delays no call.
    ///
    /// A handler is called with the events of other calls, on threads that hold whatever locks
    /// their code holds around a call. So neither a handler, nor a handler of a bulkhead that it
    /// calls, may take a lock that is held anywhere around a call of this bulkhead or the drop of a
    /// slot; and it must not wait for such a thread, nor for a task of a runtime whose tasks call
    /// this bulkhead.
    ///
    /// Calls in a handler, or in one of several wakers, do not block. Their events are delivered by
    /// the call that this code interrupts, after its own, and that blocks for them too. They are
    /// dropped, [counted](Status::dropped_events) and missing in the
    /// [numbers](bulklink_core::Event::number) while 1,024 are queued. Without the standard library
    /// no call blocks, and its events are dropped if more are queued than the delivering call will
    /// deliver. A handler that always causes an event keeps its threads for ever.
    ///
    /// A panic of a handler changes nothing: the other handlers are called, and the panic is
    /// [counted](Status::handler_panics). A handler that holds its own bulkhead keeps it alive
    /// until it is removed.
    ///
    /// While there is a handler of all events, every call takes the lock. Where no handler is
    /// called for direct admissions or for releases, a call that is admitted without a wait costs
    /// nothing more. Where one is called for rejections, every rejection takes the lock.
    ///
    /// ```
    /// use bulklink_tokio::{Bulkhead, EventFilter, EventKind};
    /// use std::sync::mpsc;
    ///
    /// let payments = Bulkhead::builder("payments").parallelism(1).build()?;
    /// let (log, logged) = mpsc::channel();
    /// let id = payments.handle().add_event_handler(EventFilter::REJECTIONS, move |event| {
    ///     let _ = log.send(event.kind);
    /// });
    /// let _running = payments.try_slot()?;
    /// assert!(logged.try_recv().is_err(), "an admission");
    /// payments.try_slot().unwrap_err();
    /// assert_eq!(logged.try_recv()?, EventKind::Saturated);
    /// assert!(payments.handle().remove_event_handler(id));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_event_handler(
        &self,
        filter: EventFilter,
        handler: impl Fn(&Event) + Send + Sync + 'static,
    ) -> HandlerId {
        let handler = Handler::new(filter, handler);
        self.shared.change_handlers(|handlers| Some(handlers.with(&handler)));
        handler.id()
    }

    /// Stops calling a handler. Returns whether it was removed: not if it was removed before, or
    /// belongs to another bulkhead. An event whose delivery has begun may still reach it.
    pub fn remove_event_handler(&self, id: HandlerId) -> bool {
        self.shared.change_handlers(|handlers| handlers.without(id))
    }

    /// Subscribes to the events of this bulkhead, for an async consumer. A call puts its events
    /// into the channel before it returns, also while a handler is slow. A full channel, of
    /// `capacity` events, drops the oldest one and [counts](EventReceiver::dropped) it.
    ///
    /// # Errors
    ///
    /// If the capacity is zero.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bulklink_tokio::{Bulkhead, EventFilter, EventKind};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let payments = Bulkhead::builder("payments").parallelism(10).build()?;
    /// let mut events = payments.handle().subscribe(EventFilter::ALL, 1000)?;
    /// let receipt = payments.execute(async { "paid" }).await?;
    /// # assert_eq!(receipt, "paid");
    /// drop(payments);
    /// let mut kinds = vec![];
    /// while let Some(event) = events.recv().await {
    ///     kinds.push(event.kind);
    /// }
    /// assert_eq!(kinds, [EventKind::Admitted, EventKind::Released]);
    /// assert_eq!(events.dropped(), 0);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "event_channel")]
    pub fn subscribe(&self, filter: EventFilter, capacity: usize) -> Result<EventReceiver, InvalidArgument> {
        let source = Arc::downgrade(&self.shared);
        let clock = Arc::clone(&self.shared.runtime);
        EventReceiver::new(format_args!("bulkhead {}", self.label()), filter, capacity, clock, source)
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (occupancy, is_closed) = self.shared.with_gate(|state| (state.gate.occupancy(), state.gate.is_closed()));
        f.debug_struct("Bulkhead")
            .field("label", &self.label())
            .field("occupancy", &occupancy)
            .field("is_closed", &is_closed)
            .finish()
    }
}

impl AsRef<Handle> for Handle {
    fn as_ref(&self) -> &Handle {
        self
    }
}
