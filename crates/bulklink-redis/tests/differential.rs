//! Random statements to the script on a real server and to [`Allocator`], in virtual time. After
//! each, the answer, the notices and all data must be equal.
//!
//! `BULKLINK_COMMANDS` sets the number of statements, `BULKLINK_SEED` the first script.

#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use bulklink_fleet::share::{Allocator, Declaration, LimitRefusal, Notice, Refusal, Statement, Terms, Texts};
use bulklink_fleet::{Epoch, RunId, Token, Version};
use bulklink_redis::plumbing::{self, Call, Keys, Script};
use bulklink_redis::{Name, Namespace, ProcessId};
use bulklink_servers::{Server, require};
use fastrand::Rng;
use redis::{Cmd, Connection, PushInfo, PushKind, Value, cmd, from_redis_value, pipe};

/// The statements of a script. Short ones begin without data more often.
const STEPS: usize = 60;

/// Ten times as many in `cargo xtask prove`.
const COMMANDS: usize = 12_000;

const TERMS: Terms = Terms {
    lease: Duration::from_millis(1),
    claim: Duration::from_micros(400),
    calm: Duration::from_micros(50),
    recovers: true,
};

fn setting(name: &str, default: usize) -> usize {
    env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Reads the time from a key.
fn on_test_clock(text: &str) -> String {
    text.replace("('TIME')", "('LRANGE', KEYS[#KEYS], 0, 1)")
}

/// A connection to a server, for one name.
struct Client {
    connection: Connection,
    keys: Keys,
    pushes: Receiver<PushInfo>,
    hashes: BTreeMap<&'static str, String>,
    /// Where the scripts of the tests read the time.
    clock: String,
    processes: BTreeMap<String, ProcessId>,
}

impl Client {
    fn new(url: &str, label: &str, changed: impl Fn(&str) -> String) -> Self {
        let separator = if url.contains('?') { '&' } else { '?' };
        let client = redis::Client::open(format!("{url}{separator}protocol=resp3")).unwrap();
        let mut connection = client.get_connection().unwrap();
        let (sender, pushes) = channel();
        connection.set_push_sender(sender);
        let keys = Keys::new(&Name::new(&Namespace::new("test").unwrap(), label).unwrap());
        cmd("SSUBSCRIBE").arg(keys.tight_channel()).set_no_response(true).exec(&mut connection).unwrap();
        let mut load = |script: Script| {
            let hash = cmd("SCRIPT").arg("LOAD").arg(changed(script.text())).query(&mut connection).unwrap();
            (script.hash(), hash)
        };
        let hashes = Script::ALL.into_iter().map(&mut load).collect();
        let clock = keys.all()[0].replace(":R", ":clock");
        Client { connection, keys, pushes, hashes, clock, processes: BTreeMap::new() }
    }

    /// Makes the notices to a process arrive, or no longer.
    fn listen(&mut self, process: ProcessId, on: bool) {
        let channel = self.keys.channel(process);
        let mut command = cmd(if on { "SSUBSCRIBE" } else { "SUNSUBSCRIBE" });
        command.arg(&channel).set_no_response(true).exec(&mut self.connection).unwrap();
        self.processes.insert(channel, process);
    }

    fn evalsha(&self, call: &Call) -> Cmd {
        let mut command = cmd("EVALSHA");
        command.arg(&self.hashes[call.script.hash()]).arg(5).arg(&self.keys.all()[..]).arg(&self.clock);
        command.arg(&call.arguments);
        command
    }

    /// Runs a script at a time. Returns its reply, and the data after it.
    fn run(&mut self, now: u64, call: &Call) -> (Value, Option<Texts>) {
        let mut pipeline = pipe();
        pipeline.cmd("DEL").arg(&self.clock).ignore();
        pipeline.cmd("RPUSH").arg(&self.clock).arg(now / 1_000_000).arg(now % 1_000_000).ignore();
        pipeline.add_command(self.evalsha(call));
        pipeline.add_command(self.evalsha(&plumbing::look()));
        let (reply, state): (Value, Value) = pipeline.query(&mut self.connection).unwrap();
        (reply, plumbing::state(&state).unwrap().1)
    }

    /// Returns the notices that have arrived.
    fn notices(&self) -> Vec<Notice> {
        let messages = self.pushes.try_iter().filter(|push| push.kind == PushKind::SMessage);
        let read = |push: PushInfo| {
            let [channel, message] = <[Value; 2]>::try_from(push.data).unwrap();
            let (channel, message): (String, Vec<u8>) =
                (from_redis_value(channel).unwrap(), from_redis_value(message).unwrap());
            // The channel of all has no process.
            let process = self.processes.get(&channel).copied().unwrap_or(ProcessId::from(0));
            plumbing::notice(process, &message).unwrap()
        };
        messages.map(read).collect()
    }

    /// The places in the queue, and the times at which rows change.
    fn order(&mut self) -> (Scores, Scores) {
        let [_, times, queue, _] = self.keys.all();
        let mut scores = |key| {
            let mut page = cmd("ZRANGE");
            let page: Vec<(String, f64)> =
                page.arg(key).arg(0).arg(-1).arg("WITHSCORES").query(&mut self.connection).unwrap();
            page.into_iter().map(|(process, score)| (process, score.to_string())).collect()
        };
        (scores(queue), scores(times))
    }
}

/// Processes, and the texts of their numbers in a sorted set, which are whole.
type Scores = BTreeMap<String, String>;

/// One script: the generator, the machine and the memory of the generator.
struct Run {
    random: Rng,
    allocator: Allocator,
    listeners: BTreeSet<ProcessId>,
    processes: Vec<ProcessId>,
    now: u64,
    seq: u64,
    epochs: Vec<Epoch>,
    log: Vec<String>,
}

impl Run {
    fn new(seed: usize) -> Self {
        let mut random = Rng::with_seed(seed as u64);
        // Often few, and sometimes more than a step looks at together.
        let count = *random.choice(&[2, 3, 5, 5, 8, 80]).unwrap();
        let processes = (1..=count).map(|process| ProcessId::from(u128::MAX / process)).collect();
        let (allocator, listeners) = (Allocator::default(), BTreeSet::new());
        Run { random, allocator, listeners, processes, now: 5_000_000, seq: 0, epochs: vec![], log: vec![] }
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.random.u32(..100) < percent
    }

    fn one<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.random.usize(..values.len())]
    }

    /// Whether there are more processes than a step looks at together: then many wait.
    fn is_crowd(&self) -> bool {
        self.processes.len() > 32
    }

    fn statement(&mut self) -> Statement {
        let process = self.one(&self.processes.clone());
        let status = self.allocator.status(self.now.into());
        let row = status.as_ref().and_then(|status| status.rows.iter().find(|row| row.process == process).cloned());
        let granted = row.map_or(0, |row| row.granted);
        self.seq += 1;
        let seq = if self.chance(4) { self.seq.saturating_sub(9) } else { self.seq };
        // Sometimes more than the process has.
        let keep = if self.chance(5) { 9 } else { self.random.u32(0..=granted) };
        let need = if self.chance(if self.is_crowd() { 2 } else { 30 }) { 0 } else { self.random.u32(0..14) };
        let large = self.one(&[1, 1, 1, 1, 1 << 12]);
        let known = status.as_ref().map(|status| status.epoch);
        let old = self.epochs.get(self.random.usize(..self.epochs.len().max(1))).copied();
        let lease = if self.chance(3) { Duration::from_micros(1_500) } else { TERMS.lease };
        let recovers = !self.chance(2);
        let present = status.as_ref().and_then(|status| status.run).map_or(1, u64::from);
        let other = self.one(&[Some(1), Some(2), None]);
        let run = if self.chance(3) { other } else { Some(present) };
        Statement {
            process,
            seq,
            declaration: Declaration {
                config: self.one(&[0, 1, 1, 1, 1, 1, 1, 1, 2, 3]),
                limit: self.one(&[10, 10, 10, 10, 10, 10, 10, 3, 0]),
                terms: Terms { lease, recovers, ..TERMS },
            },
            epoch: if self.chance(2) { old } else { known.filter(|_| self.random.bool()) },
            run: run.map(RunId::from),
            is_young: self.chance(20),
            longest: if self.chance(3) { Duration::from_millis(3) } else { TERMS.lease },
            token: Token::from(if self.chance(3) { self.now + 40 } else { 0 }),
            keep,
            need: need * large,
            least: self.random.u32(0..8),
            spare: self.random.u32(0..6) * large,
            weight: self.one(&[0, 1, 1, 1, 2, 5]),
        }
    }

    /// Moves the clock: sometimes back, and sometimes to the very end of a row.
    fn pass_time(&mut self) {
        let status = self.allocator.status(self.now.into());
        let leases = status.iter().flat_map(|status| &status.rows).map(|row| row.lease);
        let ends: Vec<_> = leases.map(|lease| self.now + u64::try_from(lease.as_micros()).unwrap()).collect();
        if self.chance(5) && !ends.is_empty() {
            self.now = self.one(&ends);
            return;
        }
        let back = if self.chance(3) { self.one(&[1, 40, 700]) } else { 0 };
        let times = if self.is_crowd() { [0, 1, 1, 1, 1, 7, 7, 50] } else { [0, 1, 1, 7, 50, 50, 60, 150] };
        self.now += self.one(&times);
        self.now = self.now.saturating_sub(back).max(4_000_000);
    }

    /// Does something other than a command: loses data, or begins or ends a subscription.
    fn disturb(&mut self, client: &mut Client) {
        let process = self.one(&self.processes.clone());
        if self.chance(12) {
            let on = !self.listeners.remove(&process);
            if on {
                self.listeners.insert(process);
            }
            client.listen(process, on);
            self.log.push(format!("listen {process} {on}"));
        }
        if self.chance(1) {
            cmd("DEL").arg(&client.keys.all()[..]).exec(&mut client.connection).unwrap();
            self.allocator = Allocator::default();
            self.log.push("lose all".to_owned());
        }
        let epoch = self.allocator.status(self.now.into()).map(|status| status.epoch);
        if self.epochs.last() != epoch.as_ref() {
            self.epochs.extend(epoch);
        }
    }

    /// Does one step. Returns what came of it.
    fn step(&mut self, client: &mut Client) -> Result<&'static str, String> {
        self.pass_time();
        self.disturb(client);
        let (now, mut notices, listeners) = (self.now.into(), vec![], self.listeners.clone());
        let mut publish = |notice| {
            let listens = !matches!(notice, Notice::Granted(grant) if !listeners.contains(&grant.process));
            notices.extend(listens.then_some(notice));
            listens
        };
        let (outcome, is_equal, texts) = if self.chance(4) {
            let version = self.allocator.status(now).map_or(Version::from(1), |status| status.version);
            let most = if self.is_crowd() { 400 } else { 20 };
            let (limit, version) = (self.random.u32(0..most), if self.chance(10) { 9.into() } else { version });
            self.log.push(format!("{now} resize {limit} {version}"));
            let expected = self.allocator.set_limit(now, limit, version, &mut publish);
            let (reply, texts) = client.run(self.now, &plumbing::resize(limit, version));
            let outcome = match expected {
                Ok(_) => "resized",
                Err(LimitRefusal::Absent) => "absent",
                Err(_) => "version",
            };
            (outcome, (format!("{expected:?}"), format!("{:?}", plumbing::resized(&reply).unwrap())), texts)
        } else {
            let statement = self.statement();
            self.log.push(format!("{now} {statement:?}"));
            let expected = self.allocator.sync(now, &statement, &mut publish);
            let (reply, texts) = client.run(self.now, &plumbing::sync(&statement));
            let answer = plumbing::reply(&statement, &reply).map_err(|error| format!("{error}: {reply:?}"))?;
            let outcome = match &expected {
                Ok(reply) if reply.quarantine > Duration::ZERO => "quarantined",
                Ok(reply) if reply.due.is_some() => "waits",
                Ok(reply) if reply.grant.level.is_some() => "tight",
                Ok(_) => "granted",
                Err(Refusal::Stale) => "stale",
                Err(_) => "conflict",
            };
            (outcome, (format!("{expected:#?}"), format!("{answer:#?}")), texts)
        };
        // That to all has no order among those to processes, which have one channel each.
        let by_text =
            |notices: Vec<Notice>| notices.iter().map(|notice| format!("{notice:?}")).collect::<BTreeSet<_>>();
        let (told, heard) = (by_text(notices), by_text(client.notices()));
        let expected = self.allocator.texts();
        if is_equal.0 != is_equal.1 || told != heard || expected != texts {
            let machine = format!("{} {told:#?} {expected:#?}", is_equal.0);
            let server = format!("{} {heard:#?} {texts:#?}", is_equal.1);
            let lines = machine.lines().zip(server.lines()).filter(|(one, other)| one != other);
            let differs: Vec<_> = lines.map(|(one, other)| format!("machine {one}\nserver  {other}")).collect();
            return Err(differs.join("\n"));
        }
        check_order(client, texts.unwrap_or_default())?;
        Ok(outcome)
    }
}

/// Compares the sorted sets of the server with its rows.
fn check_order(client: &mut Client, texts: Texts) -> Result<(), String> {
    let (mut queue, mut times) = (Scores::new(), Scores::new());
    let Texts { settings, rows } = texts;
    for (process, row) in rows {
        let words: Vec<_> = row.split(' ').collect();
        let [_, _, granted, need, least, _, ticket, _, heard, until, _] = words[..] else { panic!("{row}") };
        let limit = &settings["live"];
        let [granted, need, least, limit]: [u32; 4] = [granted, need, least, limit].map(|units| units.parse().unwrap());
        if granted < need && heard != "0" && least <= limit {
            queue.insert(process.clone(), ticket.to_owned());
        }
        times.insert(process, if heard == "0" { until } else { heard }.to_owned());
    }
    let found = client.order();
    if found == (queue, times) { Ok(()) } else { Err(format!("order {found:?}")) }
}

#[test]
fn the_script_does_what_the_machine_does() {
    let server = require!(Server::start());
    let mut client = Client::new(&server.url(), "shares", on_test_clock);
    let (first, count) = (setting("BULKLINK_SEED", 1), setting("BULKLINK_COMMANDS", COMMANDS) / STEPS);
    let mut outcomes = BTreeMap::new();
    for seed in first..first + count {
        cmd("FLUSHALL").exec(&mut client.connection).unwrap();
        let mut run = Run::new(seed);
        for step in 0..STEPS {
            match run.step(&mut client) {
                Ok(outcome) => *outcomes.entry(outcome).or_insert(0) += 1,
                Err(difference) => {
                    let last = run.log.len().saturating_sub(14);
                    panic!("seed {seed}, step {step}:\n{}\n{difference}", run.log[last..].join("\n"))
                }
            }
        }
        for process in std::mem::take(&mut run.listeners) {
            client.listen(process, false);
        }
        client.notices();
    }
    println!("{} commands agree: {outcomes:?}", count * STEPS);
    // Every outcome was among them, or the commands were not random enough.
    assert!(outcomes.len() == 9 || count < 100, "{outcomes:?}");
    // The texts still have the parts that the test replaces.
    assert!([Script::Sync, Script::Resize].iter().all(|script| on_test_clock(script.text()).contains("#KEYS")));
}
