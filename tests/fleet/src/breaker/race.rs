//! Many connections to one circuit at the same time: no probe too many, and no outcome lost.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, bail};
use bulklink_circuits::{CONNECTIONS, Raced, Subject, race};

use super::ground::{postgres, redis};
use super::naive::{Naive, OnPostgres, OnRedis};
use super::{Effort, Ground, Kind, Scene, Site};
use crate::report::{Limit, Row};
use crate::scene::ratio;

pub(super) fn run(ground: &Ground, effort: &Effort) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for kind in Kind::ALL {
        let url = ground.url(kind);
        rows.extend(match kind {
            Kind::Postgres => judged(kind.name(), &Site::new(move || postgres(&url))?, effort.rounds)?,
            Kind::Redis => judged(kind.name(), &Site::new(move || redis(&url))?, effort.rounds)?,
        });
    }
    for kind in Kind::ALL {
        let (raced, rate) = naive(ground, kind, effort.naive_rounds)?;
        let row = |what: &str, figure| {
            let what = format!("{what} of one that reads and then writes, {} rounds, {}", raced.rounds, kind.name());
            Row::new(Scene::Race.name(), what, figure, "")
        };
        rows.extend([
            row("probes above the limit", ratio(raced.excess, 1)),
            row("outcomes lost", ratio(raced.lost, 1)),
            row("rounds a second", rate),
        ]);
    }
    Ok(rows)
}

/// Runs the race of a store that must hold, and returns its rows.
fn judged(server: &str, subject: &impl Subject, rounds: u64) -> Result<Vec<Row>> {
    let (raced, rate) = timed(subject, rounds);
    if raced.odd > 0 || raced.rounds < rounds {
        bail!("{raced:?}");
    }
    if let Some(first) = &raced.first {
        eprintln!("{server}: {first}");
    }
    Ok(rows(server, &raced, rate))
}

/// The rows of a race that has ended.
#[must_use]
pub fn rows(server: &str, raced: &Raced, rate: f64) -> Vec<Row> {
    let what = |what: &str| format!("{what}, {} rounds × {CONNECTIONS} connections, {server}", raced.rounds);
    let zero =
        |text: &str, figure| Row::new(Scene::Race.name(), what(text), ratio(figure, 1), "").limit(Limit::AtMost(0.0));
    vec![
        zero("probes above the limit", raced.excess),
        zero("places of probes left empty", raced.vacant),
        zero("outcomes lost", raced.lost),
        Row::new(Scene::Race.name(), what("rounds a second"), rate, ""),
    ]
}

/// Runs the race, and returns how many rounds it had in a second.
fn timed(subject: &impl Subject, rounds: u64) -> (Raced, f64) {
    let began = Instant::now();
    let raced = race(subject, rounds);
    let rate = ratio(raced.rounds, 1) / began.elapsed().as_secs_f64();
    (raced, rate)
}

/// The race of a scheme that reads and then writes, on the same server.
fn naive(ground: &Ground, kind: Kind, rounds: u64) -> Result<(Raced, f64)> {
    Ok(match kind {
        Kind::Postgres => {
            OnPostgres::set_up(&ground.postgres);
            let server = Arc::clone(&ground.postgres);
            timed(&Site::new(move || Naive::new(OnPostgres::connect(&server)))?, rounds)
        }
        Kind::Redis => {
            let server = Arc::clone(&ground.redis);
            timed(&Site::new(move || Naive::new(OnRedis::connect(&server)))?, rounds)
        }
    })
}
