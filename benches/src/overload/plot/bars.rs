//! A row for each protection: the fates of the calls as a bar, or what the capacity was used for,
//! and the latencies of the answers.

use std::error::Error;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::{Area, BLUE, Chart, Drawn, GRAY, GREEN, LARGE, MEDIUM, SMALL, VERMILION, mark, style, write};
use crate::overload::report::{millis, percent};
use crate::overload::tally::Figures;
use crate::overload::{DEADLINE, Outcome};

const HEAD: u32 = 76;
const ROW: u32 = 58;
pub(super) const HEIGHT: u32 = HEAD + 6 * ROW + 36;
/// Where the latencies begin.
const MIDDLE: u32 = 540;

/// What is drawn of an outcome.
pub(super) struct Bars {
    /// The names of the parts of a bar.
    names: [(&'static str, RGBColor); 3],
    parts: fn(&Outcome) -> [f64; 3],
    /// The words above a bar.
    words: fn(&Outcome) -> String,
    /// The answers whose latencies are drawn.
    answers: &'static str,
    figures: fn(&Outcome) -> Option<Figures>,
}

/// What became of the calls of [`Outcome::figures`].
pub(super) const FATES: Bars = Bars {
    names: [("answered in time", BLUE), ("rejected", GRAY), ("given up", VERMILION)],
    parts: |Outcome { figures, .. }| [figures.answered(), figures.rejected, figures.given_up],
    words: |Outcome { figures, .. }| format!("{} in time", percent(figures.answered())),
    answers: "of the answers",
    figures: |outcome| Some(outcome.figures),
};

/// What the capacity was used for, with the latencies of [`Outcome::greedy`].
pub(super) const USE: Bars = Bars {
    names: [("for the nine", BLUE), ("the tenth", GREEN), ("in vain", VERMILION)],
    parts: |Outcome { used, .. }| [used.within, used.beyond, used.in_vain],
    words: |Outcome { used, .. }| format!("{} in time", percent(used.in_time())),
    answers: "of the tenth's",
    figures: |outcome| outcome.greedy,
};

/// Draws one scene: a row is one unit high, with its text above its bar.
pub(super) fn draw(area: &Area<'_>, title: &str, bars: &Bars, outcomes: &[&Outcome]) -> Drawn {
    let (head, body) = area.split_vertically(HEAD);
    let (left, right) = body.split_horizontally(MIDDLE);
    write(&head, title, LARGE, (16, 12))?;
    for ((name, color), x) in bars.names.into_iter().zip([16, 206, 316]) {
        head.draw(&Rectangle::new([(x, 50), (x + 14, 64)], color.filled()))?;
        write(&head, name, MEDIUM, (x + 20, 48))?;
    }
    write(&head, &format!("● p50 and ○ p99 {}", bars.answers), MEDIUM, (550, 48))?;
    let (mut parts, mut latencies) = (chart(&left, 100.0, "%")?, chart(&right, millis(DEADLINE), "ms")?);
    for (outcome, row) in outcomes.iter().zip(0_u32..) {
        let (text, bar) = (-f64::from(row) - 0.08, -f64::from(row) - 0.65);
        let mut from = 0.0;
        for (part, (_, color)) in (bars.parts)(outcome).into_iter().zip(bars.names) {
            let to = from + part * 100.0;
            parts.draw_series([Rectangle::new([(from, bar + 0.2), (to, bar - 0.2)], color.filled())])?;
            from = to;
        }
        let (name, words) = (outcome.protection.name(), (bars.words)(outcome));
        parts.draw_series([Text::new(name, (0.0, text), style(MEDIUM, HPos::Left))])?;
        parts.draw_series([Text::new(words, (100.0, text), style(MEDIUM, HPos::Right))])?;
        let figures = (bars.figures)(outcome).unwrap_or_default();
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
