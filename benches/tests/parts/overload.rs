//! The measurement of goodput, and its report.

use std::time::Duration;
use std::{env, fs, process};

use bulklink_benches::overload::front::Protection;
use bulklink_benches::overload::plot::draw;
use bulklink_benches::overload::report::{judge, table};
use bulklink_benches::overload::tally::Figures;
use bulklink_benches::overload::{Effort, LOADS, Outcome, measure};
use bulklink_benches::report::verdict::Verdict;

#[test]
fn each_protection_answers_a_light_load() {
    let effort = Effort { warm_up: Duration::ZERO, measured: Duration::from_millis(300) };
    for protection in Protection::ALL {
        let figures = measure(protection, 0.25, effort).unwrap();
        assert!(figures.in_time > 0.0 && figures.p99.is_some(), "{}: {figures:?}", protection.name());
    }
}

fn outcome(protection: Protection, load: f64, in_time: f64) -> Outcome {
    let p99 = Some(Duration::from_millis(150));
    let figures = Figures { in_time, p99, wasted: 0.25, ..Figures::default() };
    Outcome { protection, load, figures }
}

#[test]
fn the_table_has_a_line_for_each_outcome() {
    let text = table(&[outcome(Protection::Bulklink, 0.5, 99.6), outcome(Protection::Nothing, 10.0, 0.0)]);
    let lines: Vec<_> = text.lines().map(|line| line.replace(' ', "")).collect();
    assert_eq!(lines[2], "|0.5×|Bulklink|100/s|-|150ms|0%|0%|25%|");
    assert_eq!(lines[3], "|10×|nothing|0/s|-|150ms|0%|0%|25%|");
}

#[test]
fn ours_must_use_the_capacity_and_be_no_worse_than_each_peer() {
    let judged = |ours, tower| {
        let outcomes = [
            outcome(Protection::Bulklink, 1.0, 1.0),
            outcome(Protection::Bulklink, 2.0, ours),
            outcome(Protection::Nothing, 2.0, 0.0),
            outcome(Protection::Tower, 2.0, tower),
        ];
        judge(&outcomes).iter().map(Verdict::holds).collect::<Vec<_>>()
    };
    assert_eq!(judged(190.0, 191.0), [true, true, true, true]);
    assert_eq!(judged(189.0, 191.0), [false, true, false, true]);
}

#[test]
fn a_row_without_answers_does_not_hold() {
    let outcomes = [Outcome { figures: Figures::default(), ..outcome(Protection::Bulklink, 2.0, 0.0) }];
    assert!(judge(&outcomes).iter().all(|verdict| !verdict.holds()));
}

#[test]
fn a_plot_names_its_axes_loads_and_lines() {
    let outcome = |load| Outcome { protection: Protection::Tower, load, figures: Figures::default() };
    let path = env::temp_dir().join(format!("bulklink-plot-{}.svg", process::id()));
    draw(&LOADS.map(outcome), &path).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(path).unwrap();
    let names = Protection::ALL.map(Protection::name).map(|name| name.replace('\'', "&apos;"));
    let expected = ["answers in time (1/s)", "wasted work (%)", "0.5 ×", "10 ×"].map(str::to_owned);
    for expected in expected.into_iter().chain(names) {
        assert!(text.contains(&expected), "{expected}");
    }
}
