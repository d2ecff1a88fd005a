//! `cargo xtask package`: builds the packages of all crates, and with them, unpacked, what a user
//! builds: a small program with every feature, and the docs as docs.rs does.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::run::{cargo, command, run};
use crate::step::Step;
use crate::workspace::{self, Package};

/// The files that each package must have, beside its manifest.
const FILES: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// What the examples of the READMEs need beside our crates.
const PEERS: &str = r#"
async-std = "1"
axum = { version = "0.8", default-features = false, features = ["http1", "tokio"] }
smol = "2"
tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
"#;

/// The steps of `cargo xtask package`.
pub(crate) fn steps() -> Vec<Step> {
    vec![
        Step::new("packages", package),
        Step::new("features", || each(check_features)),
        Step::new("examples", || each(build_example)),
        Step::new("docs.rs", || each(document)),
    ]
}

fn folder() -> PathBuf {
    workspace::target_path("package")
}

/// Builds all packages in the order of their dependencies, each against the others, and unpacks
/// them.
fn package() -> Result<()> {
    let (crates, unpacked) = (crates()?, folder().join("unpacked"));
    let mut package = cargo(&["package", "--allow-dirty"]);
    package.args(crates.iter().flat_map(|one| ["-p", &one.name]));
    run(&mut package)?;
    if unpacked.exists() {
        fs::remove_dir_all(&unpacked)?;
    }
    fs::create_dir_all(&unpacked)?;
    let mut sum = 0;
    for one in &crates {
        let archive = folder().join(format!("{}-{}.crate", one.name, one.version));
        run(command("tar", &["-xzf"]).arg(&archive).arg("-C").arg(&unpacked))?;
        for file in FILES {
            let path = one.unpacked().join(file);
            ensure!(path.is_file(), "the package {} has no {file}", one.name);
        }
        for file in ["tests", "DESIGN.md", "mutants.toml", "clippy.toml"] {
            ensure!(!one.unpacked().join(file).exists(), "the package {} must not have {file}", one.name);
        }
        sum += fs::metadata(&archive)?.len();
    }
    println!("{} packages, {} KiB", crates.len(), sum / 1024);
    Ok(())
}

/// The crates to publish. All of them are: none is left out by `publish = false`.
fn crates() -> Result<Vec<Package>> {
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

/// Builds a program with no feature, each one alone, the default ones, and all.
fn check_features(one: &Package) -> Result<()> {
    if one.is_program() {
        return Ok(());
    }
    let features = || one.features.keys().map(String::as_str).filter(|feature| *feature != "default");
    // Without the standard library, a bulkhead has no lock of its own.
    let lock = features().find(|feature| *feature == "critical-section");
    let alone = features().map(|feature| {
        let mut set: Vec<_> = [feature].into_iter().chain(lock).collect();
        set.dedup();
        set
    });
    let sets = [lock.into_iter().collect(), features().collect()].into_iter().chain(alone);
    for features in sets {
        let program = Program::new(one, &format!("default-features = false, features = {features:?}"))?;
        program.write("fn main() {}\n")?;
        run(&mut program.cargo(&["check", "--quiet"]))?;
    }
    Ok(())
}

/// Builds the example of a README as the whole of a program, with the default features.
fn build_example(one: &Package) -> Result<()> {
    let readme = fs::read_to_string(one.unpacked().join("README.md"))?;
    let Some((_, code)) = readme.split_once("```rust") else {
        ensure!(one.is_program(), "README.md has no example");
        return Ok(());
    };
    let (_, code) = code.split_once('\n').context("no code")?;
    let (code, _) = code.split_once("```").context("no end of the code")?;
    let main = if code.contains("fn main") { "" } else { "fn main() {}\n" };
    let program = Program::new(one, "")?;
    program.write(&format!("{code}\n{main}"))?;
    run(&mut program.cargo(&["check", "--quiet"]))
}

/// Builds the docs as docs.rs does, with all features and the badges of what needs one.
fn document(one: &Package) -> Result<()> {
    if one.is_program() {
        return Ok(());
    }
    let features: Vec<_> = one.features.keys().collect();
    let program = Program::new(one, &format!("features = {features:?}"))?;
    program.write("fn main() {}\n")?;
    let mut doc = program.cargo(&["doc", "--quiet", "--no-deps", "-p", &one.name]);
    // The badges are a feature of nightly compilers, which docs.rs has.
    run(doc.env("RUSTC_BOOTSTRAP", "1").env("RUSTDOCFLAGS", "--cfg docsrs -D warnings"))
}

/// A program of a user, that depends on an unpacked package.
struct Program {
    folder: PathBuf,
    manifest: String,
}

impl Program {
    fn new(one: &Package, options: &str) -> Result<Self> {
        let folder = folder().join("programs").join(&one.name);
        let mut manifest =
            "[package]\nname = \"user\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n".to_owned();
        let comma = if options.is_empty() { "" } else { ", " };
        writeln!(manifest, "{} = {{ path = '{}'{comma}{options} }}", one.name, one.unpacked().display())?;
        if options.is_empty() {
            manifest.push_str(PEERS.trim_start());
            if one.name != "bulklink-tokio" {
                writeln!(manifest, "bulklink-tokio = \"*\"")?;
            }
        }
        manifest.push_str("\n[patch.crates-io]\n");
        for other in crates()?.iter().filter(|other| !other.is_program()) {
            writeln!(manifest, "{} = {{ path = '{}' }}", other.name, other.unpacked().display())?;
        }
        Ok(Program { folder, manifest })
    }

    fn write(&self, main: &str) -> Result<()> {
        fs::create_dir_all(self.folder.join("src"))?;
        fs::write(self.folder.join("Cargo.toml"), &self.manifest)?;
        fs::write(self.folder.join("src/main.rs"), main)?;
        // The versions that the workspace is tested with.
        fs::copy(workspace::root().join("Cargo.lock"), self.folder.join("Cargo.lock"))?;
        Ok(())
    }

    /// All programs have one target folder.
    fn cargo(&self, args: &[&str]) -> Command {
        let mut cargo = cargo(args);
        cargo.current_dir(&self.folder).arg("--target-dir").arg(folder().join("target"));
        cargo
    }
}

impl Package {
    fn unpacked(&self) -> PathBuf {
        folder().join("unpacked").join(format!("{}-{}", self.name, self.version))
    }

    /// Returns whether users install it, and have no program that depends on it.
    fn is_program(&self) -> bool {
        let source = self.manifest_path.parent().map(|folder| folder.join("src"));
        source.as_deref().is_some_and(|source: &Path| source.join("main.rs").is_file())
    }
}
