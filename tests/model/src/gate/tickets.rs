//! How a ticket is made, collected and cancelled. Through a word, as in the front, the quick path
//! is tried first, and the general one after it; the same world by the gate alone has only the
//! general one. So both must do the same as the model.

use std::num::NonZeroU64;

use bulklink_core::plumbing::{self, Joining};
use bulklink_core::{Answer, Grant, Instant, InvalidArgument, Request, Ticket};

use super::model::{Id, Outcome};
use super::world::{World, outcome_of};

/// The invariants for a call that waits through a word.
const HOME: NonZeroU64 = NonZeroU64::MIN;

impl World {
    /// Asks the gate itself. Through a word, a call that is queued leaves its waker and its driver
    /// in the same step.
    pub(super) fn enter_by_gate(&mut self, request: &Request, now: Option<Instant>) -> Result<Answer, InvalidArgument> {
        if !self.is_quick() {
            return self.gate.enter(request, now);
        }
        let (id, armed) = (self.came - 1, Instant::from_nanos(self.now + 2));
        let mut joining = Joining { driver: Some((HOME, armed)), ..Joining::new(Some(id)) };
        let answer = plumbing::enter(&mut self.gate, request, now, &mut joining);
        let Ok(Answer::Queued(ticket)) = &answer else {
            assert_eq!((joining.waker, joining.needs_driver), (Some(id), false), "it has not joined");
            return answer;
        };
        let deadline = self.gate.deadline(ticket);
        let home = deadline.filter(|&deadline| armed <= deadline).map(|_| HOME);
        assert_eq!((self.gate.relies_on(ticket), joining.needs_driver), (home, deadline.is_some() && home.is_none()));
        let parked = self.gate.waker_mut(ticket).expect("it waits").take();
        assert_eq!((joining.waker, parked), (None, Some(id)));
        answer
    }

    /// Returns whether the front would try the quick paths first.
    pub(super) fn is_quick(&self) -> bool {
        self.word.is_some() && self.calls.is_none()
    }

    pub(super) fn cancel(&mut self, id: Id) {
        let was_waiting = self.model.queue.iter().any(|waiter| waiter.id == id);
        let ticket = self.tickets.remove(&id).expect("a live ticket");
        let waker = self.cancel_behind(ticket).unwrap_or_else(|ticket| self.cancel_by_gate(ticket));
        assert_eq!(waker, was_waiting.then_some(id), "the waker of a waiting ticket comes back");
        self.model.cancel(id, self.now);
    }

    /// The word stays in place meanwhile.
    fn cancel_behind(&mut self, ticket: Ticket) -> Result<Option<Id>, Ticket> {
        if !self.is_quick() {
            return Err(ticket);
        }
        let published = self.gate.publish();
        let cancelled = plumbing::cancel_behind(&mut self.gate, ticket);
        assert_eq!(self.gate.publish(), published, "the word covers nothing that has changed");
        cancelled
    }

    fn cancel_by_gate(&mut self, ticket: Ticket) -> Option<Id> {
        self.fold();
        let now = Some(Instant::from_nanos(self.now));
        let untimed = if self.word.is_some() { self.cancel_at(ticket, None) } else { Err(ticket) };
        let waker = untimed.or_else(|ticket| self.cancel_at(ticket, now)).expect("the time is known");
        self.publish();
        waker
    }

    fn cancel_at(&mut self, ticket: Ticket, now: Option<Instant>) -> Result<Option<Id>, Ticket> {
        if now.is_some() {
            self.model.latest = self.now;
        }
        match &mut self.calls {
            Some(calls) => calls.cancel(&mut self.gate, ticket, now),
            None => self.gate.cancel(ticket, now),
        }
    }

    fn collect_granted(&mut self, ticket: &Ticket) -> Option<Grant> {
        if self.is_quick() { plumbing::collect_granted(&mut self.gate, ticket) } else { None }
    }

    pub(super) fn collect(&mut self, id: Id) {
        let ticket = self.tickets.remove(&id).expect("a live ticket");
        let answer = match (self.collect_granted(&ticket), &mut self.calls) {
            (Some(grant), _) => Answer::Granted(grant),
            (None, Some(calls)) => calls.collect(&mut self.gate, ticket),
            (None, None) => self.gate.collect(ticket),
        };
        let (expected, waited) = self.model.collect(id);
        let outcome = match answer {
            Answer::Granted(grant) => {
                assert_eq!(grant.waited_nanos(), waited);
                assert!(!self.late.contains(&id), "a waiter gets no grant at or after its deadline");
                self.grants.insert(id, grant);
                Outcome::Granted
            }
            Answer::Queued(ticket) => {
                self.tickets.insert(id, ticket);
                Outcome::Queued
            }
            Answer::Rejected(rejection) => {
                assert_eq!(Some(&rejection.cost()), self.asked.get(&id));
                outcome_of(&rejection)
            }
            Answer::NeedsNow => unreachable!("a ticket needs no time"),
        };
        assert_eq!(outcome, expected);
    }
}
