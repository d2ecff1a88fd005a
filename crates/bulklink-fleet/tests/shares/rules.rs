//! What must be true after every input.

use std::collections::{BTreeMap, BTreeSet};

use bulklink_fleet::share::{Grant, Notice, Reply, RowStatus, Statement, Status};
use bulklink_fleet::{ProcessId, ServerTime, Token};

use crate::world::{Message, World};

/// The longest lease of all declarations, in milliseconds.
const LONGEST: u64 = 8;

/// How long no second notice of a level follows, in milliseconds.
const CALM: u64 = 2;

/// The memory of the judge.
#[derive(Clone, Hash)]
pub(crate) struct Judge {
    /// At most this many units may be in use.
    pub(crate) bound: u32,
    limit: u32,
    /// When the limit was lowered last.
    lowered: u64,
    /// A documented gap is open until then.
    excused: u64,
    /// The highest configuration that the server had, and its longest lease.
    config: u64,
    lease: u64,
    highest: Token,
    tokens: BTreeMap<ProcessId, Token>,
    told: Option<u64>,
    /// A command was carried out in this step.
    pub(crate) has_moved: bool,
}

/// The state before an input.
pub(crate) struct Before {
    bound: u32,
    status: Option<Status>,
}

impl Before {
    pub(crate) fn new(world: &World) -> Self {
        Self { bound: world.judge.bound, status: world.status() }
    }
}

impl Judge {
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            bound: limit,
            limit,
            lowered: 0,
            excused: 0,
            config: 0,
            lease: 0,
            highest: Token::default(),
            tokens: BTreeMap::new(),
            told: None,
            has_moved: false,
        }
    }

    /// Whether a process of an unknown, longer lease can be there: the data was lost, and the first
    /// process that comes knows a shorter lease only.
    pub(crate) fn expect(&mut self, statement: &Statement, status: Option<&Status>, now: u64) {
        let lacks_release = status.is_none_or(|status| status.declaration.config < self.config);
        let lease = status.map_or(statement.declaration.terms.lease, |status| status.declaration.terms.lease);
        let known = lease.max(statement.longest).as_millis();
        if lacks_release && known < self.lease.into() {
            self.excused = now + LONGEST;
        }
    }

    pub(crate) fn lose_server(&mut self) {
        self.told = None;
    }

    /// A server without the latest data, and with a clock that has gone back as well, cannot know
    /// tokens of before.
    pub(crate) fn lose_clock(&mut self, now: ServerTime) {
        if u64::from(now) <= u64::from(self.highest) {
            self.highest = Token::default();
        }
    }

    /// All processes are notified at most once in each calm.
    pub(crate) fn tight(&mut self, now: u64) -> Result<(), String> {
        let is_early = self.told.replace(now).is_some_and(|told| now < told + CALM);
        ensure(!is_early, || format!("notified of a level twice until {now}"))
    }

    /// A token is that of an earlier grant to the process, or larger than all others.
    pub(crate) fn token(&mut self, message: &Message) -> Result<(), String> {
        let (Message::Reply(Reply { grant, .. }) | Message::Notice(_, Notice::Granted(grant))) = message else {
            return Ok(());
        };
        let Grant { process, token, units, .. } = *grant;
        let last = self.tokens.entry(process).or_default();
        if units == 0 || token <= *last {
            return Ok(());
        }
        *last = token;
        let highest = std::mem::replace(&mut self.highest, token);
        ensure(token > highest, || format!("token {token} after {highest}"))
    }

    fn update(&mut self, world: &World, sum: u32) {
        if let Some(status) = world.status() {
            let limit = status.limit;
            if limit < self.limit {
                self.lowered = world.now;
            }
            self.limit = limit;
            if status.declaration.config > self.config {
                let lease = u64::try_from(status.declaration.terms.lease.as_millis()).expect("a short lease");
                (self.config, self.lease) = (status.declaration.config, self.lease.max(lease));
            }
            let is_whole = status.quarantine.is_zero() && is_current(world, &status);
            if is_whole && u64::from(sum).max(status.granted) <= limit.into() && world.now >= self.lowered + LONGEST {
                self.bound = limit;
            }
        }
        self.bound = self.bound.max(self.limit);
    }
}

pub(crate) fn check(world: &mut World, before: &Before) -> Result<(), String> {
    let sum = (0..world.members.len()).map(|place| world.usable(place).max(world.members[place].running)).sum();
    let mut judge = world.judge.clone();
    judge.update(world, sum);
    world.judge = judge;
    let has_moved = std::mem::take(&mut world.judge.has_moved);
    let Some(status) = world.status() else { return within_limit(world, before, sum) };
    queue(&status)?;
    ensure(!has_moved || !is_idle(&status), || format!("a process waits for an idle unit: {status:?}"))?;
    within_limit(world, before, sum)?;
    if has_moved {
        growth(world, &status, before)?;
    }
    rows(world, &status)
}

fn is_current(world: &World, status: &Status) -> bool {
    status.run == Some(world.run.into())
}

/// Whether all units in use are known to the server.
fn is_whole(world: &World, status: &Status) -> bool {
    is_current(world, status) && status.quarantine.is_zero() && world.has_recovery() && world.now >= world.judge.excused
}

fn within_limit(world: &World, before: &Before, sum: u32) -> Result<(), String> {
    let bound = before.bound.max(world.judge.limit);
    let is_judged = world.has_recovery() && world.now >= world.judge.excused;
    ensure(!is_judged || sum <= bound, || format!("{sum} units are usable or in use of {bound}"))
}

/// The sum of the grants grows only below the limit, or by adoption in a quarantine.
fn growth(world: &World, status: &Status, before: &Before) -> Result<(), String> {
    let earlier = before.status.as_ref().map_or(0, |status| status.granted);
    let bound = u64::from(before.bound.max(status.limit));
    let is_over = status.granted > earlier && status.granted > bound;
    ensure(!is_over || !is_whole(world, status), || format!("{} are granted of {bound}", status.granted))
}

/// A row has what its process can use.
fn rows(world: &World, status: &Status) -> Result<(), String> {
    if !is_whole(world, status) {
        return Ok(());
    }
    for (place, member) in world.members.iter().enumerate() {
        let usable = world.usable(place);
        if usable > 0 && member.share.epoch() == Some(status.epoch) {
            let row = status.rows.iter().find(|row| row.process == member.id);
            let granted = row.map_or(0, |row| row.granted);
            ensure(granted >= usable, || format!("process {} uses {usable} of {granted}", member.id))?;
        }
    }
    Ok(())
}

/// Each process that waits has its own ticket.
fn queue(status: &Status) -> Result<(), String> {
    let tickets: Vec<_> = status.rows.iter().filter_map(|row| row.ticket).collect();
    let distinct: BTreeSet<_> = tickets.iter().collect();
    ensure(distinct.len() == tickets.len(), || format!("one ticket for two: {tickets:?}"))
}

/// Whether units are free that help each process that waits, which no command leaves behind.
fn is_idle(status: &Status) -> bool {
    let free = u64::from(status.limit).saturating_sub(status.granted);
    let waits = |row: &&RowStatus| row.ticket.is_some() && row.is_served && row.least <= status.limit;
    let mut waiting = status.rows.iter().filter(waits).peekable();
    let step = |row: &RowStatus| row.least.min(row.need).saturating_sub(row.granted).max(1);
    status.quarantine.is_zero() && waiting.peek().is_some() && waiting.all(|row| u64::from(step(row)) <= free)
}

fn ensure(holds: bool, broken: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(broken()) }
}
