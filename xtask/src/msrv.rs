//! `cargo xtask msrv`: checks the published crates with the oldest Rust that they support.

use anyhow::{Context, Result};

use crate::run::{cargo, run};
use crate::step::Step;
use crate::toolchain::pinned;
use crate::workspace::{self, Package};

/// The steps of `cargo xtask msrv`.
pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("msrv", msrv)]
}

fn msrv() -> Result<()> {
    let packages = workspace::packages()?;
    let front = packages.iter().find(|package| package.name == "bulklink");
    let version = front.and_then(|front| front.rust_version.clone()).context("bulklink has no rust-version")?;
    let compiler = pinned::find(&version)?;
    // A crate that states another version than the workspace is left out.
    let supports = |package: &&Package| package.is_published() && package.rust_version.as_ref() == Some(&version);
    for package in packages.iter().filter(supports) {
        // Only the library, so that dev-dependencies may need a newer compiler.
        for features in [&[][..], &["--all-features"]] {
            let mut check = cargo(&["check", "-p", &package.name, "--lib"]);
            run(check
                .args(features)
                .arg("--target-dir")
                .arg(workspace::target_path("msrv"))
                .envs(compiler.variables()))?;
        }
    }
    Ok(())
}
