//! The files and packages that the rules check, and what the rules find.

use std::fs;
use std::path::{MAIN_SEPARATOR_STR, Path};

use anyhow::{Context, Result};
use walkdir::{DirEntry, WalkDir};

use crate::workspace::{self, Package};

/// All sources, pages and manifests of the repository, and the packages of the workspace.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
    pub(crate) packages: Vec<Package>,
}

/// A file, by its path from the root with forward slashes.
#[derive(Default)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Places that break a rule: the path, the line and what is wrong.
#[derive(Default)]
pub(crate) struct Findings(pub(crate) Vec<(String, usize, String)>);

impl Findings {
    pub(crate) fn add(&mut self, path: &str, line: usize, text: impl Into<String>) {
        self.0.push((path.to_owned(), line, text.into()));
    }
}

impl Tree {
    /// Reads the repository, without hidden folders and build output.
    pub(crate) fn read() -> Result<Self> {
        let (root, mut files) = (workspace::root(), Vec::new());
        let visible = |entry: &DirEntry| {
            let name = entry.file_name().to_string_lossy();
            entry.depth() == 0 || !name.starts_with('.') && name != "target"
        };
        for entry in WalkDir::new(root).sort_by_file_name().into_iter().filter_entry(visible) {
            let entry = entry?;
            let path = entry.path().strip_prefix(root)?.to_string_lossy().replace(MAIN_SEPARATOR_STR, "/");
            let file = File { path, text: String::new() };
            if file.is("rs") || file.is("md") || file.path.ends_with("Cargo.toml") {
                let text = fs::read_to_string(entry.path()).with_context(|| format!("cannot read {}", file.path))?;
                files.push(File { text, ..file });
            }
        }
        Ok(Tree { files, packages: workspace::packages()? })
    }

    /// Returns the Rust files.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is("rs"))
    }

    /// Returns the file at a path.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

impl File {
    /// Whether the file has this extension.
    pub(crate) fn is(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }

    /// Returns the numbered lines.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }

    /// Returns the numbered lines of prose: the comments of a source, or a page without its code.
    pub(crate) fn prose(&self) -> impl Iterator<Item = (usize, &str)> {
        let (is_source, is_page, mut in_code) = (self.is("rs"), self.is("md"), false);
        self.lines().filter(move |(_, line)| {
            let is_fence = line.trim_start().starts_with("```");
            in_code ^= is_fence;
            is_source && line.trim_start().starts_with("//") || is_page && !in_code && !is_fence
        })
    }
}

/// The lines at which a rule finds something, for the tests of the rules.
#[cfg(test)]
pub(crate) fn found(rule: fn(&Tree, &mut Findings), tree: &Tree) -> Vec<usize> {
    let mut findings = Findings::default();
    rule(tree, &mut findings);
    findings.0.into_iter().map(|(_, line, _)| line).collect()
}

/// [`found`] in a tree of these files.
#[cfg(test)]
pub(crate) fn lines(rule: fn(&Tree, &mut Findings), files: &[(&str, &str)]) -> Vec<usize> {
    let file = |&(path, text): &(&str, &str)| File { path: path.to_owned(), text: text.to_owned() };
    found(rule, &Tree { files: files.iter().map(file).collect(), packages: vec![] })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_tree_has_sources_pages_manifests_and_packages_and_no_build_output() {
        let tree = super::Tree::read().unwrap();
        assert!(["xtask/src/tidy/tree.rs", "README.md", "Cargo.toml"].iter().all(|path| tree.file(path).is_some()));
        assert!(tree.packages.iter().any(|package| package.name == "bulklink-core"));
        assert!(!tree.files.iter().any(|file| file.path.starts_with("target/") || file.path.starts_with(".git/")));
    }
}
