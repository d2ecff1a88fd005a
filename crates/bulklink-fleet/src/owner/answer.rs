//! What the server's answers change.

use std::time::Duration;

use super::call::Call;
use super::{Link, Output, Owner};
use crate::{Answer, CallId, Command, Era, Head, Outcome, ServerTime, StoreError, Ticket, Token};

/// After the time at which something expires on the server, so that it has.
const AFTERWARDS: Duration = Duration::from_millis(1);

impl Owner {
    /// The command with this number has an answer, or will have none. An answer to a command of an
    /// earlier link is ignored.
    pub fn answer(&mut self, now: Duration, request: u64, result: Result<Answer, StoreError>) {
        let is_unknown = !matches!(result, Ok(_) | Err(StoreError::Refused { .. } | StoreError::Full));
        if is_unknown && self.sent.contains_key(&request) {
            // Until the link is down, the command counts as on its way.
            self.broken(now, None);
            return;
        }
        let Some((sent, command)) = self.sent.remove(&request) else { return };
        if let Command::Acquire { id, .. } = &command {
            self.asking.remove(id);
        }
        match result {
            Ok(answer) => self.answered(now, sent, command, answer),
            Err(_) => self.refused(now, command),
        }
    }

    fn answered(&mut self, now: Duration, sent: Duration, command: Command, answer: Answer) {
        if let (Command::Acquire { era, .. } | Command::Beat { era, .. }, Outcome::Stale) = (&command, &answer.outcome)
        {
            self.stale(now, *era);
        }
        if let Some(head) = answer.head {
            self.clock = Some((now, head.now));
        }
        let epoch = match (&command, answer.head) {
            (Command::Acquire { era, .. }, None) => Some(era.epoch),
            (_, head) => head.and_then(|head| head.epoch),
        };
        if epoch.is_some() && epoch == self.epoch {
            self.heard = self.heard.max(sent);
        }
        match (command, answer.outcome) {
            (Command::Open { .. }, Outcome::Opened { .. }) => match answer.head.and_then(|head| head.epoch) {
                Some(epoch) => self.opened(now, epoch),
                None => self.broken(now, None),
            },
            (Command::Release { ids }, _) => self.returned(&ids),
            (Command::Acquire { id, give_back, .. }, outcome) => {
                self.returned(&give_back);
                if outcome == Outcome::Stale {
                    self.remember_all(now, give_back);
                }
                self.asked(now, sent, id, outcome, answer.head);
            }
            (
                Command::Beat { leases, waiters, gone, .. },
                Outcome::Beaten { first_expiry, lost, granted, quarantine, .. },
            ) => {
                self.renewed(now, sent, &leases, &lost);
                self.still_waiting(sent, &waiters, &granted);
                self.forget(sent, &gone);
                self.merges = true;
                self.beat_at = Some(sent + self.declared.beat);
                self.arm(now, answer.head, first_expiry);
                self.arm(now, answer.head, quarantine);
            }
            (Command::Open { .. } | Command::Beat { .. }, outcome) if outcome != Outcome::Stale => {
                self.broken(now, Some(outcome));
            }
            _ => {}
        }
        if answer.head.is_some_and(|head| head.more) {
            self.reap_at = Some(now);
        }
    }

    /// The server has no memory, or does not permit the command.
    fn refused(&mut self, now: Duration, command: Command) {
        match command {
            Command::Acquire { id, give_back, .. } => {
                self.merges = give_back.is_empty() && self.merges;
                self.releases.extend(give_back);
                match self.calls.remove(&id) {
                    Some(Call::Asking { .. }) => self.outputs.push_back(Output::Unavailable(id)),
                    Some(Call::Orphan) | None => {}
                    Some(other) => {
                        self.calls.insert(id, other);
                        return;
                    }
                }
                if self.is_doubtful(now, id) {
                    // What an earlier link sent may have had an effect.
                    self.give_back(now, id);
                }
            }
            Command::Release { ids } => {
                self.returned(&ids);
                self.remember_all(now, ids);
            }
            Command::Beat { .. } | Command::Open { .. } => self.broken(now, None),
            _ => {}
        }
    }

    /// No release of these is on its way any more.
    fn returned(&mut self, ids: &[CallId]) {
        for id in ids {
            self.returning.remove(id);
        }
    }

    fn stale(&mut self, now: Duration, of: Era) {
        if matches!(self.link, Link::Up { era, .. } if era == of) {
            self.open_again(now);
        }
    }

    fn asked(&mut self, now: Duration, sent: Duration, id: CallId, outcome: Outcome, head: Option<Head>) {
        let is_orphan = self.calls.get(&id) == Some(&Call::Orphan);
        let is_asking = matches!(self.calls.get(&id), Some(Call::Asking { .. }));
        if is_orphan {
            self.calls.remove(&id);
        }
        match outcome {
            Outcome::Granted { .. } | Outcome::Queued { .. } | Outcome::Stale | Outcome::TooLarge if is_orphan => {
                self.give_back(now, id);
            }
            Outcome::Granted { token } => self.hold(id, token, sent + self.declared.terms.ttl),
            Outcome::Queued { ticket, first_expiry, .. } if is_asking => {
                self.calls.insert(id, Call::Queued { ticket, seen: sent });
                self.queued += 1;
                self.arm(now, head, first_expiry);
            }
            Outcome::Stale if is_asking => {
                let at = self.asks.partition_point(|other| other.seq < id.seq);
                self.asks.insert(at, id);
            }
            outcome if is_asking => {
                self.calls.remove(&id);
                if outcome == Outcome::TooLarge || self.is_doubtful(now, id) {
                    // An earlier command may have left a waiter, or still do so.
                    self.give_back(now, id);
                }
                self.outputs.push_back(Output::Rejected(id, outcome));
            }
            _ => {}
        }
    }

    fn renewed(&mut self, now: Duration, sent: Duration, leases: &[CallId], lost: &[CallId]) {
        let renewed = sent + self.declared.terms.ttl;
        for id in leases {
            match self.calls.get_mut(id) {
                Some(call @ Call::Held { .. }) if lost.contains(id) => {
                    *call = Call::Lost;
                    self.lost(now, *id);
                }
                Some(Call::Held { deadline, .. }) => *deadline = renewed.max(*deadline),
                _ => {}
            }
        }
    }

    fn still_waiting(&mut self, sent: Duration, waiters: &[(CallId, Ticket)], granted: &[(CallId, Token)]) {
        for (id, token) in granted {
            self.hold(*id, *token, sent + self.declared.terms.ttl);
        }
        for (id, _) in waiters {
            if let Some(Call::Queued { seen, .. }) = self.calls.get_mut(id) {
                *seen = sent;
            }
        }
    }

    /// The server has dropped what ended calls had there when the beat was sent, or later.
    fn forget(&mut self, sent: Duration, listed: &[CallId]) {
        self.gone.retain(|id, until| *until > sent || !listed.contains(id));
    }

    /// Sets the time at which a waiter may be granted because something ends on the server.
    fn arm(&mut self, now: Duration, head: Option<Head>, until: ServerTime) {
        let Some(head) = head.filter(|head| until > head.now) else { return };
        let at = now + until.since(head.now) + AFTERWARDS;
        self.reap_at = Some(self.reap_at.map_or(at, |before| before.min(at)));
    }
}
