//! Rules for sources: a header, a length, and the attributes that keep the core pure.

use super::tree::{File, Findings, Tree};

const LONGEST: usize = 500;

const CORE: &str = "crates/bulklink-core/src/";

/// Every file begins with `//!` and says what it contains.
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
    // A core that has moved away lacks both attributes.
    let moved = File { path: format!("{CORE}lib.rs"), ..File::default() };
    let root = tree.file(&moved.path).unwrap_or(&moved);
    for wanted in ["#![no_std]", "#![forbid(unsafe_code)]"] {
        if !root.text.lines().any(|line| line == wanted) {
            findings.add(&root.path, 1, format!("`{wanted}` is missing"));
        }
    }
    for file in tree.sources().filter(|file| file.path.starts_with(CORE)) {
        for (line, _) in file.lines().filter(|(_, text)| text.contains("extern crate std")) {
            findings.add(&file.path, line, "the core must not use std");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::lines;

    #[test]
    fn a_file_without_a_header_and_a_file_that_is_too_long_are_found() {
        for text in ["", "/// A.\nfn f() {}\n", "\n//! A.\n"] {
            assert_eq!(lines(header, &[("src/a.rs", text), ("src/b.rs", "//! B.\n")]), [1], "{text}");
        }
        let files = [("src/a.rs", &*"//! A.\n".repeat(500)), ("src/b.rs", &*"//! B.\n".repeat(501))];
        assert_eq!(lines(length, &files), [501]);
    }

    #[test]
    fn a_core_with_std_or_unsafe_code_is_found() {
        let good = "#![no_std]\n#![forbid(unsafe_code)]\n";
        for (text, found) in [
            (good, &[][..]),
            ("#![no_std]\n// #![forbid(unsafe_code)]", &[1]),
            ("#![cfg_attr(not(test), no_std)]\n#![forbid(unsafe_code)]", &[1]),
            (&format!("{good}extern crate std;"), &[3]),
        ] {
            assert_eq!(lines(core_attributes, &[("crates/bulklink-core/src/lib.rs", text)]), found, "{text}");
        }
        assert_eq!(lines(core_attributes, &[("core/src/lib.rs", good)]), [1, 1]);
    }
}
