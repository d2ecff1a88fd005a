//! Draws answers in time and wasted work by the offered load, as SVG.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;

use super::front::Protection;
use super::report::number_of;
use super::tally::Figures;
use super::upstream::CAPACITY;
use super::{LOADS, Outcome};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const SIZE: (u32, u32) = (860, 640);
/// In the order of the protections.
const COLORS: [RGBColor; 6] = [
    RGBColor(0, 90, 160),
    RGBColor(110, 180, 230),
    RGBColor(110, 110, 110),
    RGBColor(210, 80, 30),
    RGBColor(40, 140, 70),
    RGBColor(150, 60, 150),
];

/// One of the two diagrams.
struct Diagram {
    title: &'static str,
    unit: &'static str,
    x_label: &'static str,
    top: f64,
    has_legend: bool,
    figure: fn(&Figures) -> f64,
}

const GOODPUT: Diagram = Diagram {
    title: "Overload: answers in time",
    unit: "answers in time (1/s)",
    x_label: "",
    top: CAPACITY * 1.1,
    has_legend: false,
    figure: |figures| figures.in_time,
};

const WASTE: Diagram = Diagram {
    title: "Overload: work for callers that had given up",
    unit: "wasted work (%)",
    x_label: "offered load, in multiples of the upstream's capacity",
    top: 104.0,
    has_legend: true,
    figure: |figures| figures.wasted * 100.0,
};

/// Writes the plot to a file.
///
/// # Errors
///
/// If the file cannot be written.
pub fn draw(outcomes: &[Outcome], path: &Path) -> Result<()> {
    let text = svg(outcomes).map_err(|error| anyhow!("cannot draw: {error}"))?;
    Ok(std::fs::write(path, text)?)
}

fn svg(outcomes: &[Outcome]) -> Result<String, Box<dyn std::error::Error>> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let (upper, lower) = area.split_vertically(SIZE.1 / 2 - 12);
        diagram(&upper, &GOODPUT, outcomes)?;
        diagram(&lower, &WASTE, outcomes)?;
        area.present()?;
    }
    Ok(text)
}

fn diagram(area: &Area<'_>, diagram: &Diagram, outcomes: &[Outcome]) -> Result<(), Box<dyn std::error::Error>> {
    let places = f64::from(u32::try_from(LOADS.len() - 1)?);
    let mut chart = ChartBuilder::on(area)
        .caption(diagram.title, ("sans-serif", 21))
        .margin(8)
        .margin_right(24)
        .x_label_area_size(if diagram.x_label.is_empty() { 26 } else { 50 })
        .y_label_area_size(70)
        .build_cartesian_2d(-0.1..places + 0.1, 0.0..diagram.top)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .disable_x_mesh()
        .x_labels(LOADS.len())
        .y_labels(6)
        .label_style(("sans-serif", 16))
        .axis_desc_style(("sans-serif", 17))
        .x_desc(diagram.x_label)
        .y_desc(diagram.unit)
        .x_label_formatter(&|place| load_at(*place))
        .y_label_formatter(&|value| format!("{value:.0}"))
        .draw()?;
    // Ours is drawn last, above the others.
    for (protection, color) in Protection::ALL.into_iter().zip(COLORS).rev() {
        let points = LOADS.iter().zip(0_u32..).filter_map(|(load, place)| {
            let mut found = outcomes.iter().filter(|outcome| outcome.protection == protection);
            let found = found.find(|outcome| (outcome.load - load).abs() < f64::EPSILON)?;
            Some((f64::from(place), (diagram.figure)(&found.figures)))
        });
        let width = if protection == Protection::Bulklink { 3 } else { 2 };
        chart
            .draw_series(LineSeries::new(points, color.stroke_width(width)).point_size(3))?
            .label(protection.name())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], color.stroke_width(3)));
    }
    if diagram.has_legend {
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .label_font(("sans-serif", 17))
            .border_style(BLACK)
            .background_style(WHITE)
            .draw()?;
    }
    Ok(())
}

/// Returns the label of a place on the axis: the loads are at equal distances.
fn load_at(place: f64) -> String {
    let found = LOADS.iter().zip(0_u32..).find(|(_, number)| (f64::from(*number) - place).abs() < 0.01);
    found.map_or_else(String::new, |(load, _)| format!("{} ×", number_of(*load)))
}
