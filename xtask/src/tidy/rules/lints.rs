//! The workspace denies `missing_docs`, and every member takes the workspace's lints.

use crate::manifest::Manifest;
use crate::tidy::Finding;
use crate::tidy::tree::{File, Tree};

const RULE: &str = "lints";

const ROOT: &str = "Cargo.toml";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(root) = tree.file(ROOT) else { return Vec::new() };
    let workspace = Manifest::parse(&root.text);
    let opted_out = tree.manifests().filter(|(file, manifest)| {
        is_member(&workspace, file, manifest) && manifest.get("lints.workspace") != Some("true")
    });
    let opted_out = opted_out.map(|(file, _)| file.finding(1, RULE, "add `[lints] workspace = true`"));
    undocumented(root, &workspace).into_iter().chain(opted_out).collect()
}

fn undocumented(root: &File, workspace: &Manifest) -> Option<Finding> {
    let level = workspace.string("workspace.lints.rust.missing_docs");
    let is_denied = matches!(level, Some("deny" | "forbid"));
    (!is_denied).then(|| root.finding(1, RULE, "[workspace.lints.rust] must deny `missing_docs`"))
}

/// A package that is neither a workspace of its own nor excluded: cargo refuses one that is no member either.
fn is_member(workspace: &Manifest, file: &File, manifest: &Manifest) -> bool {
    let mut excluded = workspace.strings("workspace.exclude").into_iter();
    let is_excluded = excluded.any(|folder| is_below(&file.path, folder));
    manifest.has_section("package") && !manifest.has_section("workspace") && !is_excluded
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
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
