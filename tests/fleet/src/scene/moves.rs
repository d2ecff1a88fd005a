//! How soon a process that needs units has those of others.

use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::arena::WARM_UP;
use super::{Arena, Effort, millis};
use crate::report::{Limit, Row};
use crate::task::{Kind, Task};
use crate::witness::{Nanos, moves, percentile, reached};

const GOAL: &str = "moves";

/// The units of a limit that processes move by halves.
const UNITS: u32 = 10;

/// Over the network without a delay.
pub(super) fn run(arena: &Arena, effort: &Effort) -> Result<Vec<Row>> {
    let idle = idle(arena, effort)?;
    let mut half = (0..effort.crashes).map(|_| half(arena)).collect::<Result<Vec<_>>>()?;
    half.sort_unstable();
    let row = |what: &str, times: &[Nanos], part| Row::new(GOAL, what, millis(percentile(times, part)), "ms");
    let most = |limit| Limit::AtMost(limit);
    Ok(vec![
        row("an idle unit to another process, p50", &idle, 0.5).limit(most(5.0)),
        row("an idle unit to another process, p99", &idle, 0.99).limit(most(10.0)),
        row("half of the limit from a busy process, p50", &half, 0.5).limit(most(50.0)),
        row("half of the limit from a busy process, longest", &half, 1.0),
    ])
}

/// Two processes that seldom call, with a limit of one.
fn idle(arena: &Arena, effort: &Effort) -> Result<Vec<Nanos>> {
    let mut plan = arena.plan(Kind::Ours);
    plan.processes = 2;
    let (think, hold) = (Duration::from_millis(30), Duration::from_millis(1));
    plan.task = Task { url: arena.server.url(), limit: 1, clients: 1, think, hold, ..plan.task };
    let played = arena.play(&plan, effort.time)?;
    let moves = moves(&played.calls, &played.span);
    ensure!(!moves.is_empty(), "no unit has moved");
    Ok(moves)
}

/// A process with more calls than units, and a second one that begins beside it.
fn half(arena: &Arena) -> Result<Nanos> {
    let task = Task { url: arena.server.url(), limit: UNITS.into(), clients: 2 * UNITS, ..arena.plan(Kind::Ours).task };
    let mut crew = arena.crew()?;
    let first = crew.hire(&task)?;
    crew.start(first)?;
    sleep(WARM_UP);
    let second = crew.hire(&task)?;
    crew.start(second)?;
    // A busy machine may need more time than is promised.
    sleep(4 * WARM_UP);
    crew.stop_all()?;
    reached(&crew.calls()?, u32::try_from(second)?, UNITS / 2).context("the second process never had half of the limit")
}
