//! Everything that is promised about speed and size, measured side by side with the peers. BENCHMARKS.md says how.
//!
//! Each source of figures leaves its readings in a folder, or a word on why it could not; the report joins them.

mod embedded;
mod gungraun;
mod instructions;
mod python;
mod readings;

use std::path::{PathBuf, absolute};
use std::thread::available_parallelism;

use anyhow::{Result, ensure};
use clap::Args;

use self::readings::Readings;
use crate::run::{ask, cargo, command, run};
use crate::step::{Outcome, Step};
use crate::workspace;

/// What `cargo xtask bench` takes.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Fewer rounds: less than three minutes, once all is built
    #[arg(long)]
    quick: bool,
    /// Write the goals' figures and verdicts there
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Where the plots go [default: target/bench/plots]
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    /// Put the table between the markers of this document
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Look at instructions and bytes only, never at time, and exit with 1 if one misses its limit, or misses it by more than before
    #[arg(long)]
    gate: bool,
}

/// The part of it that comes out the same every time.
pub(crate) const GATE: Step =
    Step { name: "bench gate", run: || bench(&Options { gate: true, ..Options::default() }).map(|()| Outcome::Passed) };

const PACKAGE: &str = "bulklink-benches";

/// Measures and reports. Goals that are missed are told; only the gate fails on them.
pub(crate) fn bench(options: &Options) -> Result<()> {
    run(&mut cargo(&["build", "--release", "-p", PACKAGE, "--bins"]))?;
    let readings = Readings::fresh()?;
    readings.attempt("memory", || run(program("bench-memory").arg(readings.path("memory.json"))))?;
    instructions::measure(&readings)?;
    readings.attempt("embedded", || embedded::measure(&readings))?;
    if !options.gate {
        readings.attempt("time", || time(&readings, options.quick))?;
        readings.attempt("python", || python::measure(&readings))?;
    }
    report(&readings, options)
}

/// One of the programs that were built.
fn program(name: &str) -> std::process::Command {
    let path = workspace::target_path("release").join(name);
    command(path.with_extension(std::env::consts::EXE_EXTENSION), &[])
}

fn time(readings: &Readings, quick: bool) -> Result<()> {
    uses_the_real_clock()?;
    run(program("bench-time").arg(readings.folder()).args(quick.then_some("--quick")))
}

/// Tokio's `test-util`, once anything in the build asks for it, puts a lock before every look at the clock.
fn uses_the_real_clock() -> Result<()> {
    let features = ["tree", "-p", PACKAGE, "--edges", "normal,features", "--invert", "tokio"];
    let tree = ask(&mut cargo(&features)).unwrap_or_default();
    ensure!(
        !tree.is_empty() && !tree.contains("test-util"),
        "tokio's feature test-util is on in the build of {PACKAGE}"
    );
    Ok(())
}

fn report(readings: &Readings, options: &Options) -> Result<()> {
    let mut report = program("bench-report");
    report.arg(readings.folder()).arg("--about").arg(about(options));
    if options.gate {
        report.arg("--gate");
    } else if readings.path("series.json").exists() {
        let plots = options.plots.clone().unwrap_or_else(|| workspace::target_path("bench/plots"));
        report.arg("--plots").arg(absolute(plots)?);
    }
    for (flag, file) in [("--json", &options.json), ("--write", &options.write)] {
        if let Some(file) = file {
            // The user's file is relative to where the user is, not to the root of the workspace.
            report.arg(flag).arg(absolute(file)?);
        }
    }
    run(&mut report)
}

/// Where and how: what somebody else would have to do the same on.
fn about(options: &Options) -> String {
    let how = match options {
        Options { gate: true, .. } => "Instructions and bytes only",
        Options { quick: true, .. } => {
            "Quick run (fewer rounds, plots without the longest queue; instructions and bytes as ever)"
        }
        _ => "Full run",
    };
    let version = |name| ask(&mut command(name, &["--version"])).map(|version| version.trim().to_owned());
    let processors = available_parallelism().map_or(0, usize::from);
    let tools: Vec<_> = ["rustc", "valgrind"].into_iter().filter_map(version).collect();
    format!("{how}; {} with {processors} processors, {}.", std::env::consts::ARCH, tools.join(", "))
}
