//! The outcomes as tables, and the rows that are judged.

use std::time::Duration;

use super::scene::Scene;
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
const SERVED: f64 = 0.99;
/// The part of the capacity that answers in time to tenants must take.
const USED_BY_TENANTS: f64 = 0.97;

/// Returns all outcomes as Markdown: a table for the loads, and one for each other scene.
#[must_use]
pub fn tables(outcomes: &[Outcome]) -> String {
    let is_load = |scene| matches!(scene, Scene::Load(_));
    let tables = outcomes.chunk_by(|a, b| a.scene == b.scene || is_load(a.scene) && is_load(b.scene));
    let table = |outcomes: &[Outcome]| match outcomes {
        [Outcome { scene: Scene::Tenants, .. }, ..] => tenants_table(outcomes),
        _ => table(outcomes),
    };
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
    let rows: Vec<_> = [head.map(str::to_owned)].into_iter().chain(outcomes.iter().map(cells)).collect();
    align(&rows)
}

fn cells(outcome: &Outcome) -> [String; 9] {
    let figures = &outcome.figures;
    [
        scene_name(outcome.scene),
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

/// Returns a table of [`Scene::Tenants`], with both kinds of tenants in a row.
fn tenants_table(outcomes: &[Outcome]) -> String {
    let head = [
        "in front of the upstream",
        "the nine: answered",
        "p50",
        "p99",
        "the tenth: in time",
        "p50",
        "capacity used in time",
        "in vain",
    ];
    let cells = |Outcome { protection, figures, greedy, used, .. }: &Outcome| {
        let greedy = greedy.unwrap_or_default();
        [
            protection.name().to_owned(),
            tenths(figures.answered()),
            time(figures.p50),
            time(figures.p99),
            format!("{:.0} /s", greedy.in_time),
            time(greedy.p50),
            tenths(used.in_time()),
            tenths(used.in_vain),
        ]
    };
    let rows: Vec<_> = [head.map(str::to_owned)].into_iter().chain(outcomes.iter().map(cells)).collect();
    align(&rows)
}

fn time(time: Option<Duration>) -> String {
    time.map_or("-".to_owned(), |time| format!("{:.0} ms", millis(time)))
}

/// Returns the rows with a limit, of each scene with overload.
#[must_use]
pub fn judge(outcomes: &[Outcome]) -> Vec<Verdict> {
    let scenes = Scene::of_all().chain([Scene::Tenants]);
    let scenes = scenes.filter(|scene| !matches!(scene, Scene::Load(load) if *load < OVERLOADED));
    scenes.flat_map(|scene| judge_scene(outcomes, scene)).collect()
}

fn judge_scene(outcomes: &[Outcome], scene: Scene) -> Vec<Verdict> {
    let of = |protection| outcomes.iter().find(|outcome| outcome.protection == protection && outcome.scene == scene);
    let Some(Outcome { figures: ours, used, .. }) = of(scene.protections()[0]) else { return Vec::new() };
    let name = scene_name(scene);
    let of = |protection| of(protection).map(|outcome| outcome.figures);
    let goodput = |peer, theirs, limit| {
        let figures = Figures::of(ours.in_time, theirs, "answers/s");
        row(format!("answers in time, {name}"), peer, Ok(figures), Limit::AtLeast(limit))
    };
    let beside = scene.protections().into_iter().filter(|peer| peer.is_peer());
    let beside = beside.filter_map(|peer| Some(goodput(peer.name(), of(peer)?.in_time, AS_GOOD)));
    let slowest = ours.p99.map(|p99| Figures::of(millis(p99), millis(DEADLINE), "ms"));
    let slowest = slowest.ok_or_else(|| "no call was answered".to_owned());
    let slowest = row(format!("p99 of the answered, {name}"), "the deadline", slowest, Limit::Ratio(1.0));
    let part = |what: String, part: f64, limit| {
        row(what, "all", Ok(Figures::of(part * 100.0, 100.0, "%")), Limit::AtLeast(limit))
    };
    let first = match scene {
        Scene::Load(_) => vec![goodput("the upstream's capacity", CAPACITY, USED)],
        Scene::Bursts => vec![],
        Scene::Tenants => vec![
            part(format!("answered in time, {name}"), ours.answered(), SERVED),
            part("capacity used in time, ten tenants".to_owned(), used.in_time(), USED_BY_TENANTS),
        ],
    };
    first.into_iter().chain(beside).chain([slowest]).collect()
}

fn row(what: String, peer: &'static str, figures: Result<Figures, String>, limit: Limit) -> Verdict {
    let limit = Some(limit);
    let (at_least, headline) = (None, None);
    Verdict { goal: "overload", what, peer, figures, limit, at_least, is_exact: false, is_judged: true, headline }
}

/// Formats a part of which the tenths of a percent matter.
pub(super) fn tenths(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
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
        Scene::Tenants => "nine tenants within their share".to_owned(),
    }
}

/// Formats a load: `0.5`, `10`.
pub(super) fn number_of(load: f64) -> String {
    if load.fract() < f64::EPSILON { format!("{load:.0}") } else { number(load).trim_end_matches('0').to_owned() }
}
