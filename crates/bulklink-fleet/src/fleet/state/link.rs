//! What the driver tells a bulkhead, and what comes of it.

use std::time::Duration;

use super::{Effects, Lease, State};
use crate::event::EventKind;
use crate::{Answer, CallId, Command, Conflict, Notice, Outcome, Output, Reason, Server, StoreError};

/// How long a name waits before it tries again what the store refused.
const RETRY: Duration = Duration::from_secs(1);

/// How long there may be more spare asks than calls that wait: calls that end together are often
/// followed by others together.
const SURPLUS: Duration = Duration::from_millis(20);

impl State {
    /// The name listens on the connection with this number.
    pub(crate) fn link_up(&mut self, now: Duration, connection: u64, server: Server) {
        if self.is_over() {
            return;
        }
        let young = server.age.is_some_and(|age| age < self.declared.terms.ttl);
        let generation = self.owner.link_up(now, server.run, young);
        self.link = Some((connection, generation));
        self.is_listening = false;
        self.effects.has_work = true;
    }

    pub(crate) fn link_down(&mut self, now: Duration) {
        self.link = None;
        self.retry_at = None;
        self.is_listening = false;
        self.disconnected();
        self.first_opening(Err(None));
        self.owner.link_down(now);
        self.wake_releases();
        if self.closing.as_ref().is_some_and(|closing| closing.is_told) {
            self.end_closing();
        }
        self.effects.has_work = true;
    }

    fn disconnected(&mut self) {
        if std::mem::take(&mut self.is_connected) {
            self.event(EventKind::Disconnected);
        }
    }

    /// There could be no connection.
    pub(crate) fn unreachable(&mut self) {
        self.first_opening(Err(None));
        self.effects.has_work = true;
    }

    /// Returns whether the driver should listen on its connection now.
    pub(crate) fn begin_to_listen(&mut self, now: Duration) -> bool {
        let is_due =
            self.link.is_none() && !self.is_listening && !self.is_over() && self.retry_at.is_none_or(|at| at <= now);
        if is_due {
            (self.is_listening, self.retry_at) = (true, None);
        }
        is_due
    }

    /// The store refused to let this name listen.
    pub(crate) fn refused(&mut self, now: Duration) {
        self.is_listening = false;
        self.retry_at = Some(now + RETRY);
        self.first_opening(Err(None));
        self.effects.has_work = true;
    }

    pub(crate) fn notice(&mut self, now: Duration, connection: u64, notice: Notice) {
        if let Some((number, generation)) = self.link {
            if number == connection {
                self.owner.notice(now, generation, notice);
                self.effects.has_work = true;
            }
        }
    }

    pub(crate) fn answer(&mut self, now: Duration, request: u64, result: Result<Answer, StoreError>) {
        if self.is_over() {
            return;
        }
        if let Ok(answer) = &result {
            self.learn(answer);
        }
        if request == 0 {
            self.end_closing();
            return;
        }
        self.owner.answer(now, request, result);
        self.wake_releases();
        self.effects.has_work = true;
    }

    /// Takes what the answer says about the fleet.
    pub(crate) fn learn(&mut self, answer: &Answer) {
        if let Outcome::Beaten { owners, .. } | Outcome::Opened { owners, .. } = answer.outcome {
            self.processes = owners;
        }
        let Some(head) = answer.head.filter(|head| head.epoch.is_some()) else { return };
        if head.limit != self.occupancy.limit {
            if self.occupancy.limit != 0 {
                self.event(EventKind::Resized { limit: head.limit });
            }
            self.occupancy.limit = head.limit;
        }
        (self.occupancy.in_use, self.occupancy.waiting) = (head.used, head.waiting);
    }

    /// Returns the next command, with the number under which its answer must come back.
    pub(crate) fn poll_command(&mut self, now: Duration) -> Option<(u64, Command)> {
        if self.closing.as_ref().is_some_and(|closing| closing.is_told || closing.is_over) {
            return None;
        }
        let command = self.owner.poll_command(now);
        if command.is_some() || !self.is_done() || !self.owner.is_up() {
            return command;
        }
        let closing = self.closing.as_mut()?;
        closing.is_told = true;
        // No machine waits for the answer.
        Some((0, Command::Close { owner: self.declared.owner, ids: vec![] }))
    }

    /// Time has passed: permits and waits end.
    pub(crate) fn tick(&mut self, now: Duration) {
        while let Some((_, number)) = self.ends.first().copied().filter(|(end, _)| *end <= now) {
            self.ends.pop_first();
            let ask = self.unbind(number);
            self.reject(now, number, Reason::Expired);
            if let Some(id) = ask {
                self.owner.end(now, id);
                self.effects.has_work = true;
            }
        }
        self.owner.tick(now);
        if self.patience_of_closing().is_some_and(|until| until <= now) {
            self.end_closing();
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<Duration> {
        // Nothing is sent after the store was told that the process leaves.
        let is_told = self.closing.as_ref().is_some_and(|closing| closing.is_told);
        let owner = self.owner.next_deadline().filter(|_| !is_told);
        let idle = self.idle.front().map(|(until, _)| *until);
        let own = [self.ends.first().map(|(end, _)| *end), idle, self.retry_at, self.surplus_until];
        own.into_iter().flatten().chain(self.patience_of_closing()).chain(owner).min()
    }

    /// Takes in what came of the inputs, and returns what has to be done without the lock.
    pub(crate) fn settle(&mut self, now: Duration) -> Effects {
        while let Some(output) = self.owner.poll_output() {
            self.output(now, output);
        }
        let keeps_idle = self.occupancy.waiting == 0 && self.asks.is_empty();
        while let Some((_, id)) = self.idle.front().copied().filter(|(until, _)| *until <= now || !keeps_idle) {
            self.idle.pop_front();
            self.give_back(now, id);
        }
        self.trim_spares(now);
        std::mem::take(&mut self.effects)
    }

    /// Gives up the spare asks that no call seems to need. They keep the places of other processes'
    /// calls in the waiting room.
    fn trim_spares(&mut self, now: Duration) {
        if self.spares.len() <= self.waiting.len() {
            self.surplus_until = None;
            return;
        }
        let is_over = *self.surplus_until.get_or_insert(now + SURPLUS) <= now;
        let most = self.waiting.len() + if is_over { 0 } else { self.held() };
        while self.spares.len() > most {
            let Some(id) = self.spares.pop_back() else { break };
            self.owner.end(now, id);
            self.effects.has_work = true;
        }
        if is_over {
            self.surplus_until = None;
        }
    }

    fn output(&mut self, now: Duration, output: Output) {
        match output {
            Output::Granted(id) => self.granted(now, id),
            Output::Rejected(id, outcome) => self.rejected(now, id, &outcome),
            Output::TooLarge(id) => self.rejected(now, id, &Outcome::TooLarge),
            Output::Unavailable(id) => match self.asks.get(&id).copied() {
                Some(number) => self.unavailable(now, number),
                None => self.spares.retain(|spare| *spare != id),
            },
            Output::Lost(id) => match self.idle.iter().position(|(_, idle)| *idle == id) {
                // No call has it: its permit was given back.
                Some(at) => {
                    self.idle.remove(at);
                    self.give_back(now, id);
                }
                None => self.lose(id),
            },
            Output::Opened => {
                self.conflict = None;
                self.is_connected = true;
                self.event(EventKind::Connected);
                self.first_opening(Ok(()));
                self.effects.has_work = true;
            }
            Output::Broken(outcome) => {
                self.link = None;
                self.retry_at = Some(now + RETRY);
                self.conflict = outcome.as_ref().and_then(Conflict::of);
                self.disconnected();
                self.first_opening(Err(self.conflict));
                self.reject_conflict(now);
                self.effects.has_work = true;
            }
        }
    }

    /// The permit is no longer valid.
    pub(super) fn lose(&mut self, id: CallId) {
        let Some(lease) = self.leases.get_mut(&id).filter(|lease| !lease.is_lost) else { return };
        lease.is_lost = true;
        self.effects.wakers.append(&mut lease.wakers);
        self.event(EventKind::Lost);
    }

    /// While the processes disagree, no call has to wait for its turn to hear that.
    fn reject_conflict(&mut self, now: Duration) {
        if self.conflict.is_none() {
            return;
        }
        for (id, number) in self.asks.clone() {
            self.reject(now, number, Reason::Conflict);
            self.owner.end(now, id);
        }
    }

    fn granted(&mut self, now: Duration, id: CallId) {
        let number = self.asks.get(&id).copied();
        let Some(token) = self.owner.granted_token(id).filter(|_| self.owner.token(now, id).is_some()) else {
            // The answer was so late that the permit is over already: the call asks again.
            self.owner.end(now, id);
            self.spares.retain(|spare| *spare != id);
            if let Some(number) = number {
                self.unbind(number);
                let waits = self.calls.get(&number).is_some_and(|call| call.waits);
                let again = self.owner.want(now, id.cost, waits);
                self.bind(number, again);
            }
            self.effects.has_work = true;
            return;
        };
        self.leases.insert(id, Lease { token, uses: 1, is_lost: false, wakers: vec![] });
        let number = if let Some(number) = number {
            self.unbind(number);
            Some(number)
        } else {
            // A spare ask serves the oldest call; the ask of that one is spare then.
            self.spares.retain(|spare| *spare != id);
            self.take_oldest(id.cost)
        };
        match number {
            Some(number) => self.admit(now, number, Some(id), Some(token)),
            None => self.give_back(now, id),
        }
    }

    fn rejected(&mut self, now: Duration, id: CallId, outcome: &Outcome) {
        let reason = match outcome {
            Outcome::Saturated { .. } | Outcome::QueueFull { .. } => Reason::Saturated,
            Outcome::Recovering { .. } => Reason::Recovering,
            Outcome::TooLarge => Reason::InvalidCost,
            _ => Reason::Unavailable,
        };
        match self.asks.get(&id).copied() {
            Some(number) => self.reject(now, number, reason),
            None => self.spares.retain(|spare| *spare != id),
        }
    }

    pub(super) fn first_opening(&mut self, result: Result<(), Option<Conflict>>) {
        if self.opened.result.is_none() || result.is_ok() {
            self.opened.result = Some(result);
            self.effects.wakers.append(&mut self.opened.wakers);
        }
    }
}
