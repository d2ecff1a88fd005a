//! Rules for packages: their dependencies and their lints.

use super::tree::{File, Findings, Tree};
use crate::workspace;

const CORE: &str = "bulklink-core";

/// Packages that only one published package may depend on: the core is used through the front,
/// async-std is discontinued, and a fleet needs the client of its own store only.
const RESERVED: [(&str, &str); 5] = [
    (CORE, "bulklink"),
    ("async-std", "bulklink-async-std"),
    ("bulklink-async-std", "bulklink-async-std"),
    ("redis", "bulklink-redis"),
    ("tokio-postgres", "bulklink-postgres"),
];

/// The core depends on nothing, and the reserved packages have one user. Tests may use anything.
pub(super) fn dependencies(tree: &Tree, findings: &mut Findings) {
    for package in tree.packages.iter().filter(|package| package.is_published()) {
        for dependency in package.dependencies.iter().filter(|dependency| dependency.kind.as_deref() != Some("dev")) {
            let reserved = RESERVED.iter().find(|(name, _)| *name == dependency.name);
            if package.name == CORE || reserved.is_some_and(|(_, user)| *user != package.name) {
                let path = package.manifest_path.strip_prefix(workspace::root()).unwrap_or(&package.manifest_path);
                findings.add(
                    &path.to_string_lossy(),
                    1,
                    format!("`{}` must not depend on `{}`", package.name, dependency.name),
                );
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
    for root in tree.files.iter().filter(|file| file.path == "Cargo.toml") {
        demand(root, "[workspace.lints.rust]", "missing_docs = \"deny\"");
        demand(root, "[workspace.lints.rust]", "unsafe_code = \"deny\"");
    }
    // The metadata has absolute paths.
    let is_member = |file: &&File| tree.packages.iter().any(|package| package.manifest_path.ends_with(&file.path));
    for member in tree.files.iter().filter(|file| file.path.ends_with("/Cargo.toml")).filter(is_member) {
        demand(member, "[lints]", "workspace = true");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::found;

    fn package(name: &str, kind: &str, dependency: &str, publish: &str) -> Tree {
        let package = format!(
            r#"{{ "name": "{name}", "manifest_path": "/repository/crates/a/Cargo.toml", "publish": {publish},
                 "dependencies": [{{ "name": "{dependency}", "kind": {kind} }}] }}"#
        );
        Tree { packages: vec![serde_json::from_str(&package).unwrap()], ..Tree::default() }
    }

    #[test]
    fn a_forbidden_dependency_of_a_published_package_is_found() {
        for (name, dependency, wanted) in [
            ("bulklink-core", "hashbrown", 1),
            ("bulklink-tokio", "bulklink-core", 1),
            ("bulklink-smol", "async-std", 1),
            ("bulklink", "bulklink-async-std", 1),
            ("bulklink-fleet", "redis", 1),
            ("bulklink-redis", "redis", 0),
            ("bulklink", "bulklink-core", 0),
            ("bulklink-async-std", "async-std", 0),
            ("bulklink-smol", "async-lock", 0),
        ] {
            let count = |kind, publish| found(dependencies, &package(name, kind, dependency, publish)).len();
            assert_eq!((count("null", "null"), count("\"build\"", "null")), (wanted, wanted), "{name}");
            assert_eq!((count("\"dev\"", "null"), count("null", "[]")), (0, 0), "{name}");
        }
    }

    #[test]
    fn a_lint_that_is_not_denied_or_not_taken_is_found() {
        let root = "[workspace.lints.rust]\nmissing_docs = \"deny\"\nunsafe_code = \"deny\"\n";
        for (path, text, wanted) in [
            ("Cargo.toml", root, 0),
            ("Cargo.toml", &root.replace("docs = \"deny\"", "docs = \"warn\""), 1),
            ("Cargo.toml", &root.replace("workspace.lints", "lints"), 2),
            ("crates/a/Cargo.toml", "[lints]\nworkspace = true\n", 0),
            ("crates/a/Cargo.toml", "[package]\n", 1),
            ("crates/a/Cargo.toml", "[lints]\nworkspace = false\n", 1),
            ("crates/a/Cargo.toml", "[lints]\n[dependencies]\nworkspace = true\n", 1),
            ("fuzz/Cargo.toml", "[package]\n", 0),
        ] {
            let files = vec![File { path: path.to_owned(), text: text.to_owned() }];
            assert_eq!(
                found(lints, &Tree { files, ..package("a", "null", "b", "null") }).len(),
                wanted,
                "{path}: {text}"
            );
        }
    }
}
