//! The changes since the last release, judged by cargo-semver-checks.

use std::fs;

use anyhow::Result;

use super::docs;
use crate::run::{ask, command, run};
use crate::step::Missing;
use crate::toolchain::programs;

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

/// Compares the docs of now with those of a release. Fails if the versions must grow by more than
/// they do.
pub(super) fn check(release: &str) -> Result<()> {
    let program = programs::from_registry("cargo-semver-checks", VERSION);
    let program = program.map_err(|error| Missing(format!("no cargo-semver-checks: {error:#}")))?;
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
        let mut check = command(&program, &["semver-checks", "--baseline-rustdoc"]);
        // All crates are judged, and the first failure is kept.
        result = result.and(run(check.arg(then).arg("--current-rustdoc").arg(now)));
    }
    result
}
