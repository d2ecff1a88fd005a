//! Calls that do not wait for others, only for the store: few may be rejected while a unit is free.

use std::time::Duration;

use anyhow::Result;

use super::{Arena, Effort, Plan, Played, count, ratio};
use crate::report::{Limit, Row};
use crate::task::Kind;
use crate::witness::{Outcome, false_rejections, peak};

const GOAL: &str = "fail-fast";
const CLIENTS: u64 = 64;

/// So short that most attempts find the limit reached.
const THINK: Duration = Duration::from_millis(2);

/// Returns the plan for about so many attempts, over the network with the delay or without it.
pub fn attempts(arena: &Arena, kind: Kind, attempts: u64, is_delayed: bool) -> Plan {
    let mut plan = arena.plan(kind);
    (plan.task.wait, plan.task.think, plan.task.calls) = (None, THINK, Some(attempts.div_ceil(CLIENTS)));
    if !is_delayed {
        plan.task.url = arena.server.url();
    }
    plan
}

/// Rejections, and how many of them were certainly false.
fn rejections(played: &Played, limit: u64) -> (u64, u64) {
    let all = played.calls.iter().filter(|call| call.outcome == Outcome::Saturated).count();
    (count(all), count(false_rejections(&played.calls, limit).len()))
}

pub(super) fn run(arena: &Arena, effort: &Effort) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let (mut attempted, mut wrong) = (0, 0);
    for (is_delayed, rtt) in [(false, "0"), (true, "0.5 ms")] {
        let plan = attempts(arena, Kind::Polling, effort.attempts / 20, is_delayed);
        let theirs = arena.play_all(&plan)?;
        let (rejected, false_ones) = rejections(&theirs, plan.task.limit);
        let share = ratio(false_ones, rejected) * 100.0;

        let plan = attempts(arena, Kind::Ours, effort.attempts / 2, is_delayed);
        let ours = arena.play_all(&plan)?;
        let limit = plan.task.limit;
        let (rejected, false_ones) = rejections(&ours, limit);
        let others = ours.calls.iter().filter(|call| call.outcome == Outcome::Refused).count();
        attempted += count(ours.calls.len());
        wrong += false_ones;
        let share_of_ours = ratio(false_ones, rejected) * 100.0;
        rows.extend([
            Row::new(GOAL, format!("certainly false rejections, RTT {rtt}"), share_of_ours, "% of its rejections")
                .beside(share, Kind::Polling.name()),
            Row::new(GOAL, format!("units above the limit, RTT {rtt}"), excess(&ours, limit), "")
                .beside(excess(&theirs, limit), Kind::Polling.name())
                .limit(Limit::AtMost(0.0)),
            Row::new(GOAL, format!("rejections for other reasons, RTT {rtt}"), ratio(count(others), 1), "")
                .limit(Limit::AtMost(0.0)),
            Row::new(GOAL, format!("admissions, RTT {rtt}"), ours.rate(), "/s")
                .beside(theirs.rate(), Kind::Polling.name()),
        ]);
    }
    let least = ratio(effort.attempts, 1);
    rows.insert(0, Row::new(GOAL, "attempts", ratio(attempted, 1), "").limit(Limit::AtLeast(least)));
    let wrong = Row::new(GOAL, "certainly false rejections", ratio(wrong, attempted) * 100.0, "% of the attempts");
    rows.insert(1, wrong.limit(Limit::AtMost(1.0)));
    Ok(rows)
}

/// The units that were certainly held above the limit.
pub(super) fn excess(played: &Played, limit: u64) -> f64 {
    ratio(peak(&played.calls).units.saturating_sub(limit), 1)
}
