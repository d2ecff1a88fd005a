//! Draws the outcomes as SVG. Each protection has a place of its own, so that none hides another.

mod bars;
mod course;
mod grid;

use std::error::Error;
use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::Outcome;
use super::adaptive;
use super::scene::Scene;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Drawn = Result<(), Box<dyn Error>>;

const WIDTH: u32 = 860;
/// Of the palette of Okabe and Ito, which the colour-blind can tell apart.
const BLUE: RGBColor = RGBColor(0, 114, 178);
const VERMILION: RGBColor = RGBColor(213, 94, 0);
const GREEN: RGBColor = RGBColor(0, 158, 115);
const GRAY: RGBColor = RGBColor(190, 190, 190);
/// Of text. The SVG has about four fifths of them as pixels.
const LARGE: u32 = 26;
const MEDIUM: u32 = 22;
const SMALL: u32 = 19;

/// Writes the plots of the scenes with one limit for all into a folder: `overload.svg` and
/// `bursts.svg`.
///
/// # Errors
///
/// If a file cannot be written.
pub fn draw(outcomes: &[Outcome], folder: &Path) -> Result<()> {
    write_svg(folder, "overload.svg", grid::HEIGHT, &|area| grid::draw(area, outcomes))?;
    write_svg(folder, "bursts.svg", bars::HEIGHT, &|area| {
        let outcomes = of(outcomes, Scene::Bursts);
        bars::draw(area, "Bursts, at 0.9 of the capacity on average", &bars::FATES, &outcomes)
    })
}

/// Writes the plot of tenants into a folder: `tenants.svg`.
///
/// # Errors
///
/// If a file cannot be written.
pub fn draw_tenants(outcomes: &[Outcome], folder: &Path) -> Result<()> {
    let outcomes = of(outcomes, Scene::Tenants);
    write_svg(folder, "tenants.svg", 2 * bars::HEIGHT, &|area| {
        let (upper, lower) = area.split_vertically(bars::HEIGHT);
        bars::draw(
            &upper,
            "Nine tenants within their share, and one that sends 20 times its own",
            &bars::FATES,
            &outcomes,
        )?;
        bars::draw(&lower, "What the upstream's capacity was used for", &bars::USE, &outcomes)
    })
}

fn of(outcomes: &[Outcome], scene: Scene) -> Vec<&Outcome> {
    outcomes.iter().filter(|outcome| outcome.scene == scene).collect()
}

/// Writes the plot of the scenes for adaptive limits into a folder: `adaptive.svg`.
///
/// # Errors
///
/// If a file cannot be written.
pub fn draw_adaptive(outcomes: &[adaptive::Outcome], folder: &Path) -> Result<()> {
    write_svg(folder, "adaptive.svg", course::HEIGHT, &|area| course::draw(area, outcomes))
}

fn write_svg(folder: &Path, name: &str, height: u32, draw: &dyn Fn(&Area<'_>) -> Drawn) -> Result<()> {
    let text = svg(height, draw).map_err(|error| anyhow!("cannot draw {name}: {error}"))?;
    Ok(std::fs::write(folder.join(name), text)?)
}

fn svg(height: u32, draw: &dyn Fn(&Area<'_>) -> Drawn) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        // The page may be dark.
        area.fill(&WHITE)?;
        draw(&area)?;
        area.present()?;
    }
    Ok(text)
}

/// Writes text at a place of the area.
fn write(area: &Area<'_>, text: &str, size: u32, place: (i32, i32)) -> Drawn {
    Ok(area.draw_text(text, &style(size, HPos::Left), place)?)
}

fn style(size: u32, anchor: HPos) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&BLACK).pos(Pos::new(anchor, VPos::Top))
}

/// Draws a disc with a border.
fn mark(chart: &mut Chart<'_, '_>, place: (f64, f64), fill: RGBColor, border: RGBColor) -> Drawn {
    let disc = [fill.filled(), border.stroke_width(2)].map(|style| Circle::new(place, 5, style));
    chart.draw_series(disc)?;
    Ok(())
}
