//! What all clones of a bulkhead share: the gate in its lock, and the cycle that every input goes through.

#[cfg(all(test, feature = "std", target_has_atomic = "64", not(any(bulklink_loom, bulklink_lock_only))))]
mod tests;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::Waker;

use bulklink_core::{Entry, Figures, Gate, Grant, Instant, Invalid, Request, Ticket};

use crate::Rejection;
use crate::event::Handlers;
use crate::fast::FastPath;
use crate::foreign::discard;
use crate::outputs::Outputs;
use crate::sync::Lock;

pub struct Shared {
    fast: FastPath,
    state: Lock<State>,
    pub(crate) label: Arc<str>,
    /// By which name the user set the capacity.
    pub(crate) capacity_field: &'static str,
    waiting_room: u32,
    /// Whether the gate needs the time of everyone who waits.
    times_waits: bool,
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

/// A gate's answer, or the reason why there is none.
enum Answer {
    Entry(Entry, Option<Instant>),
    NeedsNow,
    /// An impossible request, with the figures at that moment.
    Impossible(Figures, Invalid),
}

impl Shared {
    pub(crate) fn new(
        gate: Gate<Waker>,
        label: Arc<str>,
        capacity_field: &'static str,
        clock: impl Fn() -> Instant + Send + Sync + 'static,
    ) -> Self {
        let waiting_room = gate.figures().waiting_room();
        let shared = Shared {
            fast: FastPath::new(),
            label,
            capacity_field,
            waiting_room: u32::try_from(waiting_room).expect("the gate has checked it"),
            times_waits: gate.measures_waits() || gate.limits().wait_limit.is_some(),
            state: Lock::new(State { gate, handlers: Handlers::default() }),
            clock: Box::new(clock),
            handler_panics: AtomicUsize::new(0),
        };
        shared.look(|_| ());
        shared
    }

    pub(crate) fn now(&self) -> Instant {
        (self.clock)()
    }

    /// Gives the gate an input, and does all that follows from it before it returns. An input that lets others in brings the
    /// time along and advances. Whatever the answer displaced is the caller's to drop, outside the lock.
    pub(crate) fn input<T>(&self, input: impl FnOnce(&mut State) -> T) -> T {
        let (answer, outputs) = self.look(|state| {
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
            outputs = if complete { None } else { self.look(State::outputs) };
        }
    }

    /// Works with the gate, without doing anything that others would have to hear of. While it lasts, nothing happens without
    /// the lock.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        self.state.with(|state| {
            state.gate.fold(self.fast.take());
            let answer = look(state);
            self.fast.put(state.gate.publish());
            answer
        })
    }

    /// Asks for admission without waiting.
    #[inline]
    pub(crate) fn try_enter(&self, request: &Request) -> Result<Grant, Rejection> {
        match self.enter(&request.now(), None)? {
            Entered::Granted(grant) => Ok(grant),
            Entered::Queued(..) => unreachable!("a request that may not wait"),
        }
    }

    /// Asks for admission; if that means to wait, `waker` is told when the wait is over.
    #[inline]
    pub(crate) fn enter(&self, request: &Request, waker: Option<&Waker>) -> Result<Entered, Rejection> {
        match self.acquire(request.is_simple()) {
            Some(grant) => Ok(Entered::Granted(grant)),
            None => self.enter_gate(request, waker),
        }
    }

    /// A grant for a request that is simple, if it takes no more than a look.
    #[inline]
    pub(crate) fn acquire(&self, is_simple: bool) -> Option<Grant> {
        if is_simple { self.fast.acquire() } else { None }
    }

    #[inline(never)]
    pub(crate) fn enter_gate(&self, request: &Request, waker: Option<&Waker>) -> Result<Entered, Rejection> {
        if request.is_simple() {
            if let Some(rejection) = self.fast.turn_away(request, self.waiting_room) {
                return Err(self.rejected(rejection));
            }
        }
        let word = self.fast.peek();
        let mut waker = waker.cloned();
        let now = word.wants_now_for(request, self.times_waits).then(|| self.now());
        let mut answer = self.ask(request, now, &mut waker);
        if let Answer::NeedsNow = answer {
            answer = self.ask(request, Some(self.now()), &mut waker);
        }
        discard(waker);
        match answer {
            Answer::Entry(Entry::Granted(grant), _) => Ok(Entered::Granted(grant)),
            Answer::Entry(Entry::Queued(ticket), deadline) => Ok(Entered::Queued(ticket, deadline)),
            Answer::Entry(Entry::Rejected(rejection), _) => Err(self.rejected(rejection)),
            Answer::Impossible(figures, invalid) => Err(Rejection::invalid(Arc::clone(&self.label), figures, invalid)),
            Answer::NeedsNow => unreachable!("it was told"),
        }
    }

    fn ask(&self, request: &Request, now: Option<Instant>, waker: &mut Option<Waker>) -> Answer {
        self.input(|State { gate, .. }| {
            let entry = match now {
                Some(now) => gate.enter(request, now).map(Some),
                None => gate.enter_untimed(request),
            };
            match entry {
                Ok(Some(Entry::Queued(ticket))) => {
                    if let Some(waker) = waker.take() {
                        gate.park(&ticket, waker);
                    }
                    let deadline = gate.deadline(&ticket);
                    Answer::Entry(Entry::Queued(ticket), deadline)
                }
                Ok(Some(entry)) => Answer::Entry(entry, None),
                Ok(None) => Answer::NeedsNow,
                Err(invalid) => Answer::Impossible(gate.figures(), invalid),
            }
        })
    }

    pub(crate) fn rejected(&self, rejection: bulklink_core::Rejection) -> Rejection {
        Rejection::rejected(Arc::clone(&self.label), rejection)
    }

    #[inline]
    pub(crate) fn release(&self, grant: Grant) {
        if !self.fast.release(&grant) {
            self.release_to_gate(grant);
        }
    }

    /// While somebody waits, the clock is read first, and slot and time reach the gate together: no older reading of another
    /// thread can hand the slot to one whose deadline had passed when it was freed.
    #[inline(never)]
    fn release_to_gate(&self, grant: Grant) {
        let now = self.fast.peek().wants_now().then(|| self.now());
        if let Some(grant) = self.try_release(grant, now) {
            self.try_release(grant, Some(self.now()));
        }
    }

    /// Gives the grant back if it can't be released without the time.
    fn try_release(&self, grant: Grant, now: Option<Instant>) -> Option<Grant> {
        self.input(|State { gate, .. }| {
            if now.is_none() && gate.needs_now() {
                return Some(grant);
            }
            gate.release(grant);
            match now {
                Some(now) => gate.advance(now),
                None => _ = gate.advance_untimed(),
            }
            None
        })
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
