//! The outcomes as tables, and the rows that are judged.

use std::time::Duration;

use super::scene::Scene;
use super::tally::Figures as Tally;
use super::upstream::CAPACITY;
use super::{DEADLINE, Outcome};
use crate::goal::Limit;
use crate::report::table::{align, number};
use crate::report::verdict::{Figures, Verdict};

/// The limits hold from this load on.
const OVERLOADED: f64 = 2.0;
/// The part of the capacity that must be put to use.
const USED: f64 = 0.95;
/// As good as a peer. Two that use the whole capacity differ by a few of the calls that are in the
/// upstream when the measurement begins or ends.
const AS_GOOD: f64 = 0.99;
/// The part of their calls that tenants within their share must have answered.
const SERVED: f64 = 0.98;
/// The calls that [`Outcome::greedy`] counts.
const BEYOND: &str = "the tenant beyond its share";

/// Returns all outcomes as Markdown: a table for the loads, and one for each other scene.
#[must_use]
pub fn tables(outcomes: &[Outcome]) -> String {
    let is_load = |scene| matches!(scene, Scene::Load(_));
    let tables = outcomes.chunk_by(|a, b| a.scene == b.scene || is_load(a.scene) && is_load(b.scene));
    tables.map(table).collect::<Vec<_>>().join("\n")
}

fn table(outcomes: &[Outcome]) -> String {
    let head = [
        "calls",
        "in front of the upstream",
        "in time",
        "answered",
        "p50",
        "p99",
        "rejected",
        "given up",
        "wasted work",
    ];
    let all = outcomes.iter().map(|outcome| cells(outcome, scene_name(outcome.scene), &outcome.figures));
    let greedy =
        outcomes.iter().filter_map(|outcome| Some(cells(outcome, BEYOND.to_owned(), outcome.greedy.as_ref()?)));
    let rows: Vec<_> = [head.map(str::to_owned)].into_iter().chain(all).chain(greedy).collect();
    align(&rows)
}

fn cells(outcome: &Outcome, calls: String, figures: &Tally) -> [String; 9] {
    let time = |time: Option<Duration>| time.map_or("-".to_owned(), |time| format!("{:.0} ms", millis(time)));
    [
        calls,
        outcome.protection.name().to_owned(),
        format!("{:.0} /s", figures.in_time),
        percent(figures.answered()),
        time(figures.p50),
        time(figures.p99),
        percent(figures.rejected),
        percent(figures.given_up),
        percent(figures.wasted),
    ]
}

/// Returns the rows with a limit, of each scene with overload.
#[must_use]
pub fn judge(outcomes: &[Outcome]) -> Vec<Verdict> {
    let scenes = Scene::all().filter(|scene| !matches!(scene, Scene::Load(load) if *load < OVERLOADED));
    scenes.flat_map(|scene| judge_scene(outcomes, scene)).collect()
}

fn judge_scene(outcomes: &[Outcome], scene: Scene) -> Vec<Verdict> {
    let of = |protection| {
        let found = outcomes.iter().find(|outcome| outcome.protection == protection && outcome.scene == scene);
        found.map(|outcome| outcome.figures)
    };
    let Some(ours) = of(scene.protections()[0]) else { return Vec::new() };
    let name = scene_name(scene);
    let goodput = |peer, theirs, limit| {
        let figures = Figures::of(ours.in_time, theirs, "answers/s");
        row(format!("answers in time, {name}"), peer, Ok(figures), Limit::AtLeast(limit))
    };
    let beside = scene.protections().into_iter().filter(|peer| peer.is_peer());
    let beside = beside.filter_map(|peer| Some(goodput(peer.name(), of(peer)?.in_time, AS_GOOD)));
    let slowest = ours.p99.map(|p99| Figures::of(millis(p99), millis(DEADLINE), "ms"));
    let slowest = slowest.ok_or_else(|| "no call was answered".to_owned());
    let slowest = row(format!("p99 of the answered, {name}"), "the deadline", slowest, Limit::Ratio(1.0));
    let answered = Figures::of(ours.answered() * 100.0, 100.0, "%");
    let first = match scene {
        Scene::Load(_) => Some(goodput("the upstream's capacity", CAPACITY, USED)),
        Scene::Bursts => None,
        Scene::Tenants => Some(row(format!("answered in time, {name}"), "all", Ok(answered), Limit::AtLeast(SERVED))),
    };
    first.into_iter().chain(beside).chain([slowest]).collect()
}

fn row(what: String, peer: &'static str, figures: Result<Figures, String>, limit: Limit) -> Verdict {
    let limit = Some(limit);
    let (at_least, headline) = (None, None);
    Verdict { goal: "overload", what, peer, figures, limit, at_least, is_exact: false, is_judged: true, headline }
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

pub(super) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// Returns the name of the calls that [`Outcome::figures`] count.
fn scene_name(scene: Scene) -> String {
    match scene {
        Scene::Load(load) => format!("load {} ×", number_of(load)),
        Scene::Bursts => "bursts".to_owned(),
        Scene::Tenants => "four tenants within their share".to_owned(),
    }
}

/// Formats a load: `0.5`, `10`.
pub(super) fn number_of(load: f64) -> String {
    if load.fract() < f64::EPSILON { format!("{load:.0}") } else { number(load).trim_end_matches('0').to_owned() }
}
