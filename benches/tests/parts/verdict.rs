//! The judgement of the rows.

use std::collections::BTreeMap;

use bulklink_benches::goal::{Figure, Goal, Limit, Row};
use bulklink_benches::goals::uncontended::FLOOR;
use bulklink_benches::measure::instructions::Counts;
use bulklink_benches::measure::time::Comparison;
use bulklink_benches::report::readings::Readings;
use bulklink_benches::report::verdict::{Figures, Verdict, judge, locked};
use bulklink_benches::scene::Scene;

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
    let named = |pairs: &[(&str, f64)]| Ok(pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect());
    let counts = |pairs: &[(&str, f64)]| {
        let within = BTreeMap::from([("bulklink::event".to_owned(), 3.0), ("bulklink::other".to_owned(), 4.0)]);
        Ok(pairs
            .iter()
            .map(|(name, all)| ((*name).to_owned(), Counts { all: *all, locked: *all / 10.0, within: within.clone() }))
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

fn figures_of(figure: Figure) -> Result<(f64, Option<f64>, Option<f64>), String> {
    let goal = Goal::new("g", [Row::new("w", "p", figure)]);
    judge(&[goal], &readings()).remove(0).figures.map(|figures| (figures.ours, figures.peer, figures.ratio))
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
        let name = format!("{figure:?}");
        assert_eq!(figures_of(figure), Ok(expected), "{name}");
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
