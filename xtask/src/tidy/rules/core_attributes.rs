//! The root of the core says `#![no_std]` and `#![forbid(unsafe_code)]`, unconditionally.

use crate::tidy::Finding;
use crate::tidy::tokens::find;
use crate::tidy::tree::{File, Tree};

const ROOT: &str = "crates/bulklink-core/src/lib.rs";

const WANTED: &[&[&str]] = &[&["#", "!", "[", "no_std", "]"], &["#", "!", "[", "forbid", "(", "unsafe_code", ")", "]"]];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    // A core that has moved away lacks both.
    let moved = File::new(ROOT, "");
    let root = tree.file(ROOT).unwrap_or(&moved);
    let missing = WANTED.iter().filter(|attribute| find(&root.tokens, attribute).is_empty());
    missing
        .map(|attribute| root.finding(1, "core-attributes", format!("`{}` is missing", attribute.concat())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{ROOT, check};
    use crate::tidy::rules::lines;

    #[test]
    fn each_missing_attribute_is_found() {
        for bad in [
            "#![no_std]",
            "#![forbid(unsafe_code)]",
            "#![cfg_attr(not(test), no_std)]\n#![forbid(unsafe_code)]",
            "#![no_std]\n// #![forbid(unsafe_code)]",
        ] {
            assert_eq!(lines(check, ROOT, bad), [1], "{bad}");
        }
    }

    #[test]
    fn a_core_that_has_moved_is_found() {
        assert_eq!(lines(check, "core/src/lib.rs", "#![no_std]\n#![forbid(unsafe_code)]\n"), [1, 1]);
    }

    #[test]
    fn both_attributes_pass() {
        assert_eq!(lines(check, ROOT, "//! Core.\n#![no_std]\n#![forbid(unsafe_code)]\n"), []);
    }
}
