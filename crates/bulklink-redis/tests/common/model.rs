//! What the scripts do, as plainly as possible: no fast path, sums counted anew, sets sorted when
//! an order matters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bulklink_redis::{
    Answer, CallId, Command, Epoch, Era, Head, Notice, Outcome, OwnerId, RunId, ServerTime, Terms, Ticket,
};

/// The cut-offs of the scripts as tests have them.
pub(crate) const CUT: usize = 3;

/// The data of one bulkhead.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) leases: BTreeMap<CallId, u64>,
    pub(crate) waiters: BTreeMap<CallId, u64>,
    pub(crate) sessions: BTreeMap<OwnerId, u64>,
    pub(crate) infos: BTreeMap<OwnerId, (u64, Arc<str>)>,
    pub(crate) settings: Option<Settings>,
    /// The processes whose notices arrive.
    pub(crate) listeners: BTreeSet<OwnerId>,
    now: u64,
    more: bool,
    notices: Vec<(OwnerId, Notice)>,
}

/// The fields of `M`, without the sum that the model counts.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) epoch: u64,
    pub(crate) token: u64,
    pub(crate) ticket: u64,
    pub(crate) limit: u64,
    pub(crate) version: u64,
    pub(crate) declared: u64,
    pub(crate) config: u64,
    pub(crate) terms: Terms,
    pub(crate) quarantine: u64,
    pub(crate) run: Option<RunId>,
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap()
}

/// The smallest by value, then by key.
fn first<K: Copy + Ord>(map: &BTreeMap<K, u64>) -> Option<K> {
    map.iter().min_by_key(|(key, value)| (**value, **key)).map(|(key, _)| *key)
}

/// Those whose time has come, in order, up to the cut-off.
fn late<K: Copy + Ord>(map: &BTreeMap<K, u64>, now: u64) -> Vec<K> {
    let mut late: Vec<_> = map.iter().filter(|(_, end)| **end <= now).map(|(key, end)| (*end, *key)).collect();
    late.sort_unstable();
    late.into_iter().take(CUT).map(|(_, key)| key).collect()
}

impl Model {
    pub(crate) fn apply(&mut self, now: u64, command: &Command) -> (Answer, Vec<(OwnerId, Notice)>) {
        (self.now, self.more) = (now, false);
        let outcome = match command {
            Command::Open { .. } => self.open(command),
            Command::Acquire { id, wait, queue, era, terms, give_back } => {
                self.acquire(*id, *wait, *queue, *era, *terms, give_back)
            }
            Command::Release { ids } => {
                let is_single = matches!(&ids[..], [id] if id.cost == 1 && self.leases.contains_key(id));
                if is_single && self.waiters.is_empty() {
                    self.leases.remove(&ids[0]);
                    return (Answer { outcome: Outcome::Done, head: None }, Vec::new());
                }
                self.drop_calls(ids);
                self.moved(Outcome::Done)
            }
            Command::Beat { .. } => self.beat(command),
            Command::Reap { full, offset } => self.reap(*full, *offset),
            Command::SetLimit { limit, expected } => self.set_limit(*limit, u64::from(*expected)),
            Command::Close { owner, ids } if self.settings.is_some() => {
                self.drop_calls(ids);
                self.sessions.remove(owner);
                self.infos.remove(owner);
                self.moved(Outcome::Done)
            }
            _ => Outcome::Stale,
        };
        (Answer { outcome, head: Some(self.head()) }, std::mem::take(&mut self.notices))
    }

    /// Loses all data.
    pub(crate) fn wipe(&mut self) {
        let listeners = std::mem::take(&mut self.listeners);
        *self = Model { listeners, now: self.now, ..Model::default() };
    }

    fn head(&self) -> Head {
        let settings = self.settings.as_ref();
        Head {
            now: self.now.into(),
            epoch: settings.map(|settings| settings.epoch.into()),
            limit: settings.map_or(0, |settings| settings.limit),
            version: settings.map_or(0, |settings| settings.version).into(),
            used: settings.map_or(0, |_| self.used()),
            waiting: self.waiters.len() as u64,
            more: self.more,
        }
    }

    fn used(&self) -> u64 {
        self.leases.keys().map(|id| id.cost).sum()
    }

    pub(crate) fn extra(&self) -> u64 {
        self.leases.keys().map(|id| id.cost - 1).sum()
    }

    fn first_expiry(&self) -> ServerTime {
        self.leases.values().min().copied().unwrap_or_default().into()
    }

    fn matches(&self, era: Era) -> bool {
        let is_same = |settings: &Settings| Epoch::from(settings.epoch) == era.epoch && settings.run == era.run;
        self.settings.as_ref().is_some_and(is_same)
    }

    fn token(&mut self) -> u64 {
        let settings = self.settings.as_mut().unwrap();
        settings.token += settings.terms.block;
        settings.token - settings.terms.block + 1
    }

    fn drop_calls(&mut self, ids: &[CallId]) {
        for id in ids {
            if self.leases.remove(id).is_none() {
                self.waiters.remove(id);
            }
        }
    }

    /// Drops leases that have expired and moves the queue, if there are settings.
    fn moved(&mut self, outcome: Outcome) -> Outcome {
        if self.settings.is_none() {
            return Outcome::Stale;
        }
        self.expire();
        self.pump();
        outcome
    }

    fn expire(&mut self) {
        let late = late(&self.leases, self.now);
        self.more |= late.len() == CUT;
        self.leases.retain(|id, _| !late.contains(id));
    }

    fn pump(&mut self) {
        let Settings { limit, quarantine, terms, epoch, .. } = *self.settings.as_ref().unwrap();
        if self.now < quarantine {
            return;
        }
        for _ in 0..CUT {
            let Some(id) = first(&self.waiters).filter(|_| self.used() < limit) else { return };
            if id.cost <= limit && self.used() + id.cost > limit {
                return;
            }
            self.waiters.remove(&id);
            let is_listening = self.listeners.contains(&id.owner);
            let notice = if id.cost > limit {
                Notice::TooLarge { id }
            } else if self.sessions.get(&id.owner).is_some_and(|end| *end > self.now) {
                // The token is used up even if the notice reaches no process.
                let token = self.token().into();
                if is_listening {
                    self.leases.insert(id, self.now + micros(terms.claim));
                }
                Notice::Granted { id, token, epoch: epoch.into() }
            } else {
                continue;
            };
            if is_listening {
                self.notices.push((id.owner, notice));
            }
        }
        self.more = true;
    }

    fn open(&mut self, command: &Command) -> Outcome {
        let Command::Open { owner, generation, limit, config, terms, known, highest, run, young, info } = command
        else {
            unreachable!()
        };
        let (known, highest) = (known.map(u64::from), highest.map_or(0, u64::from));
        let quarantine = self.now + micros(terms.ttl);
        if let Some(settings) = &mut self.settings {
            if *config == settings.config && *limit != settings.declared {
                return Outcome::LimitConflict { limit: settings.declared, config: settings.config };
            }
            if *terms != settings.terms {
                return Outcome::TermsConflict { ttl: settings.terms.ttl, claim: settings.terms.claim };
            }
            if run.is_none() != settings.run.is_none() {
                return Outcome::RecoveryConflict;
            }
            if *config > settings.config {
                (settings.limit, settings.declared, settings.config) = (*limit, *limit, *config);
                settings.version += 1;
            }
            let is_other = known.is_some_and(|known| known != settings.epoch) && run.is_some();
            if *run != settings.run || is_other {
                (settings.run, settings.quarantine) = (*run, quarantine);
            }
        } else {
            let epoch = self.now.max(known.unwrap_or(0) + 1).max(highest + 1);
            let is_torn = !(self.leases.is_empty() && self.waiters.is_empty() && self.sessions.is_empty());
            let is_lost = (is_torn || known.is_some() || *young) && run.is_some();
            self.wipe();
            self.settings = Some(Settings {
                epoch,
                token: epoch,
                ticket: epoch,
                limit: *limit,
                version: 1,
                declared: *limit,
                config: *config,
                terms: *terms,
                quarantine: if is_lost { quarantine } else { 0 },
                run: *run,
            });
        }
        self.sessions.insert(*owner, self.now + micros(terms.claim));
        self.infos.insert(*owner, (*generation, Arc::clone(info)));
        self.expire();
        self.pump();
        let quarantine = self.settings.as_ref().unwrap().quarantine.into();
        Outcome::Opened { quarantine, owners: self.sessions.len() as u64 }
    }

    fn acquire(&mut self, id: CallId, wait: bool, queue: u64, era: Era, terms: Terms, give_back: &[CallId]) -> Outcome {
        if !self.matches(era) {
            return Outcome::Stale;
        }
        self.drop_calls(give_back);
        let Settings { limit, quarantine, .. } = *self.settings.as_ref().unwrap();
        let is_free =
            |model: &Self| model.now >= quarantine && model.waiters.is_empty() && model.used() + id.cost <= limit;
        // A free unit is taken before what has expired is dropped; a call's own lease is renewed.
        if !self.leases.contains_key(&id) && (!give_back.is_empty() || !is_free(self)) {
            let waited = self.waiters.contains_key(&id);
            self.expire();
            self.pump();
            if !(waited && self.leases.contains_key(&id)) {
                if id.cost > limit {
                    return Outcome::TooLarge;
                }
                if !is_free(self) {
                    return self.enqueue(id, wait, queue, terms);
                }
            }
        }
        self.leases.insert(id, self.now + micros(terms.ttl));
        Outcome::Granted { token: self.token().into() }
    }

    fn enqueue(&mut self, id: CallId, wait: bool, queue: u64, terms: Terms) -> Outcome {
        let first_expiry = self.first_expiry();
        let settings = self.settings.as_mut().unwrap();
        if !self.waiters.contains_key(&id) {
            if !wait && self.now < settings.quarantine {
                return Outcome::Recovering { until: settings.quarantine.into() };
            }
            if !wait {
                return Outcome::Saturated { first_expiry };
            }
            if self.waiters.len() as u64 >= queue {
                return Outcome::QueueFull { first_expiry };
            }
            settings.ticket += 1;
            self.waiters.insert(id, settings.ticket);
            let end = self.sessions.entry(id.owner).or_default();
            *end = (*end).max(self.now + micros(terms.claim));
        }
        let ticket = self.waiters[&id];
        let before = self.waiters.iter().filter(|(other, place)| (**place, **other) < (ticket, id));
        Outcome::Queued { ticket: ticket.into(), first_expiry, position: before.count() as u64 }
    }

    fn beat(&mut self, command: &Command) -> Outcome {
        let Command::Beat { owner, generation, era, terms, info, leases, waiters, gone } = command else {
            unreachable!()
        };
        if !self.matches(*era) {
            return Outcome::Stale;
        }
        if self.infos.get(owner).is_some_and(|(latest, _)| latest > generation) {
            return Outcome::OldGeneration;
        }
        self.sessions.insert(*owner, self.now + micros(terms.claim));
        self.infos.insert(*owner, (*generation, Arc::clone(info)));
        let Settings { limit, quarantine, .. } = *self.settings.as_ref().unwrap();
        let (fresh, mut lost, mut granted) = (self.now + micros(terms.ttl), Vec::new(), Vec::new());
        for id in leases {
            let is_known = self.leases.contains_key(id);
            if is_known || self.now < quarantine || self.used() + id.cost <= limit {
                self.waiters.remove(id);
                self.leases.insert(*id, fresh);
            } else {
                lost.push(*id);
            }
        }
        for (id, ticket) in waiters {
            if self.leases.contains_key(id) {
                self.leases.insert(*id, fresh);
                granted.push((*id, self.token().into()));
            } else {
                self.waiters.entry(*id).or_insert(Ticket::into(*ticket));
            }
        }
        self.drop_calls(gone);
        self.expire();
        self.pump();
        let (first_expiry, owners) = (self.first_expiry(), self.sessions.len() as u64);
        Outcome::Beaten { first_expiry, owners, lost, granted, quarantine: quarantine.into() }
    }

    fn reap(&mut self, full: bool, offset: u64) -> Outcome {
        if self.settings.is_none() {
            return Outcome::Stale;
        }
        let before = self.used();
        self.expire();
        let freed = before - self.used();
        for owner in late(&self.sessions, self.now) {
            self.sessions.remove(&owner);
            self.infos.remove(&owner);
        }
        let (mut seen, mut dropped) = (0, 0);
        if full {
            let mut waiters: Vec<_> = self.waiters.iter().map(|(id, ticket)| (*ticket, *id)).collect();
            waiters.sort_unstable();
            let page: Vec<_> = waiters.into_iter().skip(usize::try_from(offset).unwrap()).take(CUT).collect();
            for (_, id) in &page {
                if self.sessions.get(&id.owner).is_none_or(|end| *end <= self.now) {
                    self.waiters.remove(id);
                    dropped += 1;
                }
            }
            self.more |= page.len() == CUT;
            seen = page.len() as u64;
        }
        self.pump();
        Outcome::Reaped { freed, dropped, next: offset + seen - dropped }
    }

    fn set_limit(&mut self, limit: u64, expected: u64) -> Outcome {
        let Some(settings) = &mut self.settings else { return Outcome::Stale };
        if settings.version != expected {
            return Outcome::VersionConflict;
        }
        (settings.limit, settings.version) = (limit, settings.version + 1);
        self.moved(Outcome::Done)
    }
}
