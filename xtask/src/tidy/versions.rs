//! A rule for the crates of others that a program shares with ours: their versions are stated.

use std::collections::BTreeSet;

use super::tree::{Findings, Tree};
use crate::workspace::{Dependency, Package, captures, compatible};

/// Crates whose types users name by another one that exports them.
const FACADES: [(&str, &str); 3] = [("async_executor", "smol"), ("axum_core", "axum"), ("serde_core", "serde")];

/// Crates that a program shares with ours by their state and not by types: a recorder, a provider
/// of cryptography, a subscriber.
const BY_STATE: [&str; 3] = ["metrics", "rustls", "tracing"];

/// What each crate has, what its compiler has, and a macro's parts in bounds of `Unpin`.
const NO_CRATES: [&str; 4] = ["alloc", "core", "pin_project_lite", "std"];

/// Crates below 1.0 that are in ours without a feature: the traits of all streams and layers, which
/// are compatible for years, and the TLS of a store that has no other.
const WITHOUT_FEATURE: [(&str, &str); 4] = [
    ("bulklink", "futures-core"),
    ("bulklink-postgres", "rustls"),
    ("bulklink-tower", "tower-layer"),
    ("bulklink-tower", "tower-service"),
];

/// A crate below 1.0 whose types are in the public API is behind a feature. The row of a feature
/// states the versions of the crates that it brings into the API, and the docs of a crate those
/// below 1.0.
pub(super) fn versions(tree: &Tree, findings: &mut Findings) {
    for package in tree.packages.iter().filter(|package| tree.file(&listing(package)).is_some()) {
        for name in shared(tree, package) {
            check(tree, package, &name, findings);
        }
    }
}

/// The crates in the API of a package, and those with a state.
fn shared(tree: &Tree, package: &Package) -> BTreeSet<String> {
    let listing = tree.file(&listing(package)).map_or("", |file| &file.text);
    let types = captures(r"(?m)(?:^|[^\w:])([a-z]\w*)::", listing).into_iter();
    let types = types.filter(|name| !name.starts_with("bulklink") && !NO_CRATES.contains(name));
    let types = types.map(|name| FACADES.iter().find(|(part, _)| *part == name).map_or(name, |(_, facade)| *facade));
    let state = BY_STATE.into_iter().filter(|name| dependency(package, name).is_some());
    types.chain(state).map(str::to_owned).collect()
}

/// The dependency of a crate, by its name in code.
fn dependency<'a>(package: &'a Package, name: &str) -> Option<&'a Dependency> {
    let mut used = package.dependencies.iter().filter(|dependency| dependency.kind.is_none());
    used.find(|dependency| dependency.name.replace('-', "_") == name)
}

fn check(tree: &Tree, package: &Package, name: &str, findings: &mut Findings) {
    let [listing, readme, docs] = [listing(package), page(package, "README.md"), page(package, "src/lib.rs")];
    let Some(dependency) = dependency(package, name) else {
        return findings.add(&listing, 1, format!("`{name}` has a type in it, but is no dependency"));
    };
    let (version, is_young) = (compatible(&dependency.req), dependency.req.contains("^0."));
    let stated = format!("{} {version}", dependency.name);
    let is_free = WITHOUT_FEATURE.contains(&(&*package.name, &*dependency.name));
    if is_young && !dependency.optional && !is_free {
        findings.add(&listing, 1, format!("`{stated}` must be behind a feature"));
    }
    let text = |path: &str| tree.file(path).map_or(String::new(), |file| file.text.replace('`', ""));
    let (readme_text, enables) = (text(&readme), format!("dep:{}", dependency.name));
    for (feature, _) in package.features.iter().filter(|(_, enabled)| enabled.contains(&enables)) {
        let mut rows = readme_text.lines().filter(|row| row.starts_with(&format!("| {feature} |")));
        if !rows.any(|row| says(row, &stated)) {
            findings.add(&readme, 1, format!("the row of `{feature}` must say {stated}"));
        }
    }
    if is_young && !text(&docs).lines().any(|line| line.starts_with("//!") && says(line, &stated)) {
        findings.add(&docs, 1, format!("the docs must say {stated}"));
    }
}

fn listing(package: &Package) -> String {
    format!("api/{}.txt", package.name)
}

fn page(package: &Package, file: &str) -> String {
    format!("crates/{}/{file}", package.name)
}

/// Whether a line has the words, and not as the beginning of others.
fn says(line: &str, words: &str) -> bool {
    line.match_indices(words).any(|(at, _)| {
        let mut after = line[at + words.len()..].chars();
        match after.next() {
            Some('.') => !after.next().is_some_and(|next| next.is_ascii_digit()),
            next => !next.is_some_and(char::is_alphanumeric),
        }
    })
}
