//! What is printed, as values: their fields are the keys of the JSON.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bulklink_redis::{CallId, Name, OwnerId, ServerTime, SessionStatus, StoreError, Ticket};
use serde::Serialize;

use crate::client::{Reaped, Resized};
use crate::reading::Reading;

/// What a bulkhead is called.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Names {
    pub(crate) namespace: String,
    pub(crate) label: String,
    /// Both, as they are in the keys.
    pub(crate) name: String,
}

/// All bulkheads.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct List {
    pub(crate) at_ms: u64,
    pub(crate) bulkheads: Vec<Row>,
}

/// A bulkhead in a list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    pub(crate) names: Names,
    #[serde(flatten)]
    pub(crate) content: Content,
}

/// What a bulkhead in a list has.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Content {
    Read(Summary),
    Unreadable {
        /// Why it could not be read.
        error: String,
    },
}

/// The state of a bulkhead in a few numbers.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    pub(crate) limit: u64,
    pub(crate) version: u64,
    pub(crate) in_use: u64,
    pub(crate) leases: u64,
    pub(crate) expired_leases: u64,
    pub(crate) waiting: u64,
    /// The living processes.
    pub(crate) processes: u64,
    /// The rest of the quarantine.
    pub(crate) quarantine_ms: Option<u64>,
}

/// A bulkhead.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Show {
    pub(crate) at_ms: u64,
    #[serde(flatten)]
    pub(crate) names: Names,
    #[serde(flatten)]
    pub(crate) summary: Summary,
    pub(crate) declared_limit: u64,
    pub(crate) config: u64,
    pub(crate) lease_ms: u64,
    pub(crate) claim_ms: u64,
    pub(crate) tokens_per_grant: u64,
    pub(crate) epoch: u64,
    pub(crate) last_token: u64,
    pub(crate) last_ticket: u64,
    pub(crate) server_time_ms: u64,
    /// Whether nothing is missing but what is beyond `--top`.
    pub(crate) complete: bool,
    pub(crate) holders: Vec<Holder>,
    pub(crate) waiters: Vec<Waiter>,
    pub(crate) sessions: Vec<Session>,
    /// How many there are, of which `sessions` may have only some.
    #[serde(skip)]
    pub(crate) all_sessions: u64,
}

/// A lease.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Holder {
    pub(crate) id: String,
    pub(crate) owner: String,
    pub(crate) process: Option<String>,
    pub(crate) cost: u64,
    /// How long ago its call asked, so with the time that it waited. `None` if unknown.
    pub(crate) age_ms: Option<i64>,
    /// Negative if it has expired.
    pub(crate) expires_in_ms: i64,
}

/// A call that waits.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Waiter {
    /// The first has 1.
    pub(crate) place: u64,
    pub(crate) id: String,
    pub(crate) owner: String,
    pub(crate) process: Option<String>,
    pub(crate) cost: u64,
    /// How long ago it asked. `None` if unknown.
    pub(crate) age_ms: Option<i64>,
    pub(crate) ticket: u64,
}

/// A process.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Session {
    pub(crate) owner: String,
    pub(crate) process: Option<String>,
    pub(crate) generation: u64,
    /// Negative if it has ended.
    pub(crate) ends_in_ms: i64,
    /// The units that it holds. `None` if not all leases were read.
    pub(crate) in_use: Option<u64>,
    /// How many of its calls wait. `None` if not all waiters were read.
    pub(crate) waiting: Option<u64>,
}

/// What came of `resize`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Resize {
    #[serde(flatten)]
    pub(crate) names: Names,
    pub(crate) limit: u64,
    pub(crate) previous_limit: u64,
    pub(crate) version: u64,
    pub(crate) in_use: u64,
    pub(crate) waiting: u64,
}

/// What came of `reap`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Reap {
    #[serde(flatten)]
    pub(crate) names: Names,
    pub(crate) freed_units: u64,
    pub(crate) dropped_waiters: u64,
    pub(crate) limit: u64,
    pub(crate) in_use: u64,
    pub(crate) waiting: u64,
}

/// Why there is no view at this time; only `watch` goes on after it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Gap {
    pub(crate) at_ms: u64,
    pub(crate) error: String,
}

impl Names {
    pub(crate) fn of(name: &Name) -> Self {
        Names { namespace: name.namespace().to_owned(), label: name.label(), name: name.as_str().to_owned() }
    }
}

impl Row {
    /// `None` if there is no such bulkhead any more.
    pub(crate) fn of(name: &Name, read: Result<Option<Reading>, StoreError>) -> Option<Self> {
        let content = match read {
            Ok(reading) => Content::Read(Summary::of(&reading?)),
            Err(error) => Content::Unreadable { error: error.to_string() },
        };
        Some(Row { names: Names::of(name), content })
    }
}

impl Summary {
    fn of(reading: &Reading) -> Self {
        let Reading { now, config, sessions, .. } = reading;
        let quarantine_ms = millis(*now, config.quarantine);
        Summary {
            limit: config.limit,
            version: config.version.into(),
            in_use: reading.used(),
            leases: reading.leases,
            expired_leases: reading.expired,
            waiting: reading.waiting,
            processes: sessions.iter().filter(|session| session.until > *now).count() as u64,
            quarantine_ms: u64::try_from(quarantine_ms).ok().filter(|rest| *rest > 0),
        }
    }
}

impl Show {
    pub(crate) fn of(name: &Name, reading: &Reading, top: usize) -> Self {
        let Reading { now, config, holders, waiters, sessions, .. } = reading;
        let texts: HashMap<_, _> = sessions.iter().map(|session| (session.owner, session)).collect();
        let text = |owner| texts.get(&owner).and_then(|session| text_of(session));
        let age = |id: &CallId| id.asked_at().map(|asked| millis(asked, *now).max(0));
        let holder = |(id, until): &(CallId, ServerTime)| Holder {
            id: id.to_string(),
            owner: id.owner.to_string(),
            process: text(id.owner),
            cost: id.cost,
            age_ms: age(id),
            expires_in_ms: millis(*now, *until),
        };
        let waiter = |(place, (id, ticket)): (u64, &(CallId, Ticket))| Waiter {
            place,
            id: id.to_string(),
            owner: id.owner.to_string(),
            process: text(id.owner),
            cost: id.cost,
            age_ms: age(id),
            ticket: (*ticket).into(),
        };
        let shares = Shares::of(reading);
        Show {
            at_ms: now_ms(),
            names: Names::of(name),
            summary: Summary::of(reading),
            declared_limit: config.declared,
            config: config.config,
            lease_ms: whole_millis(config.terms.ttl),
            claim_ms: whole_millis(config.terms.claim),
            tokens_per_grant: config.terms.block,
            epoch: config.epoch.into(),
            last_token: config.token.into(),
            last_ticket: config.ticket.into(),
            server_time_ms: u64::from(*now) / 1000,
            complete: reading.has_all(top),
            holders: holders.iter().take(top).map(holder).collect(),
            waiters: (1..).zip(waiters).take(top).map(waiter).collect(),
            sessions: sessions.iter().take(top).map(|session| shares.process(session, *now)).collect(),
            all_sessions: sessions.len() as u64,
        }
    }
}

/// What each process has, if everything was read.
struct Shares {
    units: Option<HashMap<OwnerId, u64>>,
    waiters: Option<HashMap<OwnerId, u64>>,
}

impl Shares {
    fn of(reading: &Reading) -> Self {
        let units = reading.holders.iter().map(|(id, _)| (id.owner, id.cost));
        let waiters = reading.waiters.iter().map(|(id, _)| (id.owner, 1));
        Shares {
            units: (reading.holders.len() as u64 == reading.leases).then(|| sums(units)),
            waiters: (reading.waiters.len() as u64 == reading.waiting).then(|| sums(waiters)),
        }
    }

    fn process(&self, session: &SessionStatus, now: ServerTime) -> Session {
        let share = |shares: &HashMap<OwnerId, u64>| shares.get(&session.owner).copied().unwrap_or_default();
        Session {
            owner: session.owner.to_string(),
            process: text_of(session),
            generation: session.generation,
            ends_in_ms: millis(now, session.until),
            in_use: self.units.as_ref().map(share),
            waiting: self.waiters.as_ref().map(share),
        }
    }
}

fn sums(parts: impl Iterator<Item = (OwnerId, u64)>) -> HashMap<OwnerId, u64> {
    let mut sums = HashMap::new();
    for (owner, part) in parts {
        *sums.entry(owner).or_default() += part;
    }
    sums
}

impl Resize {
    pub(crate) fn of(name: &Name, Resized { previous, head }: &Resized) -> Self {
        Resize {
            names: Names::of(name),
            limit: head.limit,
            previous_limit: *previous,
            version: head.version.into(),
            in_use: head.used,
            waiting: head.waiting,
        }
    }
}

impl Reap {
    pub(crate) fn of(name: &Name, Reaped { units, waiters, head }: &Reaped) -> Self {
        Reap {
            names: Names::of(name),
            freed_units: *units,
            dropped_waiters: *waiters,
            limit: head.limit,
            in_use: head.used,
            waiting: head.waiting,
        }
    }
}

/// What a process says about itself. One that was made by its first waiter has said nothing yet.
fn text_of(session: &SessionStatus) -> Option<String> {
    Some(session.info.to_string()).filter(|text| !text.is_empty())
}

/// The time from one instant to another, in milliseconds; negative if the other is earlier.
fn millis(from: ServerTime, to: ServerTime) -> i64 {
    let whole = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    if to > from { whole(to.since(from)) } else { -whole(from.since(to)) }
}

pub(crate) fn whole_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The time of this machine, in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, whole_millis)
}
