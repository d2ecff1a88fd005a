//! Looking after a ticket: redeeming it, leaving a waker with it, giving it up.

use core::num::NonZeroU64;
use core::task::Waker;

use bulklink_core::{Collected, Gate, Grant, Instant, Rejection, Ticket};

use crate::foreign::discard;
use crate::gate::shared::{Shared, State};

/// How a ticket stands.
pub(crate) enum Standing {
    /// Redeemed for this.
    Granted(Grant),
    /// Redeemed for a rejection, which is too large to come this way.
    Rejected,
    /// In the queue, and the task will be woken.
    Waiting,
    /// In the queue, and another task would be woken.
    Stale,
}

/// What else there is to say of it.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) rejection: Option<Rejection>,
    /// Of one in the queue.
    pub(crate) deadline: Option<Instant>,
    /// The runtime whose driver comes by at the deadline.
    pub(crate) home: Option<NonZeroU64>,
}

/// Takes the ticket and redeems it, or leaves it there and sees to it that `waker` is woken when that can be done.
#[inline]
pub(crate) fn poll(shared: &Shared, ticket: &mut Option<Ticket>, waker: &Waker, found: &mut Found) -> Standing {
    match shared.beside_the_word(|State { gate, .. }| look(gate, ticket, waker, found)) {
        // A clone is foreign code, and happens outside the lock. The ticket may be settled by then.
        Standing::Stale => redeem_or_park(shared, ticket, waker.clone(), found),
        standing => standing,
    }
}

#[inline]
fn look(gate: &mut Gate<Waker>, ticket: &mut Option<Ticket>, waker: &Waker, found: &mut Found) -> Standing {
    match (redeem(gate, ticket, found), ticket) {
        (Standing::Waiting, Some(ticket)) if !gate.parked(ticket).is_some_and(|parked| parked.will_wake(waker)) => {
            Standing::Stale
        }
        (standing, _) => standing,
    }
}

#[cold]
fn redeem_or_park(shared: &Shared, ticket: &mut Option<Ticket>, waker: Waker, found: &mut Found) -> Standing {
    let (standing, displaced) = shared.beside_the_word(|State { gate, .. }| {
        let standing = redeem(gate, ticket, found);
        let displaced = match ticket {
            Some(ticket) => gate.park(ticket, waker),
            None => Some(waker),
        };
        (standing, displaced)
    });
    discard(displaced);
    standing
}

#[inline]
fn redeem(gate: &mut Gate<Waker>, ticket: &mut Option<Ticket>, found: &mut Found) -> Standing {
    match gate.collect(ticket.take().expect("a ticket is redeemed once")) {
        Collected::Granted(grant) => Standing::Granted(grant),
        Collected::Rejected(rejection) => {
            found.rejection = Some(rejection);
            Standing::Rejected
        }
        Collected::Waiting(waiting) => {
            found.deadline = gate.deadline(&waiting);
            if found.deadline.is_some() {
                found.home = gate.relies_on(&waiting);
            }
            *ticket = Some(waiting);
            Standing::Waiting
        }
    }
}

/// Gives the ticket up in whatever state it is. The time matters only to an observer, who is told how long this one had
/// waited, and to others whom it stood in the way of.
pub(crate) fn withdraw(shared: &Shared, ticket: Ticket) {
    match shared.input(|State { gate, .. }| gate.cancel_untimed(ticket)) {
        Ok(displaced) => discard(displaced),
        Err(ticket) => withdraw_now(shared, ticket),
    }
}

#[cold]
fn withdraw_now(shared: &Shared, ticket: Ticket) {
    let now = shared.now();
    let displaced = shared.input(|State { gate, .. }| {
        gate.tell(now);
        let displaced = gate.cancel(ticket);
        gate.advance(now);
        displaced
    });
    discard(displaced);
}
