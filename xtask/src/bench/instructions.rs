//! Counts instructions under callgrind, in the usual build and in a build without statistics.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::available_parallelism;

use anyhow::{Result, ensure};
use toml::Value;

use super::readings::Readings;
use super::{PACKAGE, gungraun};
use crate::run::{cargo, flags, run};
use crate::toolchain::programs;
use crate::workspace::{self, value_at};

/// The private cfg that drops all statistics from the fast path, to measure their cost.
const WITHOUT: &str = "bulklink_no_statistics";

/// The only scene that is counted in the other build. A test in the benches checks that it comes
/// first.
const UNCONTENDED: &str = "*::scenes_0";

pub(super) fn usual(readings: &Readings) -> Result<()> {
    count(&mut cargo(&[]), &readings.path("instructions"), "*")
}

pub(super) fn without_statistics(readings: &Readings) -> Result<()> {
    ensure!(can_do_without(), "there is no build without statistics: no cfg `{WITHOUT}` in Cargo.toml");
    let mut cargo = cargo(&[]);
    cargo.env("CARGO_TARGET_DIR", workspace::target_path("without-statistics"));
    cargo.env("RUSTFLAGS", flags("RUSTFLAGS", &format!("--cfg {WITHOUT}")));
    count(&mut cargo, &readings.path("without-statistics"), UNCONTENDED)
}

fn count(cargo: &mut Command, home: &Path, scenes: &str) -> Result<()> {
    programs::from_apt("valgrind")?;
    let runner = gungraun::runner()?;
    cargo.args(["bench", "-p", PACKAGE, "--bench", "instructions", "--features", "instructions"]);
    cargo.args(["--", scenes, "--save-summary=json", "--home"]);
    cargo.arg(home).arg(format!("--parallel={}", available_parallelism().map_or(1, usize::from)));
    // The report reads the summaries, which hold all that is printed.
    run(cargo.env("GUNGRAUN_RUNNER", runner).stdout(Stdio::null()))
}

/// Returns whether the cfg exists. Without it both builds would be equal, and statistics would seem
/// to cost nothing.
fn can_do_without() -> bool {
    let Ok(manifest) = workspace::manifest("Cargo.toml") else { return false };
    let known = value_at(&manifest, &["workspace", "lints", "rust", "unexpected_cfgs", "check-cfg"]);
    known.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).any(|cfg| cfg.contains(WITHOUT))
}
