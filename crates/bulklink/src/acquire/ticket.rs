//! The operations on a waiter's ticket: collect it, park a waker with it, give it up.

use core::task::{Poll, Waker};

use bulklink_core::{Answer, Grant, Ticket, plumbing};

use crate::foreign::discard;
use crate::gate::shared::{NotGranted, Shared};
use crate::observe::trace::{self, WaitSpan};

/// Collects the ticket. If there is no grant, the reason is stored in `not_granted`. A ticket that
/// still waits stays in `ticket`, and `waker` is woken when it can be collected.
#[inline]
pub(crate) fn poll(
    shared: &Shared,
    ticket: &mut Option<Ticket>,
    waker: &Waker,
    not_granted: &mut NotGranted,
) -> Option<Grant> {
    let polled = shared.look_or_park(waker, |state| {
        let queued = match state.collect(ticket.take().expect("a ticket is collected once")) {
            Answer::Granted(grant) => return Ok(Some(grant)),
            Answer::Rejected(rejection) => {
                *not_granted = NotGranted::Rejected(shared.rejected(rejection));
                return Ok(None);
            }
            Answer::Queued(queued) => ticket.insert(queued),
            Answer::NeedsNow => unreachable!("collecting needs no time"),
        };
        let (deadline, due) = state.times(queued);
        let home = due.and_then(|_| state.gate.relies_on(queued));
        *not_granted = NotGranted::Queued { deadline, due, home };
        Err(state.gate.waker_mut(queued).expect("the ticket waits"))
    });
    match polled {
        Poll::Ready(granted) => granted,
        Poll::Pending => None,
    }
}

/// Gives up the ticket, whatever its state. The clock is read only where the gate needs the time:
/// for an event, which says how long the call waited, or to admit the next waiter. `wait` ends.
pub(crate) fn withdraw(shared: &Shared, ticket: Ticket, wait: WaitSpan) {
    let (mut ticket, mut now, mut rejected) = (Some(ticket), None, None);
    while let Some(given_up) = ticket.take() {
        let displaced = shared.input(|state| {
            // A rejection that its call never sees is logged, too: it is counted.
            if trace::is_on() {
                rejected = plumbing::rejection(&state.gate, &given_up);
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
            let rejection = shared.rejected(rejection);
            wait.rejected(&rejection);
            trace::rejected(Some(shared), &rejection);
        }
        None => wait.cancelled(shared),
    }
}
