//! The oldest Rust that the published crates promise to support: each is checked with exactly that compiler.

mod compiler;

use anyhow::Result;
use toml::{Table, Value};

use crate::run::{cargo, run};
use crate::step::{Outcome, Step};
use crate::workspace::{self, value_at};

/// What `cargo xtask msrv` runs.
pub(crate) const STEPS: &[Step] = &[Step { name: "msrv", run: msrv }];

fn msrv() -> Result<Outcome> {
    let version = workspace::rust_version()?;
    let Some(compiler) = compiler::find(&version)? else {
        return Ok(Outcome::Skipped(format!(
            "no Rust {version} here; `rustup toolchain install {version}`, or name one in {}",
            compiler::VARIABLE,
        )));
    };
    let target = workspace::target_dir("msrv");
    for name in under_the_promise()? {
        // The library alone, so that dev-dependencies may need a newer compiler.
        for features in [&[][..], &["--all-features"]] {
            let mut check = cargo(&["check", "-p", &name, "--lib", "--target-dir", &target]);
            run(compiler.apply(check.args(features)))?;
        }
    }
    Ok(Outcome::Passed)
}

/// The crates that take the workspace's `rust-version`. A companion may state its own instead.
fn under_the_promise() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for folder in workspace::root().join("crates").read_dir()? {
        let folder = folder?;
        let path = folder.path().join("Cargo.toml");
        if path.is_file() && takes_the_promise(&workspace::manifest(path)?) {
            names.push(folder.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn takes_the_promise(manifest: &Table) -> bool {
    value_at(manifest, &["package", "rust-version", "workspace"]) == Some(&Value::Boolean(true))
}
