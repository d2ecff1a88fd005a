//! The files that the rules look at, read once.

use std::path::Path;

use toml::{Table, Value};

use super::Finding;
use super::tokens::{Token, tokens};

/// All source files and manifests of the repository, and a page.
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
}

/// One of them. What can't be read, and what another kind of file has, is empty.
pub(crate) struct File {
    /// From the root, with forward slashes.
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) tokens: Vec<Token>,
    pub(crate) manifest: Table,
    /// The line at which the file stops to be what its name says.
    pub(crate) broken_at: Option<usize>,
}

impl Tree {
    /// The Rust files.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| is_source(&file.path))
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
        let (mut source, mut manifest) = (Vec::new(), Table::new());
        let read = if is_source(path) {
            tokens(text).map(|tokens| source = tokens)
        } else if is_manifest(path) {
            table(text).map(|table| manifest = table)
        } else {
            Ok(())
        };
        Self { path: path.to_owned(), text: text.to_owned(), tokens: source, manifest, broken_at: read.err() }
    }

    /// What a manifest depends on, for every target and for one only; not what its tests do.
    pub(crate) fn dependencies(&self) -> impl Iterator<Item = (&String, &Value)> {
        let targets = self.manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
        let theirs = targets.filter_map(|target| target.get("dependencies"));
        self.manifest.get("dependencies").into_iter().chain(theirs).filter_map(Value::as_table).flatten()
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

/// Whether it is a manifest.
pub(crate) fn is_manifest(path: &str) -> bool {
    path.rsplit('/').next() == Some("Cargo.toml")
}

/// A manifest, or the line at which it stops to be one.
fn table(text: &str) -> Result<Table, usize> {
    text.parse().map_err(|error: toml::de::Error| {
        let before = text.bytes().take(error.span().map_or(0, |span| span.start));
        before.filter(|byte| *byte == b'\n').count() + 1
    })
}
