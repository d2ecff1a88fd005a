//! What must be spotless: format, clippy, docs and the rules of the house.

use anyhow::Result;

use crate::embedded;
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

/// The probes are workspaces of their own, and would be left out. Each has a target folder too.
const PROBES: &[(&str, &str)] = &[("no-std-probe/Cargo.toml", "no-std"), ("tests/code-size/Cargo.toml", "size")];

/// Only for the formatter: it takes nightly and a C++ compiler to build.
const FUZZ: &str = "tests/fuzz/Cargo.toml";

/// What is off by default, and documented all the same.
const TSC: &str = "--features=bulklink/tsc,bulklink-tokio/tsc";

fn fmt() -> Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    PROBES.iter().try_for_each(|(manifest, _)| run(&mut cargo(&["fmt", "--check", "--manifest-path", manifest])))?;
    run(&mut cargo(&["fmt", "--check", "--manifest-path", FUZZ]))?;
    embedded::fmt()
}

fn clippy() -> Result<()> {
    run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    run(&mut cargo(&[
        "clippy",
        "-p",
        "bulklink-tokio",
        "-p",
        "bulklink",
        "--all-targets",
        TSC,
        "--",
        "-D",
        "warnings",
    ]))?;
    PROBES.iter().try_for_each(|(manifest, folder)| {
        let target = workspace::target_dir(folder);
        run(&mut cargo(&["clippy", "--manifest-path", manifest, "--target-dir", &target, "--", "-D", "warnings"]))
    })?;
    embedded::clippy()
}

fn docs() -> Result<()> {
    let mut docs = cargo(&["doc", "--workspace", "--no-deps", TSC]);
    run(docs.env("RUSTDOCFLAGS", flags("RUSTDOCFLAGS", "-D warnings")))
}
