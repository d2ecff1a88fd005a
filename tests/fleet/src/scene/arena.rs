//! Where a contest takes place: a server, a network with a delay, and processes.

use std::cell::Cell;
use std::ops::Range;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bulklink_servers::{Connection, Proxy, Server};

use super::{count, median, millis, ratio};
use crate::crew::Crew;
use crate::now;
use crate::task::{Kind, PROCESSES, Task};
use crate::witness::{Call, Nanos};

/// The delay of the network, in each direction.
pub(super) const DELAY: Duration = Duration::from_micros(250);

/// How long a contest runs before it is counted.
pub(super) const WARM_UP: Duration = Duration::from_millis(500);

/// How long leases are valid in all scenes. The server is older than that.
pub(super) const TTL: Duration = Duration::from_secs(2);

/// A server, and a network to it.
#[derive(Debug)]
pub struct Arena {
    pub(super) server: Server,
    pub(super) proxy: Proxy,
    program: PathBuf,
    names: Cell<u32>,
}

/// The work of the processes of a contest.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The number of processes.
    pub processes: u32,
    /// What each of them does.
    pub task: Task,
}

/// What came of a contest.
#[derive(Debug)]
pub struct Played {
    /// All calls.
    pub calls: Vec<Call>,
    /// When it was counted.
    pub span: Range<Nanos>,
    /// The round trips of the clients in the span.
    pub trips: u64,
    /// The time of the server's processor in the span.
    pub processor: Nanos,
}

/// The server's counters.
struct Counters {
    at: Nanos,
    trips: u64,
    processor: Nanos,
}

impl Arena {
    /// Starts a server and the network. Workers are processes of `program worker`.
    ///
    /// # Errors
    ///
    /// Fails if this machine has no server.
    pub fn start(program: PathBuf) -> Result<Self, bulklink_servers::Missing> {
        let server = Server::builder().aged(TTL).start()?;
        let proxy = Proxy::start(&server);
        proxy.delay(DELAY);
        Ok(Arena { server, proxy, program, names: Cell::new(0) })
    }

    /// Starts another server and network.
    pub(super) fn another(&self) -> Result<Self> {
        Ok(Self::start(self.program.clone())?)
    }

    /// Returns a crew without members.
    pub(super) fn crew(&self) -> Result<Crew> {
        Crew::new(self.program.clone())
    }

    /// Begins a plan, with a name that was not used before: four processes with 16 clients each, of
    /// a limit of 10, that wait, over the network with the delay.
    pub fn plan(&self, kind: Kind) -> Plan {
        self.names.set(self.names.get() + 1);
        let task = Task {
            kind,
            url: self.proxy.url(),
            name: format!("contest-{}", self.names.get()),
            limit: 10,
            clients: 16,
            first: 0,
            costs: 1,
            think: Duration::ZERO,
            hold: Duration::from_millis(5),
            is_random: false,
            wait: Some(Duration::from_mins(1)),
            ttl: TTL,
            calls: None,
            look: None,
            is_strict: false,
            is_durable: false,
            file: PathBuf::new(),
        };
        Plan { processes: PROCESSES, task }
    }

    /// Runs a plan for a time, after a moment that is not counted.
    ///
    /// # Errors
    ///
    /// Fails if a process or the server ends early.
    pub fn play(&self, plan: &Plan, time: Duration) -> Result<Played> {
        self.play_until(plan, WARM_UP, |_| {
            sleep(time);
            Ok(())
        })
    }

    /// Runs a plan until all clients have made all their calls.
    ///
    /// # Errors
    ///
    /// Fails if a process or the server ends early.
    pub fn play_all(&self, plan: &Plan) -> Result<Played> {
        self.play_until(plan, Duration::ZERO, Crew::finish_all)
    }

    fn play_until(&self, plan: &Plan, warm_up: Duration, wait: impl Fn(&mut Crew) -> Result<()>) -> Result<Played> {
        let mut crew = self.crew()?;
        for _ in 0..plan.processes {
            crew.hire(&plan.task)?;
        }
        crew.start_all()?;
        sleep(warm_up);
        let before = self.counters(plan.task.kind)?;
        wait(&mut crew)?;
        let after = self.counters(plan.task.kind)?;
        crew.stop_all()?;
        let (trips, processor) = (after.trips - before.trips, after.processor - before.processor);
        Ok(Played { calls: crew.calls()?, span: before.at..after.at, trips, processor })
    }

    fn counters(&self, kind: Kind) -> Result<Counters> {
        let text = self.server.connect()?.call(&["INFO", "everything"])?.text();
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let seconds = |name: &str| field(name).and_then(|text| text.trim().parse().ok()).map(Duration::from_secs_f64);
        let processor = seconds("used_cpu_user").zip(seconds("used_cpu_sys")).context("INFO has no times")?;
        let calls = |name: &&str| {
            let statistics = field(&format!("cmdstat_{name}"))?.strip_prefix("calls=")?;
            statistics.split(',').next()?.parse::<u64>().ok()
        };
        let trips = kind.trips().iter().filter_map(calls).sum();
        let processor = u64::try_from((processor.0 + processor.1).as_nanos())?;
        Ok(Counters { at: now(), trips, processor })
    }

    /// Returns the time of a round trip over the network with the delay, while nothing else runs.
    pub(super) fn round_trip(&self) -> Result<f64> {
        let mut connection = Connection::tcp(self.proxy.port(), Duration::from_secs(10))?;
        let mut ping = || {
            let start = Instant::now();
            connection.call(&["PING"])?;
            Ok(start.elapsed().as_secs_f64() * 1e3)
        };
        Ok(median((0..200).map(|_| ping()).collect::<Result<_>>()?))
    }
}

impl Played {
    /// Returns the number of admissions in the span.
    pub fn admissions(&self) -> u64 {
        let admitted = self.calls.iter().filter_map(Call::admitted);
        count(admitted.filter(|(_, end)| self.span.contains(end)).count())
    }

    /// Returns the admissions in a second.
    pub fn rate(&self) -> f64 {
        ratio(self.admissions(), self.span.end - self.span.start) * 1e9
    }

    /// Returns the round trips of the clients for an admission.
    pub fn trips(&self) -> f64 {
        ratio(self.trips, self.admissions())
    }

    /// Returns the microseconds of the server's processor for an admission.
    pub fn processor(&self) -> f64 {
        millis(self.processor) * 1e3 / ratio(self.admissions(), 1)
    }
}
