//! Times every pair and every series in one process, and writes both as JSON into the folder that is named.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Result;
use bulklink_benches::goals;
use bulklink_benches::measure::series;
use bulklink_benches::measure::time::{Comparison, Effort, compare};
use clap::Parser;
use serde::Serialize;

#[derive(Parser)]
struct Options {
    /// Where to leave `time.json` and `series.json`
    folder: PathBuf,
    /// Fewer rounds
    #[arg(long)]
    quick: bool,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let effort = if options.quick { Effort::QUICK } else { Effort::FULL };
    let comparisons: Vec<_> = goals::timed().iter().map(|(ours, peer)| told(compare(ours, peer, effort))).collect();
    write(&options.folder.join("time.json"), &comparisons)?;
    write(&options.folder.join("series.json"), &series::measure(options.quick))
}

fn told(comparison: Comparison) -> Comparison {
    let Comparison { ours, peer, ours_ns, peer_ns, ratio } = &comparison;
    eprintln!("{ours} {ours_ns:.1} ns, {peer} {peer_ns:.1} ns: {ratio:.2}");
    comparison
}

fn write(path: &Path, value: &impl Serialize) -> Result<()> {
    Ok(serde_json::to_writer_pretty(File::create(path)?, value)?)
}
