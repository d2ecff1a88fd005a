//! Looking after a ticket: redeeming it, leaving a waker with it, giving it up.

use core::task::{Poll, Waker};

use bulklink_core::{Collected, Gate, Grant, Rejection, Ticket};

use crate::foreign::discard;
use crate::shared::{Shared, State};

/// What a look at a ticket shows.
enum Look {
    /// Redeemed, or still waiting with the right waker.
    Seen(Poll<Result<Grant, Rejection>>),
    /// It waits, and would wake another task than this.
    Stale,
}

/// Takes the ticket and redeems it, or leaves it there and sees to it that `waker` is woken when that can be done.
pub(crate) fn poll(shared: &Shared, ticket: &mut Option<Ticket>, waker: &Waker) -> Poll<Result<Grant, Rejection>> {
    match shared.with_ticket(|gate| look(gate, ticket, waker)) {
        Look::Seen(poll) => poll,
        // A clone is foreign code, and happens outside the lock. The ticket may be settled by then.
        Look::Stale => redeem_or_park(shared, ticket, waker.clone()),
    }
}

fn look(gate: &mut Gate<Waker>, ticket: &mut Option<Ticket>, waker: &Waker) -> Look {
    let poll = redeem(gate, ticket);
    match ticket {
        Some(ticket) if !gate.parked(ticket).is_some_and(|parked| parked.will_wake(waker)) => Look::Stale,
        _ => Look::Seen(poll),
    }
}

fn redeem_or_park(shared: &Shared, ticket: &mut Option<Ticket>, waker: Waker) -> Poll<Result<Grant, Rejection>> {
    let (poll, displaced) = shared.with_ticket(|gate| {
        let poll = redeem(gate, ticket);
        let displaced = match ticket {
            Some(ticket) => gate.park(ticket, waker),
            None => Some(waker),
        };
        (poll, displaced)
    });
    discard(displaced);
    poll
}

fn redeem(gate: &mut Gate<Waker>, ticket: &mut Option<Ticket>) -> Poll<Result<Grant, Rejection>> {
    match gate.collect(ticket.take().expect("a ticket is redeemed once")) {
        Collected::Granted(grant) => Poll::Ready(Ok(grant)),
        Collected::Rejected(rejection) => Poll::Ready(Err(rejection)),
        Collected::Waiting(waiting) => {
            *ticket = Some(waiting);
            Poll::Pending
        }
    }
}

/// Gives the ticket up in whatever state it is. The time matters only to an observer, who is told how long this one had
/// waited, and to others whom it stood in the way of.
pub(crate) fn withdraw(shared: &Shared, ticket: Ticket) {
    let cancelled = shared.input(|State { gate, .. }| {
        if gate.is_observed() || gate.needs_now() && gate.is_in_the_way(&ticket) {
            return Err(ticket);
        }
        let displaced = gate.cancel(ticket);
        gate.advance_untimed();
        Ok(displaced)
    });
    let _displaced = cancelled.unwrap_or_else(|ticket| {
        let now = shared.now();
        shared.input(|State { gate, .. }| {
            gate.tell(now);
            let displaced = gate.cancel(ticket);
            gate.advance(now);
            displaced
        })
    });
}
