//! Measures goodput under overload, prints tables, and draws them.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use bulklink_benches::overload::report::{judge, tables};
use bulklink_benches::overload::{Effort, plot, run};
use bulklink_benches::report::{document, json};
use clap::Parser;

#[derive(Parser)]
struct Options {
    /// Shorter runs
    #[arg(long)]
    quick: bool,
    /// A line to print above the table: where and how it was measured
    #[arg(long)]
    about: Option<String>,
    /// Write the rows with a limit there as JSON
    #[arg(long, value_name = "FILE")]
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
    let effort = if options.quick { Effort::QUICK } else { Effort::FULL };
    let outcomes = run(effort, |outcome| {
        eprintln!("{:?}, {}: {:.0} /s in time", outcome.scene, outcome.protection.name(), outcome.figures.in_time);
    })?;
    let verdicts = judge(&outcomes);
    let about = options.about.map_or_else(String::new, |about| format!("{about}\n\n"));
    let text = format!("{about}{}\n{}", tables(&outcomes), bulklink_benches::report::table::table(&verdicts));
    println!("{text}");
    if let Some(path) = &options.json {
        fs::write(path, serde_json::to_string_pretty(&json::entries(&verdicts))? + "\n")?;
    }
    if let Some(path) = &options.write {
        let document = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        fs::write(path, document::refresh(&document, document::OVERLOAD, &text)?)?;
    }
    if let Some(folder) = &options.plots {
        plot::draw(&outcomes, folder)?;
        println!("The plots are in {}.", folder.display());
    }
    Ok(())
}
