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
    pub(crate) fn of(ours: f64, peer: f64, unit: &'static str) -> Self {
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::goals::uncontended::FLOOR;

    pub(crate) fn verdict(ours: f64, peer: f64, limit: Limit) -> Verdict {
        let figures = Ok(Figures::of(ours, peer, "ns"));
        Verdict {
            goal: "g",
            what: "w".into(),
            peer: "p",
            figures,
            limit: Some(limit),
            at_least: None,
            is_exact: true,
            is_judged: true,
            headline: None,
        }
    }

    fn scene(name: &str) -> Scene {
        Scene::new(name, |_, _| {})
    }

    fn readings() -> Readings {
        let named =
            |pairs: &[(&str, f64)]| Ok(pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect());
        let counts = |pairs: &[(&str, f64)]| {
            let within = BTreeMap::from([("bulklink::event".to_owned(), 3.0), ("bulklink::other".to_owned(), 4.0)]);
            Ok(pairs
                .iter()
                .map(|(name, all)| {
                    ((*name).to_owned(), Counts { all: *all, locked: *all / 10.0, within: within.clone() })
                })
                .collect())
        };
        let time = |ours: &str, ours_ns, peer_ns, ratio| {
            let (ours, peer) = (ours.to_owned(), "b".to_owned());
            Comparison { ours, peer, ours_ns, peer_ns, ratio }
        };
        let floor = Comparison { peer: FLOOR.to_owned(), ..time("a", 5.0, 5.0, 1.0) };
        let thrice = [(3.0, 7.0, 0.5), (1.0, 9.0, 0.25), (2.0, 8.0, 0.75)];
        let thrice = thrice.map(|(ours_ns, peer_ns, ratio)| time("thrice", ours_ns, peer_ns, ratio));
        Readings {
            time: Ok([time("a", 10.0, 40.0, 0.2), floor].into_iter().chain(thrice).collect()),
            instructions: counts(&[("a", 50.0), ("b", 100.0), ("c", 40.0)]),
            without_statistics: counts(&[("a", 45.0)]),
            memory: named(&[("m", 1.0), ("none", 0.0)]),
            python: named(&[("p", 20_000.0)]),
            embedded: Err("no compiler".into()),
        }
    }

    fn figures_of(figure: &Figure) -> Result<(f64, Option<f64>, Option<f64>), String> {
        figures(figure, 1, &readings()).map(|figures| (figures.ours, figures.peer, figures.ratio))
    }

    #[test]
    fn each_kind_of_figure_finds_its_readings() {
        let (a, b) = (|| scene("a"), || scene("b"));
        let expected = [
            // The median of the ratios, and not the ratio of the medians.
            (Figure::Time(a(), b()), (10.0, Some(40.0), Some(0.2))),
            // The median of the runs.
            (Figure::Time(scene("thrice"), b()), (2.0, Some(8.0), Some(0.5))),
            (Figure::Instructions(a(), b()), (50.0, Some(100.0), Some(0.5))),
            (Figure::Locked(a(), b()), (5.0, Some(10.0), Some(0.5))),
            (Figure::Spread(vec![a(), b(), scene("c")]), (100.0, Some(40.0), Some(2.5))),
            (Figure::Builds(a()), (50.0, Some(45.0), Some(50.0 / 45.0))),
            (Figure::Within(a(), &["event"]), (3.0, None, None)),
            (Figure::Memory("m".into(), Some("none".into()), "bytes"), (1.0, Some(0.0), None)),
            (Figure::Memory("m".into(), None, "bytes"), (1.0, None, None)),
            (Figure::Python("a", "p"), (10.0, Some(20_000.0), Some(0.000_5))),
        ];
        for (figure, expected) in expected {
            assert_eq!(figures_of(&figure), Ok(expected), "{figure:?}");
        }
    }

    #[test]
    fn a_pair_with_fewer_runs_than_its_goal_asks_for_has_no_figure() {
        let judged = |runs| {
            let row = Row::time("w", "p", scene("thrice"), scene("b")).at_most(1.0);
            let goal = Goal::new("g", [row]).over_runs(runs);
            judge(&[goal], &readings()).remove(0)
        };
        assert!(judged(3).holds());
        assert_eq!(judged(5).figures, Err("3 of 5 runs of `thrice` and `b`".to_owned()));
        assert!(!judged(5).holds());
    }

    #[test]
    fn times_are_judged_only_where_a_locked_instruction_takes_two_to_three_nanoseconds() {
        let judged = |locked: Option<f64>, figure| {
            let mut readings = readings();
            let times = readings.time.as_mut().unwrap();
            times.retain(|pair| locked.is_some() || pair.peer != FLOOR);
            times.iter_mut().filter(|pair| pair.peer == FLOOR).for_each(|pair| pair.peer_ns = 2.0 * locked.unwrap());
            let verdict = judge(&[Goal::new("g", [Row::new("w", "p", figure).at_most(0.5)])], &readings).remove(0);
            (verdict.is_judged, verdict.holds())
        };
        for (locked, is_judged) in [(1.99, false), (2.0, true), (3.0, true), (3.01, false)] {
            assert_eq!(judged(Some(locked), Figure::Time(scene("a"), scene("b"))), (is_judged, is_judged));
            assert_eq!(judged(Some(locked), Figure::Python("a", "p")), (is_judged, is_judged));
            assert_eq!(judged(Some(locked), Figure::Instructions(scene("a"), scene("b"))), (true, true));
        }
        assert_eq!(judged(None, Figure::Time(scene("a"), scene("b"))), (false, false));
    }

    #[test]
    fn the_line_above_the_table_has_the_cost_of_a_locked_instruction() {
        let text = "A locked instruction takes 2.50 ns; times are judged where it takes 2 to 3 ns, as here.";
        assert_eq!(locked(&readings()).as_deref(), Some(text));
        assert_eq!(locked(&Readings { time: Err("no time".to_owned()), ..readings() }), None);
    }

    #[test]
    fn a_missed_limit_passes_the_gate_as_long_as_it_gets_no_worse() {
        let missed = verdict(4.0, 10.0, Limit::Ratio(0.3));
        let held = Verdict { at_least: Some(Limit::Ratio(0.4)), ..missed.clone() };
        let worse = Verdict { at_least: Some(Limit::Ratio(0.39)), ..missed.clone() };
        assert_eq!([&missed, &held, &worse].map(Verdict::passes_the_gate), [false, true, false]);
        assert!(!held.holds() && verdict(3.0, 10.0, Limit::Ratio(0.3)).passes_the_gate());
    }

    #[test]
    fn a_row_without_a_reading_says_why_and_does_not_hold() {
        for (figure, why) in [
            (Figure::Embedded("text", "bytes"), "no compiler"),
            (Figure::Instructions(scene("a"), scene("z")), "no count of `z`"),
            (Figure::Time(scene("b"), scene("a")), "no time of `b` and `a`"),
        ] {
            let goal = Goal::new("g", [Row::new("w", "p", figure).at_most(1e9)]);
            let verdict = judge(&[goal], &readings()).remove(0);
            assert_eq!((verdict.holds(), verdict.figures), (false, Err(why.to_owned())));
        }
    }

    #[test]
    fn a_figure_equal_to_its_limit_holds() {
        for limit in [Limit::Ratio(0.5), Limit::Ours(10.0), Limit::More(-10.0)] {
            assert!(verdict(10.0, 20.0, limit).holds(), "{limit:?}");
            assert!(!verdict(10.1, 20.0, limit).holds(), "{limit:?}");
        }
        assert!(verdict(10.0, 20.0, Limit::AtLeast(0.5)).holds() && verdict(0.0, 0.0, Limit::AtLeast(1.0)).holds());
        assert!(!verdict(9.9, 20.0, Limit::AtLeast(0.5)).holds());
    }
}
