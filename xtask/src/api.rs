//! `cargo xtask api`: the public API of each library, as `api/*.txt` record it; names for all its
//! types; and its changes since the last release.

mod docs;
mod listing;
mod names;
mod semver;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::{fs, iter};

use anyhow::{Context, Result, ensure};

use self::docs::Docs;
use self::names::Names;
use crate::run::{command, run};
use crate::step::Step;
use crate::workspace::{self, Package};

/// The folder of the recorded listings.
const FOLDER: &str = "api";

/// The steps of `cargo xtask api`. With `write`, the listings become those of the sources; with
/// `install`, cargo-semver-checks is installed, which compiles 400 crates.
pub(crate) fn steps(write: bool, install: bool) -> Vec<Step> {
    let release = semver::last_release();
    vec![
        Step::new("docs as JSON", || docs::write(workspace::root(), &docs::folder("now"))),
        Step::new("names", names),
        Step::new("listings", move || compare(write)),
        Step::new(semver::title(release.as_deref()), move || {
            release.map_or(Ok(()), |release| semver::check(&release, install))
        }),
    ]
}

/// The libraries that users depend on.
fn libraries() -> Result<Vec<Package>> {
    let is_library = |package: &Package| package.is_crate() && package.is_published() && !package.is_program();
    Ok(workspace::packages()?.into_iter().filter(is_library).collect())
}

/// The docs of all libraries, and the names in each.
fn read() -> Result<Vec<(Docs, Names)>> {
    let read = |package: Package| {
        let docs = Docs::read(&docs::folder("now"), &package.name)?;
        let names = Names::of(&docs);
        Ok((docs, names))
    };
    libraries()?.into_iter().map(read).collect()
}

fn compare(write: bool) -> Result<()> {
    let (crates, recorded, current) = (read()?, workspace::root().join(FOLDER), docs::folder("listings"));
    let target = if write { &recorded } else { &current };
    if target.exists() {
        fs::remove_dir_all(target)?;
    }
    fs::create_dir_all(target)?;
    let public = crates.iter().map(|(_, names)| names).collect::<Vec<_>>();
    for (docs, _) in &crates {
        fs::write(target.join(&docs.package).with_extension("txt"), listing::text(docs, &public)?)?;
    }
    if write {
        return Ok(());
    }
    let options = ["--no-pager", "diff", "--no-index", "--unified=0", "--stat", "--patch"];
    let difference = run(command("git", &options).arg(recorded).arg(current));
    difference.context("the API is not as recorded; `cargo xtask api --write` records it, for a commit")
}

/// Checks that users can name all types that they get or give.
fn names() -> Result<()> {
    let crates = read()?;
    // The core is used through the front.
    let front = crates.iter().filter(|(docs, _)| docs.package != "bulklink-core").map(|(_, names)| names);
    let front: Vec<_> = front.collect();
    let own =
        |docs: &Docs, names| names::missing(docs, &front.iter().copied().chain(iter::once(names)).collect::<Vec<_>>());
    let missing: BTreeSet<_> = crates.iter().flat_map(|(docs, names)| own(docs, names)).collect();
    let count = missing.len();
    for line in missing {
        println!("{line}");
    }
    ensure!(count == 0, "{count} types without a public path; export them");
    Ok(())
}
