//! The tests: cargo's own, of which the exhaustive search is one, the conformance replay, loom.

use std::path::PathBuf;

use anyhow::Result;

use crate::run::{cargo, flags, run};
use crate::step::{Outcome, Step};
use crate::workspace;

/// What `cargo xtask test` runs.
pub(crate) const STEPS: &[Step] = &[
    Step { name: "tests", run: || tests().map(|()| Outcome::Passed) },
    Step { name: "conformance", run: || conformance(None).map(|()| Outcome::Passed) },
    Step { name: "loom", run: || loom().map(|()| Outcome::Passed) },
];

fn tests() -> Result<()> {
    run(&mut cargo(&["test", "--workspace"]))
}

/// Every script of inputs up to a depth, against the reference model.
pub(crate) fn exhaustive(depth: Option<u32>) -> Result<()> {
    let mut search = cargo(&["test", "-p", "bulklink-core", "--test", "exhaustive"]);
    if let Some(depth) = depth {
        search.env("BULKLINK_DEPTH", depth.to_string());
    }
    run(&mut search)
}

/// The recorded scenarios, replayed.
pub(crate) fn conformance(dir: Option<PathBuf>) -> Result<()> {
    let mut replay = cargo(&["run", "-q", "-p", "bulklink-conformance", "--release", "--"]);
    // The user's folder is relative to where the user is, not to the root of the workspace.
    if let Some(dir) = dir {
        replay.arg(std::path::absolute(dir)?);
    }
    run(&mut replay)
}

/// Every interleaving of the front, in a target folder of its own: its flags would rebuild the usual one.
pub(crate) fn loom() -> Result<()> {
    let target = workspace::target_dir("loom");
    let mut search = cargo(&["test", "-p", "bulklink", "--test", "loom", "--profile", "proof"]);
    search.args(["--target-dir", &target]);
    run(search.env("RUSTFLAGS", flags("RUSTFLAGS", "--cfg bulklink_loom")))
}
