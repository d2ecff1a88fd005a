//! `cargo xtask lint`: format, clippy, docs and the rules of `tidy`.

use std::fs;

use anyhow::Result;

use crate::run::{cargo, flags, run};
use crate::step::Step;
use crate::workspace::{FEATURES, Package};
use crate::{embedded, links, tidy, workspace};

/// The steps of `cargo xtask lint`.
pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("fmt", fmt), Step::new("clippy", clippy), Step::new("docs", docs), tidy::step()]
}

/// What is linted and documented.
const ALL: [&str; 3] = ["--workspace", FEATURES, "--features=bulklink-benches/instructions"];

/// A workspace of its own, which `--workspace` leaves out.
const CODE_SIZE: &str = "tests/code-size/Cargo.toml";

fn fmt() -> Result<()> {
    // tests/fuzz is only formatted, because building it takes nightly and a C++ compiler.
    let others = ["tests/fuzz/Cargo.toml", "examples/embedded/Cargo.toml", "examples/wasm/Cargo.toml"];
    let mut manifests = ["Cargo.toml", CODE_SIZE].into_iter().chain(others);
    manifests.try_for_each(|manifest| run(&mut cargo(&["fmt", "--all", "--check", "--manifest-path", manifest])))
}

fn clippy() -> Result<()> {
    let clippy = |args: &[&str]| run(cargo(&["clippy"]).args(args).args(["--", "-D", "warnings"]));
    clippy(&[&ALL[..], &["--all-targets"]].concat())?;
    clippy(&["-p", "bulklink", "-p", "bulklink-tokio", "--all-targets"])?;
    let size = workspace::target_path("size");
    clippy(&["--manifest-path", CODE_SIZE, "--target-dir", &size.to_string_lossy()])?;
    embedded::clippy()
}

/// Builds the docs of all packages together, and then those of one adapter alone, as its user may.
fn docs() -> Result<()> {
    // An example needs dev-dependencies. With them, crates have the features that clippy has
    // checked them with, and are not checked again.
    let all = [&ALL[..], &["--lib", "--bins", "--example", "quick_start_smol"]].concat();
    let published: Vec<_> = workspace::packages()?.into_iter().filter(Package::is_published).collect();
    let published: Vec<_> = published.iter().map(|package| &*package.name).collect();
    for (args, target, pages) in
        [(&*all, "", &*published), (&["--package", "bulklink-tokio"][..], "docs-alone", &["bulklink-tokio"])]
    {
        // Pages of an earlier build could hide a broken link, or have one.
        let (target, doc) = (workspace::target_path(target), workspace::target_path(target).join("doc"));
        if doc.exists() {
            fs::remove_dir_all(&doc)?;
        }
        let mut docs = cargo(&["doc", "--no-deps"]);
        docs.args(args).arg("--target-dir").arg(target);
        run(docs.env("RUSTDOCFLAGS", flags("RUSTDOCFLAGS", "-D warnings")))?;
        links::check(&doc, pages)?;
    }
    Ok(())
}
