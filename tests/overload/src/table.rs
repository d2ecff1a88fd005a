//! The tables, in Markdown.

use std::fmt::Write;

use crate::contestants::Contestant;
use crate::describe::describe;
use crate::results::{Figure, Results};
use crate::score::Score;

/// The least goodput in a geometric mean.
const LEAST: f64 = 1e-3;

/// A median this close to the best is as good.
const CLOSE: f64 = 0.05;

const GOODPUT: Figure = |score| score.goodput;

/// Returns the table of all sets: a column for each controller.
pub fn summary(all: &[Results]) -> String {
    let contestants = &all[0].contestants;
    let mut table = head("", contestants.iter().map(|contestant| contestant.name));
    for results in all {
        let of_set = |what: &str| format!("{}: {what}", results.set);
        let each = |figure: &dyn Fn(usize) -> String| (0..contestants.len()).map(figure).collect::<Vec<_>>();
        row(&mut table, &of_set("geometric mean"), each(&|c| format!("{:.3}", geometric_mean(results, c))));
        row(&mut table, &of_set("worst plant"), each(&|c| format!("{:.2}", worst_plant(results, c))));
        row(&mut table, &of_set("worst run"), each(&|c| format!("{:.2}", worst_run(results, c))));
        row(&mut table, &of_set("plants within .05 of the best"), each(&|c| close_plants(results, c).to_string()));
        row(&mut table, &of_set("plants with a run below .5"), each(&|c| low_plants(results, c).to_string()));
        row(&mut table, &of_set("limit error, octaves"), each(&|c| format!("{:.2}", mean(results, c, |s| s.error))));
        row(&mut table, &of_set("p99 ÷ best fixed's"), each(&|c| format!("{:.2}", mean(results, c, latency))));
    }
    for (what, plant) in [("refused at load .7 (l)", "l"), ("refused at load .7 in batches of 20 (H4)", "H4")] {
        for results in all {
            if let Some(index) = results.plants.iter().position(|found| found.short_name() == plant) {
                let refused = |contestant| format!("{:.3}", results.median(index, contestant, |score| score.refused));
                row(&mut table, what, (0..contestants.len()).map(refused));
            }
        }
    }
    table
}

/// Returns the tables of one set: a row for each plant.
pub fn details(results: &Results) -> String {
    let mut text = String::from("Goodput in time ÷ best fixed limit: the median, and the worst run.\n\n");
    let best = |plant: usize| format!("{} ({:.0}/s)", results.best[plant].limit, results.best[plant].goodput);
    text += &by_plant(results, "best limit", best, |plant, contestant| {
        let (median, worst) = (results.median(plant, contestant, GOODPUT), results.worst(plant, contestant));
        Some(format!("{median:.2} ({worst:.2})"))
    });
    let limit = |plant: usize| results.best[plant].limit.to_string();
    text += "\nMean limit; distance from the best limit in the second half, in octaves.\n\n";
    text += &by_plant(results, "best limit", limit, |plant, contestant| {
        let limit = results.median(plant, contestant, |score| score.limit);
        Some(format!("{limit:.0}; {:.2}", results.median(plant, contestant, |score| score.error)))
    });
    text += "\n99th percentile of the latency ÷ that of the best fixed limit.\n\n";
    let seconds = |plant: usize| format!("{:.3} s", results.best[plant].latency);
    text += &by_plant(results, "best's", seconds, |plant, contestant| {
        Some(number(results.median(plant, contestant, latency)))
    });
    if results.plants.iter().any(|plant| plant.change.is_some()) {
        text += "\nSeconds from the change to three seconds at 90 % of the new capacity.\n\n";
        let change = |plant: usize| results.plants[plant].change.map_or(String::new(), |time| format!("{time} s"));
        text += &by_plant(results, "change at", change, |plant, contestant| {
            results.plants[plant].change?;
            let seconds = results.median(plant, contestant, |score| score.recovery.unwrap_or(f64::INFINITY));
            Some(if seconds.is_finite() { format!("{seconds:.0}") } else { "never".into() })
        });
    }
    text
}

/// Returns the definitions of the plants of a set.
pub fn definitions(results: &Results) -> String {
    let mut table = head("plant", ["definition"]);
    for plant in &results.plants {
        row(&mut table, plant.name, [describe(plant)]);
    }
    table
}

/// Returns a table of the controllers: what each follows and what it knows.
pub fn peers(contestants: &[Contestant]) -> String {
    let mut table = head("rule", ["follows", "knows"]);
    for contestant in contestants {
        row(&mut table, contestant.name, [contestant.follows, contestant.knows]);
    }
    table
}

/// Returns an hour of one plant: goodput, limit and drift.
pub fn hour(results: &Results) -> String {
    let contestants = results.contestants.iter().map(|contestant| contestant.name);
    let mut table = head("", contestants);
    let figures: [(&str, Figure); 3] =
        [("goodput ÷ best fixed", GOODPUT), ("mean limit", |s| s.limit), ("last ÷ first tenth", |s| s.drift)];
    for (what, figure) in figures {
        row(&mut table, what, (0..results.contestants.len()).map(|c| format!("{:.2}", results.median(0, c, figure))));
    }
    table
}

/// Returns the geometric means and worst plants of sets.
pub fn means(all: &[Results]) -> String {
    let contestants = &all[0].contestants;
    let mut table = head("", contestants.iter().map(|contestant| contestant.name));
    for results in all {
        let mean = |c| format!("{:.3} ({:.2})", geometric_mean(results, c), worst_plant(results, c));
        row(&mut table, results.set, (0..contestants.len()).map(mean));
    }
    table
}

/// A table with a row for each plant for which `cell` returns some text.
fn by_plant(
    results: &Results,
    second: &str,
    about: impl Fn(usize) -> String,
    cell: impl Fn(usize, usize) -> Option<String>,
) -> String {
    let names = results.contestants.iter().map(|contestant| contestant.name);
    let mut table = head("plant", [second].into_iter().chain(names));
    for (index, plant) in results.plants.iter().enumerate() {
        let cells: Option<Vec<_>> = (0..results.contestants.len()).map(|contestant| cell(index, contestant)).collect();
        if let Some(cells) = cells {
            row(&mut table, plant.name, [about(index)].into_iter().chain(cells));
        }
    }
    table
}

fn head<'a>(first: &'a str, others: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<_> = others.into_iter().collect();
    let mut table = String::new();
    row(&mut table, first, &names);
    row(&mut table, "---", names.iter().map(|_| "---"));
    table
}

fn row<T: AsRef<str>>(table: &mut String, first: &str, others: impl IntoIterator<Item = T>) {
    table.push_str("| ");
    table.push_str(first);
    for cell in others {
        let _ = write!(table, " | {}", cell.as_ref());
    }
    table.push_str(" |\n");
}

fn latency(score: &Score) -> f64 {
    score.latency.unwrap_or(f64::NAN)
}

/// A number with two decimals, or a dash for none.
fn number(value: f64) -> String {
    if value.is_nan() { "–".into() } else { format!("{value:.2}") }
}

fn medians(results: &Results, contestant: usize, figure: Figure) -> impl Iterator<Item = f64> {
    (0..results.plants.len()).map(move |plant| results.median(plant, contestant, figure))
}

/// The geometric mean of the medians of the goodput.
pub fn geometric_mean(results: &Results, contestant: usize) -> f64 {
    let sum: f64 = medians(results, contestant, GOODPUT).map(|median| libm::log(median.max(LEAST))).sum();
    libm::exp(sum / results.plants.len() as f64)
}

fn worst_plant(results: &Results, contestant: usize) -> f64 {
    medians(results, contestant, GOODPUT).fold(f64::INFINITY, f64::min)
}

fn worst_run(results: &Results, contestant: usize) -> f64 {
    (0..results.plants.len()).map(|plant| results.worst(plant, contestant)).fold(f64::INFINITY, f64::min)
}

fn close_plants(results: &Results, contestant: usize) -> usize {
    let is_close = |plant: &usize| {
        let of = |contestant| results.median(*plant, contestant, GOODPUT);
        let best = (0..results.contestants.len()).map(of).fold(0.0, f64::max);
        of(contestant) >= best - CLOSE
    };
    (0..results.plants.len()).filter(is_close).count()
}

fn low_plants(results: &Results, contestant: usize) -> usize {
    (0..results.plants.len()).filter(|plant| results.worst(*plant, contestant) < 0.5).count()
}

/// The mean of the medians that are numbers.
fn mean(results: &Results, contestant: usize, figure: Figure) -> f64 {
    let numbers: Vec<f64> = medians(results, contestant, figure).filter(|median| !median.is_nan()).collect();
    numbers.iter().sum::<f64>() / numbers.len() as f64
}
