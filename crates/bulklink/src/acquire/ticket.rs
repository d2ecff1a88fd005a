//! The operations on a waiter's ticket: collect it, park a waker with it, give it up.

use core::task::Waker;

use bulklink_core::{Answer, Grant, Ticket};

use crate::foreign::discard;
use crate::gate::shared::{Expiry, GateState, NotGranted, Shared};
use crate::gate::waker_cell::{WakerCell, wakes};

/// Collects the ticket. If there is no grant, the reason is stored in `not_granted`. While the
/// ticket still waits, it stays in `ticket`, and this makes sure that `waker` is woken when it can
/// be collected.
#[inline]
pub(crate) fn poll(
    shared: &Shared,
    ticket: &mut Option<Ticket>,
    waker: &Waker,
    not_granted: &mut NotGranted,
) -> Option<Grant> {
    shared.look_or_park(&mut TicketCell { shared, ticket, not_granted }, waker)
}

/// The place for a waker that the gate keeps for a ticket.
struct TicketCell<'a> {
    shared: &'a Shared,
    /// `None` while the ticket is collected, and after it is settled.
    ticket: &'a mut Option<Ticket>,
    not_granted: &'a mut NotGranted,
}

impl WakerCell<GateState> for TicketCell<'_> {
    type Found = Option<Grant>;

    #[inline]
    fn wants(&self, GateState { gate, .. }: &GateState, waker: &Waker) -> bool {
        let ticket = self.ticket.as_ref();
        ticket.is_some_and(|ticket| gate.is_waiting(ticket) && !wakes(gate.parked(ticket), waker))
    }

    fn park(&mut self, GateState { gate, .. }: &mut GateState, waker: Waker) -> Option<Waker> {
        match self.ticket {
            Some(ticket) => gate.park(ticket, waker),
            None => Some(waker),
        }
    }

    #[inline]
    fn look(&mut self, GateState { gate, .. }: &mut GateState) -> Option<Grant> {
        *self.not_granted = match gate.collect(self.ticket.take().expect("a ticket is collected once")) {
            Answer::Granted(grant) => return Some(grant),
            Answer::Rejected(rejection) => NotGranted::Rejected(self.shared.rejected(rejection)),
            Answer::Queued(queued) => {
                let deadline = gate.deadline(&queued);
                let home = deadline.and_then(|_| gate.relies_on(&queued));
                *self.ticket = Some(queued);
                NotGranted::Queued(Expiry { deadline, home })
            }
            Answer::NeedsNow => unreachable!("collecting needs no time"),
        };
        None
    }
}

/// Gives up the ticket, whatever its state. The clock is read only if the time makes a difference:
/// for an event handler, which is told how long the call waited, or for a waiter that this admits.
pub(crate) fn withdraw(shared: &Shared, ticket: Ticket) {
    let (mut ticket, mut now) = (Some(ticket), None);
    while let Some(given_up) = ticket.take() {
        let displaced = shared.input(|GateState { gate, .. }| match gate.cancel(given_up, now) {
            Ok(displaced) => {
                gate.advance(now);
                displaced
            }
            // The gate needs the time: leave the lock, read the clock and cancel again.
            Err(given_up) => {
                ticket = Some(given_up);
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
