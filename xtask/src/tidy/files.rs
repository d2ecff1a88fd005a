//! Which files there are: all sources and manifests in the repository, but for build output and hidden folders; and one page.

use std::fs;
use std::path::MAIN_SEPARATOR_STR;

use anyhow::{Context, Result};
use walkdir::{DirEntry, WalkDir};

use super::rules::named_tests::PAGE;
use super::tree::{File, Tree, is_manifest, is_source};
use crate::workspace;

/// The source files and manifests of the repository, and the page that has a rule of its own.
pub(crate) fn read() -> Result<Tree> {
    let root = workspace::root();
    let mut files = Vec::new();
    for entry in WalkDir::new(root).into_iter().filter_entry(|entry| entry.depth() == 0 || !is_left_out(entry)) {
        let path = entry?.path().strip_prefix(root)?.to_string_lossy().replace(MAIN_SEPARATOR_STR, "/");
        if counts(&path) && root.join(&path).is_file() {
            let text = fs::read_to_string(root.join(&path)).with_context(|| format!("cannot read {path}"))?;
            files.push(File::new(&path, &text));
        }
    }
    Ok(Tree { files })
}

/// What git is told to ignore, and what is hidden.
fn is_left_out(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    name.starts_with('.') || name == "target"
}

fn counts(path: &str) -> bool {
    is_source(path) || is_manifest(path) || path == PAGE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_holds_sources_and_manifests_and_no_build_output() {
        let tree = read().unwrap();
        assert!(tree.file("xtask/src/tidy/files.rs").is_some() && tree.file("Cargo.toml").is_some());
        assert!(tree.file(PAGE).is_some());
        assert!(tree.file("LICENSE-MIT").is_none());
        assert!(!tree.files.iter().any(|file| file.path.starts_with("target/") || file.path.starts_with(".git/")));
    }
}
