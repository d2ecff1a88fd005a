//! Many processes of one name: what their rows take, and whether a statement still costs the same.
//! The server's script is called directly, as a thousand processes would do it.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bulklink_fleet::Token;
use bulklink_fleet::share::{Declaration, Statement, Terms};
use bulklink_redis::plumbing::{self, Keys, Script};
use bulklink_redis::{Name, Namespace, ProcessId};
use redis::{Cmd, Connection, Value, cmd};

use super::{Arena, median, ratio};
use crate::report::{Limit, Row};
use crate::scheme::NAMESPACE;

const GOAL: &str = "memory";
const FEW: u32 = 30;
const MANY: u32 = 1_000;

/// How many statements are measured.
const STATEMENTS: u32 = 4_000;

/// Units of each process.
const UNITS: u32 = 10;

/// Rows that do not end while they are measured.
const TERMS: Terms = {
    let hour = Duration::from_hours(1);
    Terms { lease: hour, claim: hour, calm: Duration::from_millis(20), recovers: false }
};

pub(super) fn run(arena: &Arena) -> Result<Vec<Row>> {
    let (mut small, mut hall) = (Hall::fill(arena, FEW)?, Hall::fill(arena, MANY)?);
    // In turns, as the machine may be faster later.
    let costs = (0..3).map(|_| Ok([small.cost()?, hall.cost()?])).collect::<Result<Vec<_>>>()?;
    let [few, many] = [0, 1].map(|place| median(costs.iter().map(|pair| pair[place]).collect()));
    let what = format!("server's time for a statement of one of {MANY} processes");
    Ok(vec![
        Row::new(GOAL, what, many / few, "× that of one of 30").limit(Limit::AtMost(1.5)),
        Row::new(GOAL, "the same", many, "µs").beside(few, format!("of {FEW}")),
        Row::new(GOAL, format!("bytes of a process, of {MANY}"), hall.bytes()?, "B").beside(small.bytes()?, "of 30"),
    ])
}

/// A name with so many processes, each of which has units, and more are free.
struct Hall {
    connection: Connection,
    keys: Keys,
    size: u32,
    seq: u64,
}

impl Hall {
    fn fill(arena: &Arena, size: u32) -> Result<Self> {
        let name = Name::new(&Namespace::new(NAMESPACE)?, &arena.plan(crate::task::Kind::Ours).task.name)?;
        let mut connection = redis::Client::open(arena.server.url())?.get_connection()?;
        for script in Script::ALL {
            cmd("SCRIPT").arg("LOAD").arg(script.text()).exec(&mut connection)?;
        }
        let mut hall = Hall { connection, keys: Keys::new(&name), size, seq: 0 };
        let states = (0..size).map(|process| hall.state(process, 0)).collect::<Vec<_>>();
        hall.run(&states)?;
        Ok(hall)
    }

    fn state(&mut self, process: u32, keep: u32) -> Statement {
        self.seq += 1;
        Statement {
            process: ProcessId::from(u128::from(process) << 80),
            seq: self.seq,
            declaration: Declaration { config: 1, limit: 2 * UNITS * self.size, terms: TERMS },
            epoch: None,
            run: None,
            is_young: false,
            longest: TERMS.lease,
            token: Token::default(),
            keep,
            need: UNITS,
            least: 0,
            spare: 0,
            weight: 1,
        }
    }

    fn call(&self, statement: &Statement) -> Cmd {
        let plumbing::Call { script, arguments } = plumbing::sync(statement);
        let mut call = cmd("EVALSHA");
        call.arg(script.hash()).arg(4).arg(&self.keys.all()[..]).arg(arguments);
        call
    }

    fn run(&mut self, statements: &[Statement]) -> Result<()> {
        let mut pipeline = redis::pipe();
        for statement in statements {
            pipeline.add_command(self.call(statement));
        }
        let replies: Vec<Value> = pipeline.query(&mut self.connection)?;
        for (statement, reply) in statements.iter().zip(&replies) {
            let units = plumbing::reply(statement, reply)?.map(|reply| reply.grant.units);
            ensure!(units == Ok(UNITS), "{units:?} to {statement:?}");
        }
        Ok(())
    }

    /// The server's microseconds for a statement of a process that keeps its units.
    fn cost(&mut self) -> Result<f64> {
        let before = self.spent()?;
        for _ in 0..STATEMENTS / 500 {
            let states: Vec<_> = (0..500).map(|_| self.state(fastrand::u32(..self.size), UNITS)).collect();
            self.run(&states)?;
        }
        Ok(ratio(self.spent()? - before, STATEMENTS.into()))
    }

    /// The microseconds of all scripts so far.
    fn spent(&mut self) -> Result<u64> {
        let info: String = cmd("INFO").arg("commandstats").query(&mut self.connection)?;
        let line = info.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:"));
        let text = line.and_then(|line| line.split(',').find_map(|field| field.strip_prefix("usec=")));
        Ok(text.context("INFO has no time of EVALSHA")?.parse()?)
    }

    /// The bytes of a process.
    fn bytes(&mut self) -> Result<f64> {
        let mut whole = 0;
        for key in &self.keys.all()[..2] {
            whole += cmd("MEMORY").arg("USAGE").arg(key).arg("SAMPLES").arg(0).query::<u64>(&mut self.connection)?;
        }
        Ok(ratio(whole, self.size.into()))
    }
}
