//! Counts instructions under callgrind, in the usual build and in a build without statistics.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::available_parallelism;

use anyhow::{Context, Result, ensure};

use super::GATED;
use crate::run::{ask, cargo, run};
use crate::toolchain::programs;
use crate::{cfg, workspace};

/// The private cfg that drops all statistics from the fast path, and the histogram of waits, to
/// measure their cost.
const WITHOUT: &str = "bulklink_no_statistics";

/// The only scenes that are counted in the other build: a slot, and a wait. A test in the benches
/// checks that they come first.
const IN_BOTH: [&str; 2] = ["*::scenes_0", "*::scenes_1"];

/// The program under callgrind.
const BENCH: [&str; 3] = ["bench", "--bench", "instructions"];

/// Builds it, and with it the package's other programs, for which the scenes are not compiled
/// again.
pub(super) fn build() -> Result<()> {
    run(cargo(&BENCH).args(GATED).arg("--no-run"))
}

pub(super) fn usual(readings: &Path) -> Result<()> {
    count(&mut cargo(&[]), &readings.join("instructions"), "*")
}

pub(super) fn without_statistics(readings: &Path) -> Result<()> {
    // Without the cfg both builds would be equal, and statistics would seem to cost nothing.
    let manifest = fs::read_to_string(workspace::root().join("Cargo.toml"))?;
    ensure!(manifest.contains(WITHOUT), "there is no build without statistics: no cfg `{WITHOUT}` in Cargo.toml");
    IN_BOTH.iter().try_for_each(|scene| {
        let mut cargo = cargo(&[]);
        cfg::add(&mut cargo, WITHOUT)?;
        count(&mut cargo, &readings.join("without-statistics"), scene)
    })
}

fn count(cargo: &mut Command, home: &Path, scenes: &str) -> Result<()> {
    programs::from_apt("valgrind")?;
    // The runner must have exactly the version of the library: `…#gungraun@0.20.0`.
    let id = ask(&mut crate::run::cargo(&["pkgid", "gungraun"])).context("cargo does not know gungraun")?;
    let version = id.trim().rsplit(['@', '#']).next().unwrap_or_default();
    let runner = programs::from_registry("gungraun-runner", version)?;
    cargo.args(BENCH).args(GATED).args(["--", scenes, "--save-summary=json", "--home"]);
    cargo.arg(home).arg(format!("--parallel={}", available_parallelism().map_or(1, usize::from)));
    // The report reads the summaries, which hold all that is printed.
    run(cargo.env("GUNGRAUN_RUNNER", runner).stdout(Stdio::null()))
}
