//! Calls that wait: their order, their cost, and how many are admitted.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;

use super::fail_fast::excess;
use super::{Arena, Effort, Plan, Played, count, median, millis, ratio};
use crate::report::{Limit, Row};
use crate::task::Kind;
use crate::witness::{hand_offs, jain, mean, overtaken, percentile, releases, unfenced, utilisation, waits};

const PEERS: [Kind; 3] = [Kind::Polling, Kind::Broadcast, Kind::Latch];

/// 64 clients and a limit of 10, interleaved with the peers.
pub(super) fn run(arena: &Arena, effort: &Effort) -> Result<Vec<Row>> {
    const GOAL: &str = "contended";
    let mut ours = Vec::new();
    let mut theirs = PEERS.map(|kind| (kind, Vec::new()));
    for _ in 0..effort.rounds {
        ours.push(arena.play(&arena.plan(Kind::Ours), effort.time)?);
        for (kind, played) in &mut theirs {
            played.push(arena.play(&arena.plan(*kind), effort.time)?);
        }
    }
    let mut rows = fairness(GOAL, &arena.plan(Kind::Ours), &ours);
    let rate = of(&ours, Played::rate);
    for (kind, played) in &theirs {
        let peer = of(played, Played::rate);
        rows.push(Row::new(GOAL, "admissions", rate, "/s").beside(peer, kind.name()).limit(Limit::Times(1.1)));
    }
    for (kind, played) in &theirs {
        let plan = arena.plan(*kind);
        for (row, of_ours) in fairness(GOAL, &plan, played).into_iter().zip(fairness(GOAL, &plan, &ours)) {
            let peer = row.ours.unwrap_or_default();
            // None is above the limit while nothing fails.
            if row.what.starts_with("units") {
                continue;
            }
            rows.push(Row { limit: None, ..of_ours }.beside(peer, kind.name()));
        }
    }
    Ok(rows)
}

/// 128 and 256 clients.
pub(super) fn crowd(arena: &Arena, effort: &Effort) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for clients in [128, 256] {
        let mut plan = arena.plan(Kind::Ours);
        plan.task.clients = clients / plan.processes;
        // Jain's index shows unequal numbers, so each client must have some.
        let played = [arena.play(&plan, effort.time * clients / 64)?];
        rows.extend(fairness("crowd", &plan, &played).into_iter().map(|row| {
            let what = format!("{}, {clients} clients", row.what);
            Row { what, ..row }
        }));
    }
    Ok(rows)
}

/// 32 clients and a limit of 1.
pub(super) fn hand_off(arena: &Arena, effort: &Effort) -> Result<Vec<Row>> {
    const GOAL: &str = "hand-off";
    let trip = arena.round_trip()?;
    let play = |kind, rounds| {
        let mut plan = arena.plan(kind);
        (plan.task.limit, plan.task.clients, plan.task.hold) = (1, 8, Duration::from_millis(3));
        plan.task.is_strict = true;
        let played = (0..rounds).map(|_| arena.play(&plan, effort.time));
        let played: Vec<_> = played.collect::<Result<_>>()?;
        let passed = of(&played, |played| millis(percentile(&hand_offs(&played.calls, &played.span), 0.5)));
        anyhow::Ok((passed, ratio(played.iter().map(|played| count(unfenced(&played.calls).len())).sum(), 1)))
    };
    let (ours, wrong) = play(Kind::Ours, effort.rounds)?;
    let mut rows =
        vec![Row::new(GOAL, format!("p50, of an RTT of {trip:.2} ms"), ours, "ms").limit(Limit::AtMost(trip + 0.3))];
    rows.push(Row::new(GOAL, "tokens out of order", wrong, "").limit(Limit::AtMost(0.0)));
    for kind in PEERS.into_iter().chain([Kind::Message]) {
        rows.push(Row::new(GOAL, "p50", ours, "ms").beside(play(kind, 1)?.0, kind.name()));
    }
    Ok(rows)
}

/// Order and cost of the runs of one plan.
fn fairness(goal: &'static str, plan: &Plan, played: &[Played]) -> Vec<Row> {
    let clients = f64::from(plan.processes * plan.task.clients);
    let limit = plan.task.limit;
    let wait = |part| of(played, |played| millis(percentile(&waits(&played.calls, &played.span), part)));
    let hold = of(played, |played| mean(&played.calls, &played.span)) / 1e6;
    let ideal = clients * hold / ratio(limit, 1);
    let sum = |of: fn(&Played) -> usize| ratio(played.iter().map(|played| count(of(played))).sum(), 1);
    let all = ratio(played.iter().map(|played| count(played.calls.len())).sum(), 1);
    let release = of(played, |played| millis(percentile(&releases(&played.calls, &played.span), 0.99)));
    let over = of(played, |played| excess(played, limit));
    vec![
        Row::new(goal, "units above the limit", over, "").limit(Limit::AtMost(0.0)),
        Row::new(goal, "calls overtaken in their process", sum(overtaken_at_home) / all * 100.0, "%")
            .limit(Limit::AtMost(0.0)),
        Row::new(goal, "Jain's index", of(played, |played| jain(&played.calls, &played.span)), "")
            .limit(Limit::AtLeast(0.999)),
        Row::new(
            goal,
            format!("wait p99, ideal {ideal:.1} ms (holds of {hold:.1} ms)"),
            wait(0.99) / ideal,
            "× the ideal",
        )
        .limit(Limit::AtMost(1.3)),
        Row::new(goal, "commands for an admission", of(played, Played::trips), "").limit(Limit::AtMost(0.3)),
        Row::new(goal, "wait p50", wait(0.5), "ms"),
        Row::new(goal, "longest wait", wait(1.0), "ms"),
        Row::new(goal, "release p99", release, "ms"),
        Row::new(goal, "use of the limit", of(played, |played| utilisation(&played.calls, &played.span, limit)), "")
            .limit(Limit::AtLeast(0.95)),
    ]
}

/// The number of calls that a later one of their process has overtaken. Between processes, units go
/// in turn.
#[must_use]
pub fn overtaken_at_home(played: &Played) -> usize {
    let processes: BTreeSet<_> = played.calls.iter().map(|call| call.process).collect();
    let of = |process| played.calls.iter().filter(|call| call.process == process).cloned().collect::<Vec<_>>();
    processes.into_iter().map(|process| overtaken(&of(process)).len()).sum()
}

/// The median over the runs.
fn of(played: &[Played], figure: impl Fn(&Played) -> f64) -> f64 {
    median(played.iter().map(figure).collect())
}
