//! What must be spotless: format, clippy, docs and the rules of the house.

use anyhow::Result;

use crate::run::{cargo, flags, run};
use crate::step::{Outcome, Step};
use crate::tidy::tidy;
use crate::workspace;

/// What `cargo xtask lint` runs.
pub(crate) const STEPS: &[Step] = &[
    Step { name: "fmt", run: || fmt().map(|()| Outcome::Passed) },
    Step { name: "clippy", run: || clippy().map(|()| Outcome::Passed) },
    Step { name: "docs", run: || docs().map(|()| Outcome::Passed) },
    Step { name: "tidy", run: || tidy().map(|()| Outcome::Passed) },
];

/// The probe is a workspace of its own, and would be left out.
const PROBE: &[&str] = &["--manifest-path", "no-std-probe/Cargo.toml"];

fn fmt() -> Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    run(cargo(&["fmt", "--check"]).args(PROBE))
}

fn clippy() -> Result<()> {
    run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    let target = workspace::target_dir("no-std");
    run(cargo(&["clippy"]).args(PROBE).args(["--target-dir", &target, "--", "-D", "warnings"]))
}

fn docs() -> Result<()> {
    let mut docs = cargo(&["doc", "--workspace", "--no-deps"]);
    run(docs.env("RUSTDOCFLAGS", flags("RUSTDOCFLAGS", "-D warnings")))
}
