//! Joins what the other programs left in a folder with the goals: a table for people, JSON for programs, plots.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use bulklink_benches::goals;
use bulklink_benches::report::readings::Readings;
use bulklink_benches::report::verdict::{Verdict, judge};
use bulklink_benches::report::{document, json, plots, table};
use clap::Parser;

#[derive(Parser)]
struct Options {
    /// Where the readings are
    folder: PathBuf,
    /// A line for the head of the table: where and how it was measured
    #[arg(long)]
    about: Option<String>,
    /// Write the goals there as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw plots into this folder
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    /// Put the table between the markers of this document
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Look only at what comes out the same every time, and exit with 1 if any of it misses its limit, or misses it by more than
    /// before
    #[arg(long)]
    gate: bool,
}

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    let mut verdicts = judge(&goals::all(), &Readings::load(&options.folder)?);
    if options.gate {
        verdicts.retain(|verdict| verdict.is_exact);
    }
    tell(&options, &verdicts)?;
    Ok(if options.gate && verdicts.iter().any(fails_the_gate) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn tell(options: &Options, verdicts: &[Verdict]) -> Result<()> {
    let about = options.about.as_ref().map_or_else(String::new, |about| format!("{about}\n\n"));
    let text = format!("{about}{}", table::table(verdicts));
    println!("{text}");
    if let Some(path) = &options.json {
        fs::write(path, serde_json::to_string_pretty(&json::entries(verdicts))? + "\n")?;
    }
    if let Some(folder) = &options.plots {
        plots::draw(&options.folder, folder)?;
    }
    if let Some(path) = &options.write {
        let document = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        fs::write(path, document::refresh(&document, &text)?)?;
    }
    Ok(())
}

/// What this machine could not measure fails too; only the embedded build may be left to one that has its compiler.
fn fails_the_gate(verdict: &Verdict) -> bool {
    let left_out = verdict.goal == "embedded" && verdict.figures.is_err();
    verdict.limit.is_some() && !verdict.passes_the_gate() && !left_out
}
