//! The version of a release: all crates have it, depend on each other in it, and the pages name it.

use anyhow::{Context, Result, ensure};

use crate::tidy::tree::{File, Tree};
use crate::workspace::{Package, captures};

/// A page that names a version of one of our crates, as a manifest does.
const REQUIREMENT: &str = r#"\bbulklink[a-z-]* = (?:\{[^}\n]*\bversion = )?"([^"\n]*)""#;

/// The version of the crates.
pub(super) fn of(packages: &[Package]) -> Result<&str> {
    let front = packages.iter().find(|package| package.name == "bulklink").context("there is no bulklink")?;
    Ok(&front.version)
}

pub(super) fn check(tree: &Tree) -> Result<()> {
    let version = of(&tree.packages)?;
    crates(&tree.packages, version)?;
    pages(&tree.files, version)
}

/// All crates have the version, and those that they depend on.
pub(super) fn crates(packages: &[Package], version: &str) -> Result<()> {
    let crates: Vec<_> = packages.iter().filter(|package| package.is_crate()).collect();
    for package in &crates {
        let Package { name, version: found, .. } = package;
        ensure!(found == version, "{name} has the version {found}, and bulklink {version}");
        let own = package.dependencies.iter().filter(|one| crates.iter().any(|other| other.name == one.name));
        // Those for tests may have only a path.
        for one in own.filter(|one| one.kind.as_deref() != Some("dev") || one.req != "*") {
            // Of some it must be exactly this one: a rule of tidy.
            let is_it = one.req.strip_prefix(['=', '^']) == Some(version);
            ensure!(is_it, "{name} depends on {} {}, and not {version}", one.name, one.req);
        }
    }
    Ok(())
}

/// Wherever pages and docs name a version, it is this one, in full or without the patch. The README
/// names one.
pub(super) fn pages(files: &[File], version: &str) -> Result<()> {
    let minor = version.rsplit_once('.').map_or(version, |(minor, _)| minor);
    for file in files.iter().filter(|file| file.path != "CHANGELOG.md") {
        for prose in file.prose() {
            for found in captures(REQUIREMENT, prose.text) {
                let place = format!("{}:{}", file.path, prose.line);
                ensure!([version, minor].contains(&found), "{place}: the version \"{found}\" must be \"{minor}\"");
            }
        }
    }
    let readme = files.iter().find(|file| file.path == "README.md").map_or("", |readme| &readme.text);
    ensure!(!captures(REQUIREMENT, readme).is_empty(), "README.md names no version of a crate");
    Ok(())
}
