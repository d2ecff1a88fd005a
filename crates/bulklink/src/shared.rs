//! What all clones of a bulkhead share: the gate in its lock, and the cycle that every input goes through.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::Waker;

use bulklink_core::{Entry, Figures, Gate, Grant, Instant, Invalid, Request, Ticket};

use crate::Rejection;
use crate::event::Handlers;
use crate::foreign::discard;
use crate::outputs::Outputs;
use crate::sync::Lock;

pub struct Shared {
    state: Lock<State>,
    pub(crate) label: Arc<str>,
    /// By which name the user set the capacity.
    pub(crate) capacity_field: &'static str,
    clock: Box<dyn Fn() -> Instant + Send + Sync>,
    handler_panics: AtomicUsize,
}

/// No panic can interrupt a change half-way: foreign code never runs inside one.
impl UnwindSafe for Shared {}
impl RefUnwindSafe for Shared {}

pub(crate) struct State {
    pub(crate) gate: Gate<Waker>,
    pub(crate) handlers: Handlers,
}

/// What became of a request that was not turned away; in the queue, with the instant from which on it is too late.
pub(crate) enum Entered {
    Granted(Grant),
    Queued(Ticket, Option<Instant>),
}

/// An impossible request, with the figures at that moment.
type Impossible = (Figures, Invalid);

impl Shared {
    pub(crate) fn new(
        gate: Gate<Waker>,
        label: Arc<str>,
        capacity_field: &'static str,
        clock: impl Fn() -> Instant + Send + Sync + 'static,
    ) -> Self {
        let state = Lock::new(State { gate, handlers: Handlers::default() });
        Shared { state, label, capacity_field, clock: Box::new(clock), handler_panics: AtomicUsize::new(0) }
    }

    pub(crate) fn now(&self) -> Instant {
        (self.clock)()
    }

    /// Gives the gate an input, and does all that follows from it before it returns. An input that lets others in brings the
    /// time along and advances. Whatever the answer displaced is the caller's to drop, outside the lock.
    pub(crate) fn input<T>(&self, input: impl FnOnce(&mut State) -> T) -> T {
        let (answer, outputs) = self.state.with(|state| {
            let answer = input(state);
            (answer, state.outputs())
        });
        self.deliver(outputs);
        answer
    }

    fn deliver(&self, mut outputs: Option<Outputs>) {
        while let Some(batch) = outputs {
            let complete = batch.complete;
            batch.deliver(self);
            outputs = if complete { None } else { self.state.with(State::outputs) };
        }
    }

    /// Looks, and changes nothing that anyone would have to hear of.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        self.state.with(look)
    }

    /// Asks for admission without waiting.
    pub(crate) fn try_enter(&self, request: &Request) -> Result<Grant, Rejection> {
        match self.enter(&request.now(), None)? {
            Entered::Granted(grant) => Ok(grant),
            Entered::Queued(..) => unreachable!("a request that may not wait"),
        }
    }

    /// Asks for admission; if that means to wait, `waker` is told when the wait is over.
    pub(crate) fn enter(&self, request: &Request, waker: Option<&Waker>) -> Result<Entered, Rejection> {
        let untimed =
            self.input(|State { gate, .. }| gate.enter_untimed(request).map_err(|error| (gate.figures(), error)));
        let entered = match untimed {
            Ok(Some(entry)) => Ok((entry, None)),
            Ok(None) => self.enter_timed(request, waker),
            Err(impossible) => Err(impossible),
        };
        match entered {
            Ok((Entry::Granted(grant), _)) => Ok(Entered::Granted(grant)),
            Ok((Entry::Queued(ticket), deadline)) => Ok(Entered::Queued(ticket, deadline)),
            Ok((Entry::Rejected(rejection), _)) => Err(self.rejected(rejection)),
            Err((figures, invalid)) => Err(Rejection::invalid(Arc::clone(&self.label), figures, invalid)),
        }
    }

    fn enter_timed(&self, request: &Request, waker: Option<&Waker>) -> Result<(Entry, Option<Instant>), Impossible> {
        let now = self.now();
        let mut waker = waker.cloned();
        let entered = self.input(|State { gate, .. }| {
            let entry = gate.enter(request, now).map_err(|error| (gate.figures(), error))?;
            let Entry::Queued(ticket) = &entry else { return Ok((entry, None)) };
            if let Some(waker) = waker.take() {
                gate.park(ticket, waker);
            }
            let deadline = gate.deadline(ticket);
            Ok((entry, deadline))
        });
        discard(waker);
        entered
    }

    pub(crate) fn rejected(&self, rejection: bulklink_core::Rejection) -> Rejection {
        Rejection::rejected(Arc::clone(&self.label), rejection)
    }

    /// While somebody waits, the clock is read first, and slot and time reach the gate together: no older reading of another
    /// thread can hand the slot to one whose deadline had passed when it was freed.
    pub(crate) fn release(&self, grant: Grant) {
        let kept = self.input(|State { gate, .. }| {
            if gate.figures().waiting() > 0 {
                return Some(grant);
            }
            gate.release(grant);
            None
        });
        if let Some(grant) = kept {
            let now = self.now();
            self.input(|State { gate, .. }| {
                gate.release(grant);
                gate.advance(now);
            });
        }
    }

    pub(crate) fn advance(&self, now: Instant) {
        self.input(|state| state.gate.advance(now));
    }

    pub(crate) fn count_handler_panic(&self) {
        self.handler_panics.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn handler_panics(&self) -> usize {
        self.handler_panics.load(Ordering::Relaxed)
    }
}

impl State {
    /// What an input left to be done outside the lock, a batch at a time.
    fn outputs(&mut self) -> Option<Outputs> {
        debug_assert!(!self.gate.wants_now(), "whoever lets others in advances");
        self.gate.has_output().then(|| Outputs::take(&mut self.gate, &self.handlers))
    }
}
