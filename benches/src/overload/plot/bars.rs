//! A row for each protection: the fates of the calls as a bar, and the latencies of the answers.

use std::error::Error;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::{Area, BLUE, Chart, Drawn, GRAY, LARGE, MEDIUM, SMALL, VERMILION, mark, style, write};
use crate::overload::DEADLINE;
use crate::overload::front::Protection;
use crate::overload::report::millis;
use crate::overload::tally::Figures;

const HEAD: u32 = 76;
const ROW: u32 = 58;
pub(super) const HEIGHT: u32 = HEAD + 6 * ROW + 36;
/// Where the latencies begin.
const MIDDLE: u32 = 540;
const FATES: [(&str, RGBColor); 3] = [("answered in time", BLUE), ("rejected", GRAY), ("given up", VERMILION)];

/// Draws one scene: a row is one unit high, with its text above its bar.
pub(super) fn draw(area: &Area<'_>, title: &str, rows: &[(Protection, Figures)]) -> Drawn {
    let (head, body) = area.split_vertically(HEAD);
    let (left, right) = body.split_horizontally(MIDDLE);
    write(&head, title, LARGE, (16, 12))?;
    for ((name, color), x) in FATES.into_iter().zip([16, 206, 316]) {
        head.draw(&Rectangle::new([(x, 50), (x + 14, 64)], color.filled()))?;
        write(&head, name, MEDIUM, (x + 20, 48))?;
    }
    write(&head, "● p50 and ○ p99 of the answers", MEDIUM, (550, 48))?;
    let (mut fates, mut latencies) = (chart(&left, 100.0, "%")?, chart(&right, millis(DEADLINE), "ms")?);
    for ((protection, figures), row) in rows.iter().zip(0_u32..) {
        let (text, bar) = (-f64::from(row) - 0.08, -f64::from(row) - 0.65);
        let mut from = 0.0;
        for (share, (_, color)) in [figures.answered(), figures.rejected, figures.given_up].into_iter().zip(FATES) {
            let to = from + share * 100.0;
            fates.draw_series([Rectangle::new([(from, bar + 0.2), (to, bar - 0.2)], color.filled())])?;
            from = to;
        }
        let answered = format!("{:.0} % in time", figures.answered() * 100.0);
        fates.draw_series([Text::new(protection.name(), (0.0, text), style(MEDIUM, HPos::Left))])?;
        fates.draw_series([Text::new(answered, (100.0, text), style(MEDIUM, HPos::Right))])?;
        if let (Some(p50), Some(p99)) = (figures.p50.map(millis), figures.p99.map(millis)) {
            let words = format!("{p50:.0} to {p99:.0} ms");
            latencies.draw_series([Text::new(words, (0.0, text), style(MEDIUM, HPos::Left))])?;
            latencies.draw_series([PathElement::new([(p50, bar), (p99, bar)], BLUE.stroke_width(3))])?;
            mark(&mut latencies, (p50, bar), BLUE, BLUE)?;
            mark(&mut latencies, (p99, bar), WHITE, BLUE)?;
        }
    }
    Ok(())
}

/// Returns a chart of six rows, with an axis below that ends at `end`.
fn chart<'a, 'b>(area: &Area<'b>, end: f64, unit: &str) -> Result<Chart<'a, 'b>, Box<dyn Error>> {
    let mut chart = ChartBuilder::on(area)
        .margin_left(16)
        .margin_right(34)
        .x_label_area_size(36)
        .build_cartesian_2d(0.0..end, -6.0..0.0)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.15))
        .axis_style(GRAY)
        .x_labels(3)
        .x_label_formatter(&|x| format!("{x:.0} {unit}"))
        .label_style(("sans-serif", SMALL))
        .draw()?;
    Ok(chart)
}
