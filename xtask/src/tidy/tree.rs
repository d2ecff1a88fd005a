//! The files that the rules look at, read once.

use std::path::Path;

use super::Finding;
use super::tokens::{Token, tokens};
use crate::manifest::Manifest;

/// All source files and manifests of the repository.
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
}

/// One of them.
pub(crate) struct File {
    /// From the root, with forward slashes.
    pub(crate) path: String,
    pub(crate) text: String,
    /// Of a Rust file; none of a manifest, or of a file that does not lex.
    pub(crate) tokens: Vec<Token>,
    /// The line at which a Rust file stops to lex.
    pub(crate) broken_at: Option<usize>,
}

impl Tree {
    /// The Rust files.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| is_source(&file.path))
    }

    /// The manifests, read.
    pub(crate) fn manifests(&self) -> impl Iterator<Item = (&File, Manifest)> {
        let manifests = self.files.iter().filter(|file| !is_source(&file.path));
        manifests.map(|file| (file, Manifest::parse(&file.text)))
    }

    /// The file at a path.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| File::new(path, text)).collect();
        Self { files }
    }
}

impl File {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let is_source = is_source(path);
        let read = if is_source { tokens(text) } else { Ok(Vec::new()) };
        let broken_at = read.as_ref().err().copied();
        let tokens = read.unwrap_or_default();
        Self { path: path.to_owned(), text: text.to_owned(), tokens, broken_at }
    }

    /// A finding in this file.
    pub(crate) fn finding(&self, line: usize, rule: &'static str, text: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, rule, text: text.into() }
    }
}

/// Whether it is a Rust file.
pub(crate) fn is_source(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "rs")
}
