//! What a process sends, in which order.

use std::time::Duration;

use super::{Link, Owner};
use crate::owner::call::Call;
use crate::{CallId, Command, Epoch, Era, Outcome, RunId};

impl Owner {
    /// Returns the next command to send, with the number under which its answer must come back.
    ///
    /// Commands must be sent on the newest link, in the order in which they are polled.
    pub fn poll_command(&mut self, now: Duration) -> Option<(u64, Command)> {
        let command = self.next_command(now)?;
        self.requests += 1;
        if let Command::Acquire { id, .. } = &command {
            self.asking.insert(*id);
        }
        self.sent.insert(self.requests, (now, command.clone()));
        Some((self.requests, command))
    }

    fn next_command(&mut self, now: Duration) -> Option<Command> {
        let era = match self.link {
            Link::Down | Link::Opening { .. } => return None,
            Link::New { run, young } => return Some(self.open(now, run, young)),
            Link::Up { era, .. } => era,
        };
        // A beat must not list what was released before it, nor be overtaken by a release.
        let is_beat_due = self.beat_at.is_some_and(|at| at <= now);
        if !self.releases.is_empty() {
            // One command less, while a call asks anyway.
            let merged = if self.merges && !is_beat_due { self.ask(now, era) } else { None };
            return merged.or_else(|| Some(Command::Release { ids: std::mem::take(&mut self.releases) }));
        }
        // The first beat tells the server what is older than the calls that ask after it.
        if is_beat_due {
            return Some(self.beat(now, era));
        }
        if self.reap_at.is_some_and(|at| at <= now) && self.waits() {
            self.reap_at = None;
            return Some(Command::Reap { full: false, offset: 0 });
        }
        self.ask(now, era)
    }

    fn open(&mut self, now: Duration, run: Option<RunId>, young: bool) -> Command {
        self.tick(now);
        self.link = Link::Opening { run, young };
        // Leases of that epoch may still be valid: of this process, or of others.
        let is_recent = self.held().next().is_some() || self.heard + self.declared.terms.ttl > now;
        let known: Option<Epoch> = self.epoch.filter(|_| is_recent);
        let it = &self.declared;
        Command::Open {
            owner: it.owner,
            generation: self.generation,
            limit: it.limit,
            config: it.config,
            terms: it.terms,
            known,
            highest: self.highest,
            run,
            young,
            info: it.info.clone(),
        }
    }

    fn beat(&mut self, now: Duration, era: Era) -> Command {
        self.tick(now);
        self.doubtful.retain(|_, until| *until > now);
        self.beat_at = None;
        let waiters = self.calls.iter().filter_map(|(id, call)| match call {
            Call::Queued { ticket, .. } => Some((*id, *ticket)),
            _ => None,
        });
        Command::Beat {
            owner: self.declared.owner,
            generation: self.generation,
            era,
            terms: self.declared.terms,
            info: self.declared.info.clone(),
            leases: self.held().collect(),
            waiters: waiters.collect(),
            gone: self.gone.keys().copied().collect(),
        }
    }

    fn ask(&mut self, now: Duration, era: Era) -> Option<Command> {
        let is_asking = |id: &CallId| matches!(self.calls.get(id), Some(Call::Asking { .. }));
        // A late notice may have granted a call that was to ask again.
        let Some(at) = self.asks.iter().position(is_asking) else {
            self.asks.clear();
            return None;
        };
        let id = self.asks.drain(..=at).next_back()?;
        let Some(Call::Asking { sent, wait, .. }) = self.calls.get_mut(&id) else { return None };
        *sent = Some(now);
        let (wait, queue, terms) = (*wait, self.declared.queue, self.declared.terms);
        let give_back = std::mem::take(&mut self.releases);
        Some(Command::Acquire { id, wait, queue, era, terms, give_back })
    }

    /// The server has other data than the process believed: it must be opened again on this link.
    pub(super) fn open_again(&mut self, now: Duration) {
        if let Link::Up { era, young } = self.link {
            self.closed_since = now;
            self.link = Link::New { run: era.run, young };
            self.beat_at = None;
            // Calls that ask may lose their patience from now on.
            self.quiet_until = Some(now);
        }
    }

    pub(super) fn opened(&mut self, now: Duration, epoch: Epoch) {
        if let Link::Opening { run, young } = self.link {
            self.link = Link::Up { era: Era { epoch, run }, young };
            self.epoch = Some(epoch);
            self.beat_at = Some(now);
            self.outputs.push_back(super::Output::Opened);
        }
    }

    pub(super) fn broken(&mut self, now: Duration, outcome: Option<Outcome>) {
        self.link_down(now);
        self.outputs.push_back(super::Output::Broken(outcome));
    }
}
