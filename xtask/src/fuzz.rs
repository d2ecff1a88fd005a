//! `cargo xtask fuzz`: libFuzzer makes bytes, which are read as scripts for the gate. Needs a
//! nightly Rust and a C++ compiler; installs cargo-fuzz below `target/` if it may.

use anyhow::{Result, ensure};

use crate::run::{ask, command, run};
use crate::step::Step;
use crate::toolchain::programs;
use crate::workspace;

const VERSION: &str = "0.13.2";

/// The steps of `cargo xtask fuzz`.
pub(crate) fn steps(seconds: u32) -> Vec<Step> {
    vec![Step::new("fuzz", move || fuzz(seconds))]
}

/// Starts from the corpus of earlier runs. A script that fails is printed, and kept in
/// `tests/fuzz/artifacts`.
fn fuzz(seconds: u32) -> Result<()> {
    // Asks for the list, because asking for the toolchain could make rustup fetch it.
    let toolchains = ask(&mut command("rustup", &["toolchain", "list"])).unwrap_or_default();
    let has_nightly = toolchains.lines().any(|name| name.starts_with("nightly"));
    ensure!(has_nightly, "fuzzing needs a nightly Rust; `rustup toolchain install nightly` adds it");
    let mut fuzz = command(programs::from_registry("cargo-fuzz", VERSION)?, &["fuzz", "run", "gate"]);
    // A sanitizer would find nothing in safe code.
    fuzz.args(["--fuzz-dir", "tests/fuzz", "--sanitizer", "none", "--target-dir"]).arg(workspace::target_path("fuzz"));
    // Enough bytes for scripts of a few hundred steps; the properties run longer ones.
    fuzz.args(["--", &format!("-max_total_time={seconds}"), "-max_len=1024", "-print_final_stats=1"]);
    run(fuzz.env("RUSTUP_TOOLCHAIN", "nightly"))
}
