//! The outcomes as a table, and the rows that are judged.

use std::time::Duration;

use super::front::Protection;
use super::upstream::CAPACITY;
use super::{DEADLINE, LOADS, Outcome};
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

/// Returns all outcomes as a Markdown table.
#[must_use]
pub fn table(outcomes: &[Outcome]) -> String {
    let head = ["load", "in front of the upstream", "in time", "p50", "p99", "rejected", "given up", "wasted work"];
    let rows: Vec<_> = [head.map(str::to_owned)].into_iter().chain(outcomes.iter().map(cells)).collect();
    align(&rows)
}

fn cells(outcome: &Outcome) -> [String; 8] {
    let figures = &outcome.figures;
    let time = |time: Option<Duration>| time.map_or("-".to_owned(), |time| format!("{:.0} ms", millis(time)));
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    [
        format!("{} ×", number_of(outcome.load)),
        outcome.protection.name().to_owned(),
        format!("{:.0} /s", figures.in_time),
        time(figures.p50),
        time(figures.p99),
        percent(figures.rejected),
        percent(figures.given_up),
        percent(figures.wasted),
    ]
}

/// Returns the rows with a limit, of each load above the capacity.
#[must_use]
pub fn judge(outcomes: &[Outcome]) -> Vec<Verdict> {
    LOADS.into_iter().filter(|load| *load >= OVERLOADED).flat_map(|load| judge_load(outcomes, load)).collect()
}

fn judge_load(outcomes: &[Outcome], load: f64) -> Vec<Verdict> {
    let of = |protection| {
        let found = outcomes.iter().find(|outcome| outcome.protection == protection && near(outcome.load, load));
        found.map(|outcome| outcome.figures)
    };
    let Some(ours) = of(Protection::Bulklink) else { return Vec::new() };
    let what = format!("answers in time, load {} ×", number_of(load));
    let goodput = |peer, theirs, limit| {
        let figures = Figures::of(ours.in_time, theirs, "answers/s");
        row(what.clone(), peer, Ok(figures), Limit::AtLeast(limit))
    };
    let beside = Protection::ALL.into_iter().filter(|peer| peer.is_peer());
    let beside = beside.filter_map(|peer| Some(goodput(peer.name(), of(peer)?.in_time, AS_GOOD)));
    let slowest = ours.p99.map(|p99| Figures::of(millis(p99), millis(DEADLINE), "ms"));
    let slowest = slowest.ok_or_else(|| "no call was answered".to_owned());
    let what = format!("p99 of the answered, load {} ×", number_of(load));
    [goodput("the upstream's capacity", CAPACITY, USED)]
        .into_iter()
        .chain(beside)
        .chain([row(what, "the deadline", slowest, Limit::Ratio(1.0))])
        .collect()
}

fn row(what: String, peer: &'static str, figures: Result<Figures, String>, limit: Limit) -> Verdict {
    let limit = Some(limit);
    let (at_least, headline) = (None, None);
    Verdict { goal: "overload", what, peer, figures, limit, at_least, is_exact: false, is_judged: true, headline }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < f64::EPSILON
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// Formats a load: `0.5`, `10`.
pub(super) fn number_of(load: f64) -> String {
    if near(load.fract(), 0.0) { format!("{load:.0}") } else { number(load).trim_end_matches('0').to_owned() }
}
