//! Small multiples: a row for each protection, a column for each figure, by the offered load.

use plotters::prelude::*;

use super::{Area, BLUE, Drawn, GRAY, LARGE, MEDIUM, SMALL, VERMILION, mark, write};
use crate::overload::Outcome;
use crate::overload::front::Protection;
use crate::overload::report::{millis, number_of};
use crate::overload::scene::{LOADS, Scene};
use crate::overload::tally::Figures;
use crate::overload::upstream::CAPACITY;

const HEAD: u32 = 72;
const ROW: u32 = 156;
pub(super) const HEIGHT: u32 = HEAD + 6 * ROW + 34;

/// A column. It has one line, or two with an area between.
struct Column {
    title: &'static str,
    top: f64,
    lines: &'static [fn(&Figures) -> Option<f64>],
}

const COLUMNS: [Column; 3] = [
    Column { title: "answers in time (1/s)", top: CAPACITY, lines: &[|figures| Some(figures.in_time)] },
    Column {
        title: "● p50 and ○ p99 (ms)",
        top: 200.0,
        lines: &[|figures| figures.p50.map(millis), |figures| figures.p99.map(millis)],
    },
    Column { title: "wasted work (%)", top: 100.0, lines: &[|figures| Some(figures.wasted * 100.0)] },
];

/// Draws the outcomes of all loads.
pub(super) fn draw(area: &Area<'_>, outcomes: &[Outcome]) -> Drawn {
    let (head, rest) = area.split_vertically(HEAD);
    let (rows, foot) = rest.split_vertically(6 * ROW);
    write(&head, "Overload: answers in time, their latency, and wasted work", LARGE, (16, 12))?;
    for (place, column) in head.split_evenly((1, 3)).iter().zip(&COLUMNS) {
        write(place, column.title, MEDIUM, (46, 46))?;
    }
    write(&foot, "offered load, in multiples of the upstream's capacity", MEDIUM, (220, 6))?;
    let protections = Scene::Load(1.0).protections();
    for (row, protection) in rows.split_evenly((6, 1)).iter().zip(protections) {
        write(row, protection.name(), MEDIUM, (46, 8))?;
        let (_, panels) = row.split_vertically(30);
        for (panel, column) in panels.split_evenly((1, 3)).iter().zip(&COLUMNS) {
            draw_panel(panel, protection, column, outcomes)?;
        }
    }
    Ok(())
}

fn draw_panel(area: &Area<'_>, protection: Protection, column: &Column, outcomes: &[Outcome]) -> Drawn {
    let places = f64::from(u32::try_from(LOADS.len() - 1)?);
    // A line at the top or the bottom must not lie on the frame.
    let mut chart = ChartBuilder::on(area)
        .margin_right(14)
        .x_label_area_size(26)
        .y_label_area_size(46)
        .build_cartesian_2d(-0.2..places + 0.2, -0.06 * column.top..column.top * 1.08)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRAY)
        .axis_style(GRAY)
        .disable_x_mesh()
        .x_labels(LOADS.len())
        .y_labels(3)
        .label_style(("sans-serif", SMALL))
        .x_label_formatter(&|place| load_at(*place))
        .y_label_formatter(&|value| format!("{value:.0}"))
        .draw()?;
    let color = if protection.is_peer() { VERMILION } else { BLUE };
    let lines: Vec<_> = column.lines.iter().map(|figure| points(protection, *figure, outcomes)).collect();
    if let [below, above] = lines.as_slice() {
        let around: Vec<_> = below.iter().chain(above.iter().rev()).copied().collect();
        chart.draw_series([Polygon::new(around, color.mix(0.15))])?;
    }
    for (line, fill) in lines.into_iter().zip([color, WHITE]) {
        chart.draw_series(LineSeries::new(line.iter().copied(), color.stroke_width(2)))?;
        line.into_iter().try_for_each(|place| mark(&mut chart, place, fill, color))?;
    }
    Ok(())
}

/// Returns a figure of a protection, by the place of the load.
fn points(protection: Protection, figure: fn(&Figures) -> Option<f64>, outcomes: &[Outcome]) -> Vec<(f64, f64)> {
    let points = LOADS.iter().zip(0_u32..).filter_map(|(load, place)| {
        let mut found = outcomes.iter().filter(|outcome| outcome.protection == protection);
        let found = found.find(|outcome| outcome.scene == Scene::Load(*load))?;
        Some((f64::from(place), figure(&found.figures)?))
    });
    points.collect()
}

/// Returns the label of a place on the axis: the loads are at equal distances.
fn load_at(place: f64) -> String {
    let found = LOADS.iter().zip(0_u32..).find(|(_, number)| (f64::from(*number) - place).abs() < 0.01);
    found.map_or_else(String::new, |(load, _)| format!("{} ×", number_of(*load)))
}
