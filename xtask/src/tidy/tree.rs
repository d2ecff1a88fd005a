//! The files and packages that the rules check, and the findings.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::run::{ask, command};
use crate::workspace::{self, Package};

/// All sources, pages, manifests and listings of the repository, and the packages of the workspace.
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

/// A numbered line of a comment or a page.
pub(crate) struct Prose<'a> {
    pub(crate) line: usize,
    pub(crate) text: &'a str,
    /// The line without the marks of the comment, if it is code or a fence.
    pub(crate) code: Option<&'a str>,
}

/// Places that break a rule: the path, the line and the fault.
#[derive(Default)]
pub(crate) struct Findings(pub(crate) Vec<(String, usize, String)>);

impl Findings {
    pub(crate) fn add(&mut self, path: &str, line: usize, text: impl Into<String>) {
        self.0.push((path.to_owned(), line, text.into()));
    }
}

impl Tree {
    /// Reads the files that git tracks or would track.
    pub(crate) fn read() -> Result<Self> {
        let mut list = command("git", &["ls-files", "--cached", "--others", "--exclude-standard"]);
        let list =
            ask(list.args(["*.rs", "*.md", "*Cargo.toml", "api/*.txt"])).context("git does not list the files")?;
        // Git also lists files that are deleted and not yet committed.
        let present = list.lines().map(|path| (path, workspace::root().join(path))).filter(|(_, file)| file.is_file());
        let read = |(path, file)| Ok(File { path: String::from(path), text: fs::read_to_string(file)? });
        Ok(Tree { files: present.map(read).collect::<Result<_>>()?, packages: workspace::packages()? })
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

    /// Returns the comments of a source, or the lines of a page.
    pub(crate) fn prose(&self) -> impl Iterator<Item = Prose<'_>> {
        let mut in_code = false;
        self.lines().filter_map(move |(line, text)| {
            let comment = text.trim_start();
            let content = match ["///", "//!"].iter().find_map(|mark| comment.strip_prefix(mark)) {
                _ if self.is("md") => text,
                Some(content) if self.is("rs") => content.strip_prefix(' ').unwrap_or(content),
                _ => {
                    in_code = false;
                    return (self.is("rs") && comment.starts_with("//")).then_some(Prose { line, text, code: None });
                }
            };
            let is_fence = content.trim_start().starts_with("```");
            in_code ^= is_fence;
            Some(Prose { line, text, code: (in_code || is_fence).then_some(content) })
        })
    }
}
