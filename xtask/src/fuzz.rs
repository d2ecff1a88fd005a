//! Fuzzing: bytes as scripts for the gate. Needs nightly, a C++ compiler and cargo-fuzz, which it installs where that may be.

use anyhow::{Result, ensure};
use clap::Args;

use crate::run::{ask, command, run};
use crate::{tools, workspace};

/// What `cargo xtask fuzz` takes.
#[derive(Args)]
pub(crate) struct Options {
    /// How long
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u32,
}

const VERSION: &str = "0.13.2";

/// Scripts of a few hundred steps: longer ones are for the properties.
const MAX_BYTES: u32 = 1024;

/// Runs the target on what earlier runs have found worth keeping, and on. What fails is shown, and kept in `tests/fuzz/artifacts`.
pub(crate) fn fuzz(options: &Options) -> Result<()> {
    ensure!(has_nightly(), "fuzzing needs a nightly Rust; `rustup toolchain install nightly` adds it");
    let cargo_fuzz = tools::provide("cargo-fuzz", VERSION)?;
    let target = workspace::target_dir("fuzz");
    // Without unsafe code there is nothing for a sanitizer to see.
    let mut fuzz = command(
        cargo_fuzz,
        &["fuzz", "run", "--fuzz-dir", "tests/fuzz", "--sanitizer", "none", "--target-dir", &target, "gate", "--"],
    );
    fuzz.arg(format!("-max_total_time={}", options.seconds)).arg(format!("-max_len={MAX_BYTES}"));
    run(fuzz.arg("-print_final_stats=1").env("RUSTUP_TOOLCHAIN", "nightly"))
}

/// Asks for what is there, as asking for the toolchain itself could fetch it.
fn has_nightly() -> bool {
    let toolchains = ask(&mut command("rustup", &["toolchain", "list"]));
    toolchains.is_some_and(|list| list.lines().any(|name| name.starts_with("nightly")))
}
