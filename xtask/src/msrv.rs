//! The oldest Rust that the published crates promise to support: each is checked with exactly that compiler.

mod compiler;
mod debian;

use anyhow::{Context, Result};

use crate::run::{cargo, run};
use crate::step::{Outcome, Step};
use crate::workspace;

/// What `cargo xtask msrv` runs.
pub(crate) const STEPS: &[Step] = &[Step { name: "msrv", run: msrv }];

fn msrv() -> Result<Outcome> {
    let version = promised()?;
    let Some(compiler) = compiler::find(&version)? else {
        return Ok(Outcome::Skipped(format!(
            "no Rust {version} here; `rustup toolchain install {version}`, or name one in {}",
            compiler::VARIABLE,
        )));
    };
    let target = workspace::target_dir("msrv");
    for name in under_the_promise()? {
        // The library alone, so that dev-dependencies may need a newer compiler.
        let mut check = cargo(&["check", "-p", &name, "--lib", "--target-dir", &target]);
        run(compiler.apply(&mut check))?;
    }
    Ok(Outcome::Passed)
}

fn promised() -> Result<String> {
    let manifest = workspace::manifest("Cargo.toml")?;
    let version = manifest.string("workspace.package.rust-version").context("Cargo.toml states no rust-version")?;
    Ok(version.to_owned())
}

/// The crates that take the workspace's `rust-version`. A companion may state its own instead.
fn under_the_promise() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for name in workspace::crates()? {
        let manifest = workspace::manifest(format!("crates/{name}/Cargo.toml"))?;
        if manifest.get("package.rust-version.workspace") == Some("true") {
            names.push(name);
        }
    }
    Ok(names)
}
