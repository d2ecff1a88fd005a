//! What all clones of a bulkhead share: the gate in its lock, and the cycle that every input goes through.

#[cfg(all(test, feature = "std", target_has_atomic = "64", not(any(bulklink_loom, bulklink_lock_only))))]
mod tests;

use alloc::sync::{Arc, Weak};
use core::num::NonZeroU64;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::sync::atomic::AtomicBool;
use core::task::Waker;

use bulklink_core::{Gate, Grant, Instant, InvalidArgument, Occupancy, Request, Ticket, Word};

use crate::foreign::discard;
use crate::gate::drivers::Drivers;
use crate::gate::fast::FastPath;
use crate::gate::lock::Lock;
use crate::gate::outputs::{Displaced, Observers};
use crate::gate::waker_cell::{WakerCell, look_or_park};
use crate::observe::event::Handlers;
use crate::rejection::Identity;
use crate::time::runtime::DynClock;
use crate::{Rejection, TimerError};

pub struct Shared {
    fast: FastPath,
    state: Lock<GateState>,
    /// For drivers, which hold no bulkhead alive.
    pub(crate) this: Weak<Shared>,
    identity: Arc<Identity>,
    /// By which name the user set the capacity.
    pub(crate) capacity_field: &'static str,
    has_wait_limit: bool,
    pub(crate) has_drivers: AtomicBool,
    pub(crate) runtime: Arc<dyn DynClock>,
}

/// No panic can interrupt a change half-way: foreign code never runs inside one.
impl UnwindSafe for Shared {}
impl RefUnwindSafe for Shared {}

pub(crate) struct GateState {
    pub(crate) gate: Gate<Waker>,
    pub(crate) observers: Observers,
    pub(crate) drivers: Drivers,
}

/// The answer to a request, or about a ticket.
pub(crate) enum Answer {
    Granted(Grant),
    /// The ticket is where the caller keeps it, so that no panic of foreign code can lose it.
    Queued(Expiry),
    Rejected(Rejection),
}

/// When a waiter expires, and what wakes it then.
#[derive(Clone, Copy)]
pub(crate) struct Expiry {
    pub(crate) deadline: Option<Instant>,
    /// The runtime whose driver expires the ticket at its deadline.
    pub(crate) home: Option<NonZeroU64>,
}

impl Shared {
    pub(crate) fn new(
        gate: Gate<Waker>,
        identity: Arc<Identity>,
        capacity_field: &'static str,
        runtime: Arc<dyn DynClock>,
    ) -> Arc<Self> {
        let shared = Arc::new_cyclic(|this| Shared {
            fast: FastPath::new(),
            identity,
            capacity_field,
            has_wait_limit: gate.limits().wait_limit.is_some(),
            has_drivers: AtomicBool::new(false),
            state: Lock::new(GateState { gate, observers: Observers::default(), drivers: Drivers::default() }),
            this: this.clone(),
            runtime,
        });
        shared.look(|_| ());
        shared
    }

    /// The bulkhead's name.
    pub(crate) fn label(&self) -> &Arc<str> {
        &self.identity.label
    }

    pub(crate) fn now(&self) -> Instant {
        self.runtime.now()
    }

    /// Gives the gate an input, and does all that follows from it before it returns. An input that lets others in brings the
    /// time along and advances. Whatever the answer displaced is the caller's to drop, outside the lock.
    #[inline]
    pub(crate) fn input<T>(&self, input: impl FnOnce(&mut GateState) -> T) -> T {
        let (answer, outputs) = self.look(|state| {
            let answer = input(state);
            debug_assert!(!state.gate.wants_now(), "an input that frees units advances");
            (answer, self.take_outputs(state))
        });
        self.deliver(outputs);
        answer
    }

    /// Works with the gate, without doing anything that others would have to hear of. While it lasts, nothing happens without
    /// the lock.
    #[inline]
    pub(crate) fn look<T>(&self, look: impl FnOnce(&mut GateState) -> T) -> T {
        self.state.with(|state| {
            if let Some(word) = self.fast.take() {
                state.gate.fold(word);
            }
            let answer = look(state);
            self.fast.put(state.gate.publish());
            answer
        })
    }

    /// Works with what is in the word neither before nor after: tickets, watches, outputs, handlers. The
    /// word may go on changing meanwhile.
    #[inline]
    pub(crate) fn beside_the_word<T>(&self, work: impl FnOnce(&mut GateState) -> T) -> T {
        self.state.with(work)
    }

    /// Looks at what is beside the word, and leaves the waker of the task if that is needed.
    #[inline]
    pub(crate) fn look_or_park<C: WakerCell<GateState>>(&self, cell: &mut C, waker: &Waker) -> C::Found {
        look_or_park(&self.state, cell, waker)
    }

    /// Asks for admission without waiting. Small enough to go into the caller's code.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the compiler judges by what the cold path weighs")]
    pub(crate) fn try_enter<T>(&self, request: &Request, make: impl FnOnce(Grant) -> T) -> Result<T, Rejection> {
        let decided = if request.is_simple() { self.fast.decide() } else { None };
        match decided {
            Some(Ok(grant)) => Ok(make(grant)),
            Some(Err(refusal)) => Err(Rejection::refused(Arc::clone(&self.identity), refusal)),
            None => self.try_enter_gate(request).map(make),
        }
    }

    #[inline(never)]
    fn try_enter_gate(&self, request: &Request) -> Result<Grant, Rejection> {
        let request = request.now();
        if request.is_simple() {
            if let Some(refusal) = self.fast.reject(&request, self.identity.waiting_room) {
                return Err(Rejection::refused(Arc::clone(&self.identity), refusal));
            }
        }
        match self.enter_gate(&request, None, None, &mut None) {
            Answer::Granted(grant) => Ok(grant),
            Answer::Rejected(rejection) => Err(rejection),
            Answer::Queued(_) => unreachable!("the request may not wait"),
        }
    }

    /// A grant for a simple request, if it takes no more than a look.
    #[inline]
    pub(crate) fn acquire(&self) -> Option<Grant> {
        self.fast.acquire()
    }

    /// How many operations a call stands for that takes more than a look: where the word is full, for all that
    /// it has counted. So a loop of calls that are always admitted without the gate yields too, now and then.
    pub(crate) fn operations(&self) -> u32 {
        if self.fast.peek().is_full() { Word::MAX_ADMITTED } else { 1 }
    }

    /// Asks for admission where the word alone cannot grant it. If the request is queued, its ticket is stored in
    /// `ticket`, and `waker` is woken when the wait is over. A request that can expire relies on the runtime that `home` names.
    ///
    /// # Errors
    ///
    /// If that runtime has no timer. A call that finds room would only hide that, so it fails too; but one that is
    /// rejected in any case is told why.
    #[inline]
    pub(crate) fn enter(
        &self,
        request: &Request,
        waker: &Waker,
        home: impl FnOnce() -> Result<Option<NonZeroU64>, TimerError>,
        ticket: &mut Option<Ticket>,
    ) -> Result<Answer, TimerError> {
        if request.is_simple() {
            if let Some(refusal) = self.fast.reject(request, self.identity.waiting_room) {
                return Ok(Answer::Rejected(Rejection::refused(Arc::clone(&self.identity), refusal)));
            }
        }
        let home = if request.may_be_late(self.has_wait_limit) { home() } else { Ok(None) };
        let home = match home {
            Err(error) if !self.would_reject(request) => return Err(error),
            home => home.unwrap_or(None),
        };
        Ok(self.enter_gate(request, Some(waker), home, ticket))
    }

    #[cold]
    fn would_reject(&self, request: &Request) -> bool {
        let now = self.now();
        self.beside_the_word(|state| state.gate.would_reject(request, now))
    }

    fn enter_gate(
        &self,
        request: &Request,
        waker: Option<&Waker>,
        home: Option<NonZeroU64>,
        ticket: &mut Option<Ticket>,
    ) -> Answer {
        let mut now = self.fast.peek().needs_now(Some(request)).then(|| self.now());
        // Cloning and dropping a waker is foreign code, and stays outside the lock.
        let mut waker = waker.cloned();
        let answer = loop {
            let answer = self.input(|GateState { gate, drivers, .. }| match gate.enter(request, now) {
                Ok(bulklink_core::Answer::Granted(grant)) => Some(Answer::Granted(grant)),
                Ok(bulklink_core::Answer::Queued(queued)) => {
                    if let Some(waker) = waker.take() {
                        gate.park(&queued, waker);
                    }
                    let deadline = gate.deadline(&queued);
                    let home = home.filter(|&home| deadline.is_some_and(|deadline| drivers.covers(home, deadline)));
                    if home.is_some() {
                        gate.rely(&queued, home);
                    }
                    *ticket = Some(queued);
                    Some(Answer::Queued(Expiry { deadline, home }))
                }
                Ok(bulklink_core::Answer::Rejected(rejection)) => Some(Answer::Rejected(self.rejected(rejection))),
                Ok(bulklink_core::Answer::NeedsNow) => None,
                Err(invalid) => Some(Answer::Rejected(self.invalid(gate.occupancy(), invalid))),
            });
            match answer {
                Some(answer) => break answer,
                // The peek at the word was out of date.
                None => now = Some(self.now()),
            }
        };
        if waker.is_some() {
            discard(waker);
        }
        answer
    }

    #[cold]
    pub(crate) fn rejected(&self, rejection: bulklink_core::Rejection) -> Rejection {
        Rejection::rejected(Arc::clone(&self.identity), rejection)
    }

    #[cold]
    fn invalid(&self, occupancy: Occupancy, invalid: InvalidArgument) -> Rejection {
        Rejection::invalid(Arc::clone(&self.identity), occupancy, invalid)
    }

    /// Whether the word takes the grant back. It is worth nothing then.
    #[inline]
    pub(crate) fn try_release(&self, grant: &Grant) -> bool {
        self.fast.release(grant)
    }

    /// While somebody waits, the clock is read first, and slot and time reach the gate together: no older reading of another
    /// thread can hand the slot to one whose deadline had passed when it was freed.
    #[inline(never)]
    pub(crate) fn release(&self, grant: Grant) {
        let word = self.fast.peek();
        if word.has_released(&grant) && self.fast.release(&grant) {
            return;
        }
        let mut now = word.needs_now(None).then(|| self.now());
        let mut held = Some(grant);
        loop {
            self.input(|GateState { gate, .. }| {
                if now.is_none() && gate.needs_now(None) {
                    return;
                }
                if let Some(grant) = held.take() {
                    gate.release(grant);
                }
                gate.advance(now);
            });
            if held.is_none() {
                return;
            }
            now = Some(self.now());
        }
    }

    pub(crate) fn advance(&self, now: Instant) {
        self.input(|state| state.gate.advance(Some(now)));
    }

    pub(crate) fn count_handler_panic(&self) {
        self.identity.count_handler_panic();
    }

    pub(crate) fn handler_panics(&self) -> usize {
        self.identity.handler_panics()
    }
}

impl GateState {
    /// Changes the handlers. Returns what is to be dropped outside the lock.
    pub(crate) fn set_handlers(&mut self, handlers: Handlers) -> Displaced {
        self.gate.observe(!handlers.is_empty());
        self.observers.change(handlers)
    }
}
