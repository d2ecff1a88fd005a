//! Mutation: small faults put into the core one by one, of which the tests must notice each but those that make no difference.

mod outcome;
mod survivors;

use anyhow::{Result, ensure};
use clap::Args;

use outcome::Outcome;
use survivors::Survivors;

use crate::run::{command, run_and_accept};
use crate::{tools, workspace};

/// What `cargo xtask mutants` takes.
#[derive(Args)]
pub(crate) struct Options {
    /// How many mutants are built and tested at once
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: u32,
    /// Only the K-th of N parts, counted from 0; what the list says of the others is not looked at
    #[arg(long, value_name = "K/N")]
    shard: Option<String>,
}

const VERSION: &str = "27.1.0";

/// In percent of those that compile.
const LEAST: f64 = 95.0;

/// Fewer scripts than usual, the same in every run, and none made shorter: most mutants fall at the first.
const TESTS: &[(&str, &str)] = &[
    ("BULKLINK_DEPTH", "2"),
    ("PROPTEST_CASES", "24"),
    ("PROPTEST_RNG_SEED", "1"),
    ("PROPTEST_MAX_SHRINK_ITERS", "0"),
];

/// What cargo-mutants exits with where it went to the end: all were caught, some were missed, some timed out.
const TO_THE_END: &[i32] = &[0, 2, 3];

/// Tests all mutants of the core, and compares those that survive with the list.
pub(crate) fn mutants(options: &Options) -> Result<()> {
    test_all(options)?;
    let outcome = Outcome::read(&workspace::target_path("mutation").join("mutants.out"))?;
    let faults = Survivors::listed()?.differences(&outcome.missed, options.shard.is_none());
    println!("{outcome}");
    ensure!(faults.is_empty(), "{} does not say what survives:\n{}", survivors::LIST, faults.join("\n"));
    ensure!(options.shard.is_some() || outcome.score() >= LEAST, "less than {LEAST} % are caught");
    Ok(())
}

fn test_all(options: &Options) -> Result<()> {
    let output = workspace::target_path("mutation");
    std::fs::create_dir_all(&output)?;
    let mut test = command(tools::provide("cargo-mutants", VERSION)?, &["mutants", "--no-config", "--no-shuffle"]);
    test.args(["--package", "bulklink-core", "--profile", "mutants", "--minimum-test-timeout", "60", "--output"]);
    test.arg(output).args(["--jobs", &options.jobs.to_string()]);
    if let Some(shard) = &options.shard {
        test.args(["--shard", shard, "--sharding", "round-robin"]);
    }
    // Each job builds in a copy, with a target folder there.
    test.args(["--", "--tests"]).envs(TESTS.iter().copied()).env_remove("CARGO_TARGET_DIR");
    run_and_accept(&mut test, TO_THE_END)
}
