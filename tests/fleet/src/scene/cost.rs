//! What an admission costs: round trips, and time of the server's processor. No network delays it.

use std::time::Duration;

use anyhow::Result;

use super::{Arena, Effort, Played, median};
use crate::report::{Limit, Row};
use crate::task::Kind;

const GOAL: &str = "cost";

pub(super) fn run(arena: &Arena, effort: &Effort) -> Result<Vec<Row>> {
    let play = |kind, limit, clients| {
        let mut plan = arena.plan(kind);
        plan.task.clients = clients;
        (plan.task.limit, plan.task.hold, plan.task.url) = (limit, Duration::ZERO, arena.server.url());
        let played = (0..effort.rounds).map(|_| arena.play(&plan, effort.time));
        played.collect::<Result<Vec<_>>>()
    };
    let of = |played: &[Played], figure: fn(&Played) -> f64| median(played.iter().map(figure).collect());
    let [free, contended] = [play(Kind::Ours, 1_000, 16)?, play(Kind::Ours, 10, 16)?];
    let alone = play(Kind::Ours, 1_000, 1)?;
    let theirs = play(Kind::Polling, 1_000, 16)?;
    let peer = Kind::Polling.name();
    Ok(vec![
        // Beats are commands too: each process sends four in each lease.
        Row::new(GOAL, "commands for an admission, free, one client in a process", of(&alone, Played::trips), "")
            .limit(Limit::AtMost(0.1)),
        Row::new(GOAL, "commands for an admission, free, 16 clients in a process", of(&free, Played::trips), "")
            .limit(Limit::AtMost(0.1)),
        Row::new(GOAL, "commands for an admission, contended", of(&contended, Played::trips), "")
            .limit(Limit::AtMost(0.3)),
        Row::new(GOAL, "server's processor for an admission, free", of(&free, Played::processor), "µs")
            .beside(of(&theirs, Played::processor), peer)
            .limit(Limit::AtMost(15.0)),
        Row::new(GOAL, "server's processor for an admission, contended", of(&contended, Played::processor), "µs")
            .limit(Limit::AtMost(80.0)),
        Row::new(GOAL, "admissions, free", of(&free, Played::rate), "/s").beside(of(&theirs, Played::rate), peer),
        Row::new(GOAL, "admissions, contended", of(&contended, Played::rate), "/s"),
    ])
}
