//! The rows with their figures, and whether they hold. A row without a figure does not.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::readings::{Named, Readings, Source};
use crate::goal::{Figure, Goal, Limit, Row};
use crate::measure::instructions::Counts;
use crate::measure::time::{Comparison, median};
use crate::scene::Scene;

/// The nanoseconds of a locked instruction on a machine that times are judged on. It decides
/// between code with more of them and code with more of the others, so on other machines a limit of
/// a time means nothing for the code.
pub const LOCKED: RangeInclusive<f64> = 2.0..=3.0;

/// A row and its figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The goal's id.
    pub goal: &'static str,
    /// The measured quantity, in words.
    pub what: String,
    /// The name of what ours is compared with.
    pub peer: &'static str,
    /// The figures, or the reason why there are none.
    pub figures: Result<Figures, String>,
    /// The limit, or none for a row for information.
    pub limit: Option<Limit>,
    /// The limit that the gate applies instead when `limit` is missed.
    pub at_least: Option<Limit>,
    /// Whether every run gives the same figures.
    pub is_exact: bool,
    /// Whether the figures are judged on this machine, where times may depend on it too much.
    pub is_judged: bool,
    /// The text of the row in the summary, if it is shown there.
    pub headline: Option<&'static str>,
}

/// Two figures and their ratio.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Ours.
    pub ours: f64,
    /// The peer's, if there is a peer.
    pub peer: Option<f64>,
    /// Ours ÷ the peer's; for times, the median of the rounds' ratios.
    pub ratio: Option<f64>,
    /// The unit of both.
    pub unit: &'static str,
}

/// Returns a line for above the table: the cost of a locked instruction, if times were measured.
#[must_use]
pub fn locked(readings: &Readings) -> Option<String> {
    let locked = readings.locked()?;
    let [least, most] = [LOCKED.start(), LOCKED.end()];
    let here = if LOCKED.contains(&locked) { "as here" } else { "so not here" };
    let judged = format!("times are judged where it takes {least} to {most} ns, {here}");
    Some(format!("A locked instruction takes {locked:.2} ns; {judged}."))
}

/// Judges every row.
#[must_use]
pub fn judge(goals: &[Goal], readings: &Readings) -> Vec<Verdict> {
    let rows = goals.iter().flat_map(|goal| goal.rows.iter().map(move |row| (goal, row)));
    let judges_times = readings.locked().is_some_and(|locked| LOCKED.contains(&locked));
    rows.map(|(goal, row)| judge_row(goal, row, readings, judges_times)).collect()
}

fn judge_row(goal: &Goal, row: &Row, readings: &Readings, judges_times: bool) -> Verdict {
    let figures = figures(&row.figure, goal.runs, readings);
    Verdict {
        goal: goal.id,
        what: row.what.clone(),
        peer: row.peer,
        figures,
        limit: row.limit,
        at_least: row.at_least,
        is_exact: row.figure.is_exact(),
        is_judged: row.figure.is_exact() || judges_times,
        headline: row.headline,
    }
}

impl Verdict {
    /// Returns whether there is a limit, and figures within it that are judged.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.is_judged && self.keeps(self.limit)
    }

    /// Returns whether the row holds, or misses its limit by no more than before.
    #[must_use]
    pub fn passes_the_gate(&self) -> bool {
        self.holds() || self.keeps(self.at_least)
    }

    fn keeps(&self, limit: Option<Limit>) -> bool {
        let (Ok(figures), Some(limit)) = (&self.figures, limit) else { return false };
        match limit {
            Limit::Ratio(limit) => figures.ratio.is_some_and(|ratio| ratio <= limit),
            Limit::Ours(limit) => figures.ours <= limit,
            Limit::More(limit) => figures.peer.is_some_and(|peer| figures.ours - peer <= limit),
            Limit::AtLeast(limit) => figures.peer.is_some_and(|peer| figures.ours >= limit * peer),
        }
    }
}

fn figures(figure: &Figure, runs: usize, readings: &Readings) -> Result<Figures, String> {
    match figure {
        Figure::Time(ours, peer) => timed(ours, peer, runs, readings),
        Figure::Instructions(ours, peer) => {
            let counts = &readings.instructions;
            Ok(Figures::of(counted(counts, ours)?.all, counted(counts, peer)?.all, "instructions"))
        }
        Figure::Locked(ours, peer) => {
            let counts = &readings.instructions;
            Ok(Figures::of(counted(counts, ours)?.locked, counted(counts, peer)?.locked, "locked instructions"))
        }
        Figure::Spread(scenes) => spread(scenes, &readings.instructions),
        Figure::Builds(scene) => {
            let (with, without) = (&readings.instructions, &readings.without_statistics);
            Ok(Figures::of(counted(with, scene)?.all, counted(without, scene)?.all, "instructions"))
        }
        Figure::Within(scene, words) => {
            Ok(Figures::alone(counted(&readings.instructions, scene)?.within(words), "instructions"))
        }
        Figure::Memory(ours, peer, unit) => {
            let memory = available(&readings.memory)?;
            let ours = named(memory, ours)?;
            let Some(peer) = peer else { return Ok(Figures::alone(ours, unit)) };
            Ok(Figures::of(ours, named(memory, peer)?, unit))
        }
        Figure::Python(ours, peer) => {
            Ok(Figures::of(our_time(ours, readings)?, named(available(&readings.python)?, peer)?, "ns"))
        }
        Figure::Embedded(name, unit) => Ok(Figures::alone(named(available(&readings.embedded)?, name)?, unit)),
    }
}

impl Figures {
    /// Makes the figures of ours and of a peer.
    #[must_use]
    pub fn of(ours: f64, peer: f64, unit: &'static str) -> Self {
        // Where the peer needs no allocation, there is no ratio.
        let ratio = (peer != 0.0).then(|| ours / peer);
        Figures { ours, peer: Some(peer), ratio, unit }
    }

    fn alone(ours: f64, unit: &'static str) -> Self {
        Figures { ours, peer: None, ratio: None, unit }
    }
}

fn available<T>(source: &Source<T>) -> Result<&T, String> {
    source.as_ref().map_err(Clone::clone)
}

fn named(readings: &Named, name: &str) -> Result<f64, String> {
    readings.get(name).copied().ok_or_else(|| format!("no reading of `{name}`"))
}

fn counted<'a>(counts: &'a Source<BTreeMap<String, Counts>>, scene: &Scene) -> Result<&'a Counts, String> {
    available(counts)?.get(&scene.name).ok_or_else(|| format!("no count of `{}`", scene.name))
}

/// Returns the medians over all runs.
fn timed(ours: &Scene, peer: &Scene, runs: usize, readings: &Readings) -> Result<Figures, String> {
    let comparisons = available(&readings.time)?.iter();
    let found: Vec<_> = comparisons.filter(|pair| pair.ours == ours.name && pair.peer == peer.name).collect();
    if found.is_empty() {
        return Err(format!("no time of `{}` and `{}`", ours.name, peer.name));
    }
    if found.len() < runs {
        return Err(format!("{} of {runs} runs of `{}` and `{}`", found.len(), ours.name, peer.name));
    }
    let over_runs = |figure: fn(&Comparison) -> f64| median(found.iter().map(|pair| figure(pair)));
    let ratio = Some(over_runs(|pair| pair.ratio));
    Ok(Figures { ours: over_runs(|pair| pair.ours_ns), peer: Some(over_runs(|pair| pair.peer_ns)), ratio, unit: "ns" })
}

/// Returns our time from the first pair with the scene.
fn our_time(ours: &str, readings: &Readings) -> Result<f64, String> {
    let found = available(&readings.time)?.iter().find(|pair| pair.ours == ours);
    found.map(|pair| pair.ours_ns).ok_or_else(|| format!("no time of `{ours}`"))
}

fn spread(scenes: &[Scene], counts: &Source<BTreeMap<String, Counts>>) -> Result<Figures, String> {
    let counts = scenes.iter().map(|scene| Ok(counted(counts, scene)?.all)).collect::<Result<Vec<_>, String>>()?;
    let most = counts.iter().copied().fold(f64::MIN, f64::max);
    let least = counts.iter().copied().fold(f64::MAX, f64::min);
    Ok(Figures::of(most, least, "instructions"))
}
