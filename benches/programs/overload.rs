//! Measures goodput under overload, prints tables, and draws them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bulklink_benches::overload::report::{judge, tables};
use bulklink_benches::overload::{Effort, adaptive, plot, run};
use bulklink_benches::report::{document, json, table};
use clap::Parser;

#[derive(Parser)]
struct Options {
    /// Shorter runs
    #[arg(long)]
    quick: bool,
    /// Only the scenes for adaptive limits
    #[arg(long)]
    adaptive: bool,
    /// Nothing but fixed limits in the scenes for adaptive ones, to find the best
    #[arg(long, conflicts_with_all = ["adaptive", "json", "write", "plots"])]
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
        loads(&options)?;
    }
    let outcomes = adaptive::run(options.for_adaptive(), seen)?;
    options.show(document::ADAPTIVE, &adaptive::report::table(&outcomes))?;
    options.draw(|folder| plot::draw_adaptive(&outcomes, folder))
}

/// Measures the protections with one limit for all.
fn loads(options: &Options) -> Result<()> {
    let effort = if options.quick { Effort::QUICK } else { Effort::FULL };
    let outcomes = run(effort, |outcome| {
        eprintln!("{:?}, {}: {:.0} /s in time", outcome.scene, outcome.protection.name(), outcome.figures.in_time);
    })?;
    let verdicts = judge(&outcomes);
    options.show(document::OVERLOAD, &format!("{}\n{}", tables(&outcomes), table::table(&verdicts)))?;
    if let Some(path) = &options.json {
        fs::write(path, serde_json::to_string_pretty(&json::entries(&verdicts))? + "\n")?;
    }
    options.draw(|folder| plot::draw(&outcomes, folder))
}

fn seen(outcome: &adaptive::Outcome) {
    let adaptive::Outcome { scene, guard, figures, mean_limit, .. } = outcome;
    eprintln!("{scene:?}, {guard}: {:.0} /s in time, mean limit {mean_limit:.0}", figures.in_time);
}

impl Options {
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
