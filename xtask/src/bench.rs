//! Measures the promises about speed and size, beside the peers. BENCHMARKS.md says how.
//!
//! Each source of figures writes its readings to a folder, or the reason why it could not. The
//! report joins them.

mod instructions;
mod python;
mod readings;
mod topology;

use std::fs;
use std::path::{PathBuf, absolute};

use anyhow::{Result, ensure};
use clap::Args;

use self::readings::Readings;
use crate::run::{ask, cargo, command, run};
use crate::step::Step;
use crate::{no_std, size, workspace};

/// The options of `cargo xtask bench`.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Fewer rounds: less than three minutes, once built
    #[arg(long)]
    quick: bool,
    /// Write the rows with a limit there as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
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

/// The most runs that a goal is judged over. A goal that needs more says so in its rows.
const RUNS: usize = 5;

/// The steps whose figures are the same in every run.
pub(crate) fn gate() -> Vec<Step<'static>> {
    steps(Options { gate: true, ..Options::default() })
}

/// The steps that measure one goal, and write its rows to a file.
pub(crate) fn goal(name: &str, quick: bool, json: PathBuf) -> Vec<Step<'static>> {
    steps(Options { goal: Some(name.to_owned()), json: Some(json), quick, ..Options::default() })
}

/// The steps of `cargo xtask bench`. A missed limit is reported; only the gate fails because of it.
pub(crate) fn steps(options: Options) -> Vec<Step<'static>> {
    let (quick, gate, goal) = (options.quick, options.gate, options.goal.clone());
    let is_all = goal.is_none();
    let mut steps = vec![Step::new("bench build", || {
        Readings::of_this_run().clear()?;
        run(&mut cargo(&["build", "--release", "-p", PACKAGE, "--bins"]))
    })];
    if is_all {
        steps.push(source("memory", |readings| run(program("bench-memory").arg(readings.path("memory.json")))));
    }
    steps.push(source("instructions", instructions::usual));
    if is_all {
        steps.push(source("without-statistics", instructions::without_statistics));
        steps.push(source("embedded", embedded));
    }
    if !gate {
        steps.push(source("time", move |readings| time(readings, quick, goal.as_deref())));
    }
    if is_all && !gate {
        steps.push(source("python", python::measure));
    }
    steps.push(Step::new("bench report", move || report(&Readings::of_this_run(), &options)));
    steps
}

/// The step that reads a source. If that fails, the report shows the reason.
fn source(name: &'static str, read: impl FnOnce(&Readings) -> Result<()> + 'static) -> Step<'static> {
    Step::new(format!("bench {name}"), move || {
        let readings = Readings::of_this_run();
        readings.attempt(name, || read(&readings))
    })
}

/// Returns the command for one of the programs that were built.
pub(crate) fn program(name: &str) -> std::process::Command {
    let path = workspace::target_path("release").join(name);
    command(path.with_extension(std::env::consts::EXE_EXTENSION), &[])
}

fn time(readings: &Readings, quick: bool, goal: Option<&str>) -> Result<()> {
    check_clock()?;
    let folder = readings.path("time");
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
fn embedded(readings: &Readings) -> Result<()> {
    let (text, failed) = (size::measured()?.core(), no_std::failed_builds()?);
    Ok(fs::write(readings.path("embedded.json"), format!("{{\"text\": {text}, \"failed builds\": {failed}}}"))?)
}

/// Fails if anything in the build turns on tokio's `test-util`, which adds work to its clock and
/// its timers.
fn check_clock() -> Result<()> {
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
    }
    report.args(options.goal.as_ref().map(|goal| format!("--goal={goal}")));
    for (flag, file) in [("--json", &options.json), ("--write", &options.write)] {
        if let Some(file) = file {
            // The path is relative to the user's folder, and the report runs in the workspace's
            // root.
            report.arg(flag).arg(absolute(file)?);
        }
    }
    run(&mut report)
}

/// Describes the run, the machine and the tools, which one needs to know to repeat the figures.
fn about(options: &Options) -> String {
    let how = match options {
        Options { gate: true, .. } => "Instructions and bytes only",
        Options { quick: true, .. } => "Quick run (fewer rounds; instructions and bytes as in a full run)",
        _ => "Full run",
    };
    format!("{how}; {}", machine(&["rustc", "valgrind"]))
}

/// Describes the machine, and the versions of these tools.
pub(crate) fn machine(tools: &[&str]) -> String {
    let version = |name: &&str| ask(&mut command(name, &["--version"])).map(|version| version.trim().to_owned());
    let processors = topology::processors();
    let tools: Vec<_> = tools.iter().filter_map(version).collect();
    // Two lines, because the page ends its lines at column 100.
    format!("{} with {processors},\n{}.", std::env::consts::ARCH, tools.join(", "))
}
