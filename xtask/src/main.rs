//! `cargo xtask`: everything this project builds, checks and proves, a subcommand each.

mod apt;
mod bare;
mod bench;
mod ci;
mod compiler;
mod debian;
mod embedded;
mod fuzz;
mod lint;
mod msrv;
mod mutants;
mod no_std;
mod run;
mod size;
mod step;
mod test;
mod tidy;
mod tools;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

/// Builds, checks and proves Bulklink. Needs a stable Rust and nothing else.
///
/// Every step prints the command it runs, and the first failure ends the run with that command's exit code.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run all tests: unit, integration and doc tests, the contract on every runtime, the exhaustive search, the
    /// properties, the feature tsc, the front by its lock alone, the conformance replay, loom
    Test,
    /// Try every script of inputs up to a depth against the reference model of the core
    Exhaustive {
        /// How many inputs a script has, besides its prelude and its last [default: what the search itself says]
        #[arg(long, value_name = "N")]
        depth: Option<u32>,
    },
    /// Play long random scripts to the core and to its reference models
    Properties {
        /// How many scripts of each kind [default: what the tests themselves say]
        #[arg(long, value_name = "N")]
        cases: Option<u32>,
    },
    /// Play scripts made of bytes to the core and to its reference model, as libFuzzer finds them; needs nightly
    Fuzz(fuzz::Options),
    /// Put small faults into the core, one by one; exits with 1 where the tests notice too few, or not those that they should
    Mutants(mutants::Options),
    /// Replay the recorded scenarios; exits with 1 where the behaviour differs from the recording
    Conformance {
        /// The folder of recordings [default: the one in the repository]
        dir: Option<PathBuf>,
    },
    /// Let loom run small scenes of the front in every order, or up to a stated number of preemptions; with the fast path and by
    /// the lock alone
    Loom,
    /// Check format, clippy, docs and tidy; a warning fails
    Lint,
    /// Check the rules of the house that no compiler knows; prints `path:line: rule: text`
    Tidy,
    /// Show that core and front need no standard library: a probe that runs without it, and bare-metal targets
    NoStd(Skips),
    /// Tell how much code the core is on a microcontroller; exits with 1 when it is more than 8 KiB
    Size(Skips),
    /// Run the examples for microcontrollers in QEMU; exits with 1 where one fails, hangs, or prints something else than it did
    Embedded(embedded::Options),
    /// Check the published crates with the oldest Rust they promise to support
    Msrv(Skips),
    /// Measure everything beside the peers: a table and JSON; needs valgrind, and installs it where allowed
    Bench(bench::Options),
    /// Run everything: lint, test, no-std, embedded, msrv, the isolation example, the gate of bench
    Ci(Skips),
}

#[derive(Args)]
struct Skips {
    /// Fail when a compiler or a target is missing, instead of skipping what needs it
    #[arg(long)]
    no_skip: bool,
}

fn main() -> ExitCode {
    match perform(Cli::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            run::exit_code(&error)
        }
    }
}

fn perform(task: Task) -> anyhow::Result<()> {
    match task {
        Task::Test => step::run_all(test::STEPS, true),
        Task::Exhaustive { depth } => test::exhaustive(depth),
        Task::Properties { cases } => test::properties(cases),
        Task::Fuzz(options) => fuzz::fuzz(&options),
        Task::Mutants(options) => mutants::mutants(&options),
        Task::Conformance { dir } => test::conformance(dir),
        Task::Loom => test::loom(),
        Task::Lint => step::run_all(lint::STEPS, true),
        Task::Tidy => tidy::tidy(),
        Task::NoStd(skips) => step::run_all(no_std::STEPS, skips.no_skip),
        Task::Size(skips) => step::run_all(size::STEPS, skips.no_skip),
        Task::Embedded(options) => step::run_all(options.steps(), options.skips.no_skip),
        Task::Msrv(skips) => step::run_all(msrv::STEPS, skips.no_skip),
        Task::Bench(options) => bench::bench(&options),
        Task::Ci(skips) => step::run_all(&ci::steps(), skips.no_skip),
    }
}
