//! What a waiter does with its ticket: collects it, parks a waker with it, gives it up.

use core::task::Waker;

use bulklink_core::{Gate, Ticket};

use crate::foreign::discard;
use crate::gate::shared::{Answer, Expiry, GateState, Shared};

/// Takes the ticket and collects it, or leaves it there and sees to it that the task of `waker` is woken when it can be
/// collected.
#[inline]
pub(crate) fn poll(shared: &Shared, ticket: &mut Option<Ticket>, waker: &Waker) -> Answer {
    let answer = shared.beside_the_word(|GateState { gate, .. }| {
        let answer = collect(shared, gate, ticket);
        let is_stale = ticket.as_ref().is_some_and(|ticket| !would_wake(gate, ticket, waker));
        (!is_stale).then_some(answer)
    });
    match answer {
        Some(answer) => answer,
        // A clone is foreign code, and happens outside the lock. The ticket may be settled by then.
        None => collect_or_park(shared, ticket, waker.clone()),
    }
}

#[inline]
fn would_wake(gate: &Gate<Waker>, ticket: &Ticket, waker: &Waker) -> bool {
    gate.parked(ticket).is_some_and(|parked| parked.will_wake(waker))
}

#[cold]
fn collect_or_park(shared: &Shared, ticket: &mut Option<Ticket>, waker: Waker) -> Answer {
    let (answer, displaced) = shared.beside_the_word(|GateState { gate, .. }| {
        let answer = collect(shared, gate, ticket);
        let displaced = match ticket {
            Some(ticket) => gate.park(ticket, waker),
            None => Some(waker),
        };
        (answer, displaced)
    });
    discard(displaced);
    answer
}

#[inline]
fn collect(shared: &Shared, gate: &mut Gate<Waker>, ticket: &mut Option<Ticket>) -> Answer {
    match gate.collect(ticket.take().expect("a ticket is collected once")) {
        bulklink_core::Answer::Granted(grant) => Answer::Granted(grant),
        bulklink_core::Answer::Rejected(rejection) => Answer::Rejected(shared.rejected(rejection)),
        bulklink_core::Answer::Queued(waiting) => {
            let deadline = gate.deadline(&waiting);
            let home = deadline.and_then(|_| gate.relies_on(&waiting));
            *ticket = Some(waiting);
            Answer::Queued(Expiry { deadline, home })
        }
        bulklink_core::Answer::NeedsNow => unreachable!("collecting needs no time"),
    }
}

/// Gives the ticket up in whatever state it is. The clock is read only where the time makes a difference: to an
/// observer, who is told how long the call had waited, or to a waiter that this lets in.
pub(crate) fn withdraw(shared: &Shared, ticket: Ticket) {
    let (mut ticket, mut now) = (Some(ticket), None);
    while let Some(waiting) = ticket.take() {
        let displaced = shared.input(|GateState { gate, .. }| match gate.cancel(waiting, now) {
            Ok(displaced) => {
                gate.advance(now);
                displaced
            }
            Err(waiting) => {
                ticket = Some(waiting);
                None
            }
        });
        if displaced.is_some() {
            discard(displaced);
        }
        if ticket.is_some() {
            now = Some(shared.now());
        }
    }
}
