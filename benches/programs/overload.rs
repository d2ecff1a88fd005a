//! Measures goodput under overload, prints tables, and draws them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bulklink_benches::overload::report::{judge, tables};
use bulklink_benches::overload::scene::Scene;
use bulklink_benches::overload::{Effort, Outcome, adaptive, plot, run};
use bulklink_benches::report::verdict::Verdict;
use bulklink_benches::report::{document, json, table};
use clap::Parser;

#[derive(Parser)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
struct Options {
    /// Shorter runs
    #[arg(long)]
    quick: bool,
    /// Only the scenes for adaptive limits
    #[arg(long)]
    adaptive: bool,
    /// Only the scene of tenants
    #[arg(long, conflicts_with = "adaptive")]
    tenants: bool,
    /// Nothing but fixed limits in the scenes for adaptive ones, to find the best
    #[arg(long, conflicts_with_all = ["adaptive", "tenants", "json", "write", "plots"])]
    sweep: bool,
    /// A line to print above the table: where and how it was measured
    #[arg(long)]
    about: Option<String>,
    /// Write the rows with a limit there as JSON
    #[arg(long, value_name = "FILE", conflicts_with = "adaptive")]
    json: Option<PathBuf>,
    /// Write the tables between the markers of this document
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Draw the plots into this folder, as SVG
    #[arg(long, value_name = "FOLDER")]
    plots: Option<PathBuf>,
}

fn main() -> Result<()> {
    let options = Options::parse();
    if options.sweep {
        println!("{}", adaptive::report::sweep(&adaptive::sweep(options.for_adaptive(), seen)?));
        return Ok(());
    }
    if !options.adaptive {
        let mut verdicts = Vec::new();
        if !options.tenants {
            verdicts = options.contest(Scene::of_all(), document::OVERLOAD, plot::draw)?;
        }
        verdicts.extend(options.contest([Scene::Tenants], document::TENANTS, plot::draw_tenants)?);
        if let Some(path) = &options.json {
            fs::write(path, serde_json::to_string_pretty(&json::entries(&verdicts))? + "\n")?;
        }
    }
    if options.tenants {
        return Ok(());
    }
    let outcomes = adaptive::run(options.for_adaptive(), seen)?;
    options.show(document::ADAPTIVE, &adaptive::report::table(&outcomes))?;
    options.draw(|folder| plot::draw_adaptive(&outcomes, folder))
}

fn seen(outcome: &adaptive::Outcome) {
    let adaptive::Outcome { scene, guard, figures, mean_limit, .. } = outcome;
    eprintln!("{scene:?}, {guard}: {:.0} /s in time, mean limit {mean_limit:.0}", figures.in_time);
}

impl Options {
    /// Measures the protections in scenes, and shows a part of the document.
    fn contest(
        &self,
        scenes: impl IntoIterator<Item = Scene>,
        part: &str,
        plot: fn(&[Outcome], &Path) -> Result<()>,
    ) -> Result<Vec<Verdict>> {
        let effort = if self.quick { Effort::QUICK } else { Effort::FULL };
        let outcomes = run(scenes, effort, |outcome| {
            eprintln!("{:?}, {}: {:.0} /s in time", outcome.scene, outcome.protection.name(), outcome.figures.in_time);
        })?;
        let verdicts = judge(&outcomes);
        self.show(part, &format!("{}\n{}", tables(&outcomes), table::table(&verdicts)))?;
        self.draw(|folder| plot(&outcomes, folder))?;
        Ok(verdicts)
    }

    fn for_adaptive(&self) -> adaptive::Effort {
        if self.quick { adaptive::Effort::QUICK } else { adaptive::Effort::FULL }
    }

    /// Prints tables, and writes them between the markers of this part of the document.
    fn show(&self, part: &str, tables: &str) -> Result<()> {
        let about = self.about.as_ref().map_or_else(String::new, |about| format!("{about}\n\n"));
        let text = format!("{about}{tables}");
        println!("{text}");
        let Some(path) = &self.write else { return Ok(()) };
        let document = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(fs::write(path, document::refresh(&document, part, &text)?)?)
    }

    fn draw(&self, draw: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let Some(folder) = &self.plots else { return Ok(()) };
        draw(folder)?;
        println!("The plots are in {}.", folder.display());
        Ok(())
    }
}
