//! Rules for sources: a header, a length, and the attributes that keep the core pure.

use super::tree::{Findings, Tree};

const LONGEST: usize = 500;

const CORE: &str = "crates/bulklink-core/src/";

/// Every file begins with `//!` and a line about its content.
pub(super) fn header(tree: &Tree, findings: &mut Findings) {
    for file in tree.sources().filter(|file| !file.text.starts_with("//!")) {
        findings.add(&file.path, 1, "begin with `//!` and say what the file contains");
    }
}

/// No file has more than 500 lines.
pub(super) fn length(tree: &Tree, findings: &mut Findings) {
    for file in tree.sources().filter(|file| file.text.lines().count() > LONGEST) {
        findings.add(&file.path, LONGEST + 1, format!("more than {LONGEST} lines; split the file"));
    }
}

/// The core has neither std nor unsafe code, under no condition. Without std it has no clock,
/// thread or file; the rest that it must not use is in its `clippy.toml`.
pub(super) fn core_attributes(tree: &Tree, findings: &mut Findings) {
    let root = format!("{CORE}lib.rs");
    // A core that has moved away lacks both attributes.
    let text = tree.file(&root).map_or("", |file| &file.text);
    for wanted in ["#![no_std]", "#![forbid(unsafe_code)]"] {
        if !text.lines().any(|line| line == wanted) {
            findings.add(&root, 1, format!("`{wanted}` is missing"));
        }
    }
    for file in tree.sources().filter(|file| file.path.starts_with(CORE)) {
        for (line, _) in file.lines().filter(|(_, text)| text.contains("extern crate std")) {
            findings.add(&file.path, line, "the core must not use std");
        }
    }
}
