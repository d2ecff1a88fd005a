//! Processes that are killed or stopped for longer than a lease, and connections that are cut.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;
use bulklink_redis::plumbing::Keys;
use bulklink_redis::{Name, Namespace};
use bulklink_servers::Proxy;

use super::arena::TTL;
use super::{Arena, Effort, count, ratio};
use crate::crew::Crew;
use crate::record::Record;
use crate::report::{Limit, Row};
use crate::scheme::NAMESPACE;
use crate::task::{Kind, Task};
use crate::witness::{Call, Outcome, Peak, peak};

const PROCESSES: usize = 6;
const LIMIT: u64 = 8;

/// The mean time between two kills.
pub(super) const PAUSE: Duration = Duration::from_millis(900);

/// A stopped process believes in its leases when it goes on, unless it looks at its clock.
const FROZEN: Duration = Duration::from_millis(2_500);

/// What came of a storm.
#[derive(Debug)]
pub struct Storm {
    /// All calls.
    pub calls: Vec<Call>,
    /// The limit.
    pub limit: u64,
    /// How many processes were killed.
    pub kills: u64,
    /// How often all connections were cut.
    pub cuts: u64,
    /// How many replies were lost, each with its connection.
    pub lost_replies: u64,
    /// How many processes were stopped for longer than a lease.
    pub stops: u64,
    /// The units that were not free at the end, after all leases had ended.
    pub stuck: u64,
    /// The units and processes that were left on the server at the end.
    pub left: u64,
}

impl Storm {
    /// Returns the most units that were certainly held at the same time.
    pub fn peak(&self) -> Peak {
        peak(&self.calls)
    }
}

/// What a storm is about.
pub trait Ground {
    /// Returns what processes do, with a name that was not used before.
    fn task(&self) -> Task;

    /// Returns the network.
    fn network(&self) -> &Proxy;

    /// Returns the units that the server has granted, and the processes that need some.
    ///
    /// # Errors
    ///
    /// Fails if the server does not answer.
    fn entries(&self, task: &Task) -> Result<u64>;
}

impl Ground for Arena {
    fn task(&self) -> Task {
        self.plan(Kind::Ours).task
    }

    fn network(&self) -> &Proxy {
        &self.proxy
    }

    fn entries(&self, task: &Task) -> Result<u64> {
        let [.., settings] = Keys::new(&Name::new(&Namespace::new(NAMESPACE)?, &task.name)?).all();
        let figure = |name| self.server.call(&["HGET", &settings, name]).text().parse::<u64>();
        Ok(figure("granted")? + figure("living")?)
    }
}

/// Kills, stops and cuts for a time, then looks at what is left. The pause is the mean time between
/// two kills.
///
/// # Errors
///
/// Fails if a process ends that was not killed.
pub fn storm(arena: &Arena, ground: &impl Ground, time: Duration, pause: Duration) -> Result<Storm> {
    let mut crew = arena.crew()?;
    let task = Task {
        limit: LIMIT,
        clients: 4,
        costs: 2,
        think: Duration::from_millis(2),
        hold: Duration::from_millis(10),
        is_random: true,
        wait: Some(Duration::from_secs(5)),
        look: Some(Duration::from_millis(2)),
        is_durable: true,
        ..ground.task()
    };
    let mut slots = (0..PROCESSES).map(|_| crew.hire(&task)).collect::<Result<Vec<_>>>()?;
    crew.start_all()?;
    let (mut kills, mut cuts, mut lost_replies, mut stops) = (0, 0, 0, 0);
    let mut frozen: Option<(usize, Instant)> = None;
    let start = Instant::now();
    for step in 0_u64.. {
        sleep(pause.mul_f64(0.5 + fastrand::f64()));
        if start.elapsed() >= time {
            break;
        }
        if let Some((place, _)) = frozen.take_if(|(_, until)| *until <= Instant::now()) {
            crew.freeze(place, false)?;
        }
        if step % 4 == 1 {
            ground.network().cut();
            cuts += 1;
        }
        if step % 4 == 3 {
            ground.network().drop_replies(2);
            lost_replies += 2;
        }
        if step % 5 == 0 && frozen.is_none() {
            let place = slots[fastrand::usize(..slots.len())];
            crew.freeze(place, true)?;
            frozen = Some((place, Instant::now() + FROZEN));
            stops += 1;
        }
        let slot = fastrand::usize(..slots.len());
        // A stopped process is not killed: it shall go on after its leases have ended.
        if frozen.is_none_or(|(place, _)| place != slots[slot]) {
            crew.kill(slots[slot])?;
            kills += 1;
            slots[slot] = crew.hire(&task)?;
            crew.start(slots[slot])?;
        }
    }
    if let Some((place, _)) = frozen {
        crew.freeze(place, false)?;
    }
    crew.stop_all()?;
    sleep(TTL + Duration::from_millis(100));
    let stuck = LIMIT - units_that_are_free(&mut crew, &task)?;
    let left = ground.entries(&task)?;
    Ok(Storm { calls: crew.calls()?, limit: LIMIT, kills, cuts, lost_replies, stops, stuck, left })
}

/// Asks for all units at once, from a process that knows nothing of the others.
fn units_that_are_free(crew: &mut Crew, task: &Task) -> Result<u64> {
    let clients = u32::try_from(LIMIT)?;
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
    Ok(judged("chaos", &storm(arena, arena, effort.chaos, PAUSE)?, effort.chaos))
}

/// The rows of a storm that took a time.
pub(super) fn judged(goal: &'static str, storm: &Storm, time: Duration) -> Vec<Row> {
    let admitted = storm.calls.iter().filter(|call| call.admitted().is_some()).count();
    let refused = storm.calls.iter().filter(|call| call.outcome == Outcome::Refused).count();
    let peak = storm.peak();
    let figure = |number: u64| ratio(number, 1);
    // Ten minutes have 500 kills.
    let least = (time.as_secs_f64() / 1.2).floor().min(500.0);
    vec![
        Row::new(goal, "units above the limit", figure(peak.units.saturating_sub(storm.limit)), "")
            .limit(Limit::AtMost(0.0)),
        Row::new(goal, "units that are not free at the end", figure(storm.stuck), "").limit(Limit::AtMost(0.0)),
        Row::new(goal, "units and processes left at the end", figure(storm.left), "").limit(Limit::AtMost(0.0)),
        Row::new(goal, "processes killed", figure(storm.kills), "").limit(Limit::AtLeast(least)),
        Row::new(goal, "times that all connections were cut", figure(storm.cuts), ""),
        Row::new(goal, "replies lost, with their connections", figure(storm.lost_replies), ""),
        Row::new(goal, "processes stopped for longer than a lease", figure(storm.stops), ""),
        Row::new(goal, format!("most units certainly held, of {LIMIT}"), figure(peak.units), ""),
        Row::new(goal, "admissions", figure(count(admitted)), ""),
        Row::new(goal, "calls that ended otherwise", figure(count(refused)), ""),
    ]
}
