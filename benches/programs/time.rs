//! Times the pairs of one run in one process, and writes them as JSON to the given file.

use std::fs::File;
use std::path::PathBuf;

use anyhow::Result;
use bulklink_benches::goals;
use bulklink_benches::measure::time::{Comparison, Effort, compare};
use clap::Parser;

#[derive(Parser)]
struct Options {
    /// Where to write the readings
    file: PathBuf,
    /// Which run, from 1: the first has all pairs, later ones those judged over several runs
    #[arg(long, default_value_t = 1)]
    run: usize,
    /// Fewer rounds
    #[arg(long)]
    quick: bool,
    /// Only the pairs of this goal
    #[arg(long)]
    goal: Option<String>,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let effort = if options.quick { Effort::QUICK } else { Effort::FULL };
    let mut comparisons = Vec::new();
    for pairs in goals::timed(options.run, options.goal.as_deref()) {
        comparisons.extend(compare(&pairs, effort).into_iter().inspect(print));
    }
    Ok(serde_json::to_writer_pretty(File::create(options.file)?, &comparisons)?)
}

fn print(comparison: &Comparison) {
    let Comparison { ours, peer, ours_ns, peer_ns, ratio } = comparison;
    eprintln!("{ours} {ours_ns:.1} ns, {peer} {peer_ns:.1} ns: {ratio:.2}");
}
