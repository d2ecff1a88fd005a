//! Processes that are killed or stopped for longer than a lease, connections that are cut, and a
//! server that is restarted.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;
use bulklink_redis::plumbing::Keys;
use bulklink_redis::{Name, Namespace};
use bulklink_servers::{Data, Proxy};

use super::arena::TTL;
use super::{Arena, Effort, count, ratio};
use crate::crew::Crew;
use crate::record::Record;
use crate::report::{Limit, Row};
use crate::scheme::NAMESPACE;
use crate::task::{Kind, Task};
use crate::witness::{Call, Outcome, Peak, peak};

/// The processes of each name.
const PROCESSES: usize = 3;

/// The limits, each of a name of its own, with the clients of a process and how long they hold.
const LIMITS: [(u64, u32, Duration); 2] = [(8, 4, Duration::from_millis(10)), (100, 50, Duration::from_millis(50))];

/// The mean time between two kills.
pub(super) const PAUSE: Duration = Duration::from_millis(450);

/// A stopped process believes in its leases when it goes on, unless it looks at its clock.
const FROZEN: Duration = Duration::from_millis(2_500);

/// What came of a storm.
#[derive(Debug)]
pub struct Storm {
    /// What came of it for each limit.
    pub names: Vec<Named>,
    /// How many processes were killed.
    pub kills: u64,
    /// How often all connections were cut.
    pub cuts: u64,
    /// How many replies were lost, each with its connection.
    pub lost_replies: u64,
    /// How many processes were stopped for longer than a lease.
    pub stops: u64,
    /// How often the server was restarted.
    pub restarts: u64,
}

/// What came of a limit.
#[derive(Debug)]
pub struct Named {
    /// All calls.
    pub calls: Vec<Call>,
    /// The limit.
    pub limit: u64,
    /// The units that were not free at the end, after all leases had ended.
    pub stuck: u64,
    /// The units and processes that were left on the server at the end.
    pub left: u64,
}

impl Named {
    /// Returns the most units that were certainly held at the same time.
    pub fn peak(&self) -> Peak {
        peak(&self.calls)
    }
}

/// The parts of a storm.
pub trait Ground {
    /// Returns a crew without members.
    ///
    /// # Errors
    ///
    /// Fails if none can be made.
    fn crew(&self) -> Result<Crew>;

    /// Returns what processes do, with a name that was not used before.
    fn task(&self) -> Task;

    /// Returns the network.
    fn network(&self) -> &Proxy;

    /// Kills the server and starts it again, with its data or without.
    fn restart(&mut self);

    /// Returns the units that the server has granted, and the processes that need some.
    ///
    /// # Errors
    ///
    /// Fails if the server does not answer.
    fn entries(&self, task: &Task) -> Result<u64>;
}

impl Ground for Arena {
    fn crew(&self) -> Result<Crew> {
        Arena::crew(self)
    }

    fn task(&self) -> Task {
        self.plan(Kind::Ours).task
    }

    fn network(&self) -> &Proxy {
        &self.proxy
    }

    fn restart(&mut self) {
        self.server.restart(if fastrand::bool() { Data::Keep } else { Data::Empty });
    }

    fn entries(&self, task: &Task) -> Result<u64> {
        let [.., settings] = Keys::new(&Name::new(&Namespace::new(NAMESPACE)?, &task.name)?).all();
        let figure = |name| self.server.call(&["HGET", &settings, name]).text().parse::<u64>();
        Ok(figure("granted")? + figure("living")?)
    }
}

/// Kills, stops, cuts and restarts for a time, then looks at the rest. The pause is the mean time
/// between two kills.
///
/// # Errors
///
/// Fails if a process ends that was not killed.
pub fn storm(ground: &mut impl Ground, time: Duration, pause: Duration) -> Result<Storm> {
    let mut crew = ground.crew()?;
    let tasks = LIMITS.map(|(limit, clients, hold)| Task {
        limit,
        clients,
        costs: 2,
        think: Duration::from_millis(2),
        hold,
        is_random: true,
        wait: Some(Duration::from_secs(5)),
        look: Some(Duration::from_millis(2)),
        is_durable: true,
        ..ground.task()
    });
    let all = tasks.iter().flat_map(|task| std::iter::repeat_n(task, PROCESSES));
    let mut slots = all.map(|task| Ok((task, crew.hire(task)?))).collect::<Result<Vec<_>>>()?;
    crew.start_all()?;
    let (mut kills, mut cuts, mut lost_replies, mut stops, mut restarts) = (0, 0, 0, 0, 0);
    let mut frozen: Option<(usize, Instant)> = None;
    let start = Instant::now();
    for step in 0_u64.. {
        sleep(pause.mul_f64(fastrand::f64()));
        if step % 4 == 3 {
            ground.network().drop_replies(2);
            lost_replies += 2;
        } else {
            ground.network().cut();
            cuts += 1;
        }
        if step % 3 == 1 {
            ground.network().cut();
            cuts += 1;
        }
        sleep(pause.mul_f64(fastrand::f64()));
        if start.elapsed() >= time {
            break;
        }
        if let Some((place, _)) = frozen.take_if(|(_, until)| *until <= Instant::now()) {
            crew.freeze(place, false)?;
        }
        if step % 20 == 4 {
            ground.restart();
            restarts += 1;
        }
        if step % 5 == 0 && frozen.is_none() {
            let (_, place) = slots[fastrand::usize(..slots.len())];
            crew.freeze(place, true)?;
            frozen = Some((place, Instant::now() + FROZEN));
            stops += 1;
        }
        let (task, place) = &mut slots[fastrand::usize(..PROCESSES * LIMITS.len())];
        // A stopped process is not killed: it shall go on after its leases have ended.
        if frozen.is_none_or(|(stopped, _)| stopped != *place) {
            crew.kill(*place)?;
            kills += 1;
            *place = crew.hire(task)?;
            crew.start(*place)?;
        }
    }
    if let Some((place, _)) = frozen {
        crew.freeze(place, false)?;
    }
    crew.stop_all()?;
    sleep(TTL + Duration::from_millis(100));
    let mut names = vec![];
    for task in &tasks {
        let stuck = task.limit - units_that_are_free(&mut crew, task)?;
        let left = ground.entries(task)?;
        names.push(Named { calls: crew.calls_of(&task.name)?, limit: task.limit, stuck, left });
    }
    Ok(Storm { names, kills, cuts, lost_replies, stops, restarts })
}

/// Asks for all units at once, from a process that knows nothing of the others.
fn units_that_are_free(crew: &mut Crew, task: &Task) -> Result<u64> {
    let clients = u32::try_from(task.limit)?;
    // They all run at the same time.
    let hold = Duration::from_secs(2);
    let probe = crew.hire(&Task {
        clients,
        costs: 1,
        calls: Some(1),
        wait: Some(Duration::from_secs(1)),
        think: Duration::ZERO,
        is_random: false,
        hold,
        ..task.clone()
    })?;
    crew.start(probe)?;
    crew.finish(probe)?;
    let admitted = crew.records(probe)?.into_iter().filter_map(Record::admitted).count();
    crew.stop_all()?;
    Ok(count(admitted))
}

pub(super) fn run(arena: &Arena, effort: &Effort) -> Result<Vec<Row>> {
    // Its server is restarted.
    let mut arena = arena.another()?;
    Ok(judged("chaos", &storm(&mut arena, effort.chaos, PAUSE)?, effort.chaos))
}

/// The rows of a storm that took a time.
pub(super) fn judged(goal: &'static str, storm: &Storm, time: Duration) -> Vec<Row> {
    let figure = |number: u64| ratio(number, 1);
    let steps = time.as_secs_f64();
    let mut rows = Vec::new();
    for named in &storm.names {
        let limit = named.limit;
        let peak = named.peak().units;
        let zero = |what: &str, number| {
            Row::new(goal, format!("limit {limit}: {what}"), figure(number), "").limit(Limit::AtMost(0.0))
        };
        let admitted = named.calls.iter().filter(|call| call.admitted().is_some()).count();
        let refused = named.calls.iter().filter(|call| call.outcome == Outcome::Refused).count();
        let info = |what: &str, number| Row::new(goal, format!("limit {limit}: {what}"), figure(number), "");
        rows.extend([
            zero("units above it", peak.saturating_sub(limit)),
            zero("units that are not free at the end", named.stuck),
            zero("units and processes left at the end", named.left),
            info("most units certainly held", peak),
            info("admissions", count(admitted)),
            info("calls that ended otherwise", count(refused)),
        ]);
    }
    let least = |what: &str, number: u64, least: f64| {
        Row::new(goal, what, figure(number), "").limit(Limit::AtLeast(least.floor()))
    };
    rows.extend([
        least("processes killed", storm.kills, (steps / 0.7).min(500.0)),
        least("times that all connections were cut", storm.cuts, (steps / 0.7).min(500.0)),
        least("times that the server was restarted", storm.restarts, (steps / 17.0).min(20.0)),
        Row::new(goal, "replies lost, with their connections", figure(storm.lost_replies), ""),
        Row::new(goal, "processes stopped for longer than a lease", figure(storm.stops), ""),
    ]);
    rows
}
