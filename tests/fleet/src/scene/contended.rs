//! Calls that wait: their order, what they cost, and how many are admitted.

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
            // None of the peers has tokens, and none is above the limit while nothing fails.
            if row.what.starts_with("units") || row.what.starts_with("tokens") {
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
        let played = (0..rounds).map(|_| arena.play(&plan, effort.time));
        let played: Vec<_> = played.collect::<Result<_>>()?;
        anyhow::Ok(of(&played, |played| millis(percentile(&hand_offs(&played.calls, &played.span), 0.5))))
    };
    let ours = play(Kind::Ours, effort.rounds)?;
    let mut rows =
        vec![Row::new(GOAL, format!("p50, of an RTT of {trip:.2} ms"), ours, "ms").limit(Limit::AtMost(trip + 0.3))];
    for kind in PEERS {
        rows.push(Row::new(GOAL, "p50", ours, "ms").beside(play(kind, 1)?, kind.name()));
    }
    Ok(rows)
}

/// Permits that a process hands over up to four times.
pub(super) fn reuse(arena: &Arena, effort: &Effort) -> Result<Vec<Row>> {
    const GOAL: &str = "reuse(4)";
    let mut plan = arena.plan(Kind::Ours);
    plan.task.reuse = 4;
    let played = arena.play(&plan, effort.time)?;
    let wait = millis(percentile(&waits(&played.calls, &played.span), 0.99));
    Ok(vec![
        Row::new(GOAL, "round trips for an admission", played.trips(), "").limit(Limit::AtMost(0.5)),
        Row::new(GOAL, "units above the limit", excess(&played, plan.task.limit), "").limit(Limit::AtMost(0.0)),
        Row::new(GOAL, "admissions", played.rate(), "/s"),
        Row::new(GOAL, "wait p99", wait, "ms"),
        Row::new(GOAL, "Jain's index", jain(&played.calls, &played.span), ""),
    ])
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
        Row::new(goal, "overtaken calls", sum(|played| overtaken(&played.calls).len()) / all * 100.0, "%")
            .limit(Limit::AtMost(0.0)),
        Row::new(goal, "tokens out of order", sum(|played| unfenced(&played.calls).len()), "")
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
        Row::new(goal, "round trips for an admission", of(played, Played::trips), "").limit(Limit::AtMost(2.1)),
        Row::new(goal, "wait p50", wait(0.5), "ms"),
        Row::new(goal, "longest wait", wait(1.0), "ms"),
        Row::new(goal, "release p99", release, "ms"),
        Row::new(goal, "utilisation", of(played, |played| utilisation(&played.calls, &played.span, limit)), ""),
    ]
}

/// The median over the runs.
fn of(played: &[Played], figure: impl Fn(&Played) -> f64) -> f64 {
    median(played.iter().map(figure).collect())
}
