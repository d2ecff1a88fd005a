//! Which files there are: what git knows or would add; without git, what lies there.

use std::fs;
use std::path::{MAIN_SEPARATOR_STR, Path};

use anyhow::{Context, Result};
use walkdir::{DirEntry, WalkDir};

use super::tree::{File, Tree, is_source};
use crate::run::{ask, command};
use crate::workspace;

/// The source files and manifests of the repository.
pub(crate) fn read() -> Result<Tree> {
    let root = workspace::root();
    let paths = listed().unwrap_or_else(|| walked(root));
    let files = paths.iter().filter(|path| counts(root, path)).map(|path| read_file(root, path));
    Ok(Tree { files: files.collect::<Result<_>>()? })
}

/// What git tracks, and what it would track. In a folder that git doesn't know, nothing at all.
fn listed() -> Option<Vec<String>> {
    let mut list = command("git", &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let paths = ask(&mut list)?;
    Some(paths.split_terminator('\0').map(str::to_owned).collect())
}

fn walked(root: &Path) -> Vec<String> {
    let entries = WalkDir::new(root).into_iter().filter_entry(|entry| entry.depth() == 0 || !is_left_out(entry));
    let paths = entries.flatten().map(|entry| relative(root, entry.path()));
    paths.collect()
}

fn is_left_out(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    name.starts_with('.') || name == "target"
}

fn relative(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    path.to_string_lossy().replace(MAIN_SEPARATOR_STR, "/")
}

/// Rust files and manifests that are there: git also lists what was deleted and not yet committed.
fn counts(root: &Path, path: &str) -> bool {
    let is_manifest = path.rsplit('/').next() == Some("Cargo.toml");
    (is_manifest || is_source(path)) && root.join(path).is_file()
}

fn read_file(root: &Path, path: &str) -> Result<File> {
    let text = fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))?;
    Ok(File::new(path, &text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = "xtask/src/tidy/files.rs";

    #[test]
    fn the_tree_holds_sources_and_manifests() {
        let tree = read().unwrap();
        assert!(tree.file(HERE).is_some() && tree.file("Cargo.toml").is_some());
        assert!(tree.file("LICENSE-MIT").is_none());
    }

    #[test]
    fn without_git_the_walk_finds_the_same_and_no_build_output() {
        let paths = walked(workspace::root());
        assert!(paths.iter().any(|path| path == HERE));
        assert!(!paths.iter().any(|path| path.starts_with("target/") || path.starts_with(".git/")));
    }

    #[test]
    fn a_deleted_file_does_not_count() {
        assert!(counts(workspace::root(), HERE));
        assert!(!counts(workspace::root(), "xtask/src/deleted.rs"));
    }
}
