//! Compares the other programs' readings with the limits, and reports the result as tables and
//! JSON.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use bulklink_benches::goals;
use bulklink_benches::report::readings::Readings;
use bulklink_benches::report::verdict::{Verdict, judge, locked};
use bulklink_benches::report::{document, json, summary, table};
use clap::Parser;

#[derive(Parser)]
struct Options {
    /// Where the readings are
    folder: PathBuf,
    /// A line to print above the table: where and how it was measured
    #[arg(long)]
    about: Option<String>,
    /// Write the rows with a limit there as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the summary and the table between the markers of this document
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Look only at figures that every run repeats. Exit with 1 if a row misses its limit, or,
    /// where it is missed already, misses it by more than before
    #[arg(long)]
    gate: bool,
    /// Only the rows of this goal
    #[arg(long)]
    goal: Option<String>,
}

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    let readings = Readings::load(&options.folder)?;
    let mut verdicts = judge(&goals::chosen(options.goal.as_deref()), &readings);
    ensure!(!verdicts.is_empty(), "there is no such goal");
    if options.gate {
        verdicts.retain(|verdict| verdict.is_exact);
    }
    let about: Vec<_> = options.about.iter().cloned().chain(locked(&readings)).collect();
    report(&options, &about.join("\n"), &verdicts)?;
    Ok(if options.gate && verdicts.iter().any(fails_the_gate) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn report(options: &Options, about: &str, verdicts: &[Verdict]) -> Result<()> {
    let text = format!("{about}\n\n{}", table::table(verdicts)).trim_start().to_owned();
    println!("{text}");
    if let Some(path) = &options.json {
        fs::write(path, serde_json::to_string_pretty(&json::entries(verdicts))? + "\n")?;
    }
    if let Some(path) = &options.write {
        let mut document = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        document = document::refresh(&document, document::TABLE, &text)?;
        // The summary needs times, which the gate does not measure.
        if !options.gate {
            document = document::refresh(&document, document::SUMMARY, &summary::summary(verdicts))?;
        }
        fs::write(path, document)?;
    }
    Ok(())
}

/// A row that could not be measured fails too. Only the embedded build is excepted, because its
/// compiler may be missing.
fn fails_the_gate(verdict: &Verdict) -> bool {
    let is_excepted = verdict.goal == "embedded" && verdict.figures.is_err();
    verdict.limit.is_some() && !verdict.passes_the_gate() && !is_excepted
}
