//! The state of a share: its machines, its connection, and its pending work.

use std::collections::VecDeque;
use std::error::Error;
use std::mem;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use bulklink::plumbing::texts;
use bulklink::runtime::Instant;
use bulklink::{EventFilter, EventKind, Load};
use thiserror::Error;

use super::ask::Ask;
use super::config::{Configured, Values};
use super::{Outage, ceiling};
use crate::share::{Connection, Decision, Declaration, Demand, Policy, Refusal, Share, Statement, units};
use crate::{RunId, Server, StoreError, Token, Version};

/// The time after which a share that needs more units is looked at again. Calls do not wake it
/// meanwhile: in an overload, each of them would.
const GLANCE: Duration = Duration::from_millis(2);

/// The time after which an idle share does not listen any more.
const REST: Duration = Duration::from_secs(10);

/// What becomes known of the store, for those that wait for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing was heard since the share was made, but perhaps an error.
    Joining(Option<StoreError>),
    /// The store has refused the declaration.
    Refused(Refusal),
    /// The store has answered.
    Joined,
    /// The share has ended: the process has left, or its bulkhead or its task is gone.
    Left,
}

/// The connection of a share.
#[derive(Clone, Copy, Debug)]
pub(super) enum Contact {
    /// There is none.
    None,
    /// There is one, and the share does not listen on it; or the first one is to be made.
    Resting,
    /// The share listens to this server, on a connection of then.
    Listening(Server, Instant),
}

/// What the ceiling shows of the share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    /// Its name.
    pub(super) name: &'static str,
    /// Which cause it has.
    pub(super) causes: u64,
    /// How long calls that may not wait wait for more units.
    pub(super) fetch: Duration,
    /// Whether no call waits.
    pub(super) turns_away: bool,
}

/// The values of a configuration that the fleet has refused.
#[derive(Clone, Debug)]
pub(super) struct Declined {
    pub(super) why: Refusal,
    /// The version of the limit in the first reply after that.
    version: Option<Version>,
}

/// News of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// The share goes on with the values of the fleet.
    Declined,
    /// The share ends with its lease.
    Refused,
}

/// Why nothing is granted, where that is neither an error nor a refusal.
#[derive(Clone, Copy, Debug, Error)]
enum Withheld {
    #[error("the store was restarted or has lost data, or the name is new on a server that has just started")]
    Recovering,
    #[error("the process has left the fleet")]
    Left,
}

/// The state of a share, under the lock of its seat.
pub(super) struct State {
    pub(super) share: Share,
    pub(super) policy: Policy,
    pub(super) configured: Configured,
    /// Why the share goes on with other values than those of its configuration, if it does.
    pub(super) declined: Option<Declined>,
    /// The load when a statement was sent: the policy has not seen it.
    pub(super) seen: Load,
    pub(super) contact: Contact,
    pub(super) error: Option<StoreError>,
    /// Since when no reply has counted, as the store is out of reach or refuses, if it is.
    pub(super) failing: Option<Instant>,
    pub(super) standing: Standing,
    pub(super) is_leaving: bool,
    /// The run of the server of the latest connection.
    pub(super) run: Option<RunId>,
    /// Since when it has nothing and needs nothing.
    pub(super) idle_since: Option<Instant>,
    /// The bulkhead is no longer ours to restrict.
    pub(super) is_given_up: bool,
    /// Units in use at the latest look.
    pub(super) in_use: u32,
    /// A lease has ended since the latest look.
    pub(super) has_lapsed: bool,
    /// How often a lease has ended while units were in use.
    pub(super) lost: u64,
    pub(super) wakers: Vec<Waker>,
    /// Commands that wait for the connection.
    pub(super) asks: VecDeque<Ask>,
    /// How often it has got another error or refusal.
    pub(super) causes: u64,
    pub(super) shown: Shown,
    /// The end of the quarantine, if there was one.
    pub(super) recovers: Instant,
    /// How many tokens were made for the latest growth of the share.
    pub(super) tokens: (Token, u64),
}

impl State {
    /// The events after which the task looks again. None that each call causes while nothing can be
    /// stated, or while the store knows that more is needed. `None` if the share is given up.
    pub(super) fn events(&self, now: Instant) -> Option<EventFilter> {
        const CALLS: EventFilter = EventFilter::of(EventKind::Queued).or(EventFilter::of(EventKind::Saturated));
        let events = match self.share.is_pending() || self.is_short(now) {
            _ if self.is_given_up => return None,
            _ if self.is_leaving => EventFilter::of(EventKind::Released),
            true => EventFilter::NONE,
            false => CALLS,
        };
        // With a linger, it looks for idle units by the time.
        let events = if self.policy.lingers() { events } else { events.or(EventFilter::of(EventKind::Released)) };
        Some(events.or(EventFilter::CHANGES))
    }

    /// Returns whether a statement can be sent.
    pub(super) fn is_listening(&self) -> bool {
        matches!(self.contact, Contact::Listening(..))
    }

    pub(super) fn is_short(&self, now: Instant) -> bool {
        self.share.stated().need > self.share.usable(now)
    }

    /// Returns the name of the ceiling: what calls wait for.
    pub(super) fn name(&self, now: Instant) -> &'static str {
        match self.standing {
            _ if self.is_leaving => ceiling::LEFT,
            Standing::Left => ceiling::LEFT,
            Standing::Refused(_) => ceiling::REFUSED,
            _ if matches!(self.contact, Contact::None) || self.error.is_some() => ceiling::UNAVAILABLE,
            _ if now < self.recovers => ceiling::RECOVERING,
            _ => ceiling::SHARE,
        }
    }

    /// Returns what the ceiling is to show.
    pub(super) fn shows(&self, now: Instant) -> Shown {
        let name = self.name(now);
        // Only while the store can grant some.
        let fetch = if name == ceiling::SHARE { self.configured.values.fetch } else { Duration::ZERO };
        Shown { name, causes: self.causes, fetch, turns_away: self.turns_away(now) }
    }

    /// Returns whether no unit will come for so long that no call should wait for one.
    fn turns_away(&self, now: Instant) -> bool {
        match self.standing {
            _ if self.is_leaving => true,
            Standing::Left => true,
            Standing::Refused(_) => self.share.usable(now) == 0,
            Standing::Joining(_) | Standing::Joined => {
                self.is_outage(now) && self.share.usable(now) == 0 && self.without_store(now) == Some(0)
            }
        }
    }

    /// Declares other values from the next statement on.
    pub(super) fn declare(&mut self, values: Values, declaration: Declaration) {
        (self.configured.values, self.declined) = (values, None);
        self.share.declare(values.weight, declaration);
        self.policy.set_owed(true);
    }

    /// Takes the refusal of a statement. Returns what is new of it.
    pub(super) fn refuse(&mut self, refusal: &Refusal) -> Option<News> {
        self.policy.set_owed(true);
        if self.share.refuse(refusal) {
            // At once for the first time alone: a store that refuses on and on is not flooded.
            if self.declined.is_none() {
                self.policy.state_at_once();
            }
            self.declined = Some(Declined { why: refusal.clone(), version: None });
            return Some(News::Declined);
        }
        let standing = Standing::Refused(refusal.clone());
        if *refusal == Refusal::Stale || self.standing == standing {
            return None;
        }
        self.standing = standing;
        self.causes += 1;
        Some(News::Refused)
    }

    /// Takes a reply that counts.
    pub(super) fn reply(&mut self) {
        (self.error, self.failing, self.standing) = (None, None, Standing::Joined);
        let version = self.share.limit().1;
        // From another version on, the fleet has a limit that is not the one that was preferred.
        self.declined = self.declined.take().filter(|it| it.version.is_none_or(|known| known == version));
        if let Some(declined) = &mut self.declined {
            declined.version = Some(version);
        }
    }

    /// Returns the cause of the ceiling with this name.
    pub(super) fn cause(&self, name: &'static str) -> Option<Arc<dyn Error + Send + Sync>> {
        match (&self.standing, &self.error) {
            (Standing::Refused(refusal), _) if name == ceiling::REFUSED => Some(Arc::new(refusal.clone())),
            (_, Some(error)) if name == ceiling::UNAVAILABLE => Some(Arc::new(error.clone())),
            _ if name == ceiling::RECOVERING => Some(Arc::new(Withheld::Recovering)),
            _ if name == ceiling::LEFT => Some(Arc::new(Withheld::Left)),
            _ => None,
        }
    }

    /// Returns whether units in use were lost, too.
    pub(super) fn decide(&mut self, now: Instant, load: Load) -> (Decision, bool) {
        let load = mem::take(&mut self.seen).then(load);
        self.in_use = units(load.in_use);
        self.lapse(now);
        let is_lost = mem::take(&mut self.has_lapsed) && self.in_use > 0;
        self.lost += u64::from(is_lost);
        if self.is_leaving {
            return (self.withdraw(now), is_lost);
        }
        let decision = self.policy.look(now, &load, &self.share);
        let has_calls = self.in_use > 0 || load.waiting > 0 || load.refused > 0 || decision.demand.is_some();
        let has_units = self.share.usable(now) > 0 || !self.share.stated().is_empty() || self.share.is_pending();
        self.idle_since = if has_calls || has_units { None } else { self.idle_since.or(Some(now)) };
        (decision, is_lost)
    }

    /// Returns whether the share has nothing and needs nothing.
    pub(super) fn is_idle(&self) -> bool {
        self.idle_since.is_some() && self.asks.is_empty() && !self.is_leaving && self.standing == Standing::Joined
    }

    /// Returns whether it has been idle for so long that its next call may take a round trip more.
    pub(super) fn may_rest(&self, now: Instant) -> bool {
        self.is_idle() && self.idle_since.is_some_and(|since| now >= since.saturating_add(REST))
    }

    /// Keeps only the units in use.
    pub(super) fn withdraw(&mut self, now: Instant) -> Decision {
        let demand = Demand { keep: self.in_use, need: self.in_use, ..Demand::default() };
        // More can be in use than can be kept: after the end of a lease.
        let is_news = self.share.stated().need != demand.need || self.share.usable(now) > demand.keep;
        let is_due = is_news || now >= self.policy.next_beat();
        let demand = (self.is_listening() && !self.share.is_pending() && is_due).then_some(demand);
        if demand.is_some() {
            self.policy.note_statement(now, &self.share);
        }
        let times = [Some(self.policy.next_beat()), self.share.deadline()].into_iter().flatten();
        Decision { ceiling: 0, demand, next: times.filter(|time| *time > now).min() }
    }

    /// Makes a statement, after the ceiling was set to at most what it keeps. What is in use now is
    /// kept too: it can grow no more.
    pub(super) fn state(&mut self, now: Instant, load: Load, demand: Demand) -> Option<Statement> {
        self.seen = mem::take(&mut self.seen).then(load);
        self.send(now, Demand { keep: demand.keep.max(units(load.in_use)), ..demand })
    }

    /// Notes the end of a lease before a message counts. The next look shows whether units are in
    /// use.
    pub(super) fn lapse(&mut self, now: Instant) {
        self.has_lapsed |= self.share.lapse(now);
    }

    /// Takes a message, and returns whether it counts. Without a quarantine, data that was lost has
    /// taken the units that the process keeps: others may have had them, or have them.
    pub(super) fn take(&mut self, now: Instant, message: impl FnOnce(&mut Share) -> bool) -> bool {
        let (kept, epoch) = (self.share.stated().keep, self.share.epoch());
        let counts = message(&mut self.share);
        let is_gone = self.share.epoch() != epoch && !self.share.recovers() || self.share.usable(now) < kept;
        self.has_lapsed |= counts && kept > 0 && is_gone;
        counts
    }

    pub(super) fn send(&mut self, now: Instant, demand: Demand) -> Option<Statement> {
        self.lapse(now);
        let Contact::Listening(Server { run, age }, asked) = self.contact else { return None };
        let uptime = age.map(|age| age.saturating_add(now.saturating_since(asked)));
        Some(self.share.send(now, Connection { run, uptime }, demand))
    }

    /// While more is needed than there is, looks again soon; and while others wait for units, which
    /// can become idle without a word.
    pub(super) fn glance(&self, now: Instant, next: Option<Instant>) -> Option<Instant> {
        let is_wanted = self.share.firm().is_some() && self.share.usable(now) > 0;
        let is_soon = is_wanted || self.is_short(now) && !self.share.is_pending();
        // Without a connection, nothing can be stated.
        let soon = (is_soon && self.is_listening()).then(|| now.saturating_add(GLANCE));
        let outage = self.outage_begins().filter(|begin| *begin > now);
        let rest = self.idle_since.filter(|_| self.is_listening()).map(|since| since.saturating_add(REST));
        [soon, outage, rest.filter(|rest| *rest > now), next].into_iter().flatten().min()
    }

    /// Returns when no reply has counted for a lease, if the store is out of reach or refuses.
    pub(super) fn outage_begins(&self) -> Option<Instant> {
        let failing = self.failing.filter(|_| !self.is_leaving);
        failing.map(|since| since.saturating_add(self.share.lease()))
    }

    fn is_outage(&self, now: Instant) -> bool {
        self.outage_begins().is_some_and(|begin| begin <= now)
    }

    /// Returns the ceiling of a process that may use nothing, by the policy while the store
    /// is out of reach. `None` if there is no ceiling.
    pub(super) fn without_store(&self, now: Instant) -> Option<u32> {
        let is_refusal = self.error.as_ref().is_some_and(StoreError::is_refusal);
        let is_away = self.is_outage(now) && !is_refusal && self.standing == Standing::Joined;
        if self.share.usable(now) > 0 || !is_away {
            return Some(0);
        }
        let ((limit, _), (_, weights)) = (self.share.limit(), self.share.fleet());
        match self.configured.values.outage {
            Outage::Reject => Some(0),
            Outage::Admit => None,
            Outage::Share => Some(self.share.part(limit, weights)),
        }
    }

    pub(super) fn fail(&mut self, now: Instant, error: StoreError) {
        self.failing = self.failing.or(Some(now));
        if let Standing::Joining(_) = self.standing {
            self.standing = Standing::Joining(Some(error.clone()));
        }
        if self.error.as_ref().is_none_or(|known| texts(known) != texts(&error)) {
            self.error = Some(error);
            self.causes += 1;
        }
    }
}
