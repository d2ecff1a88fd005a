//! Small multiples over time: a row for each limit, with its course and the answers.

use plotters::prelude::*;

use super::{Area, BLUE, Drawn, GRAY, LARGE, MEDIUM, SMALL, VERMILION, write};
use crate::measure::float;
use crate::overload::adaptive::Outcome;
use crate::overload::adaptive::scene::{Scene, WORKERS};
use crate::overload::adaptive::tally::{Reading, Recovery};
use crate::overload::upstream::WORK;

const HEAD: u32 = 72;
const ROW: u32 = 156;
const ROWS: u32 = 8;
pub(super) const HEIGHT: u32 = HEAD + ROWS * ROW + 34;

/// A column, with the figure of a reading and of the upstream's workers.
struct Column {
    title: &'static str,
    range: (f64, f64),
    labels: usize,
    figure: fn(&Reading) -> f64,
    workers: fn(f64) -> f64,
    label: fn(&f64) -> String,
}

/// The limit has a logarithmic axis: a doubling is one step.
const COLUMNS: [Column; 2] = [
    Column {
        title: "limit",
        range: (1.0, 9.0),
        labels: 4,
        figure: |reading| reading.limit.max(1.0).log2(),
        workers: f64::log2,
        label: |doublings| format!("{:.0}", doublings.exp2()),
    },
    Column {
        title: "answers in time (1/s)",
        range: (0.0, 1_150.0),
        labels: 3,
        figure: |reading| reading.in_time,
        workers: |workers| workers / WORK.as_secs_f64(),
        label: |rate| format!("{rate:.0}"),
    },
];

/// Draws [`Scene::Capacity`].
pub(super) fn draw(area: &Area<'_>, outcomes: &[Outcome]) -> Drawn {
    let (head, rest) = area.split_vertically(HEAD);
    let (rows, foot) = rest.split_vertically(ROWS * ROW);
    write(&head, "Adaptive limits, and the upstream's capacity (gray)", LARGE, (16, 12))?;
    for (place, column) in head.split_evenly((1, 2)).iter().zip(&COLUMNS) {
        write(place, column.title, MEDIUM, (46, 46))?;
    }
    write(&foot, "seconds", MEDIUM, (400, 6))?;
    let outcomes = outcomes.iter().filter(|outcome| outcome.scene == Scene::Capacity);
    for (row, outcome) in rows.split_evenly((8, 1)).iter().zip(outcomes) {
        write(row, &outcome.guard.to_string(), MEDIUM, (46, 8))?;
        let (_, panels) = row.split_vertically(30);
        for (panel, column) in panels.split_evenly((1, 2)).iter().zip(&COLUMNS) {
            draw_panel(panel, outcome, column)?;
        }
    }
    Ok(())
}

fn draw_panel(area: &Area<'_>, outcome: &Outcome, column: &Column) -> Drawn {
    let end = outcome.readings.last().map_or(1.0, |reading| reading.at);
    // A line at the top or the bottom must not lie on the frame.
    let margin = 0.06 * (column.range.1 - column.range.0);
    let mut chart = ChartBuilder::on(area)
        .margin_right(14)
        .x_label_area_size(26)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..end, column.range.0 - margin..column.range.1 + margin)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRAY.mix(0.5))
        .axis_style(GRAY)
        .disable_x_mesh()
        .x_labels(6)
        .y_labels(column.labels)
        .label_style(("sans-serif", SMALL))
        .x_label_formatter(&|seconds| format!("{seconds:.0}"))
        .y_label_formatter(&column.label)
        .draw()?;
    let workers = phases(&outcome.recoveries, end).map(|(at, workers)| (at, (column.workers)(workers)));
    chart.draw_series(LineSeries::new(workers, GRAY.stroke_width(4)))?;
    let color = if outcome.guard.is_ours() { BLUE } else { VERMILION };
    let course = outcome.readings.iter().map(|reading| (reading.at, (column.figure)(reading)));
    chart.draw_series(LineSeries::new(course, color.stroke_width(2)))?;
    Ok(())
}

/// Returns the corners of the line of the workers.
fn phases(changes: &[Recovery], end: f64) -> impl Iterator<Item = (f64, f64)> {
    let steps: Vec<_> = changes.iter().map(|change| change.at.as_secs_f64()).collect();
    let ends: Vec<f64> = steps.iter().copied().chain([end]).collect();
    let begins: Vec<f64> = [0.0].into_iter().chain(steps.iter().copied()).collect();
    let phases = begins.into_iter().zip(ends).zip(WORKERS);
    phases.flat_map(|((begin, end), workers)| [begin, end].map(|at| (at, float(workers as u128))))
}
