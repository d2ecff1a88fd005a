//! Measures the promises about speed and size, beside the peers. BENCHMARKS.md describes how.
//!
//! Each source of figures writes its readings to a folder, or the reason why it could not. The
//! report joins them.

mod instructions;
mod python;
mod readings;
mod topology;

use std::path::{Path, PathBuf, absolute};
use std::process::Command;
use std::{fs, iter};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::run::{ask, cargo, command, run};
use crate::step::Step;
use crate::{no_std, size, workspace};

/// The options of every command that measures.
#[derive(Args, Default)]
pub(crate) struct Measure {
    /// Fewer rounds, or shorter runs: at most a few minutes, once built
    #[arg(long)]
    pub(crate) quick: bool,
    /// Write the rows with a limit there as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// The options of `cargo xtask bench`.
#[derive(Args, Default)]
pub(crate) struct Options {
    #[command(flatten)]
    measure: Measure,
    /// Write the summary and the table between the markers of this document
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Measure only instructions and bytes, never time. Exit with 1 if a row misses its limit, or,
    /// where it is missed already, misses it by more than before
    #[arg(long)]
    gate: bool,
    /// Only this goal, by instructions and time
    #[arg(long, value_name = "GOAL", conflicts_with = "write")]
    goal: Option<String>,
}

pub(crate) const PACKAGE: &str = "bulklink-benches";

/// The package as the gate builds it, and the proofs, so that it is built once.
pub(crate) const GATED: [&str; 5] = ["-p", PACKAGE, "--no-default-features", "--features", "instructions"];

/// The most runs that a goal is judged over. A goal that needs more is marked in its rows.
const RUNS: usize = 5;

/// The steps with the same figures in every run.
pub(crate) fn gate() -> Vec<Step> {
    steps(Options { gate: true, ..Options::default() })
}

/// The steps that measure one goal, and write its rows to a file.
pub(crate) fn goal(name: &str, quick: bool, json: PathBuf) -> Vec<Step> {
    steps(Options { goal: Some(name.to_owned()), measure: Measure { quick, json: Some(json) }, ..Options::default() })
}

/// The steps of `cargo xtask bench`. A missed limit is reported; only the gate fails because of it.
pub(crate) fn steps(options: Options) -> Vec<Step> {
    let (is_all, gate, quick, goal) =
        (options.goal.is_none(), options.gate, options.measure.quick, options.goal.clone());
    let build = Step::new("bench build", move || {
        readings::clear(&readings::folder())?;
        if gate { instructions::build() } else { run(&mut cargo(&["build", "--release", "-p", PACKAGE, "--bins"])) }
    });
    let sources = [
        (is_all, source("memory", |readings| run(program("bench-memory").arg(readings.join("memory.json"))))),
        (true, source("instructions", instructions::usual)),
        (is_all, source("without-statistics", instructions::without_statistics)),
        (is_all, source("embedded", embedded)),
        (!gate, source("time", move |readings| time(readings, quick, goal.as_deref()))),
        (is_all && !gate, source("python", python::measure)),
    ];
    let sources = sources.into_iter().filter_map(|(is_wanted, step)| is_wanted.then_some(step));
    let report = Step::new("bench report", move || report(&options));
    iter::once(build).chain(sources).chain([report]).collect()
}

/// The step that reads a source. If that fails, the report shows the reason.
fn source(name: &'static str, read: impl FnOnce(&Path) -> Result<()> + 'static) -> Step {
    Step::new(format!("bench {name}"), move || readings::attempt(&readings::folder(), name, read))
}

/// Returns the command for one of the programs that were built.
fn program(name: &str) -> Command {
    let path = workspace::target_path("release").join(name);
    command(path.with_extension(std::env::consts::EXE_EXTENSION), &[])
}

fn time(readings: &Path, quick: bool, goal: Option<&str>) -> Result<()> {
    check_clock()?;
    let folder = readings.join("time");
    fs::create_dir(&folder)?;
    (1..=RUNS).try_for_each(|number| {
        let file = folder.join(format!("{number}.json"));
        let mut time = program("bench-time");
        time.arg(file).arg(format!("--run={number}")).args(quick.then_some("--quick"));
        run(time.args(goal.map(|goal| format!("--goal={goal}"))))
    })
}

/// Writes `text`, the size of the core's `.text` on thumbv7em at opt-level s with LTO, and `failed
/// builds`, how many of the bare-metal builds of core and front fail.
fn embedded(readings: &Path) -> Result<()> {
    let (text, failed) = (size::core_bytes()?, no_std::failed_builds()?);
    Ok(fs::write(readings.join("embedded.json"), format!("{{\"text\": {text}, \"failed builds\": {failed}}}"))?)
}

/// Fails if anything in the build turns on tokio's `test-util`, which adds work to its clock and
/// its timers.
fn check_clock() -> Result<()> {
    let features = ["tree", "-p", PACKAGE, "--edges", "normal,features", "--invert", "tokio"];
    let tree = ask(&mut cargo(&features)).context("cargo does not know tokio")?;
    ensure!(!tree.contains("test-util"), "tokio's feature test-util is on in the build of {PACKAGE}");
    Ok(())
}

fn report(options: &Options) -> Result<()> {
    let Options { measure, write, gate, goal } = options;
    let how = if *gate { "Instructions and bytes only" } else { measure.how() };
    let mut report = program("bench-report");
    report.arg(readings::folder()).args(gate.then_some("--gate"));
    report.args(goal.as_ref().map(|goal| format!("--goal={goal}")));
    report.args(["--about", &about(how, &["rustc", "valgrind"])]);
    run(report.args(file("--json", measure.json.as_deref())?).args(file("--write", write.as_deref())?))
}

/// What one needs to know to repeat the figures: how they were measured, the machine, and the
/// versions of these tools. Two lines, because the page ends its lines at column 100.
fn about(how: &str, tools: &[&str]) -> String {
    let version = |name: &&str| ask(&mut command(name, &["--version"])).map(|version| version.trim().to_owned());
    let tools: Vec<_> = tools.iter().filter_map(version).collect();
    format!("{how}; {} with {},\n{}.", std::env::consts::ARCH, topology::processors(), tools.join(", "))
}

/// An option with a file. Its path is relative to the user's folder, while programs run in the
/// workspace's root.
fn file(option: &str, file: Option<&Path>) -> Result<Option<String>> {
    Ok(file.map(absolute).transpose()?.map(|file| format!("{option}={}", file.display())))
}

impl Measure {
    fn how(&self) -> &'static str {
        if self.quick { "Quick run" } else { "Full run" }
    }

    /// The command for a program that measures and reports.
    pub(crate) fn program(&self, name: &str, tools: &[&str], write: Option<&Path>) -> Result<Command> {
        let mut program = program(name);
        program.args(self.quick.then_some("--quick")).args(["--about", &about(self.how(), tools)]);
        program.args(file("--json", self.json.as_deref())?).args(file("--write", write)?);
        Ok(program)
    }
}
