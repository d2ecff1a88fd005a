//! Rules for packages: their dependencies and their lints.

use std::collections::BTreeSet;

use super::tree::{File, Findings, Tree};

const CORE: &str = "bulklink-core";

/// Packages that only these published packages may depend on: the core is used through the front,
/// except in simulations, async-std is discontinued, and a fleet needs the client of its own store
/// only.
const RESERVED: [(&str, &[&str]); 5] = [
    (CORE, &["bulklink", "bulklink-plan"]),
    ("async-std", &["bulklink-async-std"]),
    ("bulklink-async-std", &["bulklink-async-std"]),
    ("redis", &["bulklink-redis"]),
    ("tokio-postgres", &["bulklink-postgres"]),
];

/// The core depends on nothing, and the reserved packages have few users. Tests may use anything.
pub(super) fn dependencies(tree: &Tree, findings: &mut Findings) {
    for package in tree.packages.iter().filter(|package| package.is_published()) {
        for dependency in package.dependencies.iter().filter(|dependency| dependency.kind.as_deref() != Some("dev")) {
            let reserved = RESERVED.iter().find(|(name, _)| *name == dependency.name);
            if package.name == CORE || reserved.is_some_and(|(_, users)| !users.contains(&&*package.name)) {
                let path = package.manifest_path.to_string_lossy();
                findings.add(&path, 1, format!("`{}` must not depend on `{}`", package.name, dependency.name));
            }
        }
    }
}

/// A published package depends exactly on a version of a crate with items that are hidden from its
/// docs: they may change in any release.
pub(super) fn exact_versions(tree: &Tree, findings: &mut Findings) {
    let hides = |name: &str| {
        let is_source = |file: &&File| file.path.starts_with(&format!("crates/{name}/src/"));
        let mut sources = tree.sources().filter(is_source).flat_map(|file| file.text.lines().map(str::trim));
        sources.any(|line| line == "#[doc(hidden)]" || line.starts_with("pub mod plumbing"))
    };
    for package in tree.packages.iter().filter(|package| package.is_published()) {
        for dependency in package.dependencies.iter().filter(|dependency| dependency.kind.as_deref() != Some("dev")) {
            if !dependency.req.starts_with('=') && hides(&dependency.name) {
                let path = package.manifest_path.to_string_lossy();
                let text = format!("`{}` must depend on `{}` by `=`", package.name, dependency.name);
                findings.add(&path, 1, text);
            }
        }
    }
}

/// The crates on runtimes, which the README calls *the adapters*.
const ADAPTERS: [&str; 3] = ["bulklink-tokio", "bulklink-smol", "bulklink-async-std"];

/// The README has a row for each feature of each crate: the features, and then their crates. So has
/// that of the crate.
pub(super) fn features(tree: &Tree, findings: &mut Findings) {
    for package in tree.packages.iter().filter(|package| package.is_crate()) {
        let path = format!("crates/{}/README.md", package.name);
        let text = tree.file(&path).map_or("", |readme| &readme.text);
        let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let (rows, features): (BTreeSet<_>, BTreeSet<_>) =
            (rows.collect(), package.features.keys().map(String::as_str).collect());
        for feature in rows.symmetric_difference(&features).filter(|feature| **feature != "default") {
            findings.add(&path, 1, format!("`{feature}` must be both a row and a feature"));
        }
        if !(5..=80).contains(&text.lines().count()) {
            findings.add(&path, 1, "must have from 5 to 80 lines".to_owned());
        }
    }
    let Some(readme) = tree.file("README.md") else { return };
    let rows: Vec<Vec<&str>> = readme.text.lines().map(|line| line.split('|').collect()).collect();
    let has = |row: &[&str], feature: &str, package: &str| {
        row.len() > 3
            && row[1].contains(&format!("`{feature}`"))
            && (row[2].contains(&format!("`{package}`"))
                || row[2].contains("the adapters") && ADAPTERS.contains(&package))
    };
    for package in tree.packages.iter().filter(|package| package.is_crate()) {
        for feature in package.features.keys().filter(|feature| *feature != "default") {
            if !rows.iter().any(|row| has(row, feature, &package.name)) {
                findings.add("README.md", 1, format!("no row has the feature `{feature}` of `{}`", package.name));
            }
        }
    }
}

/// The workspace denies `missing_docs` and `unsafe_code`, and every member takes its lints.
pub(super) fn lints(tree: &Tree, findings: &mut Findings) {
    let mut demand = |file: &File, section: &str, line: &str| {
        let lines = file.text.lines().skip_while(|found| *found != section).skip(1);
        if !lines.take_while(|found| !found.starts_with('[')).any(|found| found == line) {
            findings.add(&file.path, 1, format!("`{section}` must have `{line}`"));
        }
    };
    for file in &tree.files {
        // The metadata has absolute paths.
        let is_member = || tree.packages.iter().any(|package| package.manifest_path.ends_with(&file.path));
        if file.path == "Cargo.toml" {
            demand(file, "[workspace.lints.rust]", "missing_docs = \"deny\"");
            demand(file, "[workspace.lints.rust]", "unsafe_code = \"deny\"");
        } else if file.path.ends_with("/Cargo.toml") && is_member() {
            demand(file, "[lints]", "workspace = true");
        }
    }
}
