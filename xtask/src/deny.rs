//! `cargo xtask deny`: licences, duplicate versions, sources and advisories of all dependencies, by
//! `deny.toml`.

use std::process::Command;

use anyhow::Result;

use crate::run::{command, run};
use crate::step::{Missing, Step};
use crate::toolchain::programs;

const VERSION: &str = "0.20.2";

/// The workspaces of this repository. The packages of the first are published.
const MANIFESTS: [&str; 5] = [
    "Cargo.toml",
    "examples/embedded/Cargo.toml",
    "examples/wasm/Cargo.toml",
    "tests/code-size/Cargo.toml",
    "tests/fuzz/Cargo.toml",
];

const CHECKS: [&str; 3] = ["bans", "licenses", "sources"];

/// What developers run may have a dependency in several versions, and needs not all that
/// `deny.toml` lists for the published crates.
const LENIENT: [&str; 5] = [
    "--allow=duplicate",
    "--allow=license-exception-not-encountered",
    "--allow=license-not-encountered",
    "--allow=unmatched-skip",
    "--allow=unmatched-skip-root",
];

/// The steps of `cargo xtask deny`.
pub(crate) fn steps() -> Vec<Step> {
    vec![
        Step::new("deny: published crates", published),
        Step::new("deny: workspaces", workspaces),
        Step::new("deny: advisories", advisories),
    ]
}

/// What users get, with all features. What `deny.toml` permits and is no longer needed fails, but
/// for the licences of single crates, which developers' tools have too.
fn published() -> Result<()> {
    let mut deny = deny(MANIFESTS[0])?;
    deny.args(["--exclude-unpublished", "--exclude-dev", "check", "--deny=warnings"]);
    run(deny.arg("--allow=license-exception-not-encountered").args(CHECKS))
}

/// All that developers run.
fn workspaces() -> Result<()> {
    MANIFESTS.iter().try_for_each(|manifest| run(deny(manifest)?.arg("check").args(LENIENT).args(CHECKS)))
}

/// Known faults, and versions that are withdrawn. Without the present database, nothing is checked:
/// an old copy would prove nothing.
fn advisories() -> Result<()> {
    let fetched = run(deny(MANIFESTS[0])?.args(["fetch", "db"]));
    fetched.map_err(|why| {
        Missing(format!("advisories are NOT checked, because their database is out of reach: {why:#}"))
    })?;
    MANIFESTS.iter().try_for_each(|manifest| {
        run(deny(manifest)?.args(["check", "--disable-fetch"]).args(LENIENT).arg("advisories"))
    })
}

/// The program for all packages of a workspace, with all features and the versions of its lock.
fn deny(manifest: &str) -> Result<Command> {
    let program = programs::from_registry("cargo-deny", VERSION).map_err(|why| Missing(format!("{why:#}")))?;
    let mut deny = command(program, &["--config=deny.toml", "--manifest-path", manifest]);
    deny.args(["--workspace", "--all-features", "--locked"]);
    Ok(deny)
}
