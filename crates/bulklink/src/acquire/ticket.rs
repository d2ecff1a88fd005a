//! What a waiter does with its ticket: collects it, parks a waker with it, gives it up.

use core::task::Waker;

use bulklink_core::Ticket;

use crate::foreign::discard;
use crate::gate::shared::{Answer, Expiry, GateState, Shared};
use crate::gate::waker_cell::{WakerCell, wakes};

/// Takes the ticket and collects it, or leaves it there together with `waker`, which is woken when
/// it can be collected.
#[inline]
pub(crate) fn poll(shared: &Shared, ticket: &mut Option<Ticket>, waker: &Waker) -> Answer {
    shared.look_or_park(&mut TicketCell { shared, ticket }, waker)
}

struct TicketCell<'a> {
    shared: &'a Shared,
    /// Gone only while it is collected.
    ticket: &'a mut Option<Ticket>,
}

impl WakerCell<GateState> for TicketCell<'_> {
    type Found = Answer;

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
    fn look(&mut self, GateState { gate, .. }: &mut GateState) -> Answer {
        match gate.collect(self.ticket.take().expect("a ticket is collected once")) {
            bulklink_core::Answer::Granted(grant) => Answer::Granted(grant),
            bulklink_core::Answer::Rejected(rejection) => Answer::Rejected(self.shared.rejected(rejection)),
            bulklink_core::Answer::Queued(waiting) => {
                let deadline = gate.deadline(&waiting);
                let home = deadline.and_then(|_| gate.relies_on(&waiting));
                *self.ticket = Some(waiting);
                Answer::Queued(Expiry { deadline, home })
            }
            bulklink_core::Answer::NeedsNow => unreachable!("collecting needs no time"),
        }
    }
}

/// Gives the ticket up in whatever state it is. The clock is read only where the time makes a
/// difference: to an observer, who is told how long the call had waited, or to a waiter that this
/// lets in.
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
