//! The rows with their figures, and whether they hold. A figure that is missing does not.

use std::collections::BTreeMap;

use super::readings::{Named, Readings, Source};
use crate::goal::{Figure, Goal, Limit, Row};
use crate::measure::instructions::Counts;
use crate::scene::Scene;

/// A row that was judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Its goal.
    pub goal: &'static str,
    /// In words.
    pub what: String,
    /// Whom ours is compared with.
    pub peer: &'static str,
    /// What was read, or why nothing was.
    pub figures: Result<Figures, String>,
    /// What must hold; none is for information.
    pub limit: Option<Limit>,
    /// Where that is missed, what the gate asks for.
    pub at_least: Option<Limit>,
    /// Whether the figures are the same every time.
    pub is_exact: bool,
}

/// Two figures and what is between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Ours.
    pub ours: f64,
    /// The peer's. None where a limit stands alone.
    pub peer: Option<f64>,
    /// Ours ÷ the peer's; where there are rounds, their median.
    pub ratio: Option<f64>,
    /// Of both.
    pub unit: &'static str,
}

/// Judges every row.
#[must_use]
pub fn judge(goals: &[Goal], readings: &Readings) -> Vec<Verdict> {
    let rows = goals.iter().flat_map(|goal| goal.rows.iter().map(|row| (goal.id, row)));
    rows.map(|(goal, row)| judge_row(goal, row, readings)).collect()
}

fn judge_row(goal: &'static str, row: &Row, readings: &Readings) -> Verdict {
    let figures = figures(&row.figure, readings);
    Verdict {
        goal,
        what: row.what.clone(),
        peer: row.peer,
        figures,
        limit: row.limit,
        at_least: row.at_least,
        is_exact: row.figure.is_exact(),
    }
}

impl Verdict {
    /// Whether there is a limit, and figures that keep it.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.keeps(self.limit)
    }

    /// Whether it is no worse than it was when the limit was missed, where that is so.
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
        }
    }
}

fn figures(figure: &Figure, readings: &Readings) -> Result<Figures, String> {
    match figure {
        Figure::Time(ours, peer) => timed(ours, peer, readings),
        Figure::Instructions(ours, peer) => {
            let counts = &readings.instructions;
            Ok(Figures::of(counted(counts, ours)?.all, counted(counts, peer)?.all, "instructions"))
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
            Ok(Figures::of(named(memory, ours)?, named(memory, peer)?, unit))
        }
        Figure::Python(ours, peer) => {
            Ok(Figures::of(our_time(ours, readings)?, named(available(&readings.python)?, peer)?, "ns"))
        }
        Figure::Embedded(name, unit) => Ok(Figures::alone(named(available(&readings.embedded)?, name)?, unit)),
    }
}

impl Figures {
    fn of(ours: f64, peer: f64, unit: &'static str) -> Self {
        // No allocations divided by none say nothing.
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

fn timed(ours: &Scene, peer: &Scene, readings: &Readings) -> Result<Figures, String> {
    let mut comparisons = available(&readings.time)?.iter();
    let found = comparisons.find(|pair| pair.ours == ours.name && pair.peer == peer.name);
    let found = found.ok_or_else(|| format!("no time of `{}` and `{}`", ours.name, peer.name))?;
    Ok(Figures { ours: found.ours_ns, peer: Some(found.peer_ns), ratio: Some(found.ratio), unit: "ns" })
}

/// From the first pair it is in.
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
    use crate::measure::time::Comparison;

    pub(crate) fn verdict(ours: f64, peer: f64, limit: Limit) -> Verdict {
        let figures = Ok(Figures::of(ours, peer, "ns"));
        Verdict { goal: "g", what: "w".into(), peer: "p", figures, limit: Some(limit), at_least: None, is_exact: true }
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
                .map(|(name, all)| ((*name).to_owned(), Counts { all: *all, within: within.clone() }))
                .collect())
        };
        let time = Comparison { ours: "a".into(), peer: "b".into(), ours_ns: 10.0, peer_ns: 40.0, ratio: 0.2 };
        Readings {
            time: Ok(vec![time]),
            instructions: counts(&[("a", 50.0), ("b", 100.0), ("c", 40.0)]),
            without_statistics: counts(&[("a", 45.0)]),
            memory: named(&[("m", 1.0), ("none", 0.0)]),
            python: named(&[("p", 20_000.0)]),
            embedded: Err("no compiler".into()),
        }
    }

    fn figures_of(figure: &Figure) -> Result<(f64, Option<f64>, Option<f64>), String> {
        figures(figure, &readings()).map(|figures| (figures.ours, figures.peer, figures.ratio))
    }

    #[test]
    fn each_kind_of_figure_finds_its_readings() {
        let (a, b) = (|| scene("a"), || scene("b"));
        let expected = [
            // The median of the ratios, and not the ratio of the medians.
            (Figure::Time(a(), b()), (10.0, Some(40.0), Some(0.2))),
            (Figure::Instructions(a(), b()), (50.0, Some(100.0), Some(0.5))),
            (Figure::Spread(vec![a(), b(), scene("c")]), (100.0, Some(40.0), Some(2.5))),
            (Figure::Builds(a()), (50.0, Some(45.0), Some(50.0 / 45.0))),
            (Figure::Within(a(), &["event"]), (3.0, None, None)),
            (Figure::Memory("m".into(), "none".into(), "bytes"), (1.0, Some(0.0), None)),
            (Figure::Python("a", "p"), (10.0, Some(20_000.0), Some(0.000_5))),
        ];
        for (figure, expected) in expected {
            assert_eq!(figures_of(&figure), Ok(expected), "{figure:?}");
        }
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
    fn what_was_not_read_says_why_and_does_not_hold() {
        for (figure, why) in [
            (Figure::Embedded("text", "bytes"), "no compiler"),
            (Figure::Instructions(scene("a"), scene("z")), "no count of `z`"),
            (Figure::Time(scene("b"), scene("a")), "no time of `b` and `a`"),
        ] {
            let row = Row::new("w", "p", figure).at_most(1e9);
            let verdict = judge_row("g", &row, &readings());
            assert_eq!((verdict.holds(), verdict.figures), (false, Err(why.to_owned())));
        }
    }

    #[test]
    fn a_limit_holds_up_to_its_very_value() {
        for limit in [Limit::Ratio(0.5), Limit::Ours(10.0), Limit::More(-10.0)] {
            assert!(verdict(10.0, 20.0, limit).holds(), "{limit:?}");
            assert!(!verdict(10.1, 20.0, limit).holds(), "{limit:?}");
        }
    }
}
