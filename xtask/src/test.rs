//! The tests: cargo's own, of which the exhaustive search and the properties are two, the conformance replay, loom.

use std::path::PathBuf;

use anyhow::Result;

use crate::run::{cargo, flags, run};
use crate::step::{Outcome, Step};
use crate::workspace;

/// What `cargo xtask test` runs.
pub(crate) const STEPS: &[Step] = &[
    Step { name: "tests", run: || tests().map(|()| Outcome::Passed) },
    Step { name: "tsc", run: || tsc().map(|()| Outcome::Passed) },
    Step { name: "lock-only", run: || lock_only().map(|()| Outcome::Passed) },
    Step { name: "conformance", run: || conformance(None).map(|()| Outcome::Passed) },
    Step { name: "loom", run: || loom().map(|()| Outcome::Passed) },
];

fn tests() -> Result<()> {
    run(&mut cargo(&["test", "--workspace"]))
}

/// The front and its adapter once more with the counter for a clock, on which nothing else depends.
fn tsc() -> Result<()> {
    run(&mut cargo(&[
        "test",
        "-p",
        "bulklink",
        "-p",
        "bulklink-tokio",
        "--features",
        "bulklink/tsc,bulklink-tokio/tsc",
    ]))
}

/// Every script of inputs up to a depth, for gates and for partitions, against their reference models.
pub(crate) fn exhaustive(depth: Option<u32>) -> Result<()> {
    let mut search = cargo(&["test", "-p", "bulklink-core", "--test", "exhaustive", "--test", "partitions"]);
    if let Some(depth) = depth {
        search.env("BULKLINK_DEPTH", depth.to_string());
    }
    run(&mut search)
}

/// Long random scripts against the reference models.
pub(crate) fn properties(cases: Option<u32>) -> Result<()> {
    let mut scripts = cargo(&["test", "-p", "bulklink-core", "--test", "properties", "--test", "partition_properties"]);
    if let Some(cases) = cases {
        scripts.env("PROPTEST_CASES", cases.to_string());
    }
    run(&mut scripts)
}

/// The recorded scenarios, replayed.
pub(crate) fn conformance(dir: Option<PathBuf>) -> Result<()> {
    let mut replay = cargo(&["run", "-q", "-p", "bulklink-traces", "--release", "--"]);
    // The user's folder is relative to where the user is, not to the root of the workspace.
    if let Some(dir) = dir {
        replay.arg(std::path::absolute(dir)?);
    }
    run(&mut replay)
}

/// Every interleaving of the front, with the fast path and by the lock alone.
pub(crate) fn loom() -> Result<()> {
    let search = ["test", "-p", "bulklink", "--test", "loom", "--profile", "proof"];
    with_flags(&search, "loom", "--cfg bulklink_loom")?;
    with_flags(&search, "loom-lock-only", "--cfg bulklink_loom --cfg bulklink_lock_only")
}

/// The tests of the front as it is where there are no atomics of 64 bits.
fn lock_only() -> Result<()> {
    with_flags(&["test", "-p", "bulklink", "-p", "bulklink-tokio"], "lock-only", "--cfg bulklink_lock_only")
}

/// In a target folder of its own, as the flags would rebuild the usual one.
fn with_flags(arguments: &[&str], folder: &str, added: &str) -> Result<()> {
    let mut command = cargo(arguments);
    command.args(["--target-dir", &workspace::target_dir(folder)]);
    run(command.env("RUSTFLAGS", flags("RUSTFLAGS", added)))
}
