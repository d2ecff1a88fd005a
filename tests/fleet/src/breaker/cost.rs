//! Statements of calls while the circuit is closed: none by a call, and one for all calls of the
//! time in which outcomes are collected.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bulklink_breaker::Settings;
use bulklink_fleet::circuits::CircuitStore;

use super::counting::{Counting, Statement};
use super::ground::{Member, postgres, redis};
use super::{Effort, Ground, Kind, Scene};
use crate::report::{Limit, Row};
use crate::scene::{count, ratio};

/// How long outcomes are collected, by default.
const INTERVAL: Duration = Duration::from_millis(100);

/// The calls between two looks at the clock.
const BATCH: u32 = 1_000;

pub(super) fn run(ground: &Ground, effort: &Effort) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for kind in Kind::ALL {
        let url = ground.url(kind);
        let counted = match kind {
            Kind::Postgres => measure(postgres(&url), effort.time)?,
            Kind::Redis => measure(redis(&url), effort.time)?,
        };
        let row = |what: &str, figure| {
            Row::new(Scene::Cost.name(), format!("{what}, {}", kind.name()), figure, "").limit(Limit::AtMost(1.0))
        };
        let what = format!("statements by {} calls of a closed circuit, but for reports", counted.calls);
        rows.push(row(&what, ratio(counted.others, 1)).limit(Limit::AtMost(0.0)));
        rows.push(row("statements in an interval of 100 ms", counted.in_an_interval));
    }
    Ok(rows)
}

struct Counted {
    calls: u64,
    /// Statements that are no reports.
    others: u64,
    in_an_interval: f64,
}

/// Makes calls without a pause but those in which other threads may run, of which one of 50 fails.
fn measure(store: impl CircuitStore, time: Duration) -> Result<Counted> {
    let store = Counting::new(store);
    let statements = store.statements();
    let settings = Settings::of_last(100).failures(50);
    let member = Member::join(store, "statements", settings)?;
    let before = statements.all().len();
    let (start, mut calls) = (Instant::now(), 0);
    while start.elapsed() < time {
        for number in 0..BATCH {
            let call = member.breaker.admit().ok().context("the circuit is closed")?;
            if number % 50 == 0 { call.fail() } else { call.succeed() }
        }
        calls += u64::from(BATCH);
        sleep(Duration::from_millis(1));
    }
    let all = statements.all().split_off(before);
    let reports: Vec<_> = all.iter().filter(|(statement, _)| *statement == Statement::Report).collect();
    ensure!(reports.len() > 2, "only {} reports", reports.len());
    // From one report to another, so that the time has whole intervals.
    let span = reports[reports.len() - 1].1 - reports[0].1;
    let intervals = span.as_secs_f64() / INTERVAL.as_secs_f64();
    let in_an_interval = ratio(count(reports.len() - 1), 1) / intervals;
    Ok(Counted { calls, others: count(all.len() - reports.len()), in_an_interval })
}
