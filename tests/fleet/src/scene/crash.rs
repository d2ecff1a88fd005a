//! How soon the units of a dead process are free again.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::arena::TTL;
use super::{Arena, Effort, millis};
use crate::crew::Crew;
use crate::now;
use crate::record::Record;
use crate::report::{Limit, Row};
use crate::task::{Kind, Task};
use crate::witness::Nanos;

const GOAL: &str = "crash";

/// Long enough for a call to be in the queue, and for the server to see the end of a connection.
const MOMENT: Duration = Duration::from_millis(300);

pub(super) fn run(arena: &Arena, effort: &Effort) -> Result<Vec<Row>> {
    let each = |measure: fn(&Arena) -> Result<Nanos>| {
        let times = (0..effort.crashes).map(|_| measure(arena)).collect::<Result<Vec<_>>>()?;
        anyhow::Ok(millis(times.into_iter().max().unwrap_or_default()))
    };
    let (holder, waiter) = (each(dead_holder)?, each(dead_waiter)?);
    let trip = arena.round_trip()?;
    let ttl = TTL.as_secs_f64() * 1e3;
    Ok(vec![
        Row::new(GOAL, format!("a killed holder's unit is free, ttl {TTL:?}"), holder, "ms")
            .limit(Limit::AtMost(ttl + 100.0)),
        Row::new(GOAL, format!("a killed waiter is passed, of an RTT of {trip:.2} ms"), waiter, "ms")
            .limit(Limit::AtMost(5.0)),
    ])
}

/// From the death of a holder to the admission of the next call.
fn dead_holder(arena: &Arena) -> Result<Nanos> {
    let (mut crew, task) = (arena.crew()?, task(arena));
    let holder = hire(&mut crew, &Task { hold: Duration::from_mins(1), ..task.clone() })?;
    admission(&crew, holder)?;
    let waiter = hire(&mut crew, &task)?;
    // At different ages of the lease.
    std::thread::sleep(MOMENT + TTL.mul_f64(fastrand::f64()));
    let death = crew.kill(holder)?;
    Ok(admission(&crew, waiter)?.saturating_sub(death))
}

/// From the start of a release to the admission of the second waiter, while the first is dead.
fn dead_waiter(arena: &Arena) -> Result<Nanos> {
    let (mut crew, task) = (arena.crew()?, task(arena));
    let holder = hire(&mut crew, &Task { hold: 4 * MOMENT, ..task.clone() })?;
    admission(&crew, holder)?;
    let first = hire(&mut crew, &task)?;
    std::thread::sleep(MOMENT);
    let second = hire(&mut crew, &task)?;
    std::thread::sleep(MOMENT);
    crew.kill(first)?;
    let admitted = admission(&crew, second)?;
    let release = crew.records(holder)?.into_iter().find_map(|record| match record {
        Record::Released { start, .. } => Some(start),
        _ => None,
    });
    ensure!(release.is_some_and(|start| start < admitted), "the second waiter was admitted beside the holder");
    Ok(admitted - release.unwrap_or_default())
}

/// One client that calls once.
fn task(arena: &Arena) -> Task {
    let task = arena.plan(Kind::Ours).task;
    let hold = Duration::from_millis(1);
    Task { limit: 1, is_strict: true, clients: 1, calls: Some(1), hold, is_durable: true, ..task }
}

fn hire(crew: &mut Crew, task: &Task) -> Result<usize> {
    let place = crew.hire(task)?;
    crew.start(place)?;
    Ok(place)
}

/// Waits until the call of a process is admitted, and returns when that was.
fn admission(crew: &Crew, place: usize) -> Result<Nanos> {
    let patience = now() + 60_000_000_000;
    loop {
        if let Some(end) = crew.records(place)?.into_iter().find_map(Record::admitted) {
            return Ok(end);
        }
        ensure!(now() < patience, "a call was not admitted for a minute");
        std::thread::sleep(Duration::from_millis(2));
    }
}
