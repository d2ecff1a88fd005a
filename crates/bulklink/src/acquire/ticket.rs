//! The operations on a waiter's ticket: collect it, park a waker with it, give it up.

use core::task::{Poll, Waker};

use bulklink_core::{Answer, Grant, Ticket, plumbing};

use crate::foreign::discard;
use crate::gate::enter::NotGranted;
use crate::gate::shared::{Shared, hint};
use crate::gate::state::GateState;
use crate::observe::trace::{self, WaitSpan};

/// Collects the ticket. If there is no grant, the reason is stored in `not_granted`. A ticket that
/// still waits stays in `ticket`, and `waker` is woken when it can be collected.
#[inline(never)]
pub(crate) fn poll(
    shared: &Shared,
    ticket: &mut Option<Ticket>,
    waker: &Waker,
    not_granted: &mut NotGranted,
) -> Option<Grant> {
    let polled = shared.beside_the_word(|state| {
        // Nearly always, a task is woken because its ticket was granted.
        let granted = state.collect_granted(ticket.as_ref().ok_or(())?);
        if granted.is_none() {
            return look(state, shared, ticket, waker, not_granted);
        }
        *ticket = None;
        Ok(granted)
    });
    match polled {
        Ok(granted) => {
            if granted.is_none() {
                set_bound(shared, not_granted);
            }
            granted
        }
        Err(()) => poll_again(shared, ticket, waker, not_granted),
    }
}

/// Sets the limit of a shared capacity that kept a call waiting until it was rejected. Not under
/// the lock of the bulkhead, which comes after that of the pool.
#[inline]
fn set_bound(shared: &Shared, not_granted: &mut NotGranted) {
    if let (true, NotGranted::Rejected(rejection)) = (shared.has(hint::POOLED), not_granted) {
        shared.set_bound_of_wait(rejection);
    }
}

/// Collects the ticket. Returns an error if it waits and the waker has to be left.
#[cold]
#[inline(never)]
fn look(
    state: &mut GateState,
    shared: &Shared,
    ticket: &mut Option<Ticket>,
    waker: &Waker,
    not_granted: &mut NotGranted,
) -> Result<Option<Grant>, ()> {
    match collect(state, shared, ticket, not_granted) {
        Ok(granted) => Ok(granted),
        Err(Some(parked)) if parked.will_wake(waker) => Ok(None),
        Err(_) => Err(()),
    }
}

/// Collects the ticket as [`poll`] does, in any case.
#[cold]
#[inline(never)]
pub(crate) fn poll_again(
    shared: &Shared,
    ticket: &mut Option<Ticket>,
    waker: &Waker,
    not_granted: &mut NotGranted,
) -> Option<Grant> {
    let polled = shared.look_or_park(waker, |state| collect(state, shared, ticket, not_granted));
    let granted = if let Poll::Ready(granted) = polled { granted } else { None };
    if granted.is_none() {
        set_bound(shared, not_granted);
    }
    granted
}

/// Collects the ticket, or returns the place for its waker.
#[cold]
#[inline(never)]
fn collect<'a>(
    state: &'a mut GateState,
    shared: &Shared,
    ticket: &mut Option<Ticket>,
    not_granted: &mut NotGranted,
) -> Result<Option<Grant>, &'a mut Option<Waker>> {
    let queued = match state.collect(ticket.take().expect("a ticket is collected once")) {
        Answer::Granted(grant) => return Ok(Some(grant)),
        Answer::Rejected(rejection) => {
            *not_granted = NotGranted::Rejected(shared.rejected(state, rejection));
            return Ok(None);
        }
        Answer::Queued(queued) => ticket.insert(queued),
        Answer::NeedsNow => unreachable!("collecting needs no time"),
    };
    *not_granted = state.wait(queued);
    Err(state.gate.waker_mut(queued).expect("the ticket waits"))
}

/// Gives up the ticket, whatever its state. `wait` ends. Usually the call waits behind another.
pub(crate) fn withdraw(shared: &Shared, ticket: Ticket, wait: WaitSpan) {
    if shared.has(hint::POOLED) {
        return withdraw_by_gate(shared, ticket, wait);
    }
    match shared.beside_the_word(|state| state.cancel_behind(ticket)) {
        Ok(displaced) => {
            if displaced.is_some() {
                discard(displaced);
            }
            wait.cancelled(shared);
        }
        Err(ticket) => withdraw_by_gate(shared, ticket, wait),
    }
}

/// Gives up the ticket as an input of the gate. The clock is read only where the gate needs the
/// time: for an event, which has the wait of the call, or to admit the next waiter.
#[cold]
#[inline(never)]
fn withdraw_by_gate(shared: &Shared, ticket: Ticket, wait: WaitSpan) {
    let (mut ticket, mut now, mut rejected) = (Some(ticket), None, None);
    while let Some(given_up) = ticket.take() {
        let displaced = shared.input(|state| {
            // A rejection that its call never sees is logged, too: it is counted.
            if trace::is_on() {
                let rejection = plumbing::rejection(&state.gate, &given_up);
                rejected = rejection.map(|rejection| shared.rejected(state, rejection));
            }
            match state.cancel(given_up, now) {
                Ok(displaced) => {
                    state.advance(now);
                    displaced
                }
                // The gate needs the time: leave the lock, read the clock and cancel again.
                Err(given_up) => {
                    ticket = Some(given_up);
                    None
                }
            }
        });
        if displaced.is_some() {
            discard(displaced);
        }
        if ticket.is_some() {
            // A clock that panics must not lose the ticket.
            now = Some(shared.now_if_sound());
        }
    }
    match rejected {
        Some(rejection) => {
            wait.rejected(&rejection);
            trace::rejected(Some(shared), &rejection);
        }
        None => wait.cancelled(shared),
    }
}
