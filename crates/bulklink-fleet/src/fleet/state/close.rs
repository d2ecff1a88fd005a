//! How a bulkhead ends in this process.

use std::task::{Poll, Waker};
use std::time::Duration;

use super::{Closing, State, park};
use crate::Reason;

impl State {
    /// Whether a closed bulkhead has nothing left in this process.
    pub(super) fn is_done(&self) -> bool {
        self.closing.is_some() && self.leases.is_empty() && self.unfenced == 0 && self.owner.is_flushed()
    }

    /// No call is admitted any more. Permits stay valid; the store is told once all are given back.
    pub(crate) fn close(&mut self, now: Duration) {
        if self.closing.is_some() {
            return;
        }
        self.closing = Some(Closing { is_told: false, is_over: false, wakers: vec![] });
        let waiting: Vec<_> =
            self.calls.iter().filter(|(_, call)| call.outcome.is_none()).map(|(number, _)| *number).collect();
        for number in waiting {
            let ask = self.unbind(number);
            self.reject(now, number, Reason::Closed);
            if let Some(id) = ask {
                self.owner.end(now, id);
            }
        }
        for (_, id) in std::mem::take(&mut self.idle) {
            self.give_back(now, id);
        }
        self.effects.has_work = true;
    }

    /// The store knows that the process has left, or will notice by itself.
    pub(super) fn end_closing(&mut self) {
        if let Some(closing) = &mut self.closing {
            closing.is_over = true;
            // A successor of the same name may have the link to itself now.
            self.link = None;
            self.effects.wakers.append(&mut closing.wakers);
            self.effects.unanswered.extend(self.asked_directly.drain(..).map(|(_, reply)| reply));
            self.effects.has_work = true;
            self.first_opening(Err(None));
        }
    }

    /// The task that drives the bulkhead is gone: no call will ever be admitted, and nothing renews
    /// the permits, nor notices when they end.
    pub(crate) fn abandon(&mut self, now: Duration) {
        self.link_down(now);
        self.close(now);
        let held: Vec<_> = self.leases.keys().copied().collect();
        for id in held {
            self.lose(id);
        }
        self.end_closing();
    }

    pub(crate) fn is_over(&self) -> bool {
        self.closing.as_ref().is_some_and(|closing| closing.is_over)
    }

    pub(crate) fn poll_over(&mut self, waker: &mut Option<Waker>) -> Poll<()> {
        match &mut self.closing {
            Some(closing) if !closing.is_over => {
                park(&mut closing.wakers, waker);
                Poll::Pending
            }
            _ => Poll::Ready(()),
        }
    }

    /// Until when a closed bulkhead waits for a link, on which it could say that it ends.
    pub(super) fn patience_of_closing(&self) -> Option<Duration> {
        self.closing.as_ref().filter(|closing| !closing.is_over)?;
        let is_empty = self.leases.is_empty() && self.unfenced == 0;
        (!self.owner.is_up() && is_empty).then(|| self.owner.gone_until().unwrap_or_default())
    }
}
