//! How a call enters the gate, after the word has not decided.

use core::num::NonZeroU64;
use core::task::Waker;

use bulklink_core::plumbing::{self, Joining};
use bulklink_core::{Answer, Grant, Instant, InvalidArgument, Request, Ticket};

use crate::foreign::discard;
use crate::gate::shared::{Shared, hint};
use crate::gate::state::GateState;
use crate::observe::trace;
use crate::{Rejection, Runtime, TimerError};

/// Why a request, or a poll of a ticket, got no grant. The caller passes a place for it, so that
/// the answer itself is an `Option<Grant>`: that fits a register, where an answer of 64 bytes is
/// copied at each return.
pub(crate) enum NotGranted {
    /// The ticket itself is stored at the caller's place for it, so that a panic of foreign code
    /// cannot lose it.
    Queued,
    /// Queued as well, and the gate must be advanced in time.
    Timed {
        deadline: Option<Instant>,
        /// When it must be advanced, for this ticket or another.
        due: Instant,
        /// The runtime of the driver that does so, if there is one.
        home: Option<NonZeroU64>,
    },
    Rejected(Rejection),
}

impl NotGranted {
    /// Returns a value to be overwritten.
    pub(crate) fn unknown() -> Self {
        NotGranted::Queued
    }
}

/// Stands for the home of a thread that has no timer.
const NO_TIMER: NonZeroU64 = NonZeroU64::MAX;

impl Shared {
    #[inline(never)]
    pub(super) fn try_enter_gate(&self, request: &Request) -> Result<Grant, Rejection> {
        let request = request.now();
        if let Some(rejection) = self.reject(&request).or_else(|| self.reject_restricted(&request)) {
            trace::rejected(Some(self), &rejection);
            return Err(rejection);
        }
        let mut not_granted = NotGranted::unknown();
        match (self.enter_gate(&request, None, None, &mut None, &mut not_granted), not_granted) {
            (Some(grant), _) => Ok(grant),
            (None, NotGranted::Rejected(rejection)) => {
                trace::rejected(Some(self), &rejection);
                Err(rejection)
            }
            (None, _) => unreachable!("the request may not wait"),
        }
    }

    /// Asks the gate for admission, after the word has not granted it. If there is no grant, the
    /// reason is stored in `not_granted`. If the request is queued, its ticket is stored in
    /// `ticket`, and `waker` is woken when the wait is over. A request that can expire relies on
    /// the driver of this thread's runtime, if that runs in time.
    ///
    /// # Errors
    ///
    /// If the current thread has no timer. A free slot would only hide that mistake, so the call
    /// fails even if the gate would grant one. A request that the gate would reject in any case is
    /// rejected instead.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it only passes on its arguments, but for calls that can be late")]
    pub(crate) fn enter<R: Runtime>(
        &self,
        request: &Request,
        runtime: &R,
        waker: &Waker,
        ticket: &mut Option<Ticket>,
        not_granted: &mut NotGranted,
    ) -> Result<Option<Grant>, TimerError> {
        // While calls wait, the word is usually inert, and rejects none.
        let word = self.fast.peek();
        if !word.is_inert() {
            if word.is_restricted() && !self.has(hint::FETCH) {
                if let Some(rejection) = self.reject_restricted(request) {
                    *not_granted = NotGranted::Rejected(rejection);
                    return Ok(None);
                }
            }
            if let Some(rejection) = self.reject(request) {
                *not_granted = NotGranted::Rejected(rejection);
                return Ok(None);
            }
        }
        let may_be_late = request.may_be_late(self.has(hint::WAIT_LIMIT));
        let needs_home = may_be_late || self.has(hint::TAKE_BACK | hint::FETCH);
        let home = match if needs_home { runtime.home() } else { Ok(None) } {
            Err(error) if may_be_late && !self.would_reject(request) => return Err(error),
            Err(_) => Some(NO_TIMER),
            Ok(home) => home.map(|home| home.id()),
        };
        Ok(self.enter_gate(request, Some(waker), home, ticket, not_granted))
    }

    /// Returns whether the gate rejects the request however many slots are free.
    #[cold]
    fn would_reject(&self, request: &Request) -> bool {
        let now = self.now();
        self.beside_the_word(|state| state.gate.would_reject(request, now))
    }

    /// Enters the gate. `waker` is `None` for a request that may not wait, and `not_granted` is
    /// [unknown](NotGranted::unknown), as a wait that relies on a driver leaves it there, or on
    /// nothing.
    ///
    /// The clock is foreign code, and is read before the lock is taken. Usually the word tells
    /// whether the gate will need the time, so the lock is taken once.
    #[inline(never)]
    fn enter_gate(
        &self,
        request: &Request,
        waker: Option<&Waker>,
        home: Option<NonZeroU64>,
        ticket: &mut Option<Ticket>,
        not_granted: &mut NotGranted,
    ) -> Option<Grant> {
        if self.has(hint::FETCH | hint::TURN_AWAY | hint::POOLED) {
            return self.enter_with_time(request, waker, home, ticket, not_granted);
        }
        let now = self.fast.peek().needs_now(Some(request)).then(|| self.now());
        // Cloning and dropping a waker run foreign code too, so both happen outside the lock.
        let mut joining = Joining::new(waker.cloned());
        let entered = self.own_input(|state| {
            joining.driver = state.drivers.driver(home);
            if state.keeps_account_of(request) {
                return self.enter_any(state, request, now, &mut joining, ticket, not_granted);
            }
            let answer = plumbing::enter_without_fetching(&mut state.gate, request, now, &mut joining);
            self.take_answer(state, answer, request, &joining, ticket, not_granted)
        });
        let granted = if let Ok(granted) = entered {
            granted
        } else {
            // The word had changed since the peek. With the time, the gate does not ask for it.
            discard(joining.waker.take());
            self.enter_with_time(request, waker, home, ticket, not_granted)
        };
        // The request was not queued, so its waker is left over. Dropping it can panic, and a grant
        // is held.
        if joining.waker.is_some() {
            discard(joining.waker);
        }
        granted
    }

    /// Enters as [`enter_gate`](Shared::enter_gate) does, with the time. A request that may wait on
    /// this thread waits for a higher ceiling, too, unless the ceiling lets none wait.
    #[cold]
    #[inline(never)]
    fn enter_with_time(
        &self,
        request: &Request,
        waker: Option<&Waker>,
        home: Option<NonZeroU64>,
        ticket: &mut Option<Ticket>,
        not_granted: &mut NotGranted,
    ) -> Option<Grant> {
        let now = self.now();
        let mut joining = Joining::new(waker.cloned());
        let fetches = self.has(hint::FETCH) && waker.is_some() && home != Some(NO_TIMER);
        let request = match (self.has(hint::TURN_AWAY), fetches) {
            (true, _) => request.now(),
            (false, true) => request.fetching(),
            (false, false) => *request,
        };
        let entered = if self.has(hint::POOLED) {
            Ok(self.enter_pooled(&request, now, home, &mut joining, ticket, not_granted))
        } else {
            self.input(|state| {
                joining.driver = state.drivers.driver(home);
                self.enter_any(state, &request, Some(now), &mut joining, ticket, not_granted)
            })
        };
        if joining.waker.is_some() {
            discard(joining.waker);
        }
        entered.unwrap_or(None)
    }

    /// Enters in any case, also by the account of single calls.
    #[cold]
    #[inline(never)]
    pub(crate) fn enter_any(
        &self,
        state: &mut GateState,
        request: &Request,
        now: Option<Instant>,
        joining: &mut Joining<Waker>,
        ticket: &mut Option<Ticket>,
        not_granted: &mut NotGranted,
    ) -> Result<Option<Grant>, ()> {
        let answer = state.enter(request, now, joining);
        self.take_answer(state, answer, request, joining, ticket, not_granted)
    }

    /// Stores an answer as [`enter_gate`](Shared::enter_gate) does. Returns the grant, if there is
    /// one, or an error if the gate needs the time.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "an answer is slow to move")]
    fn take_answer(
        &self,
        state: &GateState,
        answer: Result<Answer, InvalidArgument>,
        request: &Request,
        joining: &Joining<Waker>,
        ticket: &mut Option<Ticket>,
        not_granted: &mut NotGranted,
    ) -> Result<Option<Grant>, ()> {
        match answer {
            Ok(Answer::Granted(grant)) => return Ok(Some(grant)),
            Ok(Answer::Queued(queued)) => {
                // No driver runs in time: the caller brings one forward or makes a timer, outside
                // the lock.
                if joining.needs_driver {
                    *not_granted = state.wait(&queued);
                }
                *ticket = Some(queued);
            }
            Ok(Answer::Rejected(rejection)) => *not_granted = NotGranted::Rejected(self.rejected(state, rejection)),
            Ok(Answer::NeedsNow) => return Err(()),
            Err(invalid) => {
                *not_granted = NotGranted::Rejected(self.invalid(state.gate.occupancy(), invalid, request));
            }
        }
        Ok(None)
    }
}
