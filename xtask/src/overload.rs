//! Measures goodput under overload, beside the peers. BENCHMARKS.md says how.

use std::path::{PathBuf, absolute};

use anyhow::Result;
use clap::Args;

use crate::bench::{PACKAGE, machine, program};
use crate::run::{cargo, run};
use crate::step::Step;
use crate::workspace;

/// The options of `cargo xtask overload`.
#[derive(Args)]
pub(crate) struct Options {
    /// Shorter runs: less than a minute, once built
    #[arg(long)]
    quick: bool,
    /// Write the rows with a limit there as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the tables between the markers of this document, and the plot to docs/overload.svg
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

/// The steps of `cargo xtask overload`. A missed limit is reported, and fails nothing.
pub(crate) fn steps(options: Options) -> Vec<Step<'static>> {
    let build = || run(&mut cargo(&["build", "--release", "-p", PACKAGE, "--bin", "bench-overload"]));
    vec![Step::new("overload build", build), Step::new("overload", move || measure(&options))]
}

fn measure(options: &Options) -> Result<()> {
    let mut overload = program("bench-overload");
    let how = if options.quick { "Quick run" } else { "Full run" };
    overload.arg("--about").arg(format!("{how}; {}", machine(&["rustc"])));
    overload.args(options.quick.then_some("--quick"));
    let plot = match &options.write {
        Some(_) => workspace::root().join("docs/overload.svg"),
        None => workspace::target_path("overload.svg"),
    };
    overload.arg("--plot").arg(plot);
    for (flag, file) in [("--json", &options.json), ("--write", &options.write)] {
        if let Some(file) = file {
            overload.arg(flag).arg(absolute(file)?);
        }
    }
    run(&mut overload)
}
