//! The machine of one process for one name: the units that it can use, and until when.

use std::time::Duration;

use bulklink::runtime::Instant;

use super::statement::bounded;
use super::{Conflict, Declaration, Grant, Level, Notice, Refusal, Reply, Statement};
use crate::{Epoch, ProcessId, RunId, Token, Version};

/// The units of one process for one name.
///
/// It is a plain value without clock and connection. The caller
///
/// - never uses more units than [`usable`](Self::usable), also without any input in between;
/// - calls [`lapse`](Self::lapse) at [`deadline`](Self::deadline);
/// - sends the statement that [`send`](Self::send) returns once, on the connection that it names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Share {
    process: ProcessId,
    weight: u32,
    declaration: Declaration,
    /// Whether it goes on with the settings of the fleet before it has joined, too; and whether it
    /// does so now.
    yields: bool,
    has_yielded: bool,
    /// The latest statement. Also a lapse counts, so that it voids the statement before.
    seq: u64,
    /// When the latest statement was sent, and whether its reply is to come.
    sent: Instant,
    is_pending: bool,
    stated: Demand,
    /// The largest serial in a message about the latest statement.
    serial: Token,
    granted: u32,
    deadline: Instant,
    token: Token,
    level: Option<Level>,
    /// The lowest level of notices since the latest statement, whose reply may be older than they
    /// are: notices are taken where they are read.
    told: Option<Level>,
    /// When units become free without a statement, as far as the server knew.
    due: Option<Instant>,
    /// The latest epoch, and when the last statement was sent that was processed in it.
    epoch: Option<Epoch>,
    heard: Instant,
    /// The longest lease that a process of this name can have.
    longest: Duration,
    fleet: Fleet,
}

/// The state of the fleet in the latest reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Fleet {
    limit: u32,
    version: Version,
    processes: u64,
    weights: u64,
}

/// The units that a process states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Demand {
    /// The units to keep: at least those in use.
    pub keep: u32,
    /// The units that the process needs, with those in use.
    pub need: u32,
    /// The units with which the process can go on: see [`Statement::least`].
    pub least: u32,
    /// The idle units that the process would like to have.
    pub spare: u32,
}

impl Demand {
    /// Whether nothing is kept, needed or liked: the process leaves.
    pub fn is_empty(&self) -> bool {
        (self.keep, self.need, self.spare) == (0, 0, 0)
    }
}

/// The connection that a statement is sent on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Connection {
    /// The run of the server. `None` if it cannot be learned.
    pub run: Option<RunId>,
    /// How long the server has run. `None` if unknown: then it counts as long.
    pub uptime: Option<Duration>,
}

impl Share {
    /// Makes the machine, without units.
    pub fn new(process: ProcessId, weight: u32, declaration: Declaration) -> Self {
        Self {
            process,
            weight,
            declaration,
            yields: false,
            has_yielded: false,
            seq: 0,
            sent: Instant::EPOCH,
            is_pending: false,
            stated: Demand::default(),
            serial: Token::default(),
            granted: 0,
            deadline: Instant::EPOCH,
            token: Token::default(),
            level: None,
            told: None,
            due: None,
            epoch: None,
            heard: Instant::EPOCH,
            longest: Duration::ZERO,
            fleet: Fleet::default(),
        }
    }

    /// Goes on with the settings of the fleet where these are others of the same configuration,
    /// from the first statement on.
    #[must_use]
    pub fn yielding(mut self, yields: bool) -> Self {
        self.yields = yields;
        self
    }

    /// Begins after all statements of shares of the same process before.
    pub(crate) fn after(mut self, seq: u64) -> Self {
        self.seq = seq;
        self
    }

    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    /// Returns the units that the process can use at `now`.
    pub fn usable(&self, now: Instant) -> u32 {
        if now < self.deadline { self.granted } else { 0 }
    }

    /// Returns the end of the lease, if there are units. All of them are lost then.
    pub fn deadline(&self) -> Option<Instant> {
        (self.granted > 0).then_some(self.deadline)
    }

    /// Drops the units if their lease is over, and returns whether it is.
    ///
    /// Operations that still run on these units are beyond the limit.
    pub fn lapse(&mut self, now: Instant) -> bool {
        let is_over = now >= self.deadline && self.granted > 0;
        if is_over {
            // A statement on its way claims units that are lost: others may have them when a
            // quarantine begins that adopts it. So its reply must not count.
            self.void();
            self.granted = 0;
        }
        is_over
    }

    fn void(&mut self) {
        self.seq = self.seq.saturating_add(1);
        (self.is_pending, self.serial, self.stated) = (false, Token::default(), Demand::default());
        self.told = None;
    }

    /// Returns a statement of the condition, to be sent on `connection` now.
    ///
    /// From this call on, only `demand.keep` units are usable. It must be at least the units in
    /// use; of more than [`usable`](Self::usable), the rest is not kept.
    pub fn send(&mut self, now: Instant, connection: Connection, demand: Demand) -> Statement {
        self.lapse(now);
        self.granted = self.granted.min(demand.keep);
        if self.granted == 0 {
            // Units that come later are valid for the time of their grant, not for longer.
            self.deadline = Instant::EPOCH;
        }
        self.void();
        let demand = Demand { keep: self.granted, ..demand };
        (self.sent, self.is_pending, self.stated) = (now, true, demand);
        let own = self.declaration.bounded().terms.longest();
        let known = own.max(self.longest);
        let is_known = now < self.heard.saturating_add(known);
        let longest = if is_known { known } else { own };
        Statement {
            process: self.process,
            seq: self.seq,
            declaration: self.declaration,
            // Nothing is held of an epoch that was not heard of for a lease.
            epoch: self.epoch.filter(|_| is_known),
            run: connection.run,
            is_young: connection.uptime.is_some_and(|uptime| uptime < longest),
            longest,
            token: self.token,
            keep: demand.keep,
            need: demand.need,
            least: demand.least,
            spare: demand.spare,
            weight: self.weight,
        }
    }

    /// Takes a reply, and returns whether it counts: only that to the latest statement does.
    pub fn take(&mut self, now: Instant, reply: &Reply) -> bool {
        let counts = self.apply(now, &reply.grant);
        if counts {
            self.is_pending = false;
            if let Some(level) = self.told {
                self.tighten(level);
            }
            self.longest = bounded(reply.longest);
            self.due = reply.due.map(|due| now.saturating_add(due));
            let Reply { limit, version, processes, weights, .. } = *reply;
            self.fleet = Fleet { limit, version, processes, weights };
        }
        counts
    }

    /// Takes a notice, and returns whether it counts.
    pub fn take_notice(&mut self, now: Instant, notice: &Notice) -> bool {
        match notice {
            Notice::Granted(grant) => {
                let counts = self.apply(now, grant);
                if counts {
                    self.told = grant.level;
                }
                counts
            }
            Notice::Tight(level) => {
                self.tighten(*level);
                true
            }
        }
    }

    /// Takes a grant. A reply and notices about one statement can arrive in any order.
    fn apply(&mut self, now: Instant, grant: &Grant) -> bool {
        self.lapse(now);
        if (grant.process, grant.seq) != (self.process, self.seq) || grant.serial < self.serial {
            return false;
        }
        // A larger serial is of another row: the one before has expired, and its units are void.
        // Within one row, units only grow until the next statement.
        let before = if grant.serial > self.serial { 0 } else { self.granted };
        (self.serial, self.granted) = (grant.serial, before.max(grant.units));
        // From when it was sent: the server counts from later on.
        self.deadline = self.deadline.max(self.sent.saturating_add(bounded(grant.valid)));
        (self.epoch, self.heard, self.level) = (Some(grant.epoch), self.sent, grant.level);
        self.token = self.token.max(grant.token);
        self.lapse(now);
        true
    }

    /// Notes that the server refused the latest statement, or that its reply will not come since
    /// the connection has ended. Units stay usable until their lease is over.
    pub fn give_up(&mut self) {
        self.is_pending = false;
    }

    /// Changes the weight and the settings, from the next statement on. What was granted stays
    /// usable for the time of its grant.
    pub fn declare(&mut self, weight: u32, declaration: Declaration) {
        (self.weight, self.declaration, self.has_yielded) = (weight, declaration, false);
    }

    /// Returns the settings that the next statement declares.
    pub fn declaration(&self) -> Declaration {
        self.declaration
    }

    /// Takes the refusal of a statement: units stay usable until their lease is over. Returns
    /// whether the fleet has other settings of the same configuration, and the share goes on with
    /// these, as it has joined before: it declares them from now on.
    pub fn refuse(&mut self, refusal: &Refusal) -> bool {
        self.give_up();
        let Refusal::Conflict(Conflict { fleet, .. }) = refusal else { return false };
        let yields = fleet.config == self.declaration.config && (self.yields || self.epoch.is_some());
        if yields {
            (self.declaration, self.has_yielded) = (**fleet, true);
        }
        yields
    }

    /// Notes that processes wait, until a later grant has no level.
    pub fn tighten(&mut self, level: Level) {
        let lower = |known: Option<Level>| Some(known.map_or(level, |known| known.min(level)));
        (self.level, self.told) = (lower(self.level), lower(self.told));
    }

    /// Returns the units that the process can keep in use while others wait; `None` if none waits.
    pub fn firm(&self) -> Option<u32> {
        self.level.map(|level| level.units(self.weight))
    }

    /// Returns the units of the latest statement.
    pub fn stated(&self) -> Demand {
        self.stated
    }

    /// Whether the reply to the latest statement is to come.
    pub fn is_pending(&self) -> bool {
        self.is_pending
    }

    /// Returns when units become free for this process without a statement.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Returns the fencing token: larger than that of each unit that was granted before by the
    /// same name.
    pub fn token(&self) -> Token {
        self.token
    }

    /// Returns the epoch of the latest grant.
    pub fn epoch(&self) -> Option<Epoch> {
        self.epoch
    }

    /// Returns the limit in the latest reply, with its version. Zero without a reply.
    pub fn limit(&self) -> (u32, Version) {
        (self.fleet.limit, self.fleet.version)
    }

    /// Notes that the limit was changed, before the next reply has it.
    pub fn set_limit(&mut self, limit: u32, version: Version) {
        if version > self.fleet.version {
            (self.fleet.limit, self.fleet.version) = (limit, version);
        }
    }

    /// Returns how long the process may be silent at most, so that it keeps its place by a claim
    /// that it has not chosen.
    pub(crate) fn longest_beat(&self) -> Option<Duration> {
        // However short that is, the store is not flooded.
        let half = || (bounded(self.declaration.terms.claim) / 2).max(Duration::from_millis(100));
        self.has_yielded.then(half)
    }

    /// Returns the lease that this process has declared.
    pub(crate) fn lease(&self) -> Duration {
        self.declaration.bounded().terms.lease
    }

    /// Whether a loss of data begins a quarantine.
    pub(crate) fn recovers(&self) -> bool {
        self.declaration.terms.recovers
    }

    /// Returns the units of this process if a limit were divided by weights: at least one.
    #[must_use]
    pub fn part(&self, limit: u32, weights: u64) -> u32 {
        let part = u64::from(limit) * u64::from(self.weight.max(1)) / weights.max(1);
        u32::try_from(part).unwrap_or(u32::MAX).clamp(1, limit.max(1))
    }

    /// Returns the number of processes in the latest reply, and the sum of their weights.
    pub fn fleet(&self) -> (u64, u64) {
        (self.fleet.processes, self.fleet.weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share::Terms;

    fn share(terms: Terms) -> Share {
        Share::new(ProcessId::from(1), 1, Declaration { terms, ..Declaration::default() })
    }

    #[test]
    fn a_share_continues_the_statements_of_the_one_before() {
        let mut share = share(Terms::default()).after(7);
        assert_eq!(share.seq(), 7);
        let statement = share.send(Instant::EPOCH, Connection::default(), Demand::default());
        assert_eq!((statement.seq, share.seq()), (8, 8));
    }

    #[test]
    fn a_share_knows_the_terms_that_it_declares() {
        for (lease, recovers) in [(Duration::from_secs(5), true), (Duration::from_secs(6), false)] {
            let share = share(Terms { lease, recovers, ..Terms::default() });
            assert_eq!((share.lease(), share.recovers()), (lease, recovers));
        }
    }
}
