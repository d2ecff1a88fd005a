//! Draws the healthy route second by second, with and without bulkheads, as SVG.

use std::{error::Error, path::Path};

use plotters::{
    coord::{Shift, combinators::IntoLogRange},
    element::DashedPathElement,
    prelude::*,
};

use crate::{options::Options, summary::Results, tally::Second};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const SIZE: (u32, u32) = (860, 560);
const WITH: RGBColor = RGBColor(0, 90, 160);
const WITHOUT: RGBColor = RGBColor(210, 80, 30);
const STALL: RGBColor = RGBColor(110, 110, 110);

/// One of the two diagrams: a figure of each second.
struct Diagram {
    title: &'static str,
    has_legend: bool,
    unit: &'static str,
    x_label: &'static str,
    figure: fn(&Second) -> Option<f64>,
}

const SUCCESS: Diagram = Diagram {
    title: "Healthy route beside a stalled one: successful requests",
    has_legend: true,
    unit: "success (%)",
    x_label: "",
    figure: |second| second.success.map(f64::from),
};

const LATENCY: Diagram = Diagram {
    title: "Healthy route beside a stalled one: latency",
    has_legend: false,
    unit: "p99 (ms, log scale)",
    x_label: "time since the start of the phase (s)",
    figure: |second| second.success.map(|_| second.p99.as_secs_f64() * 1_000.0),
};

/// Writes the plot to a file.
pub(crate) fn draw(results: &Results, options: &Options, path: &Path) -> Result<(), Box<dyn Error>> {
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let (upper, lower) = area.split_vertically(SIZE.1 / 2 - 12);
    // A success rate of 100 % must not lie on the frame.
    draw_diagram(&upper, &SUCCESS, 0.0..108.0, results, options)?;
    draw_diagram(&lower, &LATENCY, (1.0..3_000.0).log_scale(), results, options)?;
    area.present()?;
    Ok(())
}

fn draw_diagram<Y>(
    area: &Area<'_>,
    diagram: &Diagram,
    y: Y,
    results: &Results,
    options: &Options,
) -> Result<(), Box<dyn Error>>
where
    Y: plotters::coord::ranged1d::AsRangedCoord<Value = f64>,
    Y::CoordDescType: plotters::coord::ranged1d::ValueFormatter<f64>,
{
    let (stall, end) = (options.stall_after.as_secs_f64(), options.overloaded.as_secs_f64());
    let mut chart = ChartBuilder::on(area)
        .caption(diagram.title, ("sans-serif", 21))
        .margin(8)
        .margin_right(24)
        .x_label_area_size(if diagram.x_label.is_empty() { 26 } else { 50 })
        .y_label_area_size(70)
        .build_cartesian_2d(0.0..end + 0.2, y)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .disable_x_mesh()
        .y_labels(6)
        .label_style(("sans-serif", 16))
        .axis_desc_style(("sans-serif", 17))
        .x_desc(diagram.x_label)
        .y_desc(diagram.unit)
        .x_label_formatter(&|second| format!("{second:.0}"))
        .y_label_formatter(&|value| format!("{value:.0}"))
        .draw()?;
    chart
        .draw_series(DashedLineSeries::new([(stall, 1.0), (stall, 3_000.0)], 4, 4, STALL.stroke_width(1)))?
        .label("the other upstream goes silent")
        .legend(|(x, y)| DashedPathElement::new([(x, y), (x + 20, y)], 4, 4, STALL.stroke_width(1)));
    for (name, seconds, color) in
        [("without bulkheads", &results.bare.healthy, WITHOUT), ("with bulkheads", &results.protected.healthy, WITH)]
    {
        let points = seconds.iter().filter_map(|second| Some((f64::from(second.at), (diagram.figure)(second)?)));
        chart
            .draw_series(LineSeries::new(points, color.stroke_width(2)).point_size(3))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], color.stroke_width(3)));
    }
    if !diagram.has_legend {
        return Ok(());
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::MiddleRight)
        .label_font(("sans-serif", 17))
        .border_style(BLACK)
        .background_style(WHITE)
        .draw()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use clap::Parser;

    use super::*;
    use crate::tally::Record;

    fn record(success: u32, p99: u64) -> Record {
        let second = |at| Second { at, success: Some(success), p99: Duration::from_millis(p99) };
        Record { healthy: (1..=10).map(second).collect(), ..Record::default() }
    }

    fn svg(name: &str) -> String {
        let options = Options::try_parse_from(["isolation"]).unwrap();
        let results = Results { unloaded: record(100, 7), bare: record(5, 1_000), protected: record(100, 8) };
        let path = std::env::temp_dir().join(format!("bulklink-isolation-{name}-{}.svg", std::process::id()));
        draw(&results, &options, &path).unwrap();
        let svg = fs::read_to_string(&path).unwrap();
        fs::remove_file(path).unwrap();
        svg
    }

    #[test]
    fn a_plot_names_its_axes_and_lines() {
        let svg = svg("names");
        for text in ["success (%)", "p99 (ms, log scale)", "(s)", "with bulkheads", "without bulkheads", "goes silent"]
        {
            assert!(svg.contains(text), "{text}");
        }
    }
    #[test]
    fn the_event_is_dashed_in_the_legend_as_in_the_plot() {
        let svg = svg("dashes");
        let widths = svg.lines().filter(|line| line.contains("#6E6E6E")).map(|line| {
            let (_, points) = line.split_once("points=\"").unwrap();
            let x: Vec<i32> = points.split(' ').filter_map(|point| point.split_once(',')?.0.parse().ok()).collect();
            x.iter().max().unwrap() - x.iter().min().unwrap()
        });
        let widths: Vec<_> = widths.filter(|width| *width > 0).collect();
        assert_eq!(widths, [4, 4, 4], "dashes of the legend");
    }
}
