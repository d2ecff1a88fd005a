//! The series, drawn.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use plotters::coord::combinators::IntoLogRange;
use plotters::prelude::*;

use crate::measure::series::{Chart, Line};

const SIZE: (u32, u32) = (900, 560);
const COLORS: [RGBColor; 5] = [
    RGBColor(0, 90, 160),
    RGBColor(210, 80, 30),
    RGBColor(60, 140, 60),
    RGBColor(130, 80, 160),
    RGBColor(110, 110, 110),
];

/// Draws `waiters.svg` and its like into a folder, from the readings of another.
///
/// # Errors
///
/// If there are no readings, or the folder cannot be written.
pub fn draw(readings: &Path, folder: &Path) -> Result<()> {
    let path = readings.join("series.json");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    fs::create_dir_all(folder)?;
    let charts: Vec<Chart> = serde_json::from_str(&text)?;
    charts.iter().try_for_each(|chart| draw_chart(chart, &folder.join(&chart.name).with_extension("svg")))
}

/// Both axes are logarithmic: the numbers range over powers of ten, and what matters is how many times one is the other.
fn draw_chart(chart: &Chart, path: &Path) -> Result<()> {
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let (x, y) = (range(chart, |(x, _)| x), range(chart, |(_, y)| y));
    let mut plot = ChartBuilder::on(&area)
        .caption(&chart.title, ("sans-serif", 22))
        .margin(16)
        .margin_right(40)
        .x_label_area_size(48)
        .y_label_area_size(72)
        .build_cartesian_2d((x.0..x.1 * 1.1).log_scale(), (y.0 / 1.5..y.1 * 1.5).log_scale())?;
    plot.configure_mesh()
        .light_line_style(TRANSPARENT)
        .label_style(("sans-serif", 14))
        .x_desc(&chart.x)
        .y_desc(&chart.y)
        .x_label_formatter(&tick)
        .y_label_formatter(&tick)
        .draw()?;
    for (line, color) in chart.lines.iter().zip(COLORS) {
        plot.draw_series(LineSeries::new(line.points.iter().copied(), color.stroke_width(2)).point_size(3))?
            .label(&line.contender)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], color.stroke_width(2)));
    }
    plot.configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .border_style(BLACK)
        .background_style(WHITE)
        .draw()?;
    area.present()?;
    Ok(())
}

fn range(chart: &Chart, pick: impl Fn((f64, f64)) -> f64) -> (f64, f64) {
    let points = chart.lines.iter().flat_map(|line: &Line| &line.points);
    points.fold((f64::MAX, f64::MIN), |(least, most), point| (least.min(pick(*point)), most.max(pick(*point))))
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn tick(value: &f64) -> String {
    if *value >= 1.0 { format!("{value:.0}") } else { format!("{value}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_names_its_axes_and_contenders() {
        let line =
            |contender: &str, cost| Line { contender: contender.into(), points: vec![(1.0, cost), (1e6, 2.0 * cost)] };
        let lines = vec![line("ours", 10.0), line("theirs", 300.0)];
        let labels = ["plot", "A title", "waiting", "nanoseconds"].map(str::to_owned);
        let [name, title, x, y] = labels.clone();
        let path = std::env::temp_dir().join(format!("bulklink-plot-{}.svg", std::process::id()));
        draw_chart(&Chart { name, title, x, y, lines }, &path).unwrap();
        let svg = fs::read_to_string(&path).unwrap();
        fs::remove_file(path).unwrap();
        for text in ["A title", "waiting", "nanoseconds", "ours", "theirs", "100000"] {
            assert!(svg.contains(text), "{text}");
        }
    }
}
