//! The cost of a limit under different loads, beside other schemes: its use, waits, and commands.

use std::time::Duration;

use anyhow::Result;

use super::fail_fast::excess;
use super::{Arena, Effort, Plan, Played, median, millis};
use crate::report::Row;
use crate::task::Kind;
use crate::witness::{percentile, utilisation, waits};

const GOAL: &str = "loads";

pub(super) fn run(arena: &Arena, effort: &Effort) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (what, kinds, change) in plans() {
        let mut columns = Vec::new();
        for kind in kinds {
            let mut played = Vec::new();
            for _ in 0..effort.rounds {
                let mut plan = arena.plan(*kind);
                change(&mut plan);
                let limit = plan.task.limit;
                played.push((arena.play(&plan, effort.time)?, limit));
            }
            columns.push((*kind, played));
        }
        let (_, ours) = &columns[0];
        for (kind, theirs) in &columns[1..] {
            for (figure, unit, of) in figures() {
                let row = Row::new(GOAL, format!("{what}: {figure}"), middle(ours, of), unit);
                rows.push(row.beside(middle(theirs, of), kind.name()));
            }
        }
    }
    Ok(rows)
}

type Change = fn(&mut Plan);

fn plans() -> Vec<(&'static str, &'static [Kind], Change)> {
    const ALL: &[Kind] = &[Kind::Ours, Kind::Polling, Kind::Latch];
    vec![
        ("4 × 16 closed, limit 10", ALL, |_| {}),
        ("4 × 4, 60 % of 10", ALL, |plan| {
            (plan.task.clients, plan.task.think) = (4, Duration::from_micros(8_300));
        }),
        ("4 × 64, 60 % of 100", ALL, |plan| {
            (plan.task.limit, plan.task.clients) = (100, 64);
            plan.task.think = Duration::from_micros(16_300);
        }),
        ("4 × 8, limit 1, holds of 3 ms", ALL, |plan| {
            (plan.task.limit, plan.task.clients, plan.task.hold) = (1, 8, Duration::from_millis(3));
            plan.task.is_strict = true;
        }),
    ]
}

type Figure = fn(&Played, u64) -> f64;

fn figures() -> Vec<(&'static str, &'static str, Figure)> {
    vec![
        ("admissions", "/s", |played, _| played.rate()),
        ("use of the limit", "", |played, limit| utilisation(&played.calls, &played.span, limit)),
        ("wait p50", "ms", |played, _| millis(percentile(&waits(&played.calls, &played.span), 0.5))),
        ("wait p99", "ms", |played, _| millis(percentile(&waits(&played.calls, &played.span), 0.99))),
        ("commands an admission", "", |played, _| played.trips()),
        ("server's processor an admission", "µs", |played, _| played.processor()),
        ("units above the limit", "", excess),
    ]
}

fn middle(played: &[(Played, u64)], of: Figure) -> f64 {
    median(played.iter().map(|(played, limit)| of(played, *limit)).collect())
}
