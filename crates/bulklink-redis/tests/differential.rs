//! Random commands to the scripts on a real server and to [`Table`], in virtual time. After each,
//! the answer, the notices and all data must be equal.
//!
//! `BULKLINK_COMMANDS` sets the number of commands, `BULKLINK_SEED` the first script.

#![cfg(unix)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::str::FromStr;
use std::time::Duration;

use bulklink_redis::plumbing::{self, Script};
use bulklink_redis::{
    Answer, CallId, Command, Cuts, Epoch, Era, Notice, Outcome, OwnerId, RunId, Settings, Status, Table, Terms,
};
use bulklink_servers::{Server, require};
use fastrand::Rng;
use redis::{Value, pipe};

use common::{Client, name};

/// The commands of a script. Short ones begin without data more often.
const STEPS: usize = 60;

/// Ten times as many in `cargo xtask prove`.
const COMMANDS: usize = 12_000;

/// Small, so that short scripts reach them.
const CUT: usize = 3;

fn setting(name: &str, default: usize) -> usize {
    env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Reads the time from a key, and cuts work off after a few steps.
fn changed(text: &str) -> String {
    let text = text.replace("('TIME')", "('LRANGE', KEYS[6], 0, 1)");
    text.replace("local batch, grants = 500, 200", &format!("local batch, grants = {CUT}, {CUT}"))
}

/// One script: the generator, the machine and what the generator remembers.
struct Run {
    random: Rng,
    table: Table,
    /// What the machine has after the last step.
    state: Status,
    listeners: BTreeSet<OwnerId>,
    now: u64,
    terms: Terms,
    /// More than one call drops.
    owners: [OwnerId; 5],
    ids: Vec<CallId>,
    epochs: Vec<Epoch>,
    log: Vec<String>,
}

impl Run {
    fn new(seed: usize) -> Self {
        let mut random = Rng::with_seed(seed as u64);
        let block = random.choice([1, 1, 4]).unwrap();
        let terms = Terms { ttl: Duration::from_millis(1), claim: Duration::from_micros(300), block };
        let owners = [5, 4, 3, 2, 1].map(|owner| OwnerId::from(u128::MAX / owner));
        let now = 5_000_000;
        let mut table = Table::with_cuts(Cuts { page: CUT, grants: CUT });
        let (state, listeners) = (state(&mut table, now), BTreeSet::new());
        Run { random, table, state, listeners, now, terms, owners, ids: vec![], epochs: vec![], log: vec![] }
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.random.u32(..100) < percent
    }

    fn one<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.random.usize(..values.len())]
    }

    /// The present epoch or an earlier one.
    fn some_epoch(&mut self) -> Option<Epoch> {
        self.epochs.get(self.random.usize(..self.epochs.len().max(1))).copied()
    }

    /// The present era, or sometimes another.
    fn era(&mut self) -> Era {
        let present = self.state.settings.map(|settings| (settings.epoch, settings.run));
        let old = self.some_epoch().unwrap_or_default();
        let (epoch, run) = present.unwrap_or((old, None));
        let epoch = if self.chance(2) { old } else { epoch };
        let run = if self.chance(2) { Some(RunId::from(3)) } else { run };
        Era { epoch, run }
    }

    /// All leases and waiters.
    fn held(&self) -> Vec<CallId> {
        let leases = self.state.lease_page.iter().map(|(id, _)| *id);
        leases.chain(self.state.waiter_page.iter().map(|(id, _)| *id)).collect()
    }

    /// A call of a process: usually one that has a lease or waits.
    fn some_ids(&mut self, most: usize) -> Vec<CallId> {
        let held = self.held();
        let mut ids = Vec::new();
        for _ in 0..self.random.usize(..=most) {
            let from = if self.chance(85) && !held.is_empty() { &held } else { &self.ids };
            let Some(id) = from.get(self.random.usize(..from.len().max(1))).copied() else { continue };
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }

    fn command(&mut self) -> Command {
        let owner = self.one(&self.owners.clone());
        let kinds: &[u32] =
            if self.state.settings.is_some() { &[40, 24, 4, 14, 4, 8, 2, 2] } else { &[1, 1, 9, 1, 1, 1, 1, 1] };
        let mut point = self.random.u32(..kinds.iter().sum::<u32>());
        let kind = kinds.iter().position(|weight| point.checked_sub(*weight).map(|rest| point = rest).is_none());
        match kind.unwrap() {
            0 => self.acquire(owner),
            1 => Command::Release { ids: self.some_ids(3) },
            2 => self.open(owner),
            3 => self.beat(owner),
            4 => {
                let present = self.state.settings.map_or(9, |settings| settings.version.into());
                let expected = if self.chance(80) { present } else { 9 };
                Command::SetLimit { limit: self.random.u64(1..=8), expected: expected.into() }
            }
            5 => Command::Reap { full: self.random.bool(), offset: self.one(&[0, 0, 0, 1, 3]) },
            6 => {
                let ids = self.held().into_iter().filter(|id| id.owner == owner).collect();
                Command::Close { owner, ids }
            }
            _ => Command::Status { offset: self.random.u64(..3), count: self.random.u64(..4) },
        }
    }

    fn acquire(&mut self, owner: OwnerId) -> Command {
        let recent = self.ids.len().saturating_sub(6);
        let id = if self.chance(75) || self.ids.is_empty() {
            let cost = self.one(&[1, 1, 1, 2, 3, 5]);
            let id = CallId { owner, seq: self.ids.len() as u64 + 1, cost };
            self.ids.push(id);
            id
        } else {
            self.ids[self.random.usize(recent..self.ids.len())]
        };
        let give_back = if self.chance(15) { self.some_ids(4) } else { vec![] };
        let give_back = give_back.into_iter().filter(|old| *old != id).collect();
        let (wait, queue) = (self.chance(75), self.one(&[2, 4, 100, 100]));
        // A process with another block was refused when it opened the bulkhead.
        let block = self.state.settings.map_or(self.terms.block, |settings| settings.terms.block);
        Command::Acquire { id, wait, queue, era: self.era(), terms: Terms { block, ..self.terms }, give_back }
    }

    fn open(&mut self, owner: OwnerId) -> Command {
        let known = if self.chance(50) { None } else { self.some_epoch() };
        let highest = if self.chance(50) { None } else { Some((self.now + 50).into()) };
        let (era, is_other) = (self.era(), self.chance(20));
        let runs = [None, Some(RunId::from(1)), Some(RunId::from(2))];
        let run = if self.state.settings.is_none() || is_other { self.one(&runs) } else { era.run };
        let block = if self.chance(5) { 9 } else { self.terms.block };
        Command::Open {
            owner,
            generation: self.random.u64(1..=3),
            limit: self.one(&[1, 3, 4, 8]),
            config: self.random.u64(1..=3),
            terms: Terms { block, ..self.terms },
            known,
            highest,
            run,
            young: self.random.bool(),
            info: "host/1/program".into(),
        }
    }

    fn beat(&mut self, owner: OwnerId) -> Command {
        let mine: Vec<_> = self.ids.iter().filter(|id| id.owner == owner).copied().collect();
        let (mut leases, mut waiters, mut gone) = (vec![], vec![], vec![]);
        // Some beats list much that the server does not know, so that they have several pages.
        let unknown = self.one(&[5, 5, 40]);
        for id in mine {
            let is_lease = self.state.lease_page.iter().any(|(lease, _)| *lease == id);
            let ticket = self.state.waiter_page.iter().find(|(waiter, _)| *waiter == id).map(|(_, ticket)| *ticket);
            if is_lease && self.chance(90) || self.chance(unknown) {
                leases.push(id);
            } else if ticket.is_some() || self.chance(5) {
                let base = self.state.settings.map_or(0, |settings| settings.epoch.into());
                waiters.push((id, ticket.unwrap_or((base + self.random.u64(1..=20)).into())));
            } else if self.chance(10) {
                gone.push(id);
            }
        }
        let (generation, era) = (self.random.u64(1..=4), self.era());
        Command::Beat { owner, generation, era, terms: self.terms, info: "host/2 a".into(), leases, waiters, gone }
    }

    /// Moves the clock: sometimes back, and sometimes to the very end of a lease or a session.
    fn pass_time(&mut self) {
        let leases = self.state.lease_page.iter().map(|(_, end)| *end);
        let ends = leases.chain(self.state.session_page.iter().map(|session| session.until)).map(u64::from);
        let ends: Vec<_> = ends.filter(|end| *end > self.now).collect();
        if self.chance(10) && !ends.is_empty() {
            self.now = self.one(&ends);
            return;
        }
        let back = if self.chance(4) { self.one(&[1, 40, 700]) } else { 0 };
        self.now += self.one(&[0, 1, 1, 7, 60, 250, 900]);
        self.now = self.now.saturating_sub(back).max(4_000_000);
    }

    /// Does something other than a command: loses data, or begins or ends a subscription.
    fn disturb(&mut self, client: &mut Client) {
        let owner = self.one(&self.owners.clone());
        if self.chance(12) {
            let on = !self.listeners.remove(&owner);
            if on {
                self.listeners.insert(owner);
            }
            client.listen(owner, on);
            self.log.push(format!("listen {owner} {on}"));
        }
        if self.chance(1) {
            let all = self.random.bool();
            let lost = if all { &client.keys.all()[..] } else { &client.keys.all()[3..4] };
            redis::cmd("DEL").arg(lost).exec(&mut client.connection).unwrap();
            if all {
                self.table.forget();
            } else {
                self.table.forget_settings();
            }
            self.state = state(&mut self.table, self.now);
            self.log.push(format!("lose {lost:?}"));
        }
        let epoch = self.state.settings.map(|settings| settings.epoch);
        if self.epochs.last() != epoch.as_ref() {
            self.epochs.extend(epoch);
        }
    }

    /// Does one step. Returns which outcome it had.
    fn step(&mut self, client: &mut Client) -> Result<Outcome, String> {
        self.pass_time();
        self.disturb(client);
        let command = self.command();
        self.log.push(format!("{} {command:?}", self.now));
        let mut notices = Vec::new();
        let answer = self.table.apply(self.now.into(), &command, &mut |owner, notice| {
            let is_heard = self.listeners.contains(&owner);
            notices.extend(is_heard.then_some((owner, notice)));
            is_heard
        });
        self.state = state(&mut self.table, self.now);
        let seen = Seen::after(client, self.now, &command);
        let expected = Seen { answer: Ok(answer.clone()), notices, ..Seen::of(&self.state) };
        if seen == expected { Ok(answer.outcome) } else { Err(format!("server {seen:#?}\ntable {expected:#?}")) }
    }
}

/// All that the machine has.
fn state(table: &mut Table, now: u64) -> Status {
    let all = Command::Status { offset: 0, count: u64::MAX };
    match table.apply(now.into(), &all, &mut |_, _| true).outcome {
        Outcome::Status(status) => *status,
        other => panic!("{other:?} to {all:?}"),
    }
}

/// The members of a sorted set with their scores, which are exact below 2⁵³.
type Page = Vec<(String, f64)>;

type Hash = BTreeMap<String, String>;

/// All that a command can change.
#[derive(Debug, PartialEq)]
struct Seen {
    answer: Result<Answer, String>,
    notices: Vec<(OwnerId, Notice)>,
    leases: BTreeMap<CallId, u64>,
    waiters: BTreeMap<CallId, u64>,
    sessions: BTreeMap<OwnerId, u64>,
    infos: BTreeMap<OwnerId, String>,
    settings: Hash,
}

impl Seen {
    /// Runs the command on the server.
    fn after(client: &mut Client, now: u64, command: &Command) -> Self {
        let mut pipeline = pipe();
        client.set_clock(&mut pipeline, now);
        pipeline.add_command(client.evalsha(command));
        let keys = client.keys.all();
        for key in &keys[..3] {
            pipeline.cmd("ZRANGE").arg(key).arg(0).arg(-1);
            pipeline.arg("WITHSCORES");
        }
        pipeline.cmd("HGETALL").arg(&keys[4]).cmd("HGETALL").arg(&keys[3]);
        let (reply, leases, waiters, sessions, infos, settings): (Value, Page, Page, Page, Hash, Hash) =
            pipeline.query(&mut client.connection).unwrap();
        let answer = plumbing::answer(command, &reply).map_err(|error| format!("{error}: {reply:?}"));
        let infos = infos.into_iter().map(|(owner, info)| (owner.parse().unwrap(), info)).collect();
        let (leases, waiters, sessions) = (scores(leases), scores(waiters), scores(sessions));
        Seen { answer, notices: client.notices(), leases, waiters, sessions, infos, settings }
    }

    /// The data of the machine.
    fn of(state: &Status) -> Self {
        let sessions = state.session_page.iter();
        // A session that was made by its first waiter has said nothing yet.
        let infos = sessions.clone().filter(|session| session.generation > 0);
        let infos = infos.map(|session| (session.owner, format!("{} {}", session.generation, session.info)));
        Seen {
            answer: Err(String::new()),
            notices: vec![],
            leases: state.lease_page.iter().map(|(id, end)| (*id, (*end).into())).collect(),
            waiters: state.waiter_page.iter().map(|(id, ticket)| (*id, (*ticket).into())).collect(),
            sessions: sessions.map(|session| (session.owner, session.until.into())).collect(),
            infos: infos.collect(),
            settings: state.settings.map(hash).unwrap_or_default(),
        }
    }
}

/// The hash that has these settings.
fn hash(settings: Settings) -> Hash {
    let Terms { ttl, claim, block } = settings.terms;
    let numbers = [
        ("e", settings.epoch.into()),
        ("f", settings.token.into()),
        ("t", settings.ticket.into()),
        ("l", settings.limit),
        ("v", settings.version.into()),
        ("d", settings.declared),
        ("c", settings.config),
        ("p", u64::try_from(ttl.as_micros()).unwrap()),
        ("w", u64::try_from(claim.as_micros()).unwrap()),
        ("k", block),
        ("q", settings.quarantine.into()),
        ("x", settings.extra),
    ];
    let run = settings.run.map_or("-".to_owned(), |run| format!("{:016x}", u64::from(run)));
    let numbers = numbers.map(|(field, number): (_, u64)| (field.to_owned(), number.to_string()));
    numbers.into_iter().chain([("r".to_owned(), run)]).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and positive, or the test fails")]
fn scores<K: FromStr<Err: std::fmt::Debug> + Ord>(page: Page) -> BTreeMap<K, u64> {
    let score = |number: f64| {
        assert!(number >= 0.0 && number.fract() == 0.0, "{number} is no whole number");
        number as u64
    };
    page.into_iter().map(|(key, number)| (key.parse().unwrap(), score(number))).collect()
}

#[test]
fn the_scripts_do_what_the_machine_does() {
    let server = require!(Server::start());
    let mut client = Client::new(&server.url(), &name("differential"), changed);
    let (first, count) = (setting("BULKLINK_SEED", 1), setting("BULKLINK_COMMANDS", COMMANDS) / STEPS);
    let mut outcomes = BTreeMap::new();
    for seed in first..first + count {
        redis::cmd("FLUSHALL").exec(&mut client.connection).unwrap();
        let mut run = Run::new(seed);
        for step in 0..STEPS {
            match run.step(&mut client) {
                Ok(outcome) => {
                    let text = format!("{outcome:?}");
                    let kind = text.split([' ', '(', '{']).next().unwrap_or_default().to_owned();
                    *outcomes.entry(kind).or_insert(0) += 1;
                }
                Err(difference) => {
                    let last = run.log.len().saturating_sub(14);
                    panic!("seed {seed}, step {step}:\n{}\n{difference}", run.log[last..].join("\n"))
                }
            }
        }
        for owner in std::mem::take(&mut run.listeners) {
            client.listen(owner, false);
        }
        client.notices();
    }
    println!("{} commands agree: {outcomes:?}", count * STEPS);
    // Every outcome was among them, or the commands were not random enough.
    assert!(outcomes.len() == 17 || count < 1000, "{outcomes:?}");
    // The texts still have what the tests replace.
    assert!(Script::ALL.iter().all(|script| changed(script.text()).contains("KEYS[6]")));
    assert!(changed(Script::Beat.text()).contains("local batch, grants = 3, 3"));
}
