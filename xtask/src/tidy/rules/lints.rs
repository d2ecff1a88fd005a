//! The workspace denies `missing_docs`, and every member takes the workspace's lints.

use std::path::Path;

use toml::Value;

use crate::tidy::Finding;
use crate::tidy::tree::{File, Tree};
use crate::workspace::value_at;

const RULE: &str = "lints";

const ROOT: &str = "Cargo.toml";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(root) = tree.file(ROOT) else { return Vec::new() };
    let opted_out = tree.files.iter().filter(|file| is_member(root, file) && !takes_lints(file));
    let opted_out = opted_out.map(|file| file.finding(1, RULE, "add `[lints] workspace = true`"));
    undocumented(root).into_iter().chain(opted_out).collect()
}

fn undocumented(root: &File) -> Option<Finding> {
    let level = value_at(&root.manifest, &["workspace", "lints", "rust", "missing_docs"]).and_then(Value::as_str);
    let is_denied = matches!(level, Some("deny" | "forbid"));
    (!is_denied).then(|| root.finding(1, RULE, "[workspace.lints.rust] must deny `missing_docs`"))
}

/// A package that is neither a workspace of its own nor excluded: cargo refuses one that is no member either.
fn is_member(root: &File, file: &File) -> bool {
    let excluded = value_at(&root.manifest, &["workspace", "exclude"]).and_then(Value::as_array).into_iter().flatten();
    let is_excluded = excluded.filter_map(Value::as_str).any(|folder| Path::new(&file.path).starts_with(folder));
    file.manifest.contains_key("package") && !file.manifest.contains_key("workspace") && !is_excluded
}

fn takes_lints(file: &File) -> bool {
    value_at(&file.manifest, &["lints", "workspace"]) == Some(&Value::Boolean(true))
}

#[cfg(test)]
mod tests {
    use super::{ROOT, check};
    use crate::tidy::tree::Tree;

    const WORKSPACE: &str = "[workspace]\nmembers = [\"crates/*\"]\nexclude = [\"probe\"]\n\
                             [workspace.lints.rust]\nmissing_docs = \"deny\"\n";
    const BARE: &str = "[package]\nname = \"a\"\n";

    fn paths(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files)).into_iter().map(|finding| finding.path).collect()
    }

    #[test]
    fn a_workspace_that_does_not_deny_missing_docs_is_found() {
        for bad in ["[workspace.lints.rust]\nmissing_docs = \"warn\"\n", "[workspace]\nmembers = []\n"] {
            assert_eq!(paths(&[(ROOT, bad)]), [ROOT], "{bad}");
        }
    }

    #[test]
    fn a_member_without_the_lints_is_found() {
        let opted_out = "[package]\nname = \"a\"\n[lints]\nworkspace = false\n";
        for bad in [BARE, opted_out] {
            assert_eq!(paths(&[(ROOT, WORKSPACE), ("crates/a/Cargo.toml", bad)]), ["crates/a/Cargo.toml"], "{bad}");
        }
    }

    #[test]
    fn members_with_the_lints_and_packages_elsewhere_pass() {
        let good = "[package]\nname = \"a\"\n[lints]\nworkspace = true\n";
        let own = "[package]\nname = \"fuzz\"\n[workspace]\n";
        let files =
            [(ROOT, WORKSPACE), ("crates/a/Cargo.toml", good), ("probe/Cargo.toml", BARE), ("fuzz/Cargo.toml", own)];
        assert_eq!(paths(&files), [] as [&str; 0]);
    }
}
