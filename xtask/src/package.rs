//! `cargo xtask package`: builds the packages of all crates, and with them, unpacked, what a user
//! builds: a small program with every feature, and the docs as docs.rs does.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::nightly;
use crate::run::{cargo, command, flags, run};
use crate::step::Step;
use crate::workspace::{self, Package};

/// The files that each package must have, beside its manifest.
const FILES: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// What the examples of the READMEs need beside our crates.
const PEERS: &str = r#"
async-std = { version = "1", optional = true }
axum = { version = "0.8", default-features = false, features = ["http1", "tokio"], optional = true }
smol = { version = "2", optional = true }
tokio = { version = "1", features = ["macros", "rt-multi-thread"], optional = true }
"#;

/// The features of the user's program that bring the peers.
const PEER_FEATURES: &str = "async-std,axum,smol,tokio";

/// The steps of `cargo xtask package`.
pub(crate) fn steps() -> Vec<Step> {
    vec![
        Step::new("packages", package),
        Step::new("features", || each(check_features)),
        Step::new("examples", || each(check_example)),
        Step::new("docs.rs", || each(document)),
    ]
}

fn folder() -> PathBuf {
    workspace::target_path("package")
}

/// The folder of the user's program, and of our programs, unpacked.
fn programs() -> PathBuf {
    folder().join("programs")
}

/// Makes all packages, each against the others, and unpacks them for a user. Cargo does not build
/// them: the next steps build what is unpacked, with all features.
fn package() -> Result<()> {
    let (crates, unpacked) = (crates()?, folder().join("unpacked"));
    let mut package = cargo(&["package", "--allow-dirty", "--no-verify"]);
    package.args(crates.iter().flat_map(|one| ["-p", &one.name]));
    run(&mut package)?;
    for folder in [&unpacked, &programs()] {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
    }
    let mut sum = 0;
    for one in &crates {
        let archive = folder().join(format!("{}-{}.crate", one.name, one.version));
        let parent = one.unpacked().with_file_name("");
        // With the time of now: by those of the archives, which never change, cargo would take what
        // it built in an earlier run.
        run(command("tar", &["-xzmf"]).arg(&archive).arg("-C").arg(parent))?;
        for file in FILES {
            let path = one.unpacked().join(file);
            ensure!(path.is_file(), "the package {} has no {file}", one.name);
        }
        for file in ["tests", "DESIGN.md", "mutants.toml", "clippy.toml"] {
            ensure!(!one.unpacked().join(file).exists(), "the package {} must not have {file}", one.name);
        }
        sum += fs::metadata(&archive)?.len();
    }
    write_user(&crates)?;
    println!("{} packages, {} KiB", crates.len(), sum / 1024);
    Ok(())
}

/// The crates to publish. All of them are: none is left out by `publish = false`.
pub(crate) fn crates() -> Result<Vec<Package>> {
    let crates: Vec<_> = workspace::packages()?.into_iter().filter(Package::is_crate).collect();
    for one in &crates {
        ensure!(one.is_published(), "{} has `publish = false`", one.name);
        for (field, value) in [
            ("description", &one.description),
            ("license", &one.license),
            ("repository", &one.repository),
            ("rust-version", &one.rust_version),
        ] {
            ensure!(value.is_some(), "the manifest of {} has no {field}", one.name);
        }
        ensure!(one.is_program() || one.documentation.is_some(), "the manifest of {} has no documentation", one.name);
    }
    Ok(crates)
}

fn each(check: impl Fn(&Package) -> Result<()>) -> Result<()> {
    crates()?.iter().try_for_each(|one| check(one).with_context(|| format!("the package {}", one.name)))
}

/// Writes the program of a user, who has none of our crates unless a feature asks for it. Beside it
/// are our own programs, which share its versions.
fn write_user(crates: &[Package]) -> Result<()> {
    let (own, libraries): (Vec<_>, Vec<_>) = crates.iter().partition(|one| one.is_program());
    let own: Vec<_> = own.iter().map(|one| format!("{}-{}", one.name, one.version)).collect();
    let mut manifest = format!("[package]\nname = \"user\"\nedition = \"2024\"\n\n[workspace]\nmembers = {own:?}\n");
    write!(manifest, "\n[dependencies]{PEERS}")?;
    for one in &libraries {
        let options = "default-features = false, optional = true";
        writeln!(manifest, "{} = {{ path = '{}', {options} }}", one.name, one.unpacked().display())?;
    }
    manifest.push_str("\n[patch.crates-io]\n");
    for one in &libraries {
        writeln!(manifest, "{} = {{ path = '{}' }}", one.name, one.unpacked().display())?;
    }
    fs::create_dir_all(programs().join("src/bin"))?;
    fs::write(programs().join("Cargo.toml"), manifest)?;
    fs::write(programs().join("src/main.rs"), "fn main() {}\n")?;
    // The versions that the workspace is tested with.
    fs::copy(workspace::root().join("Cargo.lock"), programs().join("Cargo.lock"))?;
    Ok(())
}

/// Cargo for one of the programs. All have one target folder. A warning fails, but for those of the
/// crates of others.
fn cargo_there(args: &[&str]) -> Command {
    let mut cargo = cargo(args);
    cargo.env("RUSTFLAGS", flags("RUSTFLAGS", "-D warnings"));
    cargo.current_dir(programs()).arg("--quiet").arg("--target-dir").arg(folder().join("target"));
    cargo
}

/// Checks a program with no feature of a crate, each one alone, and all. Our own programs have no
/// features.
fn check_features(one: &Package) -> Result<()> {
    if one.is_program() {
        return run(&mut cargo_there(&["check", "-p", &one.name]));
    }
    let features = || one.features.keys().map(String::as_str).filter(|feature| *feature != "default");
    // Without the standard library, a bulkhead has no lock of its own.
    let lock = features().find(|feature| *feature == "critical-section");
    let alone = features().map(|feature| lock.into_iter().chain([feature]).collect());
    let sets: BTreeSet<BTreeSet<_>> = alone.chain([lock.into_iter().collect(), features().collect()]).collect();
    sets.into_iter()
        .try_for_each(|features| run(&mut cargo_there(&["check", "--bin", "user", "--features", &one.with(features)])))
}

/// Checks the example of a README as the whole of a program, with the default features.
fn check_example(one: &Package) -> Result<()> {
    let readme = fs::read_to_string(one.unpacked().join("README.md"))?;
    let Some((_, code)) = readme.split_once("```rust") else {
        ensure!(one.is_program(), "README.md has no example");
        return Ok(());
    };
    let (_, code) = code.split_once('\n').context("no code")?;
    let (code, _) = code.split_once("```").context("no end of the code")?;
    let main = if code.contains("fn main") { "" } else { "fn main() {}\n" };
    // Not all examples have a use for what they show.
    let program = format!("#![allow(dead_code)]\n{code}\n{main}");
    fs::write(programs().join("src/bin").join(&one.name).with_extension("rs"), program)?;
    let default = one.features.contains_key("default").then_some("default");
    let features = format!("{},bulklink-tokio,{PEER_FEATURES}", one.with(default));
    run(&mut cargo_there(&["check", "--bin", &one.name, "--features", &features]))
}

/// Builds the docs as docs.rs does, with all features and the badges of what needs one.
fn document(one: &Package) -> Result<()> {
    if one.is_program() {
        return Ok(());
    }
    let features = one.with(one.features.keys().map(String::as_str));
    // The features belong to the user's program, which has no library to document.
    let mut doc = cargo_there(&["doc", "--lib", "--no-deps", "-p", "user", "-p", &one.name, "--features", &features]);
    // The badges are a feature of nightly compilers, which docs.rs has.
    nightly::add(&mut doc)?;
    run(doc.env("RUSTDOCFLAGS", "--cfg docsrs -D warnings"))
}

impl Package {
    /// A program must be a member of the workspace below [`programs`], and a library must not.
    fn unpacked(&self) -> PathBuf {
        let parent = if self.is_program() { programs() } else { folder().join("unpacked") };
        parent.join(format!("{}-{}", self.name, self.version))
    }

    /// The features of the user's program that bring this crate with these of its own.
    fn with<'a>(&self, features: impl IntoIterator<Item = &'a str>) -> String {
        let name = &self.name;
        features.into_iter().fold(name.clone(), |all, feature| format!("{all},{name}/{feature}"))
    }

    /// Returns whether users install it, and have no program that depends on it.
    pub(crate) fn is_program(&self) -> bool {
        let source = self.manifest_path.parent().map(|folder| folder.join("src"));
        let has = |source: &Path, file| source.join(file).is_file();
        source.as_deref().is_some_and(|source| has(source, "main.rs") && !has(source, "lib.rs"))
    }
}
