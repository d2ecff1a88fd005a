//! Many leases and waiters of one name: what they take, and whether an admission still costs the
//! same. The server's scripts are called directly, as a hundred thousand clients would do it.

use anyhow::{Context, Result, ensure};
use bulklink_redis::plumbing::{self, Keys, Script};
use bulklink_redis::{CallId, Command, Epoch, Era, Name, Namespace, Outcome, OwnerId, Terms};
use redis::{Cmd, Connection, PushKind, Value, cmd};

use super::{Arena, median, ratio};
use crate::report::{Limit, Row};
use crate::scheme::NAMESPACE;

const GOAL: &str = "memory";
const FEW: u64 = 100;
const MANY: u64 = 100_000;

/// How many admissions are measured.
const ADMISSIONS: u64 = 5_000;

/// Calls that travel together.
const BATCH: u64 = 1_000;

/// Leases that do not expire while they are measured.
const TERMS: Terms = {
    let hour = std::time::Duration::from_secs(3_600);
    Terms { ttl: hour, claim: hour, block: 1 }
};

pub(super) fn run(arena: &Arena) -> Result<Vec<Row>> {
    let (mut small, mut hall) = (Hall::fill(arena, FEW)?, Hall::fill(arena, MANY)?);
    // In turns, as the machine may be faster later.
    let costs = (0..3).map(|_| Ok([small.cost()?, hall.cost()?])).collect::<Result<Vec<_>>>()?;
    let [few, many] = [0, 1].map(|place| median(costs.iter().map(|pair| pair[place]).collect()));
    let [lease, waiter] = hall.bytes()?;
    let thousand = Hall::fill(arena, 1_000)?.bytes()?;
    Ok(vec![
        Row::new(
            GOAL,
            format!("server's time for an admission with {MANY} leases and waiters"),
            many / few,
            "× that with 100",
        )
        .limit(Limit::AtMost(1.5)),
        Row::new(GOAL, "the same", many, "µs").beside(few, format!("with {FEW}")),
        Row::new(GOAL, format!("bytes of a lease, of {MANY}"), lease, "B").beside(thousand[0], "of 1000"),
        Row::new(GOAL, format!("bytes of a waiter, of {MANY}"), waiter, "B").beside(thousand[1], "of 1000"),
    ])
}

/// A bulkhead whose units are all leased, with as many waiters.
struct Hall {
    connection: Connection,
    keys: Keys,
    era: Era,
    owner: OwnerId,
    size: u64,
    /// The number of the oldest lease.
    oldest: u64,
}

impl Hall {
    fn fill(arena: &Arena, size: u64) -> Result<Self> {
        let name = Name::new(&Namespace::new(NAMESPACE)?, &arena.plan(crate::task::Kind::Ours).task.name)?;
        let url = format!("{}?protocol=resp3", arena.server.url());
        let mut connection = redis::Client::open(url)?.get_connection()?;
        for script in Script::ALL {
            cmd("SCRIPT").arg("LOAD").arg(script.text()).exec(&mut connection)?;
        }
        let (keys, owner) = (Keys::new(&name), OwnerId::from(fastrand::u128(..)));
        // Grants go to a process only while it listens.
        let (sender, pushes) = std::sync::mpsc::channel();
        connection.set_push_sender(sender);
        cmd("SSUBSCRIBE").arg(keys.channel(owner)).set_no_response(true).exec(&mut connection)?;
        let era = Era { epoch: Epoch::default(), run: None };
        let mut hall = Hall { connection, keys, era, owner, size, oldest: 0 };
        let open = Command::Open {
            owner,
            generation: 1,
            limit: size,
            config: 1,
            terms: TERMS,
            known: None,
            highest: None,
            run: None,
            young: false,
            info: "contest".into(),
        };
        hall.era.epoch = hall.run(&open)?.context("there is an epoch")?;
        ensure!(pushes.recv()?.kind == PushKind::SSubscribe, "the server did not subscribe");
        hall.acquire(0..2 * size)?;
        Ok(hall)
    }

    /// Calls a command's script. Returns the epoch.
    fn run(&mut self, command: &Command) -> Result<Option<Epoch>> {
        let reply: Value = self.call(command)?.query(&mut self.connection)?;
        Ok(plumbing::answer(command, &reply)?.head.and_then(|head| head.epoch))
    }

    fn call(&self, command: &Command) -> Result<Cmd> {
        let plumbing::Call { script, arguments } = plumbing::call(command)?;
        let mut call = cmd("EVALSHA");
        call.arg(script.hash()).arg(5).arg(&self.keys.all()[..]).arg(arguments);
        Ok(call)
    }

    fn id(&self, number: u64) -> CallId {
        CallId { owner: self.owner, seq: number, cost: 1 }
    }

    /// Asks for these leases. Those for which no unit is free wait.
    fn acquire(&mut self, mut numbers: std::ops::Range<u64>) -> Result<()> {
        while !numbers.is_empty() {
            let batch: Vec<_> =
                numbers.by_ref().take(usize::try_from(BATCH)?).map(|number| self.request(number)).collect();
            self.run_all(&batch)?;
        }
        Ok(())
    }

    fn request(&self, number: u64) -> Command {
        let (id, era) = (self.id(number), self.era);
        Command::Acquire { id, wait: true, queue: 10 * MANY, era, terms: TERMS, give_back: Vec::new() }
    }

    fn run_all(&mut self, commands: &[Command]) -> Result<()> {
        let mut pipeline = redis::pipe();
        for command in commands {
            pipeline.add_command(self.call(command)?);
        }
        let replies: Vec<Value> = pipeline.query(&mut self.connection)?;
        for (command, reply) in commands.iter().zip(&replies) {
            let outcome = plumbing::answer(command, reply)?.outcome;
            let is_expected = matches!(outcome, Outcome::Granted { .. } | Outcome::Queued { .. } | Outcome::Done);
            ensure!(is_expected, "{outcome:?} to {command:?}");
        }
        Ok(())
    }

    /// The server's microseconds for a release, which admits a waiter, and for the next waiter.
    fn cost(&mut self) -> Result<f64> {
        let before = self.spent()?;
        for number in self.oldest..self.oldest + ADMISSIONS {
            let release = Command::Release { ids: vec![self.id(number)] };
            let request = self.request(2 * self.size + number);
            self.run_all(&[release, request])?;
        }
        self.oldest += ADMISSIONS;
        let [leases, waiters] = self.sizes()?;
        ensure!([leases, waiters] == [self.size; 2], "{leases} leases and {waiters} waiters");
        Ok(ratio(self.spent()? - before, ADMISSIONS))
    }

    /// The microseconds of all scripts so far.
    fn spent(&mut self) -> Result<u64> {
        let info: String = cmd("INFO").arg("commandstats").query(&mut self.connection)?;
        let line = info.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:"));
        let text = line.and_then(|line| line.split(',').find_map(|field| field.strip_prefix("usec=")));
        Ok(text.context("INFO has no time of EVALSHA")?.parse()?)
    }

    fn sizes(&mut self) -> Result<[u64; 2]> {
        let [leases, waiters, ..] = self.keys.all();
        Ok([
            cmd("ZCARD").arg(leases).query(&mut self.connection)?,
            cmd("ZCARD").arg(waiters).query(&mut self.connection)?,
        ])
    }

    /// The bytes of a lease and of a waiter.
    fn bytes(&mut self) -> Result<[f64; 2]> {
        let [leases, waiters, ..] = self.keys.all();
        let mut bytes = |key: String| {
            let whole: u64 = cmd("MEMORY").arg("USAGE").arg(key).arg("SAMPLES").arg(0).query(&mut self.connection)?;
            anyhow::Ok(ratio(whole, self.size))
        };
        Ok([bytes(leases)?, bytes(waiters)?])
    }
}
