//! A place in the queue, given up on drop.

use core::ops::Deref;
use core::task::{Poll, Waker};

use bulklink_core::{Collected, Gate, Grant, Rejection, Ticket};

use crate::foreign::discard;
use crate::shared::{Shared, State};

/// A ticket that is never lost, however its bulkhead is held.
pub(crate) struct Place<S: Deref<Target = Shared>> {
    shared: S,
    /// Gone once it has been redeemed.
    ticket: Option<Ticket>,
}

/// What a look at a ticket shows.
enum Look {
    /// Redeemed, or still waiting with the right waker.
    Seen(Poll<Result<Grant, Rejection>>),
    /// It waits, and would wake another task than this.
    Stale,
}

impl<S: Deref<Target = Shared>> Place<S> {
    pub(crate) fn new(shared: S, ticket: Ticket) -> Self {
        Place { shared, ticket: Some(ticket) }
    }

    /// Redeems the ticket, or sees to it that `waker` is woken when that can be done.
    pub(crate) fn poll(&mut self, waker: &Waker) -> Poll<Result<Grant, Rejection>> {
        let ticket = &mut self.ticket;
        match self.shared.look(|State { gate, .. }| look(gate, ticket, waker)) {
            Look::Seen(poll) => poll,
            // A clone is foreign code, and happens outside the lock. The ticket may be settled by then.
            Look::Stale => self.redeem_or_park(waker.clone()),
        }
    }

    fn redeem_or_park(&mut self, waker: Waker) -> Poll<Result<Grant, Rejection>> {
        let ticket = &mut self.ticket;
        let (poll, displaced) = self.shared.look(|State { gate, .. }| {
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
}

fn look(gate: &mut Gate<Waker>, ticket: &mut Option<Ticket>, waker: &Waker) -> Look {
    let stale = |ticket| gate.is_waiting(ticket) && !gate.parked(ticket).is_some_and(|parked| parked.will_wake(waker));
    if ticket.as_ref().is_some_and(stale) { Look::Stale } else { Look::Seen(redeem(gate, ticket)) }
}

/// Takes the ticket, and leaves it there if it still waits.
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

impl<S: Deref<Target = Shared>> Drop for Place<S> {
    /// Withdraws the ticket in whatever state it is.
    fn drop(&mut self) {
        let Some(ticket) = self.ticket.take() else { return };
        // The time matters only to an observer, who is told how long this one had waited, and to others who wait.
        let cancelled = self.shared.input(|State { gate, .. }| {
            let others = gate.figures().waiting() - usize::from(gate.is_waiting(&ticket));
            if gate.is_observed() || others > 0 { Err(ticket) } else { Ok(gate.cancel(ticket)) }
        });
        let _displaced = cancelled.unwrap_or_else(|ticket| {
            let now = self.shared.now();
            self.shared.input(|State { gate, .. }| {
                gate.tell(now);
                let displaced = gate.cancel(ticket);
                gate.advance(now);
                displaced
            })
        });
    }
}
