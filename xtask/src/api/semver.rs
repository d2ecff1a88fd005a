//! The changes since the last release that break users: judged by cargo-semver-checks, or by the
//! listings where that is missing.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::{FOLDER, docs};
use crate::run::{ask, command, run};
use crate::step::Missing;
use crate::toolchain::programs;
use crate::workspace::{self, compatible};

const NAME: &str = "cargo-semver-checks";

const VERSION: &str = "0.51.0";

/// The last tag of a release before this commit.
pub(super) fn last_release() -> Option<String> {
    let tag = ask(&mut command("git", &["describe", "--tags", "--abbrev=0", "--match=v[0-9]*"]))?;
    Some(tag.trim().to_owned())
}

/// The title of the step, which says if there is nothing to compare with.
pub(super) fn title(release: Option<&str>) -> String {
    release.map_or("semver: NO RELEASE IS TAGGED YET".to_owned(), |tag| format!("semver since {tag}"))
}

/// Fails if the version must grow by more than it does since a release.
pub(super) fn check(release: &str, install: bool) -> Result<()> {
    let program =
        if install { Some(programs::from_registry(NAME, VERSION)?) } else { programs::installed(NAME, VERSION) };
    match program {
        Some(program) => check_docs(&program, release),
        None => check_listings(release),
    }
}

/// Compares the docs of now with those of the release.
fn check_docs(program: &Path, release: &str) -> Result<()> {
    let (sources, then, now) = (docs::folder("sources"), docs::folder("then"), docs::folder("now"));
    if sources.exists() {
        fs::remove_dir_all(&sources)?;
    }
    fs::create_dir_all(&sources)?;
    let archive = sources.with_extension("tar");
    run(command("git", &["archive", release, "--output"]).arg(&archive))?;
    run(command("tar", &["-xf"]).arg(&archive).arg("-C").arg(&sources))?;
    docs::write(&sources, &then)?;
    let mut result = Ok(());
    for library in super::libraries()? {
        let [then, now] = [&then, &now].map(|folder| docs::path(folder, &library.name));
        // A crate that is new.
        if !then.exists() {
            continue;
        }
        let mut check = command(program, &["semver-checks", "--baseline-rustdoc"]);
        // All crates are judged, and the first failure is kept.
        result = result.and(run(check.arg(then).arg("--current-rustdoc").arg(now)));
    }
    result
}

/// Compares the listings with those of the release. A line that is gone breaks users, or may do so.
fn check_listings(release: &str) -> Result<()> {
    let mut difference = command("git", &["diff", "--unified=0", "--no-color", release, "--", FOLDER]);
    let difference = ask(&mut difference).context("git cannot compare the listings")?;
    let gone: Vec<_> = difference.lines().filter(|line| line.starts_with('-') && !line.starts_with("---")).collect();
    for line in &gone {
        println!("{line}");
    }
    let packages = workspace::packages()?;
    let version = packages.iter().find(|package| package.is_crate()).context("no crates")?.version.clone();
    let is_new = compatible(&version) != compatible(release);
    let count = gone.len();
    ensure!(
        gone.is_empty() || is_new,
        "{count} lines of the API of {release} are gone: {version} is too small a step, unless they break nothing, \
         as `cargo xtask api --install` says"
    );
    let judged = format!("{count} lines of the API of {release} are gone; `--install` adds {NAME}, which finds more");
    Err(Missing(judged).into())
}
