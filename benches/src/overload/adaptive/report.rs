//! The outcomes as tables.

use std::time::Duration;

use super::front::Guard;
use super::scene::Scene;
use super::tally::Recovery;
use super::{FIXED, Outcome};
use crate::overload::report::{millis, percent};
use crate::report::table::{align, number};

const HEAD: [&str; 11] = [
    "calls",
    "in front of the upstream",
    "in time",
    "by phase",
    "of the best fixed",
    "rejected",
    "given up",
    "p50",
    "p99",
    "mean limit",
    "until 90 % of the new capacity",
];

/// Returns all outcomes as a Markdown table, scene by scene.
#[must_use]
pub fn table(outcomes: &[Outcome]) -> String {
    let rows = outcomes.iter().map(|outcome| cells(outcome, best_fixed(outcomes, outcome)));
    align(&[HEAD.map(str::to_owned)].into_iter().chain(rows).collect::<Vec<_>>())
}

/// Returns the most answers in time that a fixed limit of ours has in the scene of an outcome.
fn best_fixed(outcomes: &[Outcome], of: &Outcome) -> Option<f64> {
    let fixed = outcomes.iter().filter(|outcome| outcome.scene == of.scene);
    let fixed = fixed.filter(|outcome| matches!(outcome.guard, Guard::Fixed(_)));
    fixed.map(|outcome| outcome.figures.in_time).max_by(f64::total_cmp).filter(|most| *most > 0.0)
}

fn cells(outcome: &Outcome, best: Option<f64>) -> [String; 11] {
    let Outcome { guard, scene, figures, mean_limit, phases, recoveries, .. } = outcome;
    let time = |time: Option<Duration>| time.map_or("-".to_owned(), |time| format!("{:.0} ms", millis(time)));
    [
        scene.name().to_owned(),
        guard.to_string(),
        format!("{:.0} /s", figures.in_time),
        joined(phases.iter().map(|rate| format!("{rate:.0}"))),
        best.map_or("-".to_owned(), |best| number(figures.in_time / best)),
        percent(figures.rejected),
        percent(figures.given_up),
        time(figures.p50),
        time(figures.p99),
        format!("{mean_limit:.0}"),
        joined(recoveries.iter().map(recovered)),
    ]
}

/// Returns a recovery in words.
fn recovered(Recovery { workers: (before, after), after: time, .. }: &Recovery) -> String {
    let time = time.map_or("never".to_owned(), |time| format!("{:.1} s", time.as_secs_f64()));
    format!("{before} → {after}: {time}")
}

fn joined(texts: impl Iterator<Item = String>) -> String {
    let joined = texts.collect::<Vec<_>>().join(", ");
    if joined.is_empty() { "-".to_owned() } else { joined }
}

/// Returns the answers in time of the [`FIXED`] limits in each scene, as a Markdown table.
#[must_use]
pub fn sweep(outcomes: &[Outcome]) -> String {
    let [first, second, third] = Scene::ALL.map(|scene| scene.name().to_owned());
    let head = ["fixed limit".to_owned(), first, second, third];
    let row = |limit: usize| {
        let of = |scene| {
            let found = outcomes.iter().find(|outcome| outcome.scene == scene && outcome.guard == Guard::Fixed(limit));
            found.map_or("-".to_owned(), |outcome| format!("{:.0} /s", outcome.figures.in_time))
        };
        let [first, second, third] = Scene::ALL.map(of);
        [limit.to_string(), first, second, third]
    };
    align(&[head].into_iter().chain(FIXED.map(row)).collect::<Vec<_>>())
}
